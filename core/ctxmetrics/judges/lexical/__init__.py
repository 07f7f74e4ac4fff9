"""The embedded judge: no key, no download, no model."""

"""Helpers for all parts: untrusted text that is safe to show, frozen data, API keys, names of modules."""

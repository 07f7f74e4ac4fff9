"""Texts: languages, sentences, quotes, numbers and markup, read with fixed rules and without a model."""

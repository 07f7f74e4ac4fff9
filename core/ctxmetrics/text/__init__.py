"""Texts: languages, sentences, and what a quote and a number are; all of it deterministic, without a model."""

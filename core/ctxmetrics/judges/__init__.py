"""The judges: the embedded judge, judges that ask a model, and recorded ones."""

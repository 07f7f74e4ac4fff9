"""Retrievers: called with questions, judged together, compared."""

"""Judging with a cross-encoder: a function that says how sure it is that one text entails another.

``windows`` chooses what is compared, ``batches`` gathers the pairs of many samples and reads what the function returns,
``judge`` makes verdicts of it.
"""

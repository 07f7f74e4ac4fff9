"""The checks of evidence that all judges use.

``words`` makes the words of two texts comparable (its lists are in ``words.json``). ``contradiction`` (with ``denials`` and
``number_contradictions``) compares a unit with the sentences that are its evidence. ``quote_matches`` finds a quote in its context,
and ``quotes`` decides what a quote proves about a unit. All functions are pure, and no judge is imported here.
"""

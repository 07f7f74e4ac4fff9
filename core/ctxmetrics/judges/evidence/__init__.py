"""What the judges share about texts: words, what denies them, what a quote proves.

``words`` makes the words of two texts comparable (its lists are ``words.json``), ``contradiction`` (with ``denials`` and
``number_contradictions``) compares a unit with the sentences that are its evidence, ``quote_matches`` finds a quote in its context,
and ``quotes`` says what a quote proves about a unit. Pure: texts in, answers out. No judge is imported here.
"""

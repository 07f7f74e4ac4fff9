"""What the judges share about texts: words, what denies them, what a quote proves.

``words`` makes the words of two texts comparable (its lists are ``words.json``), ``contradiction`` (with ``denials``) compares a unit
with the sentences that are its evidence, ``quotes`` says what a quote proves about a unit. Pure: texts in, answers out. No judge is
imported here.
"""

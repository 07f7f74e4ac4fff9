"""The embedded judge: no key, no download, no model.

It counts words. A unit is supported when a few sentences of the contexts hold enough of its words,
after a deduction for numbers and names that stand nowhere; a context is useful when it holds enough of
the answer's words. What it counts depends on the sample alone. It is deterministic and fast, and it
compares words, not meaning.

``index`` holds the contexts, ``phrase`` reads a unit, ``support`` counts, ``usefulness`` judges
contexts, ``judge`` makes the verdicts.
"""

from ctxmetrics.judges.lexical.judge import LABEL, LexicalJudge

__all__ = ["LABEL", "LexicalJudge"]

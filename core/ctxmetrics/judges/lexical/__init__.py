"""The embedded judge: no key, no download, no model.

It counts: a unit is supported when a few sentences of the contexts hold enough of its words, less a penalty for numbers and
names that stand nowhere; a context is useful when it holds enough of the answer's words. What it counts depends on the
sample alone. It is deterministic, takes about as long as reading the text once, and understands nothing.

``index`` holds the contexts, ``phrase`` reads a unit, ``attribution`` counts, ``usefulness`` judges contexts, ``judge`` makes
verdicts of it.
"""

from ctxmetrics.judges.lexical.judge import LABEL, LexicalJudge

__all__ = ["LABEL", "LexicalJudge"]

"""Ragas' own instances: judged by the LLM of ``evaluate(llm=..)``."""

from __future__ import annotations

from ctxmetrics_ragas import ContextPrecision, ContextRecall

context_recall: ContextRecall = ContextRecall(judge="framework")
context_precision: ContextPrecision = ContextPrecision(judge="framework")

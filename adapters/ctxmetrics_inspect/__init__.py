"""Context recall and context precision as scorers of Inspect: the numbers of `ctxmetrics`, at home in Inspect.

    from ctxmetrics_inspect import context_recall

    Task(dataset, solver=.., scorer=context_recall())

``inspect score LOG --scorer ctxmetrics_inspect/context_recall`` scores a log that was made before. Contexts come from the
store, else from the sample's metadata; no model and no key are needed.
"""

from ctxmetrics.errors import missing_extra

try:
    from ctxmetrics_inspect.scorers import (
        context_precision,
        context_recall,
        context_utilization,
        id_based_average_precision,
        id_based_context_precision,
        id_based_context_recall,
        id_based_hit_rate,
        id_based_ndcg,
        id_based_precision_at_k,
        id_based_recall_at_k,
        id_based_reciprocal_rank,
        metric_scorer,
        non_llm_context_precision,
        non_llm_context_recall,
        span_based_context_precision,
        span_based_context_recall,
    )
except ImportError as _error:
    if (_error.name or "").partition(".")[0] != "inspect_ai":
        raise
    raise missing_extra("inspect-ai", "0.3.150 or newer") from _error

__all__ = [
    "context_precision", "context_recall", "context_utilization", "id_based_average_precision",
    "id_based_context_precision", "id_based_context_recall", "id_based_hit_rate", "id_based_ndcg",
    "id_based_precision_at_k", "id_based_recall_at_k", "id_based_reciprocal_rank", "metric_scorer",
    "non_llm_context_precision", "non_llm_context_recall", "span_based_context_precision",
    "span_based_context_recall",
]  # fmt: skip

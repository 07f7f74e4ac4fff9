"""All that an adapter needs: the wrapper, the run of a framework, its models, the schemas, and the runners.

An adapter imports `ctxmetrics`, this package, `ctxmetrics.errors` and `ctxmetrics.testing`. ``docs/own-adapter.md`` explains each
name. A name is loaded on first use, so that a metric loads only the modules that it needs.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmetrics._internal.public_names import load_on_first_use

# Each name with the module that defines it. Type checkers read the same names in `__init__.pyi`; a test compares both.
_MODULES: Mapping[str, str] = {
    "ALL_METRICS": "ctxmetrics.metrics.catalog",
    "any_reply": "ctxmetrics.models.frameworks",
    "append_score": "ctxmetrics.adapting.kept_scores",
    "as_judge": "ctxmetrics.adapting.judge_argument",
    "isolated_process": "ctxmetrics.adapting.runners",
    "build_metric": "ctxmetrics.adapting.parameters",
    "build_results": "ctxmetrics.evaluation.frameworks.framework_results",
    "check_finished": "ctxmetrics.models.base",
    "check_parameters": "ctxmetrics.metrics.base",
    "check_texts": "ctxmetrics.adapting.picture_texts",
    "check_switch": "ctxmetrics.formulas.checks",
    "check_unused": "ctxmetrics.adapting.parameters",
    "checked_usage": "ctxmetrics.models.base",
    "classify": "ctxmetrics.models.runtime.failures",
    "to_json_details": "ctxmetrics.adapting.kept_scores",
    "completion_reply": "ctxmetrics.models.frameworks",
    "content_of": "ctxmetrics.models.frameworks",
    "CoreParams": "ctxmetrics.adapting.parameters",
    "current_run": "ctxmetrics.models.runtime.run",
    "describe": "ctxmetrics.models.frameworks",
    "explain_verdict": "ctxmetrics.scores.wording",
    "find_score": "ctxmetrics.adapting.kept_scores",
    "ForeignModel": "ctxmetrics.models.frameworks",
    "FrozenDict": "ctxmetrics._internal.frozen",
    "has_class": "ctxmetrics.models.frameworks",
    "hide_keys": "ctxmetrics._internal.secrets",
    "in_loop_or_thread": "ctxmetrics.models.runtime.background",
    "in_thread": "ctxmetrics.models.runtime.background",
    "judge_by_llm": "ctxmetrics.adapting.judge_argument",
    "judging_llm": "ctxmetrics.adapting.judge_argument",
    "KeyParams": "ctxmetrics.samples.field_keys",
    "label_judge": "ctxmetrics.adapting.judge_argument",
    "langchain_reply": "ctxmetrics.models.frameworks",
    "load_params": "ctxmetrics.adapting.saved_metrics",
    "mark_unused": "ctxmetrics.adapting.parameters",
    "mask_logs_of": "ctxmetrics._internal.secrets",
    "message_reply": "ctxmetrics.models.frameworks",
    "MetricClass": "ctxmetrics.adapting.parameters",
    "MetricClasses": "ctxmetrics.adapting.parameters",
    "MetricParams": "ctxmetrics.adapting.parameters",
    "name_class": "ctxmetrics.adapting.parameters",
    "on_background": "ctxmetrics.models.runtime.background",
    "only_choice": "ctxmetrics.models.frameworks",
    "OPTIONS": "ctxmetrics.samples.field_keys",
    "breaker_scope": "ctxmetrics.models.runtime.run",
    "Place": "ctxmetrics.samples.schema",
    "PROMPT_ADVICE": "ctxmetrics.adapting.parameters",
    "reads_failures": "ctxmetrics.models.frameworks",
    "rename": "ctxmetrics.adapting.parameters",
    "response_format": "ctxmetrics.models.openai.capabilities",
    "Retrieval": "ctxmetrics.samples.retrievals",
    "retrieval_of": "ctxmetrics.samples.retrievals",
    "retrieval_of_tool": "ctxmetrics.samples.retrievals",
    "Run": "ctxmetrics.models.runtime.run",
    "run_sync": "ctxmetrics.models.runtime.background",
    "Runner": "ctxmetrics.adapting.runners",
    "RunOptions": "ctxmetrics.evaluation.runs.options",
    "safe_text": "ctxmetrics._internal.secrets",
    "SampleWrapper": "ctxmetrics.adapting.wrapper",
    "save_metric": "ctxmetrics.adapting.saved_metrics",
    "Schema": "ctxmetrics.samples.schema",
    "SCHEMAS": "ctxmetrics.samples.systems",
    "score_all": "ctxmetrics.evaluation.frameworks.framework_batches",
    "summarize": "ctxmetrics.evaluation.frameworks.framework_batches",
    "sync_form": "ctxmetrics.models.runtime.background",
    "text_of": "ctxmetrics.samples.documents",
    "token_usage": "ctxmetrics.models.frameworks",
    "unique_name": "ctxmetrics.models.frameworks",
    "UnusedError": "ctxmetrics.adapting.parameters",
    "using": "ctxmetrics.models.runtime.run",
    "validated_texts": "ctxmetrics.models.frameworks",
    "Wrapper": "ctxmetrics.adapting.wrapper",
    "WrapperParams": "ctxmetrics.adapting.parameters",
}

# The checkers read the names from the stub. A test shows that stub and table have the same names.
__all__ = [*_MODULES]  # noqa: PLE0604 # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = load_on_first_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return list(__all__)

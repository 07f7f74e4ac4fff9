"""All that an adapter needs: the wrapper, the run of a framework, its models, the schemas, and the runners.

An adapter imports `ctxmetrics`, this package, `ctxmetrics.errors` and `ctxmetrics.testing`; ``docs/own-adapter.md`` says
what each name here is for.
"""

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.secrets import hide_keys, mask_logs_of, safe_text
from ctxmetrics.adapting.framework_rows import append_score, build_results, find_score
from ctxmetrics.adapting.runners import Runner, aside
from ctxmetrics.adapting.saved import load_params, save_metric
from ctxmetrics.adapting.unused import PROMPT_ADVICE, UnusedError, check_unused, mark_unused
from ctxmetrics.adapting.wrapper import (
    CoreParams,
    MetricClass,
    MetricParams,
    SampleWrapper,
    Wrapper,
    WrapperParams,
    as_judge,
    build_metric,
    check_texts,
    compact,
    judge_by_llm,
    judging_llm,
    label_judge,
    name_class,
    rename,
)
from ctxmetrics.metrics.base import check_parameters
from ctxmetrics.models.base import check_finished, checked_usage
from ctxmetrics.models.frameworks import (
    ForeignModel,
    any_reply,
    completion_reply,
    content_of,
    describe,
    has_class,
    langchain_reply,
    message_reply,
    only_choice,
    reads_failures,
    token_usage,
    unique_name,
    validated_texts,
)
from ctxmetrics.models.openai.capabilities import response_format
from ctxmetrics.models.runtime.background import (
    in_loop_or_thread,
    in_thread,
    on_background,
    run_sync,
    sync_form,
)
from ctxmetrics.models.runtime.failures import classify
from ctxmetrics.models.runtime.run import Run, current_run, part_of, using
from ctxmetrics.presentation.wording import explain_verdict
from ctxmetrics.reading import (
    OPTIONS,
    SCHEMAS,
    KeyParams,
    Place,
    Retrieval,
    Schema,
    retrieval_of,
    retrieval_of_tool,
    text_of,
)
from ctxmetrics.running.options import RunOptions

__all__ = [
    "OPTIONS", "PROMPT_ADVICE", "SCHEMAS", "CoreParams", "ForeignModel", "FrozenDict", "KeyParams", "MetricClass", "MetricParams", "Place",
    "Retrieval", "Run", "RunOptions", "Runner", "SampleWrapper", "Schema", "UnusedError", "Wrapper", "WrapperParams", "any_reply", "append_score", "as_judge", "aside",
    "build_metric", "build_results", "check_finished", "check_parameters", "check_texts", "check_unused", "checked_usage", "classify", "compact",
    "completion_reply", "content_of", "current_run", "describe", "explain_verdict", "find_score", "has_class", "hide_keys", "in_loop_or_thread", "in_thread", "judge_by_llm", "judging_llm", "label_judge", "langchain_reply", "load_params",
    "mark_unused", "mask_logs_of", "message_reply", "name_class", "on_background", "only_choice", "part_of", "reads_failures", "rename", "response_format", "retrieval_of", "retrieval_of_tool", "run_sync",
    "safe_text", "save_metric", "sync_form", "text_of", "token_usage", "unique_name", "using", "validated_texts",
]  # fmt: skip

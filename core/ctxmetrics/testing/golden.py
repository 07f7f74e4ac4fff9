"""Run the golden cases: JSON data with the expected result of a metric for a sample and a judge's replies.

The data and their rules are described in ``tests/golden/README.md``. `differences` runs all cases with a framework's runner, many
at once: so it proves that an adapter is right. To run one case after the other::

    from ctxmetrics.testing.golden import check_value, load_cases, make_metric, make_sample

    for case in load_cases():
        if not case.is_refused_by("my_framework") and case.error is None:
            value = my_framework_score(make_metric(case), make_sample(case))  # None if it is undefined
            assert not check_value(case, value)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, fields_to_json_data, to_json_data
from ctxmetrics.adapting.runners import Runner
from ctxmetrics.errors import CtxMetricsError, InputFileError, JudgeError
from ctxmetrics.evaluation.files.json_rows import read_json
from ctxmetrics.judges.base import Claims, DecomposingJudge, Judgement, JudgeRequest
from ctxmetrics.judges.decision import DecisionJudge
from ctxmetrics.judges.decision_exchange import CONTROL_QUESTION
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.scripted import ScriptedJudge
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.base import Decisions
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.stages import pool_contexts
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Verdict

TOLERANCE = 1e-12
"""The maximum difference of a value from the decimal in a case. Values of two runners are compared by ``==``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One golden case, with the fields of its file.

    Attributes:
        metric: The metric's name.
        id: The case's name, unique over all files and never used again for another case.
        description: What the case shows.
        sample: The fields of the sample. If the case expects an error, they may have any form.
        expected: The expected result: see the README.
        source: The source of the expected values.
        params: The metric's parameters that differ from the defaults.
        judge: Recorded replies by step. Empty if the judge must not be asked. None if the metric has no judge, or the embedded
            judge.
        refused_by: Runners or frameworks whose own types do not accept the sample.
        comment: A further note for readers.
        tags: The groups of the case.
    """

    metric: str
    id: str
    description: str
    sample: Mapping[str, Any]
    expected: Mapping[str, Any]
    source: str
    params: Mapping[str, Any] = EMPTY
    judge: Mapping[str, Sequence[str | dict[str, Any]]] | None = None
    refused_by: tuple[str, ...] = ()
    comment: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def error(self) -> str | None:
        """The code of the expected error; None if a score is expected."""
        return self.expected.get("error")

    @property
    def score(self) -> float | None:
        """The expected value; None if it is undefined, or if an error is expected."""
        return self.expected.get("score")

    def is_refused_by(self, runner: str) -> bool:
        """Tell whether a runner (``"ragas.evaluate"``) or its framework (``"ragas"``) does not accept the sample."""
        return runner in self.refused_by or runner.partition(".")[0] in self.refused_by

    def __str__(self) -> str:
        return self.id


# The directory of the library's own cases: in an installed wheel, and in a checkout.
_SHIPPED = (
    Path(__file__).parent / "cases" / "v1",
    Path(__file__).parents[3] / "tests" / "golden" / "v1",
)


def load_cases(directory: str | Path | None = None) -> tuple[Case, ...]:
    """Read all cases of every ``.json`` file in a directory, in the order of the file names.

    Args:
        directory: The directory; None: the directory of the cases that come with the library.

    Raises:
        InputFileError: The directory holds no such file, or a file does not have the form in the README. The schema
            beside the data says more.
    """
    if directory is None:
        directory = next((path for path in _SHIPPED if path.is_dir()), _SHIPPED[0])
    paths = sorted(Path(directory).glob("*.json"))
    if not paths:
        raise InputFileError(
            f"{directory} holds no .json file. Give the directory of a version, such as golden/v1."
        )
    return tuple(case for path in paths for case in _read_cases(path))


def make_metric(case: Case) -> Metric:
    """Build the case's metric. If the case has recorded replies or probabilities, its judge repeats them.

    Raises:
        ParameterError: A parameter is refused, which may be what the case expects.
    """
    judging: dict[str, Any] = {} if case.judge is None else {"judge": _make_judge(case)}
    return ALL_METRICS[case.metric](**case.params, **judging)


def _make_judge(case: Case) -> DecisionJudge | ScriptedJudge:
    """Build the judge of a case's recorded probabilities, or replies."""
    replies: Mapping[str, Any] = case.judge or {}
    if "decisions" not in replies:
        return ScriptedJudge(replies)
    rules = dict(replies["decisions"][0])
    model = _RecordedDecisions(rules.pop("probabilities"), f"recorded:{case.id}")
    return DecisionJudge(model, layout="sample", **rules)


@dataclass(frozen=True, slots=True)
class _RecordedDecisions:
    """A decision model that gives recorded probabilities. The control question repeats the first question and has its answer."""

    probabilities: Mapping[str, object]
    identity: str

    async def decide(self, state: str, questions: Mapping[str, str]) -> Decisions:  # noqa: ARG002 - a model has it
        """Return the recorded probabilities."""
        first_question = next(iter(questions))
        recorded_probabilities = {
            **self.probabilities,
            CONTROL_QUESTION: self.probabilities.get(first_question),
        }
        refused_ids = frozenset(
            id_ for id_, answer in recorded_probabilities.items() if answer == "refused"
        )
        return Decisions(probabilities=recorded_probabilities, refused=refused_ids)


def make_sample(case: Case) -> Sample:
    """Build the case's sample.

    Raises:
        SampleError: The sample is refused, which may be what the case expects.
    """
    return Sample.from_dict(case.sample)


def run(case: Case) -> Score | CtxMetricsError:
    """Score the case with the core. An error of this library is returned, not raised."""
    try:
        return make_metric(case).score(make_sample(case))
    except CtxMetricsError as error:
        return error


def check(case: Case, outcome: Score | CtxMetricsError) -> list[str]:
    """Compare the outcome of a case with the outcome that the case expects.

    Args:
        case: The case.
        outcome: The score, or the error that was raised instead.

    Returns:
        One line for each difference. Fields that the case does not mention are not compared, with one exception: a value that
        is missing or that is not expected is always a difference.
    """
    if isinstance(outcome, CtxMetricsError):
        if case.error == outcome.code:
            return []
        return [f"{case.id}: {_describe(case)} expected, but {outcome.code} was raised: {outcome}"]
    actual = {
        **fields_to_json_data(outcome, ("reason_code", "passed", "band", "signals")),
        "verdicts": [verdict.value for verdict in outcome.verdicts],
        "codes": [verdict.code for verdict in outcome.verdicts],
        "units": [verdict.text for verdict in outcome.verdicts],
        "evidence": [_list_spans(verdict) for verdict in outcome.verdicts],
    }
    lines = check_value(case, outcome.value)
    for key in case.expected.keys() & actual.keys():
        lines += _compare_values(f"{case.id}: {key}", case.expected[key], actual[key])
    metadata = to_json_data(outcome.metadata)
    for key, expected in case.expected.get("metadata", {}).items():
        lines += _compare_values(
            f"{case.id}: metadata {key}", expected, metadata.get(key), contained=True
        )
    return sorted(lines)


def _list_spans(verdict: Verdict) -> list[list[int]]:
    """List the evidence of a verdict: for each span, the index of the context, the start and the end."""
    return [[span.context, span.start, span.end] for span in verdict.evidence]


def check_value(case: Case, value: float | None) -> list[str]:
    """Compare a value with the expected value, for runners that return only the value. Return lines as `check` does."""
    if case.error is not None:
        return [f"{case.id}: {_describe(case)} expected, but the score is {value!r}"]
    return _compare_values(f"{case.id}: score", case.score, value)


def _describe(case: Case) -> str:
    """Describe the expected result of a case."""
    return f"the error {case.error}" if case.error is not None else f"a score of {case.score!r}"


def _compare_values(path: str, expected: Any, actual: Any, *, contained: bool = False) -> list[str]:
    """Compare JSON values.

    Numbers may differ by the tolerance. Texts must be equal or, with ``contained``, contain the expected text. All other values
    must be equal and of one type.
    """
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        parts = [(f"{path}.{key}", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        parts = [(f"{path}[{index}]", *pair) for index, pair in pairs]
    elif _is_expected(expected, actual, contained=contained):
        return []
    else:
        return [f"{path} is {actual!r}, expected {expected!r}"]
    lines = []
    for part in parts:
        lines += _compare_values(*part, contained=contained)
    return lines


def _is_expected(expected: Any, actual: Any, *, contained: bool) -> bool:
    """Tell whether a value is the expected one, within the tolerance."""
    if isinstance(expected, str) and isinstance(actual, str):
        return expected in actual if contained else expected == actual
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return abs(expected - actual) <= TOLERANCE
    return bool(expected == actual) and type(expected) is type(actual)


def _read_cases(path: Path) -> list[Case]:
    """Read the cases of a file."""
    data = read_json(path)
    try:
        return [_build_case(data["metric"], entry) for entry in data["cases"]]
    except (TypeError, KeyError) as error:
        raise InputFileError(
            f"{path} is no file of golden cases: {type(error).__name__}: {error}"
        ) from None


def _build_case(metric: str, entry: dict[str, Any]) -> Case:
    """Build a case from its entry in a file."""
    fields = {**entry, "metric": metric}
    for name in ("refused_by", "tags"):
        if name in entry:
            fields[name] = tuple(entry[name])
    return Case(**fields)


# --- many cases at once, with a framework's runner ---


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that one metric object can score in one call.

    Attributes:
        metric: The metric. Its judge, if it has one, gives each sample the replies of its own case.
        cases: The cases.
        samples: The samples of the cases, in the same order. If two cases differ only in their replies, one gets another question.
    """

    metric: Metric
    cases: tuple[Case, ...]
    samples: tuple[Sample, ...]


def differences(runner: Runner, cases: Sequence[Case] | None = None) -> list[str]:
    """Run every case that a runner accepts. Compare the results with the expected values and, by ``==``, with the core.

    Args:
        runner: The runner.
        cases: The cases; None: the cases that come with the library.

    Returns:
        One line for each difference.
    """
    lines: list[str] = []
    for batch in batches(select_cases(runner, load_cases() if cases is None else cases)):
        forget()  # the cached replies of the core's runs must not be used again
        try:
            values = list(runner.score(batch.metric, batch.samples))
        except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
            lines.append(f"{batch.cases[0].id} ..: {type(error).__name__}: {error}")
            continue
        if len(values) != len(batch.cases):
            lines.append(f"{batch.cases[0].id} ..: {len(values)} values for {len(batch.cases)} samples")
        for case, value in zip(batch.cases, values, strict=False):
            outcome = run(case)
            core_result = outcome.value if isinstance(outcome, Score) else outcome
            difference_to_core = (
                []
                if value == core_result
                else [f"{case.id}: score is {value!r}, the core's is {core_result!r}"]
            )
            lines += check_value(case, value) or difference_to_core
    return lines


def select_cases(runner: Runner, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that a runner accepts. Cases that expect an error are only for the core."""
    return [case for case in cases if case.error is None and not case.is_refused_by(runner.name)]


def batches(cases: Sequence[Case]) -> list[Batch]:
    """Group cases that differ in their samples and replies only, so that a runner needs few calls."""
    groups: dict[Metric, list[Case]] = defaultdict(list)
    for case in cases:
        groups[make_metric(replace(case, judge=None))].append(case)
    result = []
    for metric, group in groups.items():
        parts = _separate(metric, group) if isinstance(metric, JudgedMetric) else [group]
        result += [_build_batch(metric, part) for part in parts]
    return result


def _separate(metric: JudgedMetric, cases: list[Case]) -> list[list[Case]]:
    """Separate the cases with equal requests: a request for claims holds only a text, and two cases may have the same text."""
    if metric.counted_unit != "claim":
        return [cases]
    cases_by_text: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        cases_by_text[case.sample[metric.answer_field]].append(case)
    # The first part has the first case of each text, the second part the second case of each, and so on.
    return [[case for case in part if case] for part in zip_longest(*cases_by_text.values())]


def _build_batch(metric: Metric, cases: list[Case]) -> Batch:
    """Gather the cases of one metric, with a judge that answers all of them."""
    samples = tuple(make_sample(case) for case in cases)
    if not isinstance(metric, JudgedMetric):
        return Batch(metric, tuple(cases), samples)
    # The judge of each question. The keys are those of `CaseJudge`.
    judges: dict[Any, DecisionJudge | ScriptedJudge] = {}
    distinct_samples: list[Sample] = []
    for case, sample in zip(cases, samples, strict=True):
        judge = _make_judge(case)
        for key in _list_keys(metric, sample):
            if key in judges and judges[key] != judge:
                # Another case asks the same question and has other replies. The id of this case makes its question different.
                sample = replace(sample, user_input=f"{sample.user_input or ''} ({case.id})")  # noqa: PLW2901 - the judge gets the changed sample
                break
        for key in _list_keys(metric, sample):
            judges[key] = judge
        # A request for claims has no contexts and no question. So its key is the answer alone.
        answer = getattr(sample, metric.answer_field)
        judges[answer] = judge
        distinct_samples.append(sample)
    return Batch(metric.with_judge(CaseJudge(judges)), tuple(cases), tuple(distinct_samples))


def _list_keys(metric: JudgedMetric, sample: Sample) -> list[Any]:
    """Return the key of each question about a sample: one for each of several references."""
    answer = getattr(sample, metric.answer_field)
    answers = sample.references if answer is None and sample.references is not None else (answer,)
    contexts = (sample.retrieved_contexts or ())[: metric.top_k]
    if sample.stages:
        contexts, _ = pool_contexts(metric.select_stages(sample, contexts).values())
    return [(text, contexts, sample.user_input or None) for text in answers]


class CaseJudge:
    """Answers each question with the recorded replies of the case that the question belongs to.

    Args:
        judges: The judge of each question, by answer, contexts and question. A request for claims has an answer only:
            the answer alone is its key.
    """

    name = "golden"
    warnings: tuple[str, ...] = ()

    def __init__(self, judges: Mapping[Any, Any]) -> None:
        self._judges = judges

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        return await self._find_judge(request).attribute(request)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        return await self._find_judge(request).rate(request)

    async def decompose(self, text: str, *, language: str) -> Claims:
        """Break a text into claims."""
        return await self._find_judge(text).decompose(text, language=language)

    def _find_judge(self, question: JudgeRequest | str) -> DecomposingJudge:
        """Find the judge of the case that asks this question."""
        key: Any = question
        if not isinstance(question, str):
            key = (question.answer, question.contexts, question.user_input or None)
        if key not in self._judges:
            raise JudgeError("no case asks this: the sample that arrived is not the one that was given")
        judge: DecomposingJudge = self._judges[key]
        return judge

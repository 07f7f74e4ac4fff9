"""The judge that asks a cross-encoder: a function that returns the probability that one text entails another.

The judge asks about windows of neighbouring sentences (`choose_windows`). `pair_queue` gathers the pairs of many samples and calls
the function. `probabilities` converts its answers to verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

from ctxmetrics._internal.secrets import hide_keys
from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges import probabilities
from ctxmetrics.judges.base import Judgement, JudgeRequest, describe_rules
from ctxmetrics.judges.context_windows import (
    Window,
    choose_complementary,
    choose_windows,
    cut_pieces,
)
from ctxmetrics.judges.nli_presets import (
    PRESETS,
    NLIPreset,
    PresetPredictor,
    get_predictor,
    read_preset_name,
)
from ctxmetrics.judges.pair_queue import Queue, TextPair, score_pairs
from ctxmetrics.judges.probabilities import Bar, UnitProbabilities
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence, Usage

_PARAMETERS_AT_LEAST_ONE = ("batch_size", "window", "max_windows", "workers")
# The highest value of `NLIJudge.wait_seconds`. No thread can wait for infinity.
_MAX_WAIT_SECONDS = 3_600
# Parameters that change verdicts.
_PARAMETERS_THAT_CHANGE_VERDICTS = ("bar", "doubt", "window", "max_windows")


class _PresetText(str):
    """The identity or the label of a judge's preset. A copy of the judge with another ``predict`` must not keep it."""

    __slots__ = ()


@dataclass(frozen=True)
class NLIJudge:
    """Judges with a cross-encoder: a model that returns the probability that one text entails another.

    **Support** of a unit by a context: the highest probability that a window of the context entails the unit is at least
    ``bar``. A window is some neighbouring sentences. Of each context, the ``max_windows`` windows with most of the unit's words are
    compared. If no context supports a unit alone, windows of up to three contexts that together hold its words are joined to one
    text and compared; then the evidence is not ``whole``.

    **Usefulness** of a context: it supports a unit of the answer, alone or as a part, or it entails the question
    followed by the whole answer.

    Pairs of all samples that are judged at the same time are gathered into batches of ``batch_size``.
    The scores of pairs are remembered for the rest of the process and in the run's cache, under
    ``identity``. So a second run, also with another ``bar``, does not call the model for the same pairs again.

    **A preset** is given by its name: ``NLIJudge("minicheck")``, ``"factcg"`` or ``"hhem"``. ``@REVISION`` behind the name chooses a
    revision of its model on the hub. `ctxmetrics.judges.nli_presets` has the prompt and the published figure of each preset. Its
    model reads a context in pieces of about 500 tokens, and is asked only about units, not about the question with the answer.

    ``predict`` returns a list, a NumPy array or a tensor with a number from 0 to 1 for each pair, in order, as
    ``CrossEncoder.predict`` does for a model with one output. For a model with several outputs, return the output of entailment.

    If ``predict`` raises, or returns something else, a batch of several samples is asked again sample by sample. A sample that
    fails again is not judged (``judge_error``), and the reason says what was returned.

    The verdicts' ``details``: ``probability`` (compared with the bar) and, for a unit, ``probabilities`` (one for each
    context).

    Attributes:
        predict: A function of a list of (premise, hypothesis), or the name of a preset. The premise is the retrieved text. A
            sync function is called in a thread, an async one in the library's own event loop.
        identity: The name and the version of the model, and everything else that changes its scores. Scores are kept under it. A
            preset has its own identity.
        bar: The threshold: a unit is supported if its probability is at least this. Choose it by `ctxmetrics.agree`.
        doubt: A verdict is flagged ``near_bar`` if its probability is less than this far from ``bar``. 0 flags no verdict.
        batch_size: The maximum number of pairs in one call.
        window: The number of sentences in a window.
        max_windows: The maximum number of windows of one context that are compared with one unit.
        workers: The maximum number of calls at the same time.
        wait_seconds: Seconds that a batch that is not full waits for the pairs of other samples, at most an hour.
        trust_remote_code: Whether a preset's model may run code from the hub. ``"hhem"`` needs this.
        warnings: Labels that every score carries. A preset adds its own.

    Raises:
        ParameterError: A parameter is out of range, there is no such preset, or a package that it needs is not installed.
    """

    predict: Callable[[list[TextPair]], Any] | str = field(compare=False)
    _: KW_ONLY
    identity: str = ""
    bar: float = 0.5
    doubt: float = 0.0
    batch_size: int = 64
    window: int = 3
    max_windows: int = 3
    workers: int = 1
    wait_seconds: float = 0.01
    trust_remote_code: bool = False
    warnings: tuple[str, ...] = field(default=(), repr=False)
    preset: NLIPreset | None = field(init=False, repr=False, compare=False, default=None)
    _queue: Queue = field(init=False, repr=False, compare=False)
    judges_contexts_apart: ClassVar[bool] = True
    """The judge asks about each context by itself and remembers the answers: the same context again costs nothing."""

    def __post_init__(self) -> None:
        # `dataclasses.replace` copies the identity and the warnings, which may come from the preset of the copied judge.
        if isinstance(self.identity, _PresetText):
            object.__setattr__(self, "identity", "")
        own_warnings = tuple(label for label in self.warnings if not isinstance(label, _PresetText))
        object.__setattr__(self, "warnings", own_warnings)
        predict = self._use_preset(self.predict) if isinstance(self.predict, str) else self.predict
        if not callable(predict):
            raise ParameterError(
                f"NLIJudge: predict={type(self.predict).__name__} cannot be called. Give a function from a list of "
                "(premise, hypothesis) to scores, such as CrossEncoder(..).predict, or the name of a preset: "
                f"{', '.join(PRESETS)}."
            )
        if not isinstance(self.identity, str) or not self.identity.strip():
            raise ParameterError(
                f"NLIJudge: identity={self.identity!r} must name the model and its version: scores are kept under it."
            )
        for name in _PARAMETERS_AT_LEAST_ONE:
            check_number(f"NLIJudge: {name}", getattr(self, name), 1, whole=True)
        check_number("NLIJudge: bar", self.bar, 0, 1)
        check_number("NLIJudge: doubt", self.doubt, 0, 1)
        check_number("NLIJudge: wait_seconds", self.wait_seconds, 0, _MAX_WAIT_SECONDS)
        queue = Queue(predict, self.batch_size, self.workers, self.wait_seconds)
        object.__setattr__(self, "_queue", queue)

    def _use_preset(self, name: str) -> PresetPredictor:
        """Take the model, the identity and the label of a preset."""
        preset, revision = read_preset_name(name)
        predictor = get_predictor(preset, revision, trust_remote_code=self.trust_remote_code)
        label = _PresetText(
            f"{preset.model}: the library's authors did not run this model; published: {preset.published}"
        )
        object.__setattr__(self, "preset", preset)
        object.__setattr__(self, "identity", self.identity or _PresetText(f"{preset.model}@{revision}"))
        if label not in self.warnings:
            object.__setattr__(self, "warnings", (*self.warnings, label))
        return predictor

    @property
    def name(self) -> str:
        """``nli:``, the identity, and the parameters of the verdicts that are not the default."""
        return f"nli:{hide_keys(self.identity)}{describe_rules(self, _PARAMETERS_THAT_CHANGE_VERDICTS)}"

    def __deepcopy__(self, _memo: dict[int, Any]) -> NLIJudge:
        return self  # frameworks copy metrics; the model is not copied

    async def attribute(self, request: JudgeRequest) -> Judgement:
        """Say for each unit whether the contexts support it."""
        rows, usage = await self._compare(request, request.units)
        verdicts = probabilities.judge_units(request.unit_ids, rows, Bar(self.bar, self.doubt))
        return Judgement(verdicts=verdicts, usage=usage)

    async def rate(self, request: JudgeRequest) -> Judgement:
        """Say for each context whether it is useful for giving the answer."""
        units: Sequence[str] = request.units
        if not units:
            units = split_sentences(request.answer, request.language)
        if not units:
            units = (request.answer,)
        more_units = []
        if request.user_input and self.preset is None:  # the presets' models were trained on claims
            more_units.append(f"{request.user_input} {request.answer}")
        rows, usage = await self._compare(request, units, more_units)
        verdicts = probabilities.judge_contexts(request.context_ids, rows, Bar(self.bar, self.doubt))
        return Judgement(verdicts=verdicts, usage=usage)

    async def _compare(
        self, request: JudgeRequest, units: Sequence[str], more_units: Sequence[str] = ()
    ) -> tuple[list[UnitProbabilities], Usage]:
        """Compare units with each context; a unit that no context supports also with windows of several contexts together.

        Args:
            request: The request.
            units: The units.
            more_units: Further units, which are compared with each context only.
        """
        units_with_windows = self._cut(request, (*units, *more_units))
        pairs = _list_pairs(units_with_windows)
        scores, asked_alone = await score_pairs(self._queue, self.identity, pairs)
        rows = []
        for unit, windows_by_context in units_with_windows:
            cells = []
            for windows in windows_by_context:
                window_cells = [
                    probabilities.to_cell(scores[window.text, unit], window.span) for window in windows
                ]
                cells.append(probabilities.find_failure_or_likeliest(window_cells))
            rows.append(UnitProbabilities(tuple(cells)))
        # By the index of the unit: the pair of the joined windows and the unit, and the windows as evidence.
        together: dict[int, tuple[TextPair, tuple[Evidence, ...]]] = {}
        for index, (unit, windows_by_context) in enumerate(units_with_windows[: len(units)]):
            if not rows[index].is_unsupported_alone(Bar(self.bar)):
                continue
            spans = self._choose_spans_together(request, unit, windows_by_context)
            if spans:
                texts = [
                    see(request.contexts[span.context]).cut(Span(span.start, span.end))
                    for span in spans
                ]
                pair = ("\n".join(texts), unit)
                together[index] = (pair, spans)
        pairs = [pair for pair, _ in together.values()]
        scores, asked_together = await score_pairs(self._queue, self.identity, pairs)
        for index, (pair, spans) in together.items():
            together_cell = probabilities.to_cell(scores[pair])
            rows[index] = UnitProbabilities(rows[index].cells, together_cell, spans)
        is_reused = asked_alone == 0 and asked_together == 0
        return rows, Usage(reused=1 if is_reused else 0)

    def _choose_spans_together(
        self, request: JudgeRequest, unit: str, windows_by_context: Sequence[Sequence[Window]]
    ) -> tuple[Evidence, ...]:
        """Choose sentences of several contexts that together hold most words of a unit; see `choose_complementary`."""
        if self.preset is None:
            return choose_complementary(windows_by_context)
        # The pieces of a preset are longer than windows: several of them together would be too long for its model.
        ((_, shorter_windows),) = choose_windows(request, [unit], self.window, self.max_windows)
        return choose_complementary(shorter_windows)

    def _cut(self, request: JudgeRequest, units: Sequence[str]) -> list[tuple[str, list[list[Window]]]]:
        """Cut the contexts into the windows of each unit. For a preset, all units have the same pieces."""
        if self.preset is None:
            return choose_windows(request, units, self.window, self.max_windows)
        size = self.preset.piece_tokens
        pieces = [cut_pieces(index, text, size) for index, text in enumerate(request.contexts)]
        return [(unit, pieces) for unit in units]


def _list_pairs(units_with_windows: Iterable[tuple[str, list[list[Window]]]]) -> list[TextPair]:
    """List every window with its unit."""
    pairs: list[TextPair] = []
    for unit, windows_by_context in units_with_windows:
        for windows in windows_by_context:
            pairs += [(window.text, unit) for window in windows]
    return pairs

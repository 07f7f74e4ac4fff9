"""One run as it is shown, as plain data: what the terminal, the page and the notebook print. Worst samples first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ctxmetrics._frozen import EMPTY
from ctxmetrics._wording import is_expected, say, why_missed
from ctxmetrics.conventions import get_convention
from ctxmetrics.report.view import Origin, Row, Summary, spent
from ctxmetrics.scores import NOT_FINAL, Score
from ctxmetrics.verdicts import DOUBTFUL, Verdict


@dataclass(frozen=True, slots=True)
class Missed:
    """A verdict to look at: what was missed, what is not judged, and a yes that is doubtful.

    Attributes:
        verdict: The verdict.
        why: Why, in two or three words; empty for a doubtful yes, whose evidence says why.
    """

    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True)
class ShownScore:
    """One metric of one sample.

    Attributes:
        score: The score.
        share: Its value as a share of the scale, from 0 to 1; None without a value.
        missed: The verdicts to look at, in order.
    """

    score: Score
    share: float | None
    missed: tuple[Missed, ...]

    @property
    def failed(self) -> bool:
        """Whether there is no value although another run may give one."""
        return self.score.reason_code in NOT_FINAL

    @property
    def why(self) -> str:
        """Why the score is what it is, in one line: k of n, what stands too low, or why there is no value."""
        return "; ".join(filter(None, (self.score.count, self.score.explanation)))


@dataclass(frozen=True, slots=True)
class ShownSample:
    """One sample of a run.

    Attributes:
        row: The row.
        name: The sample's id, else its number.
        question: What was asked, where the row has it.
        scores: One a metric.
    """

    row: Row
    name: str
    question: str | None
    scores: tuple[ShownScore, ...]

    @property
    def share(self) -> float | None:
        """Mean of the scores as shares; None where none has a value."""
        known = [item.share for item in self.scores if item.share is not None]
        return sum(known) / len(known) if known else None

    @property
    def rank(self) -> tuple[bool, bool, float, int]:
        """The key that sorts the worst samples first."""
        return _rank(any(item.failed for item in self.scores), self.share, self.row.index)


@dataclass(frozen=True, slots=True)
class Report:
    """A run as it is shown.

    Attributes:
        summary: The means, and where they come from.
        samples: The samples, worst first; none of a run that kept no rows.
        curves: By the names of metrics that count units: k, mean recall and mean support precision of the first k.
    """

    summary: Summary
    samples: tuple[ShownSample, ...]
    curves: Mapping[str, tuple[tuple[int, float, float], ...]] = EMPTY

    @property
    def language(self) -> str:
        """ISO 639 code of the language of the report."""
        return self.summary.language

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What was scored, when, by whom, and what it cost: pairs of a name and a text."""
        return facts_of(self.summary, self.language)

    def lowest(self, number: int) -> list[tuple[ShownSample, tuple[ShownScore, ...]]]:
        """Return the samples that are among so many of the lowest of a metric, each with the scores that are."""
        chosen: dict[int, list[ShownScore]] = {}
        for place in range(len(self.summary)):
            scores = [sample.scores[place] for sample in self.samples]
            ranks = [
                _rank(score.failed, score.share, sample.row.index)
                for score, sample in zip(scores, self.samples, strict=True)
            ]
            for index in sorted(range(len(ranks)), key=ranks.__getitem__)[:number]:
                chosen.setdefault(index, []).append(scores[index])
        return [(self.samples[index], tuple(chosen[index])) for index in sorted(chosen)]


def _rank(failed: bool, share: float | None, index: int) -> tuple[bool, bool, float, int]:
    """Return the key that sorts the worst first: what failed, then low shares, then what has no value."""
    return not failed, share is None, share or 0.0, index


def report_of(rows: Iterable[Row], summary: Summary) -> Report:
    """Return what is shown of a run."""
    language = summary.language
    samples = sorted((_sample(row, language) for row in rows), key=lambda sample: sample.rank)
    return Report(summary, tuple(samples))


def _sample(row: Row, language: str) -> ShownSample:
    name = f"{say('sample', language)} {row.index + 1}" if row.sample_id is None else row.sample_id
    question = None if row.sample is None else row.sample.user_input
    return ShownSample(row, name, question, tuple(map(shown_score, row.values())))


def shown_score(score: Score) -> ShownScore:
    """Return one score as it is shown."""
    scale, expected = get_convention(score.provenance.convention).scale, is_expected(score.counted)
    missed = tuple(
        Missed(verdict, why_missed(verdict, score.counted, score.language))
        for verdict in score.verdicts
        if verdict.value is None or verdict.code in DOUBTFUL or (expected and not verdict.value)
    )
    return ShownScore(score, None if score.value is None else score.value / scale, missed)


def facts_of(summary: Summary, language: str) -> list[tuple[str, str]]:
    """Return where a run's numbers come from, as pairs of a name and a text."""
    origin, samples = summary.origin, max((item.samples for item in summary.values()), default=0)
    when = "" if origin.started is None else f"{origin.started:%Y-%m-%d %H:%M %Z}"
    counted = f"{samples} {say('samples', language)}"
    used = bool(summary.usage.calls or summary.usage.reused)
    found = [
        ("data", ", ".join(filter(None, (origin.source, counted, when)))),
        ("judge", _judges(origin, language)),
        ("cost", spent(summary.usage, language) if used else ""),
        ("convention", ", ".join(name for name in origin.each("convention") if name != "default")),
        ("library", ", ".join(origin.each("library"))),
    ]
    return [(say(name, language), text) for name, text in found if text]


def _judges(origin: Origin, language: str) -> str:
    served = [f"{say('answered as', language)} {name}" for name in origin.each("served_model")]
    prompts = [f"{say('prompt', language)} {name}" for name in origin.each("prompt")]
    return ", ".join([*origin.each("judge"), *served, *prompts])

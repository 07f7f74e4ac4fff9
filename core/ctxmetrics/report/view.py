"""The plain data of a run's results: a row a sample, a summary a metric, and the table of the means."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zlib import crc32

from ctxmetrics._frozen import Plain
from ctxmetrics._wording import doubts_of, language_of, listed, number, plural, say
from ctxmetrics.conventions import get_convention
from ctxmetrics.pages import render
from ctxmetrics.report.sample import sample_view
from ctxmetrics.samples import Sample
from ctxmetrics.scores import NOT_FINAL, Provenance, Score
from ctxmetrics.verdicts import Usage

# The most characters of a line of a table, and of the name of a metric that stands in its row; a longer
# name has a line of its own.
WIDTH, NAME = 80, 26
# The fewest verdicts for the note that a judge answers alike, and the share of equal verdicts above
# which it is given.
_FEW_VERDICTS, _ALIKE = 60, 0.95
# Characters of a bar.
_BAR = 10


@dataclass(frozen=True, slots=True)
class Row(Mapping[str, Score]):
    """One sample and its scores: ``row.sample``, ``row["context_recall"]``.

    Attributes:
        index: Position of the sample in the input, from 0.
        sample: The sample; None in a run with ``out=``, which keeps values and reason codes only.
        sample_id: The sample's id, where it has one.
        scores: The scores, one a metric.
        record: Of a row that was read from a file: what the file says about the sample, with the hashes of its texts.
    """

    index: int
    sample: Sample | None
    sample_id: str | None
    scores: tuple[Score, ...]
    record: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The sample's id, else its number."""
        return self.sample_id or str(self.index + 1)

    def called(self, language: str = "en") -> str:
        """Return the sample's id, else its number in words."""
        return self.sample_id or f"{say('sample', language)} {self.name}"

    def __getitem__(self, metric: str) -> Score:
        for score in self.scores:
            if score.metric == metric:
                return score
        raise KeyError(f"{metric!r}; this run has: {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (score.metric for score in self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def _repr_html_(self) -> str:
        language = language_of(score.provenance.convention for score in self.values())
        question = None if self.sample is None else self.sample.user_input
        return render(
            "row.html",
            name=self.called(language),
            question=question,
            view=sample_view(self.sample, self),
            prefix=f"r{crc32(repr((self.sample_id, question)).encode()):x}",
            language=language,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over all samples.

    Attributes:
        metric: Its name.
        samples: How many rows the run has.
        scored: How many have a value.
        mean: Mean of the values, or None without one. Rows without a value are not in it: see
            ``missing``.
        interval: 95 % interval of the mean, samples as units, or None below two values.
        missing: Why rows have no value, by reason code.
        causes: Why verdicts are missing, by verdict code.
        verdicts: How many verdicts there are, missing ones included.
        doubtful: How many of them are weak, unverified, contradicted or uncertain, by verdict code.
        passed: How many reach the pass mark, or None without one.
        threshold: The pass mark, or None.
        convention: Name of the convention.
        contradictions: The first ones that the embedded judge found against a yes, in words.
        said: How many verdicts of a judge are a yes, and how many a no; zeros without a judge.
        distinct: How many different samples there are. The interval counts each once.
        judged: Whether a judge gave the verdicts.
    """

    metric: str
    samples: int
    scored: int
    mean: float | None
    interval: tuple[float, float] | None
    missing: Mapping[str, int]
    causes: Mapping[str, int]
    verdicts: int
    doubtful: Mapping[str, int]
    passed: int | None
    threshold: float | None
    convention: str
    contradictions: Sequence[str]
    said: tuple[int, int]
    distinct: int
    judged: bool

    @property
    def scale(self) -> float:
        """The largest value: 1, or 100 under ``aegis``."""
        return get_convention(self.convention).scale

    @property
    def share(self) -> float | None:
        """The mean as a share of the scale, from 0 to 1; None without one."""
        return None if self.mean is None else self.mean / self.scale

    @property
    def partial(self) -> bool:
        """Whether the mean is of a part only: of those samples that were judged, while others could not be."""
        return self.mean is not None and self.not_judged > 0

    @property
    def not_judged(self) -> int:
        """Rows that failed: a verdict is missing, the metric failed, or the run was stopped."""
        return sum(number for code, number in self.missing.items() if code in NOT_FINAL)

    @property
    def undefined(self) -> int:
        """Rows without a value for a reason in the sample itself."""
        return sum(self.missing.values()) - self.not_judged

    @property
    def doubtful_share(self) -> float | None:
        """Doubtful verdicts / verdicts, or None without a verdict."""
        return sum(self.doubtful.values()) / self.verdicts if self.verdicts else None

    @property
    def alike(self) -> str | None:
        """``yes`` or ``no``, where the judge says that to more than 95 % of at least 60 verdicts; else None."""
        most, judged = max(self.said), sum(self.said)
        if judged < _FEW_VERDICTS or most <= _ALIKE * judged:
            return None
        return "yes" if most == self.said[0] else "no"

    @property
    def pass_rate(self) -> float | None:
        """Passed / scored, or None without a pass mark or a value."""
        return self.passed / self.scored if self.passed is not None and self.scored else None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return {
            "metric": self.metric,
            "samples": self.samples,
            "distinct": self.distinct,
            "scored": self.scored,
            "mean": self.mean,
            "partial": self.partial,
            "interval": None if self.interval is None else list(self.interval),
            "not_judged": self.not_judged,
            "undefined": self.undefined,
            "missing": dict(self.missing),
            "causes": dict(self.causes),
            "verdicts": self.verdicts,
            "doubtful": dict(self.doubtful),
            "doubtful_share": self.doubtful_share,
            "answers_alike": self.alike,
            "threshold": self.threshold,
            "passed": self.passed,
            "pass_rate": self.pass_rate,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls(Plain):
    """What the judge of a run made of labelled samples that were judged between the run's own.

    Attributes:
        samples: How many were judged.
        verdicts: How many of their verdicts are counted: as many that should be yes as that should be
            no.
        right: How many of those are right; a missing verdict is not.
        interval: 95 % interval of the share (Wilson), the labelled samples as units.
        wrong: Wrong verdicts by kind of sample.
        usage: What they cost; the usage of the run holds their calls and tokens too.
    """

    samples: int
    verdicts: int
    right: int
    interval: tuple[float, float]
    wrong: Mapping[str, int]
    usage: Usage

    @property
    def share(self) -> float:
        """Right / verdicts, from 0 to 1."""
        return self.right / self.verdicts

    def shown(self, language: str = "en") -> str:
        """Return one line: the count, its interval, which kinds were wrong and what was paid."""
        low, high = self.interval
        of, right = say("of", language), say("verdicts right", language)
        parts = (
            f"{say('controls', language)}: {self.right} {of} {self.verdicts} {right} ({low:.2f} {say('to', language)} {high:.2f})",
            f"{say('wrong', language)}: {listed(self.wrong)}" if self.right < self.verdicts else "",
            spent(self.usage, language),
        )
        return "; ".join(filter(None, parts))


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Mapping[str, MetricSummary]):
    """The summaries by metric name; ``str()`` is a table.

    Attributes:
        metrics: Summaries by name.
        usage: Calls and tokens of the run.
        stopped: Why the run ended early, or None.
        provenances: The provenances of the scores of the run, each once.
        source: The file that the samples, or the results, were read from, where there is one.
        started: When the run began; None for results that were read from a file.
        controls: What the judge made of the controls, where the run asked for some.
        notes: What a reader must know about the run's ids and labels.
        answered: For how many samples something was retrieved.
    """

    metrics: Mapping[str, MetricSummary]
    usage: Usage
    stopped: str | None
    provenances: tuple[Provenance, ...]
    source: str | None
    started: datetime | None
    controls: Controls | None
    notes: tuple[str, ...]
    answered: int

    def __getitem__(self, metric: str) -> MetricSummary:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def language(self) -> str:
        """The language of the table: that of the metrics' conventions, where they have one."""
        return language_of(item.convention for item in self.metrics.values())

    def each(self, name: str) -> tuple[str, ...]:
        """Return the values of a field of the provenances, each once: ``judge``, ``served_model``, ``prompt`` .."""
        return tuple(
            dict.fromkeys(value for item in self.provenances if (value := getattr(item, name)))
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the numbers must know about the judges."""
        return tuple(dict.fromkeys(text for item in self.provenances for text in item.warnings))

    @property
    def counts(self) -> tuple[str, ...]:
        """In words how many samples were answered, and how many are distinct; empty where all are."""
        language = self.language
        samples = max((item.samples for item in self.values()), default=0)
        answered = (
            f"{self.answered} {say('of', language)} {samples} {say('answered', language)}: "
            f"{say('nothing was retrieved for the others', language)}"
        )
        told = (
            f"{item.samples} {say('samples', language)}, {item.distinct} {say('distinct', language)}: "
            f"{say('in the intervals each counts once', language)}"
            for item in self.values()
            if item.distinct < item.samples
        )
        return (*([answered] if 0 < self.answered < samples else ()), *dict.fromkeys(told))

    def __repr__(self) -> str:
        language, paid = self.language, spent(self.usage, self.language)
        told = (
            *(f"{item.metric}: {note}" for item in self.values() for note in _notes(item, language)),
            *(f"{say('labels', language)}: {note}" for note in self.notes),
            *self.counts,
            *([f"{say('judge', language)}: {paid}"] if paid else ()),
            *([self.controls.shown(language)] if self.controls else ()),
        )
        lines = _table(tuple(self.values()), language)
        lines += [line for text in told for line in folded(text)]
        if self.stopped:
            lines.append(f"{say('stopped early', language)}: {self.stopped}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return {
            "metrics": {name: item.to_dict() for name, item in self.metrics.items()},
            "usage": self.usage.to_dict(),
            "stopped": self.stopped,
            "controls": self.controls and self.controls.to_dict(),
            "notes": list(self.notes),
            "answered": self.answered,
        }


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _table(items: Sequence[MetricSummary], language: str) -> list[str]:
    """Return the table of the means: names that leave no room stand on lines of their own, bars where there is room."""
    marks = any(item.passed is not None for item in items)
    names = ("metric", "mean", "scored", "95 % interval", *(("passed",) if marks else ()))
    header, *rows = [
        tuple(say(name, language) for name in names),
        *(_cells(item, language, marks=marks) for item in items),
    ]
    lines = aligned([header, *rows])
    if max(map(len, lines)) > WIDTH:
        lines = aligned([header, *[("" if len(row[0]) > NAME else row[0], *row[1:]) for row in rows]])
    width = max(map(len, lines))
    if width + 2 + _BAR <= WIDTH:
        lines = [
            f"{line:<{width}}  {text}".rstrip()
            for line, text in zip(lines, ["", *(bar(item.share) for item in items)], strict=True)
        ]
    # The first metric without a judge; 0 where no other stands before it.
    others = next((place for place, item in enumerate(items) if not item.judged), 0)
    for place in range(len(rows), 0, -1):
        if not lines[place].startswith(rows[place - 1][0]):
            lines[place:place] = folded(rows[place - 1][0])
        if others == place - 1 > 0 and not any(item.judged for item in items[others:]):
            lines[place:place] = [f"{say('without a judge, by strings and ids', language)}:"]
    return lines


def _cells(item: MetricSummary, language: str, *, marks: bool) -> tuple[str, ...]:
    mean, _, interval, scored, *_ = cells_of(item, language)
    passed = "-" if item.passed is None else f"{item.passed} {say('of', language)} {item.scored}"
    return (item.metric, mean, scored, interval, *((passed,) if marks else ()))


def _notes(item: MetricSummary, language: str) -> Iterator[str]:
    """Yield what a reader of the mean must know beside it."""
    if item.missing:
        causes = f"; {say('verdicts missing', language)}: {listed(item.causes)}" if item.causes else ""
        yield f"{say('without a value', language)}: {listed(item.missing)}{causes}"
    if item.doubtful:
        yield f"{doubts_of(item.doubtful, language)} ({shown_doubt(item, language)})"
    yield from item.contradictions
    if item.alike:
        yield shown_alike(item, language)
    if item.passed is not None:
        yield f"{say('pass mark', language)} {item.threshold:g}"


def bar(share: float | None) -> str:
    """Return a share from 0 to 1 as a bar of text."""
    if share is None:
        return ""
    filled = round(min(max(share, 0.0), 1.0) * _BAR)
    return "█" * filled + "░" * (_BAR - filled)


def folded(text: str, indent: str = "", rest: str = "  ") -> list[str]:
    """Return a text as lines of at most `WIDTH` characters; those after the first are indented further."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent) + rest,
        break_on_hyphens=False,
    )


def spent(usage: Usage, language: str) -> str:
    """Return calls, tokens and cost in a line; empty where no judge was asked."""
    if not (usage.calls or usage.reused):
        return ""
    text = (
        f"{plural(usage.calls, 'call', language=language)}, {usage.reused} {say('reused', language)}, "
        f"{usage.prompt_tokens} + {usage.completion_tokens} {say('tokens', language)}"
    )
    text += f" ({say('estimated', language)})" if usage.estimated else ""
    return text if usage.cost is None else f"{text}, {say('cost', language)} {usage.cost:.4g}"


def cells_of(item: MetricSummary, language: str) -> tuple[Any, ...]:
    """Return what is shown of a metric: the mean, its interval as shares and in words, and the counts.

    Where samples could not be judged, the count of the scored ones says of how many that could have been.
    """
    of, ends, interval = say("of", language), None, "-"
    scored = f"{item.scored} {of} {item.samples}"
    if item.partial:
        scored = f"{item.scored} {of} {item.scored + item.not_judged} {say('judged', language)}"
    if item.interval is not None:
        low, high = (number(end, item.convention, percent=False) for end in item.interval)
        ends, interval = (
            [end / item.scale for end in item.interval],
            f"{low} {say('to', language)} {high}",
        )
    doubts = (
        f"{sum(item.doubtful.values())} {of} {item.verdicts}: {listed(item.doubtful)}"
        if item.doubtful
        else "0"
    )
    return (
        *("-" if item.mean is None else number(item.mean, item.convention), ends, interval, scored),
        *(listed(item.missing) or say("none", language), doubts),
        "-" if item.passed is None else f"{item.passed} {of} {item.scored} (>= {item.threshold:g})",
    )


def shown_doubt(item: MetricSummary, language: str) -> str:
    """Return how many of the verdicts are doubtful."""
    verdicts = plural(item.verdicts, "verdict", language=language)
    return f"{sum(item.doubtful.values())} {say('of', language)} {verdicts}"


def shown_alike(item: MetricSummary, language: str) -> str:
    """Return that the judge says the same to nearly all, with the count; empty text where it does not."""
    if item.alike is None:
        return ""
    of = f"{max(item.said)} {say('of', language)} {sum(item.said)} {say('verdicts', language)}"
    return f"{say('the judge answers alike', language)}: {say(item.alike, language)}, {of}"

"""The summary of a run: a summary a metric, what the run cost, and what a reader must know about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxmetrics._internal.frozen import Plain, fields_to_json_data
from ctxmetrics._internal.text_table import wrap
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.phrases import say
from ctxmetrics.evaluation.report.means_table import build_page_table, describe_metric, format_means
from ctxmetrics.evaluation.rows.metric_summary import MetricSummary
from ctxmetrics.evaluation.statistics.intervals import upper_limit_of_share
from ctxmetrics.scores.score import Provenance
from ctxmetrics.scores.wording import describe_usage, find_language, join_counts
from ctxmetrics.verdicts import Usage

if TYPE_CHECKING:
    from ctxmetrics.evaluation.report.run_audit import RunAudit

# The share of right verdicts of an honest judge. A part of the controls has failed if it has few right verdicts: so few that
# the chance of an honest judge to have as few is below the following limits.
_HONEST_RIGHT_SHARE = 0.9
# The limit for all verdicts about sentences, and for all verdicts about contexts.
_MAX_CHANCE = 1 / 50_000
# The limit for the verdicts in one half of the run.
_MAX_CHANCE_OF_HALVES = 1 / 5_000
# The limit for a small group of verdicts. It is lower because there are several groups.
_MAX_CHANCE_OF_GROUPS = 1 / 100_000
# The names of the halves of a run.
_HALF_NAMES = ("first half", "second half")
# The fields of a summary as plain data.
_JSON_FIELDS = ("metrics", "usage", "stopped", "controls", "notes", "answered", "audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls(Plain):
    """The verdicts of the judge about control samples, whose labels are known. Control samples are judged among the run's own samples.

    Attributes:
        samples: The number of judged control samples.
        verdicts: The number of counted verdicts. Half of them should be positive, half negative, for sentences and for contexts.
        right: The number of right verdicts. A missing verdict is not right.
        interval: 95 % interval of the share of right verdicts (Wilson). The unit is the control sample.
        wrong: The number of wrong verdicts by kind of sample.
        usage: The cost of the controls. The usage of the run holds their calls and tokens too.
        parts: The number of right verdicts and the number of all verdicts, by the name of a part:

            - ``sentences``: the verdicts about sentences;
            - ``contexts``: the verdicts about contexts.

            Each of these is also given for groups, whose name follows after a comma:

            - ``first half``, ``second half``: the verdicts in one half of the run;
            - ``later contexts``, ``earlier contexts``, ``behind the first useful context``: the verdicts that a judge gets wrong
              if it does not read all contexts;
            - ``near topics``: the verdicts about texts that have the topic of the question, but not the answer;
            - ``forms of a no``: the negative verdicts about sentences that name what is missing.
    """

    samples: int
    verdicts: int
    right: int
    interval: tuple[float, float]
    wrong: Mapping[str, int]
    usage: Usage
    parts: Mapping[str, tuple[int, int]]

    @property
    def share(self) -> float:
        """Right / verdicts, from 0 to 1."""
        return self.right / self.verdicts

    @property
    def lowest(self) -> float:
        """The share of right verdicts about sentences, or about contexts, whichever is lower."""
        return min(
            right_count / total for name, (right_count, total) in self.parts.items() if "," not in name
        )

    @property
    def failed(self) -> tuple[str, ...]:
        """The parts with too few right verdicts.

        A judge that errs in one of ten verdicts has as few right verdicts at most:

        - in one of 50,000 runs, for all verdicts about sentences or contexts;
        - in one of 5,000 runs, for one half of a run;
        - in one of 100,000 runs, for a group of verdicts, such as ``later contexts``.
        """
        failed = []
        for name, (right_count, verdict_count) in self.parts.items():
            _, _, group = name.partition(", ")
            max_chance = _MAX_CHANCE_OF_GROUPS if group else _MAX_CHANCE
            if group in _HALF_NAMES:
                max_chance = _MAX_CHANCE_OF_HALVES
            if upper_limit_of_share(right_count, verdict_count, max_chance) < _HONEST_RIGHT_SHARE:
                failed.append(name)
        return tuple(failed)

    def describe(self, language: str = "en") -> str:
        """Describe the controls in one line: the count of right verdicts, its interval, the wrong kinds of samples and the cost."""
        count = f"{self.right} {say('of', language)} {self.verdicts} {say('verdicts right', language)}"
        low, high = self.interval
        clauses = [f"{say('controls', language)}: {count} ({low:.2f} {say('to', language)} {high:.2f})"]
        for name in self.failed:
            right_count, total = self.parts[name]
            words = ", ".join(say(word, language) for word in name.split(", "))
            too_few = f"{say('too few right about', language)} {words}"
            clauses.append(f"{too_few}: {right_count} {say('of', language)} {total}")
        if self.right < self.verdicts:
            clauses.append(f"{say('wrong', language)}: {join_counts(self.wrong)}")
        cost = describe_usage(self.usage, language)
        if cost:
            clauses.append(cost)
        return "; ".join(clauses)


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Mapping[str, MetricSummary]):
    """The summaries by metric name; ``str()`` is a table.

    Attributes:
        metrics: Summaries by name.
        usage: Calls and tokens of the run.
        stopped: Why the run ended early, or None.
        provenances: The provenances of the scores of the run, each once.
        source: The file of the samples or of the results; None if they were not read from a file.
        started: When the run began; None if that is not known.
        controls: The verdicts about the controls; None if the run had no controls.
        notes: Notes about the run's ids and labels that a reader must know.
        answered: The number of samples for which something was retrieved.
        batches: Lines about batches: what was paid, and what happened to each batch that failed.
        audit: What an audit of the gold says about the means; None if there is none.
    """

    metrics: Mapping[str, MetricSummary]
    usage: Usage
    stopped: str | None
    provenances: tuple[Provenance, ...]
    source: str | None
    started: str | None
    controls: Controls | None
    notes: tuple[str, ...]
    answered: int
    batches: tuple[str, ...] = ()
    audit: RunAudit | None = None

    def __getitem__(self, metric: str) -> MetricSummary:
        if metric not in self.metrics:
            raise KeyError(f"{metric!r}; this run has: {', '.join(self.metrics)}")
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def language(self) -> str:
        """The language of the table. The conventions of the metrics decide it."""
        return find_language(item.convention for item in self.metrics.values())

    def each(self, name: str) -> tuple[str, ...]:
        """Return the distinct values of one field of the provenances, such as ``judge``, ``served_model`` or ``prompt``."""
        values = dict.fromkeys(getattr(item, name) for item in self.provenances)
        return tuple(value for value in values if value)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the judges that a reader of the numbers must know."""
        return tuple(dict.fromkeys(text for item in self.provenances for text in item.warnings))

    @property
    def counts(self) -> tuple[str, ...]:
        """Notes on the numbers of answered and of distinct samples. There is no note if all samples are answered and distinct."""
        language = self.language
        of_word = say("of", language)
        sample_count = max((item.samples for item in self.values()), default=0)
        notes = []
        if 0 < self.answered < sample_count:
            notes.append(
                f"{self.answered} {of_word} {sample_count} {say('answered', language)}: "
                f"{say('nothing was retrieved for the others', language)}"
            )
        intervals_note = say("in the intervals each counts once", language)
        metrics_with_repeats = [item for item in self.values() if item.distinct < item.samples]
        notes += [
            f"{item.samples} {say('samples', language)}, {item.distinct} {say('distinct', language)}: {intervals_note}"
            for item in metrics_with_repeats
        ]
        return tuple(dict.fromkeys(notes))

    def _notes(self) -> Iterator[str]:
        """Yield the notes below the table, in the order of the table."""
        language = self.language
        for item in self.values():
            for note in describe_metric(item, language):
                yield f"{item.metric}: {note}"
        for note in self.notes:
            yield f"{say('labels', language)}: {note}"
        yield from self.counts
        cost = describe_usage(self.usage, language)
        if cost:
            yield f"{say('judge', language)}: {cost}"
        yield from self.batches
        if self.controls:
            yield self.controls.describe(language)
        if self.audit:
            yield from self.audit.list_lines()

    def __repr__(self) -> str:
        lines = format_means(tuple(self.values()), self.language)
        for note in self._notes():
            lines += wrap(note)
        if self.stopped:
            lines.append(f"{say('stopped early', self.language)}: {self.stopped}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        means = build_page_table(self.values(), self.language)
        return render("summary.html", means=means, notes=self._notes())

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return fields_to_json_data(self, _JSON_FIELDS)

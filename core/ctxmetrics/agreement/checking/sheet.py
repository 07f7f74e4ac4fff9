"""The sheet: what a check of a judge found, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxmetrics._version import __version__
from ctxmetrics.agreement.checking.figures import Figures
from ctxmetrics.agreement.checking.fitness import ORDER, Fitness, Weakness
from ctxmetrics.agreement.figures import Agreement, shown
from ctxmetrics.report.view import aligned
from ctxmetrics.verdicts import Usage

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the check cost.

    Attributes:
        judged: Samples that were judged, each repetition counted.
        seconds: Seconds it took for each of them, several at the same time.
        request_seconds: Seconds of one request on average; None for a judge that sends none.
        usage: Requests and tokens in all, and money where the model says so.
    """

    judged: int
    seconds: float
    request_seconds: float | None
    usage: Usage

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, tokens and money by sample."""
        usage, judged = self.usage, max(1, self.judged)
        return {
            "judged": self.judged,
            "seconds_a_sample": self.seconds,
            "seconds_a_request": self.request_seconds,
            "requests_a_sample": usage.calls / judged,
            "prompt_tokens_a_sample": usage.prompt_tokens / judged,
            "completion_tokens_a_sample": usage.completion_tokens / judged,
            "price_a_sample": None if usage.cost is None else usage.cost / judged,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSheet:
    """What `check_judge` found; as a string, the sheet.

    Attributes:
        judge: The judge's name.
        samples: How many samples there are.
        repetitions: How often each was judged.
        figures: What was counted.
        weaknesses: What is wrong with the judge, the worst first.
        cost: What it cost.
    """

    judge: str
    samples: int
    repetitions: int
    figures: Figures
    weaknesses: tuple[Weakness, ...]
    cost: Cost

    @property
    def fitness(self) -> Fitness:
        """``"fit"``, ``"fit for comparisons only"`` or ``"not fit"``: the least that a weakness allows."""
        return ORDER[max((ORDER.index(item.allows) for item in self.weaknesses), default=0)]

    @property
    def sentence(self) -> str:
        """Whether the judge is fit, and why, in one sentence."""
        named = [f"{item.text} ({item.code})" for item in self.weaknesses[:_MOST_NAMED]]
        if self.fitness != "fit":
            return f"{self.judge} is {self.fitness}: {'; '.join(named)}."
        accuracy = self.figures.units.balanced_accuracy
        text = f"{self.judge} is fit: its balanced accuracy on these samples is {accuracy or 0:.2f}"
        return f"{text}, and no figure is below its bar{'; but ' if named else ''}{'; '.join(named)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the sheet as plain JSON-ready data: one row of a table of judges."""
        return {
            "judge": self.judge,
            "fitness": self.fitness,
            "sentence": self.sentence,
            "weaknesses": [item._asdict() for item in self.weaknesses],
            "samples": self.samples,
            "repetitions": self.repetitions,
            "figures": self.figures.to_dict(),
            "cost": self.cost.to_dict(),
            "library_version": __version__,
        }

    def __str__(self) -> str:
        times = "once" if self.repetitions == 1 else f"{self.repetitions} times each"
        heading = f"{self.judge}: {self.samples} labelled samples, judged {times}"
        parts = [[heading], *map(aligned, self._tables()), [self.sentence]]
        rest = [f"- {item.code}: {item.text}" for item in self.weaknesses[_MOST_NAMED:]]
        return "\n\n".join("\n".join(part) for part in [*parts, rest] if part)

    def _tables(self) -> Iterator[list[tuple[str, ...]]]:
        figures = self.figures
        if (protocol := figures.protocol) is not None:
            yield [
                ("replies", ""),
                ("read as JSON", str(protocol.read)),
                ("repeat the code of the request", str(protocol.echo)),
                ("have every id", str(protocol.complete)),
                ("have no other id", str(protocol.known)),
                ("quotes found word for word", str(protocol.quotes)),
                ("asked again, of all requests", str(protocol.again)),
            ]
        yield [
            (
                "against the labels",
                "balanced accuracy",
                "95 % interval",
                "sensitivity",
                "specificity",
                "kappa",
            ),
            _row("sentences supported", figures.units),
            _row("contexts useful", figures.contexts),
        ]
        yield [
            ("called supported, of the supported sentences", ""),
            *((kind, str(share)) for kind, share in figures.found.items()),
        ]
        yield [
            ("called unsupported, of the others", "", ""),
            ("in no context", str(figures.absent), ""),
            *(
                (
                    f"wrong {kind}",
                    str(share),
                    f"{found} more flagged" if (found := figures.flagged.get(kind)) else "",
                )
                for kind, share in figures.caught.items()
            ),
        ]
        yield [
            ("further", ""),
            ("verdicts that are a yes or a no", str(figures.answered)),
            ("scores that have a value", str(figures.scored)),
            ("cells of the matrix that are right", str(figures.cells)),
            ("supporting contexts that are named", str(figures.supporting)),
            ("injections resisted", str(figures.resisted)),
            ("the same in all repetitions", str(figures.stable)),
        ]
        yield [("cost of a sample", ""), *self._costs()]

    def _costs(self) -> Iterator[tuple[str, str]]:
        cost = self.cost.to_dict()
        yield "seconds", f"{cost['seconds_a_sample']:.2g}"
        if cost["seconds_a_request"] is not None:
            yield "seconds of a request", f"{cost['seconds_a_request']:.2g}"
        if self.cost.usage.calls:
            yield "requests", f"{cost['requests_a_sample']:.2f}"
            tokens = f"{cost['prompt_tokens_a_sample']:.0f} + {cost['completion_tokens_a_sample']:.0f}"
            yield "tokens", f"{tokens}{' (estimated)' if self.cost.usage.estimated else ''}"
            price = cost["price_a_sample"]
            yield "price", "not given by the model" if price is None else f"{price:.6g}"


def _row(name: str, item: Agreement) -> tuple[str, ...]:
    interval = (item.intervals or {}).get("balanced_accuracy")
    return (
        name,
        shown(item.balanced_accuracy),
        "-" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}",
        *map(shown, (item.sensitivity, item.specificity, item.kappa)),
    )

"""The bars: from what figures on a judge is fit, and what is named as a weakness. Stated here and nowhere else.

The samples are clear-cut, so a careful reader is right about nearly all of them. On sets that are not, one person agrees
with two others with a balanced accuracy of 0.90 where these two agree (LFQA; see docs/checking-judges.md): a judge below that on
clear-cut samples is worse than a person is on hard ones, and its absolute values say little. Comparing two retrievers with
one judge needs less: its mistakes fall on both. Halfway between chance (0.5) and never wrong, 0.75, it is right three times
as often as wrong, and a difference between retrievers still shows; below that it drowns. The other bars follow the same
thought: the first figure is where a defect no longer moves a mean by more than the interval of a hundred samples (about
0.05 to 0.10), the second is where it moves it by more than retrievers usually differ.

Figures of 44 samples have wide intervals; the sheet shows them. The figure itself is compared, not its interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from ctxmetrics.agreement.checking.figures import Figures, Share

Fitness: TypeAlias = Literal["fit", "fit for comparisons only", "not fit"]
ORDER: tuple[Fitness, ...] = ("fit", "fit for comparisons only", "not fit")


class Bar(NamedTuple):
    """Below `fit` a judge is fit for comparisons only; below `comparisons` it is not fit (None: that never follows)."""

    fit: float
    comparisons: float | None

    def of(self, value: float | None) -> Fitness:
        """Return what a share allows; nothing is held against a judge where there was nothing to count."""
        if value is None or value >= self.fit:
            return "fit"
        if self.comparisons is None or value >= self.comparisons:
            return "fit for comparisons only"
        return "not fit"


# A score with a missing verdict has no value, and what is missing is seldom missing at random.
SCORED = Bar(0.95, 0.80)
AGREEMENT = Bar(0.90, 0.75)
# Usefulness is a matter of degree: people agree less on it.
USEFULNESS = Bar(0.80, 0.65)
# A yes, or a no, that is wrong every second time moves every mean in one direction.
ONE_SIDE = Bar(0.80, 0.50)
# A kind of mistake that it misses more often than not inflates recall wherever that kind is frequent.
KIND = Bar(0.50, None)
# recall@k, support precision and the unused chunks come from the matrix; the verdict itself does not.
MATRIX = Bar(0.70, None)
# Retrieved text that can set the score makes it worthless wherever texts of others are retrieved.
INJECTIONS = Bar(0.90, 0.70)
# Two runs that differ in every twentieth verdict differ by about as much as two retrievers.
STABLE = Bar(0.95, 0.85)
# A quote that is not there is a no: recall is too low by as much.
QUOTES = Bar(0.80, 0.50)
# What is asked again costs a request more; what stays missing is counted under SCORED.
PROTOCOL = 0.90
# Seconds of one request: a thousand samples, 16 at a time, then take more than ten minutes.
SLOW_SECONDS = 10.0


class Weakness(NamedTuple):
    """One thing that is wrong with a judge.

    Attributes:
        code: A stable name, such as ``lenient`` or ``number_blind``.
        text: What was seen, with the figures.
        allows: The most that the judge is fit for because of it.
    """

    code: str
    text: str
    allows: Fitness


def weaknesses_of(figures: Figures, seconds: float | None) -> tuple[Weakness, ...]:
    """Name what is wrong with a judge, the worst first.

    Args:
        figures: What was counted.
        seconds: How long one request took on average; None for a judge that sends none.
    """
    found = [*_of_replies(figures), *_of_verdicts(figures)]
    if seconds is not None and seconds >= SLOW_SECONDS:
        found.append(Weakness("slow", f"a request takes {seconds:.1f} s on average", "fit"))
    return tuple(sorted(found, key=lambda item: -ORDER.index(item.allows)))


def _of_replies(figures: Figures) -> Iterator[Weakness]:
    if (protocol := figures.protocol) is not None:
        for code, share, text in (
            ("no_json", protocol.read, "{} replies can be read as JSON"),
            ("no_echo", protocol.echo, "{} replies repeat the code of their request"),
            ("skips_ids", protocol.complete, "{} replies have a verdict for every id"),
            ("wrong_ids", protocol.known, "{} replies name only ids that were asked about"),
        ):
            if share.value is not None and share.value < PROTOCOL:
                yield Weakness(code, text.format(share), "fit")
        if (allows := QUOTES.of(protocol.quotes.value)) != "fit":
            yield Weakness(
                "invents_quotes", f"{protocol.quotes} quotes stand in the context they name", allows
            )
    if (allows := SCORED.of(figures.scored.value)) != "fit":
        yield Weakness("leaves_out", f"{figures.scored} scores have a value", allows)


def _of_verdicts(figures: Figures) -> Iterator[Weakness]:
    units, contexts = figures.units, figures.contexts
    says_yes, says_no = ONE_SIDE.of(units.specificity), ONE_SIDE.of(units.sensitivity)
    no = Share(units.neither, units.neither + units.judge_only)
    yes = Share(units.both, units.both + units.people_only)
    found = [
        ("lenient", says_yes, f"{no} unsupported sentences are called unsupported{_of_which(figures)}"),
        ("strict", says_no, f"{yes} supported sentences are called supported"),
        *(
            (
                code,
                bar.of(item.balanced_accuracy),
                f"the balanced accuracy {what} is {item.balanced_accuracy or 0:.2f}",
            )
            for code, bar, item, what in (
                ("disagrees", AGREEMENT, units, "about sentences"),
                ("disagrees_on_contexts", USEFULNESS, contexts, "about useful contexts"),
            )
        ),
        *_of_kinds(figures, lenient=says_yes == "not fit", strict=says_no == "not fit"),
        *_of_matrix(figures),
        (
            "unstable",
            STABLE.of(figures.stable.value),
            f"{figures.stable} verdicts are the same in every repetition",
        ),
    ]
    if "not fit" not in (says_yes, says_no):  # else its verdicts are wrong without an injection too
        text = f"{figures.resisted} injections are resisted"
        found.append(("obeys_injections", INJECTIONS.of(figures.resisted.value), text))
    yield from (Weakness(code, text, allows) for code, allows, text in found if allows != "fit")


def _of_which(figures: Figures) -> str:
    """Say how many of the unsupported sentences are traps: a judge may see what is absent, and no trap."""
    traps = Share(
        sum(share.part for share in figures.caught.values()),
        sum(share.of for share in figures.caught.values()),
    )
    if not traps.of or not figures.absent.of:
        return ""
    text = f", {figures.absent} that no context states and {traps} with one changed {_either(figures.caught)}"
    flagged = sum(figures.flagged.values())
    return text + (f", of which {flagged} more are flagged" if flagged else "")


def _either(kinds: Iterable[str]) -> str:
    *first, last = kinds
    return f"{', '.join(first)} or {last}" if first else last


def _of_kinds(figures: Figures, *, lenient: bool, strict: bool) -> Iterator[tuple[str, Fitness, str]]:
    """Look at each kind alone, unless the judge is wrong about all of them."""
    for kind, share in figures.caught.items() if not lenient else ():
        yield (
            f"{kind}_blind",
            KIND.of(share.value),
            f"{share} sentences with a wrong {kind} are called unsupported",
        )
    for kind, share in figures.found.items() if not strict else ():
        text = f"{share} supported sentences of the kind {kind} are called supported"
        yield f"misses_{kind}", KIND.of(share.value), text


def _of_matrix(figures: Figures) -> Iterator[tuple[str, Fitness, str]]:
    further = MATRIX.of(figures.further.value)
    text = f"where several contexts state a sentence, {figures.further} after the first are named"
    yield "first_context_only", further, text
    if further == "fit":
        yield (
            "wrong_matrix",
            MATRIX.of(figures.cells.value),
            f"{figures.cells} cells of the matrix are right",
        )

"""``ctxmetrics label``."""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmetrics.cli._options import Input, labels_beside
from ctxmetrics.cli._terminal import message, print_result
from ctxmetrics.errors import ParameterError
from ctxmetrics.presentation.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.agreement.labelling.draw import LabelsFile
    from ctxmetrics.agreement.labelling.session import Session
    from ctxmetrics.results.labels.answers import Key
    from ctxmetrics.samples import Sample

_SEEDS = 2**32
_MOST = 50


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Which samples are drawn."""

    n: int | None = None
    seed: int | None = None
    by: str | None = None


def label(
    source: Input,
    drawing: Drawing,
    ask: list[str] | None = None,
    annotator: str = "anonymous",
    labels: Path | None = None,
    verdicts: Path | None = None,
    terminal: bool = False,
    port: int = 0,
    no_browser: bool = False,
) -> None:
    """Label a random part of the samples by hand, on a local page. `ctxmetrics agree` reads the answers."""
    from ctxmetrics.agreement.labelling.draw import LabelsFile, samples_by_key
    from ctxmetrics.agreement.labelling.session import Session, run_in_terminal
    from ctxmetrics.cli._run import load_samples
    from ctxmetrics.results.labels.answers import ANSWERS, ASKED
    from ctxmetrics.results.results import Results

    for name in ask or ():
        if name not in ASKED:
            raise ParameterError(f"--ask {name!r} must be one of {', '.join(ASKED)}.")
    file, samples = source.file, samples_by_key(load_samples(source))
    path = labels or labels_beside(file)
    answers = LabelsFile(path)
    _draw_samples(answers, samples, drawing)
    run = None if verdicts is None else Results.from_jsonl(verdicts)
    then = f"ctxmetrics agree {shlex.quote(str(file))} --labels {shlex.quote(str(path))}"
    session = Session(samples, answers, annotator=annotator, labels=ask or ASKED, run=run, then=then)
    try:
        if terminal:
            run_in_terminal(session, sys.stdin.readline, print_result)
        else:
            _on_page(session, port, browser=not no_browser)
    finally:
        counts = session.counts()
        answered = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in ANSWERS)
        print_result(
            f"{path}: {annotator} answered {answered}; {counts['open']} of {plural(counts['questions'], 'question', 'is', 'are')} open"
        )
        if not counts["open"]:
            print_result(f"next: {session.then}")


def _draw_samples(answers: LabelsFile, samples: Mapping[Key, Sample], options: Drawing) -> None:
    """Draw the samples, or go on with the draw of the file, which a larger ``--n`` continues."""
    from ctxmetrics.agreement.labelling.draw import draw

    answers.check(samples)
    n, earlier = options.n, answers.draw
    if earlier is None:
        seed = secrets.randbelow(_SEEDS) if options.seed is None else options.seed
        answers.begin(draw(samples, _MOST if n is None else n, seed=seed, by=options.by))
    else:
        _check_same("--seed", options.seed, earlier.seed, answers.path)
        _check_same("--by", options.by, earlier.by, answers.path)
        if n is not None and n > len(earlier.drawn):
            more = draw(samples, n, seed=earlier.seed, by=earlier.by, earlier=earlier)
            if len(more.drawn) > len(earlier.drawn):
                answers.begin(more)
    drawn = answers.draw.drawn if answers.draw else ()
    if n is not None and len(drawn) != n:
        why = "there are no more that can be labelled" if len(drawn) < n else "an earlier draw goes on"
        message(f"note: {plural(len(drawn), 'sample', 'is', 'are')} drawn, not {n}: {why}")


def _check_same(option: str, value: object, earlier: object, path: Path) -> None:
    """Raise if an option differs from that of an earlier draw.

    Raises:
        ParameterError: It does.
    """
    if value not in (None, earlier):
        raise ParameterError(
            f"{option} {value}: {path} was begun with {option} {earlier}. Leave it out to go on, "
            "or choose another file with --labels."
        )


def _on_page(session: Session, port: int, *, browser: bool) -> None:
    import webbrowser

    from ctxmetrics.agreement.labelling.server import LabelServer

    with LabelServer(session, port) as server:
        message(f"label: {server.address}")
        if browser and not webbrowser.open(server.address):
            message(
                "note: no browser was found. Open the address in one on this machine, or use --terminal."
            )
        message("Press q on the page or Ctrl-C here to stop; every answer is written at once.")
        server.serve_forever()

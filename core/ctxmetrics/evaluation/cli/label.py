"""``ctxmetrics label``."""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli._options import Columns, Help, LabelsPath, SampleFile
from ctxmetrics.evaluation.cli._terminal import print_message, print_result
from ctxmetrics.evaluation.rows.file_names import key_beside, labels_beside
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.agreement.labelling.draw import LabelsFile
    from ctxmetrics.evaluation.agreement.labelling.pairs import RunPairs
    from ctxmetrics.evaluation.agreement.labelling.session import Session
    from ctxmetrics.evaluation.rows.people_answers import Draw, QuestionKey
    from ctxmetrics.samples.sample import Sample

# A random seed is a number below this.
_SEED_LIMIT = 2**32
# The default number of samples that are drawn.
_DEFAULT_SAMPLE_COUNT = 50


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Which samples are drawn."""

    n: Annotated[
        int | None, Help("How many samples to draw. Without it: as many as were drawn before, else 50.")
    ] = None
    seed: Annotated[
        int | None, Help("The seed of the draw. Without it: a random one, which the file keeps.")
    ] = None
    by: Annotated[
        str | None,
        Help("Draw the same number of samples for each value of this key, such as metadata.topic."),
    ] = None


def label(
    columns: Columns,
    drawing: Drawing,
    files: Annotated[
        list[Path] | None,
        Help(
            (
                "Samples, as for `ctxmetrics score`. With --compare: those of both runs, if the results "
                "do not hold their texts."
            ),
            argument=True,
        ),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        Help(
            "Two results of --out with --keep-texts, FIRST and SECOND: draw from both, and from "
            "changed samples more often, for `ctxmetrics compare --labels`."
        ),
    ] = None,
    ask: Annotated[
        list[str] | None, Help("unit_supported or context_useful. Without it: both. Repeatable.")
    ] = None,
    annotator: Annotated[str, Help("The name of the person who answers.")] = "anonymous",
    labels: LabelsPath = None,
    verdicts: Annotated[
        Path | None,
        Help(
            "Results of --out whose verdicts the key v shows. Without it: the embedded judge's, or "
            "those of --compare."
        ),
    ] = None,
    terminal: Annotated[bool, Help("Ask in the terminal: no browser, no server.")] = False,
    port: Annotated[int, Help("The page's port; 0 takes a free one.", lowest=0, highest=65_535)] = 0,
    no_browser: Annotated[bool, Help("Print the page's address and open nothing.")] = False,
) -> None:
    """Label a random part of the samples by hand, on a local page. `ctxmetrics agree` and `compare` read the answers."""
    from ctxmetrics.evaluation.agreement.labelling.draw import LabelsFile, samples_by_key
    from ctxmetrics.evaluation.agreement.labelling.pairs import describe_draw, read_pairs
    from ctxmetrics.evaluation.agreement.labelling.session import Session, run_in_terminal
    from ctxmetrics.evaluation.cli._run import load_samples
    from ctxmetrics.evaluation.rows.people_answers import ASKED_KINDS
    from ctxmetrics.evaluation.runs.results import Results

    for name in ask or ():
        if name not in ASKED_KINDS:
            raise ParameterError(f"--ask {name!r} must be one of {', '.join(ASKED_KINDS)}.")
    asked_kinds = ask or ASKED_KINDS
    sources = [SampleFile(file=file, **vars(columns)) for file in files or ()]
    _check_sources(sources, compare, drawing)
    run = None if verdicts is None else Results.from_jsonl(verdicts)
    path = labels or labels_beside(sources[0].file if compare is None else compare[1])
    answers = LabelsFile(path)
    if compare is None:
        samples = samples_by_key(load_samples(sources[0]))
        _draw_samples(answers, samples, drawing)
        session = Session(samples, answers, annotator=annotator, labels=asked_kinds, run=run)
        reading_command = _write_reading_command(sources[0].file)
    else:
        samples_of_files = chain.from_iterable(load_samples(source) for source in sources)
        first_results, second_results = compare
        pairs = read_pairs(first_results, second_results, samples_of_files)
        _draw_pairs(answers, pairs, drawing)
        if answers.draw is not None:
            print_message(f"label: {describe_draw(answers.draw, pairs)}")
        session = Session(
            pairs.samples,
            answers,
            annotator=annotator,
            labels=asked_kinds,
            run=run or pairs.rows,  # the verdicts that the key v shows
            partners=pairs.partners,
        )
        reading_command = f"compare {shlex.join(map(str, compare))}"
    session.next_command = f"ctxmetrics {reading_command} --labels {shlex.quote(str(path))}"
    try:
        if terminal:
            run_in_terminal(session, sys.stdin.readline, print_result)
        else:
            _serve_page(session, port, opens_browser=not no_browser)
    finally:
        _print_counts(session, path, annotator)


def _write_reading_command(file: Path) -> str:
    """Write the command that reads the answers about a file: of samples, or of those that `check-gold` wrote for an audit."""
    file_name = shlex.quote(str(file))
    if key_beside(file).exists():
        return f"check-gold SAMPLES --corpus CORPUS --audit {file_name}"
    return f"agree {file_name}"


def _print_counts(session: Session, path: Path, annotator: str) -> None:
    """Print how many questions were answered and how many are open, and what comes next if none is."""
    from ctxmetrics.evaluation.rows.people_answers import ANSWERS

    counts = session.counts()
    answer_counts = ", ".join(f"{counts[name]} {name.replace('_', ' ')}" for name in ANSWERS)
    questions = plural(counts["questions"], "question", "is", "are")
    print_result(f"{path}: {annotator} answered {answer_counts}; {counts['open']} of {questions} open")
    if not counts["open"]:
        print_result(f"next: {session.next_command}")


def _check_sources(
    sources: Sequence[SampleFile], compare: tuple[Path, Path] | None, drawing: Drawing
) -> None:
    """Check that the given files fit the kinds of labels.

    Raises:
        ParameterError: The files do not fit.
    """
    if compare is None and len(sources) != 1:
        raise ParameterError(
            "label: give one FILE of samples, or two runs: --compare FIRST.jsonl SECOND.jsonl."
        )
    if compare is not None and drawing.by is not None:
        raise ParameterError("label: --compare draws by what changed. Leave --by out.")


def _draw_samples(answers: LabelsFile, samples: Mapping[QuestionKey, Sample], options: Drawing) -> None:
    """Draw the samples, or go on with the draw of the file, which a larger ``--n`` continues."""
    from ctxmetrics.evaluation.agreement.labelling.draw import draw

    answers.check(samples)
    earlier = answers.draw
    by = options.by if earlier is None else earlier.by
    _continue_draw(
        answers,
        options,
        lambda n, seed: draw(samples, n, seed=seed, by=by, earlier=earlier),
        lambda drawn: len(drawn.drawn),
    )


def _draw_pairs(answers: LabelsFile, pairs: RunPairs, options: Drawing) -> None:
    """Draw samples of two runs, or go on with the draw of the file."""
    from ctxmetrics.evaluation.agreement.labelling.pairs import BY_CHANGE, draw_pairs, list_first_keys

    answers.check(pairs.samples)
    earlier = answers.draw
    if earlier is not None and earlier.by != BY_CHANGE:
        raise ParameterError(
            f"--compare: {answers.path} was begun without it. Choose another file with --labels."
        )
    _continue_draw(
        answers,
        options,
        lambda n, seed: draw_pairs(pairs, n, seed=seed, earlier=earlier),
        lambda drawn: len(list_first_keys(drawn, pairs)),
    )


def _continue_draw(
    answers: LabelsFile,
    options: Drawing,
    draw: Callable[[int, int], Draw],
    count: Callable[[Draw], int],
) -> None:
    """Begin the file with a draw, or continue the draw that it has.

    Args:
        answers: The file.
        options: The options that say which samples are drawn.
        draw: A function that draws a number of samples with a seed.
        count: Counts the samples of a draw.
    """
    n = options.n
    earlier = answers.draw
    if earlier is None:
        seed = secrets.randbelow(_SEED_LIMIT) if options.seed is None else options.seed
        answers.begin(draw(_DEFAULT_SAMPLE_COUNT if n is None else n, seed))
    else:
        _check_option("--seed", options.seed, earlier.seed, answers.path)
        _check_option("--by", options.by, earlier.by, answers.path)
        if n is not None and n > count(earlier):
            new_draw = draw(n, earlier.seed)
            if count(new_draw) > count(earlier):
                answers.begin(new_draw)
    drawn_count = count(answers.draw) if answers.draw else 0
    if n is not None and drawn_count != n:
        reason = (
            "there are no more that can be labelled" if drawn_count < n else "an earlier draw goes on"
        )
        print_message(f"note: {plural(drawn_count, 'sample', 'is', 'are')} drawn, not {n}: {reason}")


def _check_option(option: str, value: object, earlier: object, path: Path) -> None:
    """Check that an option is equal to the option of an earlier draw.

    Raises:
        ParameterError: The option differs.
    """
    if value not in (None, earlier):
        raise ParameterError(
            f"{option} {value}: {path} was begun with {option} {earlier}. Leave it out to go on, "
            "or choose another file with --labels."
        )


def _serve_page(session: Session, port: int, *, opens_browser: bool) -> None:
    """Serve the labelling page until the session ends."""
    import webbrowser

    from ctxmetrics.evaluation.agreement.labelling.server import LabelHandler
    from ctxmetrics.evaluation.pages.local_server import LocalServer

    with LocalServer(LabelHandler, session, "label", port) as server:
        print_message(f"label: {server.address}")
        if opens_browser and not webbrowser.open(server.address):
            print_message(
                "note: no browser could be opened. Open the address in a browser on this machine, or use --terminal."
            )
        print_message("Press q on the page or Ctrl-C here to stop; every answer is written at once.")
        server.serve_forever()

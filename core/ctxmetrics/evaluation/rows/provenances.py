"""The origin of results: the file, the judge, the library, the start of the run and its commit."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ctxmetrics._internal.frozen import EMPTY, Plain
from ctxmetrics.evaluation.files.text_files import DAMAGED_FILE_ERRORS, open_bytes
from ctxmetrics.evaluation.rows.baseline import digest
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.rows.score_reading import with_whole_characters
from ctxmetrics.metrics.base import Metric
from ctxmetrics.scores.score import Provenance
from ctxmetrics.scores.wording import TEXT, clean, plural

# The variables in which a CI service names the commit and the branch.
_COMMIT_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
    "BITBUCKET_COMMIT",
    "BUILD_SOURCEVERSION",
)
_BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_COMMIT_REF_NAME",
    "BUILDKITE_BRANCH",
    "CIRCLE_BRANCH",
)
# Options of judges that change no verdict.
_OPTIONS_WITHOUT_EFFECT = ("reuse", "keep_raw", "max_repairs")
# The key of the hash of the options of the judges in the facts about a run.
JUDGE_OPTIONS = "judge_options"
# The number of shown characters of a commit, and the maximum number of characters of the line with the commit.
SHOWN_COMMIT_LENGTH = 12
_MAX_LINE_CHARACTERS = 100_000
# The maximum number of digits of a time in seconds: enough up to the year 5138.
_MAX_EPOCH_DIGITS = 11
# The fields of a provenance, and where their values stand in an origin.
_ORIGIN_PATHS = {
    "judge": "judges",
    "served_model": "models",
    "prompt": "prompts",
    "splitter": "splitters",
    "library": "libraries",
}


def describe_start(tags: Sequence[str] | None = None) -> dict[str, Any]:
    """Describe a run that begins now: ``started``, ``commit`` and ``branch`` where CI names them, and its tags.

    ``SOURCE_DATE_EPOCH`` sets the time, so that two runs can write the same bytes.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    is_set = epoch.isdecimal() and len(epoch) <= _MAX_EPOCH_DIGITS
    now = datetime.fromtimestamp(int(epoch), UTC) if is_set else datetime.now(UTC)
    start: dict[str, Any] = {"started": f"{now:%Y-%m-%d %H:%M UTC}"}
    for name, variables in (("commit", _COMMIT_VARIABLES), ("branch", _BRANCH_VARIABLES)):
        value = next(filter(None, map(os.environ.get, variables)), None)
        if value:
            start[name] = value[:TEXT]
    if tags:
        start["tags"] = list(dict.fromkeys(tag[: 4 * TEXT] for tag in tags))
    return start


def hash_judge_options(metrics: Iterable[Metric]) -> str | None:
    """Return a hash of the options of the judges that change verdicts and are not the default. Return None if there are none.

    The name of a judge does not hold these options, such as ``votes`` of an `ctxmetrics.LLMJudge`.
    """
    options = []
    for metric in metrics:
        judge = getattr(metric, "judge", None)
        if not is_dataclass(judge):
            continue
        for item in fields(judge):
            value = getattr(judge, item.name, item.default)
            is_plain = isinstance(value, (str, int, float)) and item.default is not MISSING
            if is_plain and value != item.default and item.name not in _OPTIONS_WITHOUT_EFFECT:
                options.append([metric.name, item.name, value])
    return digest(options) if options else None


def read_start(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """Read the facts about the run in the first line of a file of results. The result is empty if there are none."""
    from ctxmetrics.evaluation.rows.line_forms import RUN

    try:
        with open_bytes(Path(path)) as lines:
            first_line = lines.readline(_MAX_LINE_CHARACTERS)
        line = RUN.validate_json(with_whole_characters(first_line.removeprefix(BOM_UTF8)))
        return {**line["run"]}
    except (OSError, ValueError, *DAMAGED_FILE_ERRORS):
        return EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin(Plain):
    """The origin of the results of a run.

    Attributes:
        name: The file, or the name that the caller gives the run; empty if there is no name.
        samples: The number of samples.
        judges: The judges.
        models: The models that answered.
        prompts: The versions of the prompts.
        splitters: The splitters that cut references into sentences.
        libraries: The versions of this library.
        started: When it began; None if that is not known.
        commit: The commit that was measured, if CI named it.
        branch: The branch of the commit.
        tags: The groups that it was put in.
        outcomes: The outcomes of its gates.
    """

    name: str
    samples: int
    judges: tuple[str, ...]
    models: tuple[str, ...]
    prompts: tuple[str, ...]
    splitters: tuple[str, ...]
    libraries: tuple[str, ...]
    started: str | None = None
    commit: str | None = None
    branch: str | None = None
    tags: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    def __str__(self) -> str:
        return clean(", ".join(self._list_parts()), 4 * TEXT)

    def _list_parts(self) -> Iterator[str]:
        """Yield the facts about a run that its description joins."""
        if self.name:
            yield self.name
        yield plural(self.samples, "sample")
        yield from self.judges
        for model in self.models:
            yield f"answered as {model}"
        yield from self.libraries
        if self.started:
            yield self.started
        if self.commit:
            branch = f" of {self.branch}" if self.branch else ""
            yield f"commit {self.commit[:SHOWN_COMMIT_LENGTH]}{branch}"


def _build_outcome(gate: Mapping[str, Any]) -> Outcome:
    # Whether it passed follows from the problem.
    return Outcome(**{name: value for name, value in gate.items() if name != "passed"})


def find_origin(run: object, provenances: Collection[Provenance], samples: int) -> Origin:
    """Find where the results of a run come from: a file of results, `Results`, or rows alone."""
    if isinstance(run, (str, os.PathLike)):
        name = str(run)
        start = read_start(run)
    else:
        name = getattr(run, "source", None) or ""
        start = getattr(run, "start", EMPTY)
    run_facts: dict[str, Any] = {key: start.get(key) for key in ("started", "commit", "branch")}
    run_facts["tags"] = tuple(start.get("tags", ()))
    run_facts["outcomes"] = tuple(map(_build_outcome, start.get("gates", ())))
    for field, attribute in _ORIGIN_PATHS.items():
        values = {getattr(provenance, field) for provenance in provenances}
        run_facts[attribute] = tuple(sorted(filter(None, values)))
    return Origin(name=name, samples=samples, **run_facts)

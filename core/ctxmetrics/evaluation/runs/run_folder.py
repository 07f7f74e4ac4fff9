"""The runs of a folder: the facts about the run of each file of results. They are remembered until the file changes."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics import __version__
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.evaluation.comparison.pairing import ScoreOrigin, find_differences
from ctxmetrics.evaluation.rows.baseline import shorten_question
from ctxmetrics.evaluation.rows.file_names import LABELS_ENDING
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.rows.output_files import write_whole
from ctxmetrics.evaluation.rows.provenances import SHOWN_COMMIT_LENGTH
from ctxmetrics.evaluation.runs.history import read_run
from ctxmetrics.scores.wording import TEXT, clean, plural

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# Names of files of results.
_RESULT_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
# The file that remembers the facts about the files of a folder.
CACHE_NAME = ".ctxmetrics-view.json"
# The characters of an id of a run.
_ID_LENGTH = 12


@dataclass(frozen=True, slots=True)
class RunMetric:
    """One metric of a run.

    Attributes:
        text: Mean and interval, as they are shown.
        share: The mean as a share of the scale; None if there is none.
        scored: How many samples have a value, and how many there are.
        passed: How many reach the pass mark, as it is shown; empty if there is none.
        origins: The origins of its values that a comparison looks at.
    """

    text: str
    share: float | None
    scored: str
    passed: str
    origins: tuple[ScoreOrigin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file of a folder, with the facts that are known without opening it again.

    Attributes:
        id: Names it in addresses.
        name: The path of the file in the folder.
        stamp: The size and the time of the file. If they change, the content has changed.
        kind: ``results``, ``baseline``, ``labels``, or ``other``.
        note: Of a file that is no run: how many answers it holds, or why it is not read.
        started: When the run began; empty if that is not known.
        commit: The commit and its branch.
        judge: The judges.
        samples: How many there are.
        metrics: The metrics by their names.
        questions: The hashes of the samples' questions and references.
        tags: The groups that the run was put in.
        outcomes: The outcomes of its gates.
    """

    id: str
    name: str
    stamp: str
    kind: str
    note: str = ""
    started: str = ""
    commit: str = ""
    judge: str = ""
    samples: int = 0
    metrics: Mapping[str, RunMetric] = field(default_factory=dict)
    questions: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of the run (``--tag``). A run without a group has the folder of its file as its group."""
        return self.tags or (Path(self.name).parent.as_posix(),)

    @property
    def gates(self) -> list[tuple[str, str | None]]:
        """The name of each gate, and why the gate failed; None if it passed."""
        return [(outcome.label, outcome.problem) for outcome in self.outcomes]

    @property
    def state(self) -> str:
        """``failed`` if a gate failed, ``passed`` if all gates passed; empty if there is no gate."""
        if not self.outcomes:
            return ""
        return "passed" if all(outcome.passed for outcome in self.outcomes) else "failed"

    @property
    def filters(self) -> dict[str, tuple[str, ...]]:
        """The values by which the page of all runs is filtered."""
        return {
            "judge": (self.judge,),
            "metric": tuple(self.metrics),
            "data": (self.data,),
            "group": self.groups,
            "gates": (self.state,),
        }

    @property
    def age(self) -> tuple[str, str]:
        """The key that sorts runs, the oldest first."""
        return self.started, self.name

    @property
    def data(self) -> str:
        """Name the questions of the run: equal for runs on the same ones."""
        digest = sha256("".join(sorted(self.questions)).encode()).hexdigest()
        return f"{plural(len(self.questions), 'question')} ({digest[:6]})"


@dataclass(frozen=True, slots=True)
class _FolderFacts:
    """The remembered facts about a folder.

    Attributes:
        ctxmetrics_view: The version of the library.
        files: The files.
    """

    ctxmetrics_view: str
    files: tuple[RunFile, ...]


def find_obstacle(first: RunFile, second: RunFile) -> str | None:
    """Find why two runs cannot be compared. Return None if they can."""
    names = [name for name in first.metrics if name in second.metrics]
    if not names:
        return "no metric in common"
    if first.questions.isdisjoint(second.questions):
        return "no question in common"
    for name in names:
        differences = find_differences(first.metrics[name].origins, second.metrics[name].origins)
        for difference in differences:  # the first one is enough
            before = difference.before or "none"
            after = difference.after or "none"
            return f"another {difference.field}: {before} / {after}"
    return None


class RunFolder:
    """Reads the files of a folder, each once as long as it does not change.

    Args:
        path: The folder.
        stores: Whether the facts about the files are stored in the folder for the next time.
    """

    def __init__(self, path: Path, *, stores: bool = True) -> None:
        self.path = path
        self._stores = stores
        self._files: dict[str, RunFile] = {}
        if stores:
            self._files = _read_cache(path / CACHE_NAME)

    def read(self) -> list[RunFile]:
        """Return the files, also new ones: runs by their start, the oldest first."""
        files = {}
        for path in sorted(self.path.rglob("*.jsonl*")):
            name = path.relative_to(self.path).as_posix()
            is_hidden = any(folder_or_file.startswith(".") for folder_or_file in Path(name).parts)
            if is_hidden or not name.endswith(_RESULT_ENDINGS):
                continue
            try:
                status = path.stat()
            except OSError:  # it was deleted meanwhile
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            stamp = f"{status.st_size} {status.st_mtime_ns}"
            file = self._files.get(name)
            if file is None or file.stamp != stamp:
                file = _read_file(path, name, stamp)
            files[name] = file
        if self._stores and files != self._files:
            _write_cache(self.path / CACHE_NAME, files)
        self._files = files
        return sorted(files.values(), key=lambda file: file.age)

    def find(self, id_: str) -> RunFile | None:
        """Find a run by its id. Return None if there is none."""
        for file in self._files.values() or self.read():
            if file.id == id_ and file.metrics:
                return file
        return None

    def list_runs(self) -> list[RunFile]:
        """List the files that are runs, the oldest first."""
        return [file for file in self.read() if file.metrics]


def make_id(text: str) -> str:
    """Make an id from the name of a run or a question, for addresses."""
    return sha256(text.encode(errors="surrogateescape")).hexdigest()[:_ID_LENGTH]


def find_before(runs: Sequence[RunFile], run: RunFile) -> RunFile | None:
    """Find the last run before a run that it can be compared with. Return None if there is none."""
    earlier_runs = runs[: runs.index(run)]
    for earlier_run in reversed(earlier_runs):
        if find_obstacle(earlier_run, run) is None:
            return earlier_run
    return None


def _read_file(path: Path, name: str, stamp: str) -> RunFile:
    """Read the facts about a file."""
    id_ = make_id(name)
    try:
        if name.endswith(LABELS_ENDING):
            with path.open("rb") as file:
                line_count = sum(1 for _ in file)
            note = plural(line_count, "line")
            return RunFile(id=id_, name=name, stamp=stamp, kind="labels", note=note)
        return RunFile(id=id_, name=name, stamp=stamp, **_describe_run(path))
    except (CtxMetricsError, OSError) as error:
        note = clean(str(error), 4 * TEXT)
        return RunFile(id=id_, name=name, stamp=stamp, kind="other", note=note)


def _describe_run(path: Path) -> dict[str, Any]:
    """Read a file of results, and return the facts for the list of runs."""
    file_values, origin = read_run(path)
    records = file_values.records
    is_baseline = any("key" in record for record in records)  # a short hash, which only a baseline has
    metrics = {}
    for name, summary in file_values.summarize().items():
        interval_text = ""
        if summary.interval is not None:
            low, high = summary.interval
            interval_text = f" ({low:.3f} to {high:.3f})"
        mean_text = "-"
        if summary.mean is not None:
            mean_text = f"{summary.mean:.3f}{interval_text}"
        passed_text = ""
        if summary.passed is not None:
            passed_text = f"pass mark: {summary.passed} of {summary.scored}"
        origins = [
            ScoreOrigin(provenance, is_judged)
            for provenance, is_judged in file_values.origins[name]
            if is_judged is not None
        ]
        metrics[name] = RunMetric(
            text=mean_text,
            share=summary.share,
            scored=f"{summary.scored} of {summary.samples}",
            passed=passed_text,
            origins=tuple(origins),
        )
    commit_parts = [(origin.commit or "")[:SHOWN_COMMIT_LENGTH], origin.branch]
    commit = " ".join(text for text in commit_parts if text)
    return {
        "kind": "baseline" if is_baseline else "results",
        "started": origin.started or "",
        "commit": commit,
        "judge": ", ".join(origin.judges),
        "samples": origin.samples,
        "metrics": metrics,
        "questions": frozenset(map(shorten_question, records)),
        "tags": origin.tags,
        "outcomes": origin.outcomes,
    }


def _read_cache(path: Path) -> dict[str, RunFile]:
    """Read the remembered facts. Data of another version or program is ignored."""
    try:
        memory = _get_validator().validate_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if memory.ctxmetrics_view != __version__:
        return {}
    return {file.name: file for file in memory.files}


def _write_cache(path: Path, files: Mapping[str, RunFile]) -> None:
    """Store the facts about the files. A folder that cannot be written, or a name that is no UTF-8, is read again next time."""
    with suppress(CtxMetricsError, ValueError):
        data = _get_validator().dump_json(_FolderFacts(__version__, tuple(files.values())))
        write_whole(path, [data])


@cache
def _get_validator() -> TypeAdapter[_FolderFacts]:
    """Return the validator of the remembered descriptions."""
    from pydantic import TypeAdapter

    return TypeAdapter(_FolderFacts)

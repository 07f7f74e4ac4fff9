"""The corpus that retrievers search: read from a file or from objects."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.files.arrow_rows import arrow_rows
from ctxmetrics.evaluation.files.csv_rows import cell_rows
from ctxmetrics.evaluation.files.json_rows import line_rows, read_json, rows_in
from ctxmetrics.evaluation.files.text_files import get_ending
from ctxmetrics.samples.documents import ids_of, look_up, text_of
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

# A file, a mapping from ids to texts, or texts and documents.
CorpusSource: TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]

# If a smaller share of the retrieved contexts is in the corpus, a note says that the corpus is another one.
_MIN_SHARE_IN_CORPUS = 0.9
# Fields of samples. No chunk of a corpus has them.
_SAMPLE_FIELDS = ("retrieved_contexts", "reference_contexts", "contexts", "user_input")
_NO_FLOOR_NOTE = (
    "these are samples. A floor over their own contexts says nothing: few of these texts mislead, and the texts that the "
    "retriever did not find are not among them. Give all chunks that the retrievers search."
)


class Chunk(NamedTuple):
    """A text of a corpus.

    Attributes:
        text: The text, as retrievers return it.
        id: The id of the chunk; None if it has none.
        title: The title of the chunk, which is searched with its text; empty if there is none.
    """

    text: str
    id: str | None
    title: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """The texts that retrievers search, each once.

    Attributes:
        chunks: The chunks.
        digest: A hash of the chunks' texts, for the provenance.
    """

    chunks: tuple[Chunk, ...]
    digest: str

    @property
    def ids(self) -> frozenset[str]:
        """The ids that are known."""
        return frozenset(chunk.id for chunk in self.chunks if chunk.id is not None)


def read_corpus(source: CorpusSource) -> Corpus:
    """Read a corpus: a file of chunks (.jsonl, .json, .csv, .tsv, .parquet, or a folder in BEIR's form), or objects.

    A chunk is a text, or has one under a usual name (``text``, ``page_content`` ..), and may have an id and a title.

    Raises:
        InputFileError: The file cannot be read, or a row has no text.
        ParameterError: The corpus holds samples, or is empty.
    """
    name = "corpus"
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name = str(path)
        rows = _open_rows(path)
    elif isinstance(source, Mapping):
        rows = ((f"{id_!r}", _with_id(id_, value)) for id_, value in source.items())
    else:
        rows = ((f"item {number}", item) for number, item in enumerate(source, 1))
    chunks: dict[tuple[str | None, str], Chunk] = {}
    for location, row in rows:
        if isinstance(row, Mapping) and any(key in row for key in _SAMPLE_FIELDS):
            raise ParameterError(f"{name}, {location}: {_NO_FLOOR_NOTE}")
        text = text_of(row)
        if not isinstance(text, str):
            raise InputFileError(
                f"{name}, {location}: a chunk has no text. Write text, page_content or content, and id."
            )
        ids = ids_of([row])
        id_ = str(ids[0]) if ids else None
        title = None if isinstance(row, str) else look_up(row, "title")
        if not isinstance(title, str):
            title = ""
        chunks.setdefault((id_, text), Chunk(text, id_, title))
    if not chunks:
        raise ParameterError(f"{name}: the corpus is empty.")
    return Corpus(tuple(chunks.values()), _compute_digest(chunks))


def _compute_digest(chunks: Iterable[tuple[str | None, str]]) -> str:
    """Compute the hash of some ids and texts, one after another: a text of all of them takes much memory."""
    digest = hashlib.sha256()
    for number, (id_, text) in enumerate(chunks):
        separator = "\0" if number else ""
        digest.update(f"{separator}{id_}\0{text}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _with_id(id_: str, value: Any) -> Any:
    """Add the id of a mapping of chunks to its chunk."""
    if isinstance(value, str):
        return {"id": str(id_), "text": value}
    return {"id": str(id_), **value} if isinstance(value, Mapping) else value


def _open_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a file, each with its place for messages. The file's ending chooses the reader."""
    if path.is_dir() and (path / "corpus.jsonl").is_file():
        path = path / "corpus.jsonl"
    ending = get_ending(path)
    if ending in (".jsonl", ".ndjson"):
        return line_rows(path)
    if ending == ".json":
        rows, _ = rows_in(read_json(path), path)
        return ((f"item {number}", row) for number, row in enumerate(rows, 1))
    readers = {
        ".csv": partial(cell_rows, path, header=None),
        ".tsv": partial(cell_rows, path, header=None),
        ".parquet": partial(arrow_rows, path),
    }
    if ending in readers:
        return readers[ending]()
    raise InputFileError(
        f"{path}: a corpus is a file in .jsonl, .json, .csv, .tsv or .parquet with a row for each chunk, or a folder with "
        "corpus.jsonl."
    )


def list_foreign(corpus: Corpus, samples: Mapping[str, Sequence[Sample | None]]) -> Iterator[str]:
    """Yield a note for each setting that returned many contexts that the corpus does not hold.

    Args:
        corpus: The corpus.
        samples: For each setting a sample a question; None if nothing was retrieved.
    """
    texts_in_corpus = {chunk.text for chunk in corpus.chunks}
    ids_in_corpus = corpus.ids
    for name, samples_of_setting in samples.items():
        total = 0
        foreign = 0
        for sample in samples_of_setting:
            if sample is None:
                continue
            # A sample may have texts, ids, or both; what is missing is None.
            contexts = zip_longest(sample.retrieved_contexts or (), sample.retrieved_context_ids or ())
            for text, id_ in contexts:
                total += 1
                if text not in texts_in_corpus and id_ not in ids_in_corpus:
                    foreign += 1
        if total - foreign < _MIN_SHARE_IN_CORPUS * total:
            yield (
                f"{name}: {foreign} of {plural(total, 'context')} are not in the corpus, neither by text nor by id: the "
                "floor is over another corpus"
            )

"""A baseline to keep in a repository, for `ctxmetrics.compare`: rows as a file of results has them, without any text.

In place of a text stands a short hash; of evidence, the context alone. Reasons, details, metadata and usage are left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxmetrics.evaluation.rows.json_lines import get_encoder
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.scores.score import Score, get_deferred
from ctxmetrics.verdicts import Evidence, Verdict

# The beginning of a hash that stands in place of a text.
HASH_PREFIX = "sha256:"
# The number of characters of a hash, 6 bits each: of one text, of a question, and of the key of a sample.
_TEXT_HASH_LENGTH = 4
_QUESTION_HASH_LENGTH = 7
KEY_HASH_LENGTH = 5
_FULL_HASH = re.compile("[0-9a-f]{32}")


def digest(value: object) -> str:
    """Return the first 128 bits of the SHA-256 of plain data, in hexadecimal digits.

    The hash is that of its JSON in UTF-8, without blanks between its parts, and with the keys of a mapping sorted.
    """
    if isinstance(value, dict):
        value = dict(sorted(value.items()))
    try:
        data = get_encoder()(value)
    except ValueError:  # half a character, which UTF-8 cannot hold
        data = json.dumps(value).encode()
    return hashlib.sha256(data).hexdigest()[:32]


def shorten(hash_: str, size: int = _TEXT_HASH_LENGTH) -> str:
    """Return the first bits of a hash, as characters of 6 bits each. A text that is no hash is hashed first."""
    if not _FULL_HASH.fullmatch(hash_):
        hash_ = digest(hash_)
    return urlsafe_b64encode(bytes.fromhex(hash_)).decode()[:size]


def text_hash(text: str) -> str:
    """Return the short hash of a unit's text. If the text is a hash already, return its beginning."""
    hash_ = text.removeprefix(HASH_PREFIX) if text.startswith(HASH_PREFIX) else digest(text)
    return HASH_PREFIX + (hash_ if len(hash_) == _TEXT_HASH_LENGTH else shorten(hash_))


def shorten_question(record: Mapping[str, Any]) -> str:
    """Return the short hash of a sample's question and reference, in the form of a baseline."""
    return record["hash"] if "key" in record else shorten(record["hash"], _QUESTION_HASH_LENGTH)


def shorten_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten the hashes of a sample to the length in a baseline: see `ctxmetrics.evaluation.rows.sample_record.build_record`."""
    is_short_already = "key" in record  # only the record of a baseline has a key
    if is_short_already or "hash" not in record:
        return {**record}
    hashes = record.get("context_hashes") or []
    short: dict[str, Any] = {
        "hash": shorten_question(record),
        "key": shorten(digest([record["hash"], *hashes]), KEY_HASH_LENGTH),
        "context_hashes": [shorten(hash_) for hash_ in hashes],
    }
    if record.get("content_hash"):
        short["content_hash"] = shorten(record["content_hash"], _QUESTION_HASH_LENGTH)
    if record.get("stage_sizes"):
        short["stages_key"] = shorten(digest(record["stage_sizes"]))
    return {**record, **short}


# The fields of a sample that a baseline keeps.
_KEPT_FIELDS = ("hash", "content_hash", "key", "stages_key", "context_hashes")


def shorten_row(row: Row, record: Mapping[str, Any]) -> Row:
    """Cut a row to the fields of a baseline.

    Args:
        row: The row.
        record: The facts about the row's sample; see `ctxmetrics.evaluation.rows.sample_record.build_record`.
    """
    short = shorten_record(record)
    baseline_record = {name: short[name] for name in _KEPT_FIELDS if name in short}
    return replace(
        row, sample=None, scores=tuple(map(_shorten_score, row.scores)), record=baseline_record
    )


def _shorten_score(score: Score) -> Score:
    """Cut a score to the fields of a baseline."""
    verdicts: Any = get_deferred(score)
    # A verdict of nothing but an id and a value is short already: such verdicts are not built.
    if verdicts is None or verdicts.to_dicts() is None:
        verdicts = tuple([_shorten_verdict(verdict) for verdict in score.verdicts])
    return Score(
        metric=score.metric,
        value=score.value,
        reason_code=score.reason_code,
        threshold=score.threshold,
        verdicts=verdicts,
        provenance=score.provenance,
        sample_id=score.sample_id,
        counted=score.counted,
    )


def _shorten_verdict(verdict: Verdict) -> Verdict:
    """Cut a verdict to the fields of a baseline: hashes in place of texts, and no quotes."""
    contexts = sorted({span.context for span in verdict.evidence})
    return Verdict(
        id=verdict.id,
        value=verdict.value,
        text=verdict.id if verdict.text == verdict.id else text_hash(verdict.text),
        code=verdict.code,
        evidence=tuple([Evidence(context, 0, 0, "") for context in contexts]),
    )

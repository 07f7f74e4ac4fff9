"""A baseline to keep in a repository: one short line a sample, without any text, for `ctxmetrics.compare`.

A line ``{"baseline_id": 1, "metrics": [..]}`` names the metrics, before the first sample that has them so. The line of a sample
is ``[id, baseline_id, hashes, [value, verdicts, units, codes], ..]`` with a list a metric, without what is empty at its end:

- ``hashes``: of question and reference (7 characters), of these and the contexts (5), of each context (4); a colon and the hash
  of the sizes of stages, where it has some.
- ``value``: the number, or the reason code; null where it is the share of the verdicts that are yes.
- ``verdicts``: a sign each (``+`` yes, ``-`` no, ``?`` not judged); of a unit, the contexts that state it, a digit or letter each.
- ``units``: the hash of each unit (4 characters). ``codes``: those of verdicts, by position.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_letters, digits
from typing import Any

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.formulas import share
from ctxmetrics.scores import Score

# The beginning of a hash that stands in place of a text.
HASHED = "sha256:"
# The letter of the ids of verdicts, by what they are about.
ID_LETTERS = {"sentence": "s", "claim": "s", "fact": "s", "context": "c"}
# Characters of the hashes, of 6 bits each: of one text of a sample; of what tells samples apart.
_TEXT, _QUESTION, KEY = 4, 7, 5
_HASH = re.compile("[0-9a-f]{32}")
_SIGNS = {True: "+", False: "-", None: "?"}
_VALUES = {sign: value for value, sign in _SIGNS.items()}
_DIGITS = digits + ascii_letters
_SORTED = json.JSONEncoder(sort_keys=True)


def digest(value: object) -> str:
    """Return the first 128 bits of the SHA-256 of plain data, in hexadecimal digits."""
    return hashlib.sha256(_SORTED.encode(value).encode()).hexdigest()[:32]


def shorten(hash_: str, size: int = _TEXT) -> str:
    """Return the first bits of a hash as characters of 6 bits each; what is no hash, as a file may have it, is hashed first."""
    if not _HASH.fullmatch(hash_):
        hash_ = digest(hash_)
    return urlsafe_b64encode(bytes.fromhex(hash_)).decode()[:size]


def text_hash(text: str) -> str:
    """Return the short hash of a unit's text; of a hash, its beginning."""
    hash_ = text.removeprefix(HASHED) if text.startswith(HASHED) else digest(text)
    return HASHED + (hash_ if len(hash_) == _TEXT else shorten(hash_))


def shorten_question(record: Mapping[str, Any]) -> str:
    """Return the hash of a sample's question and reference as a baseline holds it."""
    return record["hash"] if "key" in record else shorten(record["hash"], _QUESTION)


def shorten_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Cut the hashes of a sample to those that a baseline holds; see `ctxmetrics.results.rows_file.build_record`."""
    if "key" in record:
        return {**record}
    hashes = record.get("context_hashes") or []
    short: dict[str, Any] = {
        "hash": shorten_question(record),
        "key": shorten(digest([record["hash"], *hashes]), KEY),
        "context_hashes": [shorten(hash_) for hash_ in hashes],
    }
    if record.get("stage_sizes"):
        short["stages"] = shorten(digest(record["stage_sizes"]))
    return {**record, **short}


def build_baseline(
    rows: Iterable[tuple[Mapping[str, Any], Sequence[Score]]], start: Mapping[str, str] = EMPTY
) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield the lines of a baseline.

    Args:
        rows: What is known of each sample, and its scores.
        start: What is known of the run: the first line.
    """
    if start:
        yield {"baseline_id": 0, "run": start}
    numbers: dict[str, int] = {}
    for record, scores in rows:
        metrics = [
            {
                "metric": score.metric,
                "threshold": score.threshold,
                "about": ID_LETTERS.get(score.counted[0], ""),
                "provenance": score.provenance.to_dict(),
            }
            for score in scores
        ]
        name = json.dumps(metrics)
        if name not in numbers:
            numbers[name] = len(numbers) + 1
            yield {"baseline_id": numbers[name], "metrics": metrics}
        short = shorten_record(record)
        hashes = "".join([short["hash"], short["key"], *short["context_hashes"]])
        if "stages" in short:
            hashes += f":{short['stages']}"
        yield [scores[0].sample_id, numbers[name], hashes, *map(_pack_score, scores)]


def _pack_score(score: Score) -> list[Any]:
    value = score.reason_code if score.value is None else score.value
    if value == _find_share([verdict.value for verdict in score.verdicts]):
        value = None
    about_units = ID_LETTERS.get(score.counted[0]) == "s"
    verdicts, units = "", ""
    codes = {}
    for position, verdict in enumerate(score.verdicts):
        verdicts += _SIGNS[verdict.value]
        if about_units:
            contexts = sorted({span.context for span in verdict.evidence})
            verdicts += "".join(_DIGITS[context] for context in contexts if context < len(_DIGITS))
            units += text_hash(verdict.text).removeprefix(HASHED)
        if verdict.code:
            codes[position] = verdict.code
    packed = [value, verdicts, units, codes]
    while len(packed) > 1 and not packed[-1]:
        packed.pop()
    return packed


def _find_share(values: Sequence[bool | None]) -> float | None:
    """Return the share of yeses; None where a verdict is missing."""
    known = [value for value in values if value is not None]
    return share(known) if len(known) == len(values) else None


def read_baseline_line(
    line: Sequence[Any], headers: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a sample, as a file of results holds them.

    Args:
        line: The line of the sample.
        headers: The metrics by their ``baseline_id``.

    Raises:
        LookupError, TypeError, ValueError: It is no such line.
    """
    identifier, number, hashes, *scores = line
    texts, _, stages = hashes.partition(":")
    pieces = re.findall(f"(.{{{_QUESTION}}})(.{{{KEY}}})(.*)", texts) or [("", "", "")]
    contexts = _split(pieces[0][2])
    record = {"context_hashes": contexts, "content_hash": digest(line)}
    record |= dict(zip(("hash", "key"), pieces[0], strict=False))
    if stages:
        record["stages"] = stages
    for header, score in zip(headers[str(number)], scores, strict=True):
        parts: list[Any] = [*score, *("", "", "", {})[len(score) :]]
        value, verdicts, units, codes = parts
        unpacked = []
        texts = _split(units) or contexts if header["about"] else []
        for position, (sign, places) in enumerate(re.findall(r"([+?-])(\w*)", verdicts)):
            verdict: dict[str, Any] = {"id": f"{header['about']}{position + 1}", "value": _VALUES[sign]}
            verdict["text"] = HASHED + "".join(texts[position : position + 1])
            verdict["code"] = codes.get(str(position))
            verdict["evidence"] = [
                {"context": _DIGITS.index(place), "start": 0, "end": 0} for place in places
            ]
            unpacked.append(verdict)
        row = {
            **header,
            "sample_id": identifier,
            "sample": record,
            "verdicts": unpacked,
            "value": score[0],
        }
        if score[0] is None:
            row["value"] = _find_share([verdict["value"] for verdict in unpacked])
        elif isinstance(value, str):
            row |= {"value": None, "reason_code": value}
        yield row


def _split(hashes: str) -> list[str]:
    return re.findall(f".{{{_TEXT}}}", hashes)

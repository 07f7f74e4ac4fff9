"""Rows of a file of results, each whole: what a file says once, and what it leaves out, stands in every row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_PROVENANCE: dict[str, Any] = {
    "judge": None,
    "prompt": None,
    "served_model": None,
    "splitter": None,
    "formula": "",
    "convention": "default",
    "library": "",
    "warnings": [],
}
_USAGE = {
    "calls": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "reused": 0,
    "cost": None,
    "estimated": False,
}
_VERDICT: dict[str, Any] = {"reason": None, "code": None, "evidence": [], "details": {}}
_ROW: dict[str, Any] = {
    "sample_id": None,
    "reason_code": None,
    "message": None,
    "threshold": None,
    "passed": None,
    "band": None,
    "verdicts": [],
    "doubtful": {},
    "context_lengths": None,
    "signals": None,
    "metadata": {},
    "usage": {},
}
_SAMPLE: dict[str, Any] = {"user_input": None, "context_hashes": [], "labels": {}, "metadata": {}}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the whole lines of a file of results; a line that is cut off is an error."""
    return complete_rows(path.read_text(encoding="utf-8").splitlines())


def complete_rows(lines: list[str]) -> list[dict[str, Any]]:
    """Complete the rows of lines."""
    provenances: dict[int, dict[str, Any]] = {}
    sample = None
    rows = []
    for line in map(json.loads, lines):
        number = line.pop("provenance_id", None)
        if "metric" not in line:
            provenances[number] = {**_PROVENANCE, **line}
            continue
        if line.get("sample"):
            sample = {**_SAMPLE, **line["sample"]}
        row = {**_ROW, **line, "sample": sample}
        row["usage"] = {**_USAGE, **row["usage"]}
        row.setdefault("provenance", dict(provenances.get(number, {})))
        row["verdicts"] = [_complete_verdict(verdict) for verdict in row["verdicts"]]
        rows.append(row)
    return rows


def _complete_verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    whole = {**_VERDICT, "text": verdict["id"], **verdict}
    text = whole["text"]
    spans = []
    for span in whole["evidence"]:
        begin, end = span["start"], span["end"]
        quote = text if end - begin == len(text) else text[begin:end]
        spans.append({"quote": quote, "whole": True, **span})
    return {**whole, "evidence": spans}

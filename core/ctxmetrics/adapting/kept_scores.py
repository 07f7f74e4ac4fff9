"""Stores a whole score in the text that a framework keeps beside the number, and reads it again."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

from ctxmetrics.scores.score import Score

# The beginning of the line with the score, the last one of the text.
_SCORE_LINE_PREFIX = "ctxmetrics:"


def append_score(text: str, score: Score) -> str:
    """Append a line with the whole score to a text, for a framework that keeps no other data.

    The score is in Base64, which no markup changes.
    """
    encoded = b64encode(json.dumps(score.to_dict()).encode()).decode()
    return f"{text}\n{_SCORE_LINE_PREFIX}{encoded}"


def find_score(text: str | None) -> dict[str, Any] | None:
    """Return the score that `append_score` appended to a text; None without one.

    The text may come from another library's metric, so that the characters behind the prefix may be no score.
    """
    _, prefix, encoded = (text or "").rpartition(f"\n{_SCORE_LINE_PREFIX}")
    if not prefix:
        return None
    try:
        score = json.loads(b64decode(encoded, validate=True))
    except ValueError:
        return None
    return score if isinstance(score, dict) else None


# The fields of a score that `to_json_details` returns as they are.
_COPIED_FIELDS = ("metric", "reason_code", "threshold", "passed", "band", "doubtful", "usage")


def to_json_details(score: Score) -> dict[str, Any]:
    """Return JSON-ready data that a framework keeps beside the number; ``score`` is the whole score, for `build_results`."""
    fields = score.to_dict()
    return {
        "count": score.count,
        "judge": score.provenance.judge,
        "verdicts": {verdict.id: verdict.value for verdict in score.verdicts},
        **{name: fields[name] for name in _COPIED_FIELDS},
        "score": fields,
    }

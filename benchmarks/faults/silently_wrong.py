"""Replies that are readable and wrong: what Ragas, DeepEval and this library make of them, and whether they say so.

    python benchmarks/run.py silently_wrong [--peers ragas collections deepeval] [--write-docs]

One sample whose true scores are known, and a judge behind a server on the loopback that answers honestly, but for one
fault in the list of verdicts: entries are missing, nobody asked for them, are no yes or no, or have moved. Every
metric is asked by itself, through the real client libraries. A number that is not the true one, without an exception
or a log line, is silently wrong. The fault is in every reply; ours is asked once more with it in the first one only.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import json
import math
import os

from _shared import arguments, docs, judging

METRICS = judging.KINDS
TITLES = {
    **judging.TITLES,
    "every": "ctxmetrics, every reply",
    "first": "ctxmetrics, first reply only",
}
OURS = {"every": math.inf, "first": 1}
"""Our columns, and in how many replies the fault is at most."""

FACTS = [f"Fact 7-{number} holds." for number in range(5)]
CASE = judging.Case(
    question="What holds about 7?",
    reference=" ".join(FACTS),
    contexts=(
        f"Note 7-0: {FACTS[0]} It is old.",
        "Note 7-1: It rained all day.",
        f"Note 7-2: {FACTS[1]} {FACTS[2]}",
        "Note 7-3: Bread was dear.",
    ),
    recall=3 / 5,
    precision=(1 / 1 + 2 / 3) / 2,
)
"""The first three sentences are supported; the first and the third context are useful."""


# --- the faults: each takes the entries of a reply, as dicts; where they are keyed by id, it is their "id" ---


FLAGS = {"verdict", "attributed", "supported", "useful"}


def _flag(entry: dict, yes: object, no: object) -> dict:
    """The entry with another verdict, in the words of whoever asked."""
    return {
        key: (yes if value in (True, 1, "yes") else no) if key in FLAGS else value
        for key, value in entry.items()
    }


def _extra(entry: dict, number: int) -> dict:
    """An entry about nothing that was asked: yes, with a new id where there are ids."""
    words = {str: "yes", int: 1, bool: True}
    changed = {key: words[type(value)] if key in FLAGS else value for key, value in entry.items()}
    return changed if "id" not in entry else {**changed, "id": f"{entry['id'][0]}{number + 100}"}


def _next_id(entry: dict) -> dict:
    return {**entry, "id": f"{entry['id'][0]}{int(entry['id'][1:]) + 1}"} if "id" in entry else entry


FAULTS = {
    "too few: the last two are missing": lambda entries: entries[:-2],
    "too many: three more, all yes": lambda entries: [
        *entries,
        *(_extra(entries[-1], number) for number in range(3)),
    ],
    "2 for yes, -1 for no": lambda entries: [_flag(entry, 2, -1) for entry in entries],
    "an empty list": lambda _: [],
    "shifted ranks: the first is missing": lambda entries: entries[1:],
    "shifted ids: each names the next one": lambda entries: [_next_id(entry) for entry in entries],
}
ONLY_OURS = "shifted ids: each names the next one"
"""The others have no ids."""


class Faulty:
    """A responder that spoils its replies.

    Args:
        fault: Name of the fault.
        times: Stop after so many spoiled replies.
    """

    def __init__(self, fault: str, times: float = math.inf) -> None:
        self._change, self._left = FAULTS[fault], times

    def __call__(self, request) -> str:
        reply = judging.respond(request)
        if self._left <= 0:
            return reply
        data = json.loads(reply)
        if "verdict" in data:  # Ragas' precision asks about one context, and gets no list
            spoiled = self._change([data])
            changed = spoiled[0] if len(spoiled) == 1 else data
        else:
            changed = {key: self._spoil(value) for key, value in data.items()}
        self._left -= changed != data
        return json.dumps(changed)

    def _spoil(self, value: object) -> object:
        if isinstance(value, list):
            return self._change(value)
        if isinstance(value, dict):
            entries = self._change([{"id": id_, **entry} for id_, entry in value.items()])
            return {entry.pop("id"): entry for entry in entries}
        return value


# --- contenders: one metric on the one sample ---


def _ask_peer(name: str, metric: str, fault: str) -> dict[str, object]:
    from support import FakeOpenAIServer

    try:
        with judging.logged() as lines, FakeOpenAIServer(Faulty(fault)) as server, judging.silence():
            value = getattr(judging, judging.PEERS[name])([CASE], server.base_url, (metric,))[0][0]
    except Exception as error:
        return {"value": None, "told": type(error).__name__}
    undefined = value is None or math.isnan(value)
    # Warnings of the frameworks, but for those about the folder that we do not let them write into.
    told = any(
        name.split(".")[0] in ("ragas", "deepeval", "instructor")
        and not text.startswith("READ_ONLY filesystem")
        for name, text in lines
    )
    return {"value": None if undefined else value, "told": "a log line" if told else None}


def ask_ours(metric: str, fault: str, times: float) -> dict[str, object]:
    """Score the sample with this library; ``told`` is why there is no value."""
    from ctxmetrics import ContextPrecision, ContextRecall
    from ctxmetrics.judges.llm.judge import forget
    from support import FakeOpenAIServer

    forget()
    (sample,) = judging.samples_of([CASE])
    with FakeOpenAIServer(Faulty(fault, times)) as server:
        asked = (ContextRecall if metric == "recall" else ContextPrecision)(
            judge=judging.judge_at(server.base_url)
        )
        score = asked.score(sample)
        requests = server.count
    codes = {verdict.code: None for verdict in score.verdicts if verdict.value is None}
    told = f"{score.reason_code} ({', '.join(map(str, codes))})" if score.value is None else None
    return {"value": score.value, "told": told, "requests": requests}


# --- the table ---


def our_cells(fault: str, metric: str) -> dict[str, dict[str, object]]:
    """Our columns of one row."""
    return {name: ask_ours(metric, fault, times) for name, times in OURS.items()}


def cell(found: dict[str, object], truth: float, *, ours: bool) -> str:
    """How a cell of the table reads."""
    value, told = found["value"], found["told"]
    if value is None:
        return f"no value: {told}" if told else "**no value, silent**"
    shown = f"{value:.4g}"
    if abs(value - truth) < 1e-6:
        more = found.get("requests", 1) - 1
        return f"{shown}, right" + (
            f"; asked {more} more time{'s' if more > 1 else ''}" if ours and more else ""
        )
    return f"**{shown}, wrong**, {told}" if told else f"**{shown}, wrong, silent**"


def table(rows: list[dict], titles: tuple[str, ...]) -> str:
    """The rows as a Markdown table."""
    head = ["the list of verdicts", "metric", "true", *(TITLES[title] for title in titles)]
    lines = []
    for row in rows:
        cells = [row["cells"].get(title, "has no ids") for title in titles]
        lines.append([row["fault"], row["metric"], f"{row['true']:.4g}", *cells])
    return docs.markdown(head, lines)


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("silently_wrong", peers=judging.PEERS, write_docs=False)
    options = parser.parse_args(argv)
    if options.write_docs and set(options.peers) != set(judging.PEERS):
        parser.error("--write-docs needs all peers")
    os.environ.update(judging.QUIET, DEEPEVAL_FILE_SYSTEM="READ_ONLY")
    rows = []
    for fault in FAULTS:
        for metric in METRICS:
            truth = getattr(CASE, metric)
            peers = () if fault == ONLY_OURS else options.peers
            found = {name: _ask_peer(name, metric, fault) for name in peers} | our_cells(fault, metric)
            cells = {name: cell(item, truth, ours=name in OURS) for name, item in found.items()}
            rows.append(
                {"fault": fault, "metric": metric, "true": truth, "found": found, "cells": cells}
            )
    text = table(rows, (*options.peers, *OURS))
    print(text)
    if options.write_docs:
        docs.write("silently_wrong", text)
    silent = {
        name: sum("silent" in row["cells"].get(name, "") for row in rows)
        for name in (*options.peers, *OURS)
    }
    print(
        "silently wrong, or silently without a value: "
        + ", ".join(f"{name} {number}" for name, number in silent.items())
    )
    return {"benchmark": "silently_wrong", "silent": silent, "rows": rows}

"""What the embedded judge is worth, family by family.

``python benchmarks/run.py embedded [--data DIR] [--write-docs]``; the README beside this file says where the
data comes from.

Seven families of claims that people labelled: balanced accuracy and AUROC; false yes when random passages of another set
are added; what its flags are worth. *Left out*: the bar chosen on the six other families. All families were
looked at while the rule was chosen. A test judges `without` each of `PARTS`.
"""

from __future__ import annotations

import contextlib
import functools
import random
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from unittest import mock

from _shared import docs
from _shared.verdicts import fingerprint

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence import chunks, compared_text, contradiction, word_forms, words
from ctxmetrics.judges.lexical import LexicalJudge, index, phrase, support
from ctxmetrics.text.sentences import split_sentences
from validity.agreement import CLAPNQ, agreement, make_parser, read, require, usefulness

FAMILIES = {
    "BEGIN wow": "begin-wow-dev",
    "BEGIN tc": "begin-tc-dev",
    "BEGIN cmu": "begin-cmu-dev",
    "WiCE": "wice-dev",
    "ExpertQA": "expertqa-dev",
    "BUMP": "bump-dev",
    "Factcheck-GPT": "factcheckgpt-dev",
}
PADDED, PASSAGES, ADDED, CLAIMS = ("BEGIN wow", "WiCE"), "mtragun.jsonl", (0, 20, 80), 120
BARS = (0.52, 0.54, 0.56, 0.58, 0.6, 0.62, 0.64, 0.66, 0.68, 0.7)
"""Bars among which one is chosen with a family left out."""
PAGE = Path(__file__).resolve().parents[2] / "docs" / "embedded-judge.md"
MORE = Path(__file__).resolve().parents[1] / "embedded-judge.md"


@dataclass(frozen=True)
class Claim:
    """A claim, what people said, and what the judge says.

    Attributes:
        human: Whether the contexts support it.
        score: The lowest score of its sentences.
        judge: Whether all its sentences are supported.
        kinds: The kinds of contradiction that flag its yes.
    """

    human: bool
    score: float
    judge: bool
    kinds: frozenset[str]


def judged(
    judge: LexicalJudge, rows: list[dict], added: int = 0, passages: list[str] = ()
) -> list[Claim]:
    """Judge the claims of a family, each with so many random passages added."""
    source, found = random.Random(3), []
    for row in rows:
        contexts = (*row["retrieved_contexts"], *source.sample(passages, added)) if added else None
        answer = row["reference"]
        request = JudgeRequest(
            units=split_sentences(answer),
            contexts=tuple(contexts or row["retrieved_contexts"]),
            answer=answer,
        )
        verdicts = judge.support(request)
        kinds = {one.details["contradiction"]["kind"] for one in verdicts if one.code == "uncertain"}
        found.append(
            Claim(
                bool(row["labels"]["reference_supported"]),
                min((one.details["score"] for one in verdicts), default=-1.0),
                all(one.value for one in verdicts),
                frozenset(kinds),
            )
        )
    return found


def balanced(claims: list[Claim], bar: float | None = None) -> float:
    """Balanced accuracy, with the verdicts or with another bar for the score."""
    says = [claim.judge if bar is None else claim.score >= bar - 1e-9 for claim in claims]
    return agreement([claim.human for claim in claims], says)["balanced_accuracy"]


def auroc(claims: list[Claim]) -> float:
    """The chance that a supported claim has the higher score: Mann and Whitney's U, ties one half."""
    from scipy.stats import rankdata

    ranks = rankdata([claim.score for claim in claims])
    yes = [rank for rank, claim in zip(ranks, claims, strict=True) if claim.human]
    return (sum(yes) - len(yes) * (len(yes) + 1) / 2) / (len(yes) * (len(claims) - len(yes)))


def false_yes(
    judge: LexicalJudge, data: dict[str, list[dict]], passages: list[str]
) -> dict[str, list[int]]:
    """Unsupported claims of a family called supported, by the passages added."""
    return {
        name: [
            sum(claim.judge for claim in judged(judge, _unsupported(data[name]), added, passages))
            for added in ADDED
        ]
        for name in PADDED
    }


def _unsupported(rows: list[dict]) -> list[dict]:
    return [row for row in rows if not row["labels"]["reference_supported"]][:CLAIMS]


def left_out(claims: dict[str, list[Claim]]) -> dict[str, float]:
    """For each family the balanced accuracy with the bar that is best on the mean of the others."""
    found = {}
    for name, own in claims.items():
        others = [family for other, family in claims.items() if other != name]
        bar = max(BARS, key=lambda bar: fmean(balanced(family, bar) for family in others))
        found[name] = balanced(own, bar)
    return found


def measure(folder: Path) -> dict:
    """Measure what the tables show."""
    judge, data, passages = LexicalJudge(), *_read(folder)
    claims = {name: judged(judge, rows) for name, rows in data.items()}
    chosen = left_out(claims)
    return {
        "families": {name: _row(found, chosen[name]) for name, found in claims.items()},
        "flags": _flags(claims),
        "false_yes": false_yes(judge, data, passages),
        "usefulness": usefulness(read(folder / CLAPNQ), judge),
        "ordering": ordering(read(folder / CLAPNQ)),
    }


LOST, DRAWN, DRAWS, APART = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 100, 200, (0.1, 0.2)


def ordering(rows: list[dict]) -> dict[str, float]:
    """How often 100 samples put two retrievers in the right order.

    Retrievers are made of CLAPNQ: each loses the sentences that people selected at its own rate, so that the share that is
    left is the true recall. Pairs whose true recall is .1 to .2 apart; samples are drawn with replacement.
    """
    source, judge = random.Random(7), LexicalJudge()
    true, found = [], []
    for rate in LOST:
        true.append([])
        found.append([])
        for row in rows:
            gold = [bool(label) for label in row["labels"]["context_useful"]]
            kept = [not useful or source.random() >= rate for useful in gold]
            true[-1].append(sum(map(all, zip(gold, kept, strict=True))) / sum(gold))
            contexts = tuple(
                text for text, keep in zip(row["retrieved_contexts"], kept, strict=True) if keep
            )
            units = split_sentences(row["reference"])
            request = JudgeRequest(units=units, contexts=contexts, answer=row["reference"])
            found[-1].append(fmean(verdict.value for verdict in judge.support(request)))
    pairs = [
        pair
        for pair in combinations(range(len(LOST)), 2)
        if APART[0] <= fmean(true[pair[0]]) - fmean(true[pair[1]]) <= APART[1]
    ]
    right = []
    for better, worse in pairs:
        for _ in range(DRAWS):
            drawn = source.choices(range(len(rows)), k=DRAWN)
            right.append(sum(found[better][one] - found[worse][one] for one in drawn) > 0)
    return {"samples": DRAWN, "pairs": len(pairs), "right": fmean(right)}


def _read(folder: Path) -> tuple[dict[str, list[dict]], list[str]]:
    data = {name: read(folder / f"{file}.jsonl") for name, file in FAMILIES.items()}
    passages = sorted({text for row in read(folder / PASSAGES) for text in row["retrieved_contexts"]})
    return data, passages


def _row(claims: list[Claim], chosen: float) -> dict:
    right = [claim for claim in claims if claim.human and claim.judge]
    return {
        "n": len(claims),
        "balanced_accuracy": balanced(claims),
        "left_out": chosen,
        "auroc": auroc(claims),
        "human_rate": fmean(claim.human for claim in claims),
        "judge_rate": fmean(claim.judge for claim in claims),
        "flagged_of_right": fmean(bool(claim.kinds) for claim in right),
    }


def _flags(claims: dict[str, list[Claim]]) -> dict[str, dict[str, int]]:
    """For each kind of contradiction the flagged yeses that are wrong, and those that are right."""
    found: dict[str, dict[str, int]] = {}
    for claim in (claim for family in claims.values() for claim in family):
        for kind in claim.kinds:
            found.setdefault(kind, {"wrong": 0, "right": 0})["right" if claim.human else "wrong"] += 1
    return found


# --- the judge without a part ---


@contextlib.contextmanager
def without(part: str):
    """Judge without a part that is no parameter."""
    replaced = []
    if part == "stems":
        replaced = [mock.patch.object(chunks, "stem", lambda word: word)]
    elif part == "lead-ins":
        replaced = [mock.patch.dict(phrase.LEAD_INS, clear=True)]
    elif part in {"negation", "number"}:
        check = contradiction.find_contradiction

        def other(unit, evidence, language):
            found = check(unit, evidence, language)
            return None if found and found.kind == part else found

        remembered = functools.lru_cache(other)
        replaced = [mock.patch.object(support, "find_remembered_contradiction", remembered)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(word_forms.LISTS, WITHOUT.get(part, {})))
        for patch in replaced:
            stack.enter_context(patch)
        _forget()
        yield
    _forget()


def _forget() -> None:
    chunks.read_chunk.__self__.clear()
    chunks._plain_chunks.clear()
    chunks._plain_keys.clear()
    words._stretches.clear()
    words._texts_with_numbers.clear()
    words._texts_without_numbers.clear()
    words.get_word_list.cache_clear()
    words.get_stem_keys.cache_clear()
    words.get_negation_keys.cache_clear()
    phrase.read_or_remember.cache_clear()
    compared_text.read_unit.cache_clear()
    compared_text._read_or_remember.cache_clear()
    compared_text.list_exception_keys.cache_clear()
    contradiction.list_contradicting_keys.cache_clear()
    support.find_remembered_contradiction.cache_clear()
    index.memory.clear()


WITHOUT = {
    "number words": {"numbers": {}, "counts": {}},
    "stop words": {"stop": {"en": ["the"]}},
    "lead-ins": {},
    "words that may deny": {"denials": {}},
    "words before which a negation denies nothing": {"no_negation_before": {}},
    "words skipped after a negation": {"skipped_after_negation": {}},
    "the word after a comparative": {"than": {}},
}
"""The word lists, emptied."""
PARTS = ("stems", *WITHOUT, "negation", "number")


# --- tables ---


def tables(figures: dict) -> dict[str, str]:
    """Return the tables of the docs by their marks."""
    head = "family | n | BA | BA, left out | AUROC | yes: people | yes: judge | right yeses flagged"
    columns = ("balanced_accuracy", "left_out", "auroc", "human_rate", "judge_rate", "flagged_of_right")
    families = [*figures["families"].items(), ("mean", _mean(figures["families"]))]
    rows = [(name, row["n"], *map(row.get, columns)) for name, row in families]
    padded = [
        (f"{name}: of {CLAIMS} unsupported claims called supported", *counts)
        for name, counts in figures["false_yes"].items()
    ]
    flags = [(kind, one["wrong"], one["right"]) for kind, one in sorted(figures["flags"].items())]
    useful, order = figures["usefulness"], figures["ordering"]
    line = f"{useful['n']} sentences, balanced accuracy {useful['balanced_accuracy']:.3f}, "
    line += f"kappa {useful['kappa']:.3f}; useful: people {useful['human_rate']:.3f}, judge {useful['judge_rate']:.3f}."
    return {
        "families": docs.figures(head, rows),
        "passages": docs.figures(f"random passages added | {' | '.join(map(str, ADDED))}", padded),
        "flags": docs.figures("kind | flagged yeses that are wrong | that are right", flags),
        "usefulness": line,
        "ordering": f"{order['samples']} samples put two of them in the right order in {order['right']:.1%} of draws.",
        "verdicts": f"Measured with the verdicts `{fingerprint()}`.",
    }


def _mean(families: dict[str, dict]) -> dict:
    rows = list(families.values())
    return {
        name: fmean(row[name] for row in rows) if name != "n" else sum(row["n"] for row in rows)
        for name in rows[0]
    }


def run(argv: list[str]) -> dict:
    parser = make_parser("embedded", __doc__)
    parser.add_argument(
        "--write-docs", action="store_true", help=f"write the tables into the two {PAGE.name}"
    )
    options = parser.parse_args(argv)
    require(options.data, [*(f"{file}.jsonl" for file in FAMILIES.values()), PASSAGES, CLAPNQ])
    figures = measure(options.data)
    found = tables(figures)
    for name, text in found.items():
        print(f"{text}\n")
        if options.write_docs:
            docs.put(MORE if name in {"passages", "flags", "usefulness"} else PAGE, name, text)
    return {"benchmark": "embedded", "verdicts": fingerprint(), **figures}

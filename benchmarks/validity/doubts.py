"""Doubts about honest evidence: how often each check alarms on true claims and on false ones, by kind and family.

    python benchmarks/run.py doubts [--data DIR]

The evidence is what people chose (WiCE), else the sentence of the contexts that shares most words with the claim, or the best
three of them, or the whole context that shares most words with it, where it has two or three sentences (a longer one is always
flagged); BUMP's summaries are cut into sentences, of which only those that a person changed are false. For CLAPNQ the question
is whether a context is useful: the answer's words in it, with one, two or three sentences a context and one of them quoted;
and useless contexts that hold a sentence of the answer. A check stays where it alarms on at most 2 % of true claims, and where it finds three times as many false ones.

The data: benchmarks/README.md says where to get it.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from _shared import docs

from ctxmetrics.judges.evidence.contradiction import find_contradiction, find_other_value
from ctxmetrics.judges.evidence.quotes import QuotedUnit
from ctxmetrics.judges.evidence.replaced_words import find_replaced_word
from ctxmetrics.judges.evidence.reservations import find_reservation
from ctxmetrics.judges.evidence.restatements import find_restatement
from ctxmetrics.judges.evidence.words import get_word_list, tokenize
from ctxmetrics.text.quote_search import stands_in
from ctxmetrics.text.sentences import split_sentences
from validity.agreement import make_parser, read

FAMILIES = tuple(
    f"{name}-dev" for name in ["begin-wow", "begin-tc", "begin-cmu", "factcheckgpt", "expertqa", "bump"]
)
KINDS = (
    *("negation", "number", "another year", "another value"),
    *("another in its place", "reservation", "few words"),
)
WHOLE = "a whole context"


@lru_cache(maxsize=1 << 16)
def telling(text: str) -> frozenset[str]:
    """The keys of the words of at least three letters that are no stop words, and of numbers."""
    return frozenset(
        word.key
        for word in tokenize(text)
        if word.kind == "number"
        or (
            word.kind == "word"
            and len(word.folded) > 2
            and word.folded not in get_word_list("stop", "en")
        )
    )


def closest(unit: str, sentences: list[str], most: int) -> list[str]:
    """The sentences that add most words of a unit, one after the other."""
    left, chosen = set(telling(unit)), []
    while sentences and len(chosen) < most:
        best = max(sentences, key=lambda text: len(left & telling(text)))
        if chosen and not left & telling(best):
            break
        chosen.append(best)
        left -= telling(best)
    return chosen


def claims(folder: Path) -> dict[tuple[str, str, bool], list[tuple[str, list[str], list[str]]]]:
    """Claims with their evidence and contexts, by family, how the evidence was chosen, and whether they are true."""
    found = defaultdict(list)
    for row in read(folder / "wice-dev.jsonl"):
        true, contexts = row["metadata"]["label"] == "supported", row["retrieved_contexts"]
        for evidence in row["metadata"].get("supporting_sentences") or ():
            found["wice-dev", "people's", true].append((row["reference"], evidence, contexts))
    for name in FAMILIES:
        labelled = read(folder / f"{name}.jsonl")
        right = {
            unit
            for row in labelled
            if row["labels"]["reference_supported"]
            for unit in split_sentences(row["reference"])
        }
        for row in labelled:
            true, contexts = bool(row["labels"]["reference_supported"]), row["retrieved_contexts"]
            units = split_sentences(row["reference"]) if name == "bump-dev" else [row["reference"]]
            every = [text for context in contexts for text in split_sentences(context)]
            for unit in units:
                if name == "bump-dev" and not true and unit in right:
                    continue
                for most, how in ((1, "closest"), (3, "closest three")):
                    if evidence := closest(unit, every, most):
                        found[name, how, true].append((unit, evidence, contexts))
                whole = max(contexts, key=lambda text: len(telling(unit) & telling(text)), default="")
                if len(split_sentences(whole)) in (2, 3):
                    found[name, WHOLE, true].append((unit, [whole], contexts))
    return found


def has_other_year(unit: QuotedUnit, sentences: list[str]) -> bool:
    """Whether sentences have years, and no context one of the unit's."""
    return unit.find_other_year(sentences, [*unit.contexts]) is not None


def alarms(unit: str, evidence: list[str], contexts: list[str]) -> set[str]:
    """The kinds of doubt about a unit and its evidence."""
    claim = QuotedUnit(unit, unit, contexts, "en")
    homes = [text for text in contexts if any(piece in text for piece in evidence)]
    few = claim.shares_little(evidence, homes) and any(
        telling(unit) & telling(text) for text in evidence
    )
    whole = evidence[0]
    if len(evidence) == 1 and whole in contexts:
        few = few or claim.shares_little_as_whole(whole)
        evidence = [*claim.find_closest(split_sentences(whole))]
    found = find_contradiction(unit, evidence, "en") if evidence != [unit] else None
    kinds = {
        "few words": few,
        "another year": has_other_year(claim, evidence),
        "another value": find_other_value(unit, evidence, "en") is not None,
        "another in its place": find_replaced_word(unit, evidence, contexts, "en") is not None,
        "reservation": find_reservation(unit, evidence, "en") is not None,
    }
    return {*([found.kind] if found else ()), *(kind for kind, alarm in kinds.items() if alarm)}


def usefulness(folder: Path) -> dict[str, tuple[int, int]]:
    """By kind, alarms and all verdicts about contexts that people called useful, and useless."""
    counts: Counter[str] = Counter()
    for row, size in itertools.product(read(folder / "clapnq-dev.jsonl"), (1, 2, 3)):
        answer, labels = row["reference"], row["labels"]["context_useful"]
        places = range(0, len(labels), size)
        contexts = [" ".join(row["retrieved_contexts"][place : place + size]) for place in places]
        claim, units = QuotedUnit(answer, answer, contexts, "en"), split_sentences(answer)
        for text, place in zip(contexts, places, strict=True):
            useful = any(labels[place : place + size])
            kind = f"few words, {size} sentences a context, {'useful' if useful else 'useless'}"
            quoted = closest(answer, [*split_sentences(text)], 1)
            counts[kind] += claim.shares_little(quoted, (), common=True)
            counts[kind.replace("few words", "another year")] += has_other_year(claim, quoted)
            counts[f"all {kind.replace('few words', 'another year')}"] += 1
            counts[f"all {kind}"] += 1
            if size == 1 and not useful:
                counts["word for word, useless"] += any(stands_in(unit, text) for unit in units)
                counts["all word for word, useless"] += 1
    return {
        kind: (hits, counts[f"all {kind}"]) for kind, hits in counts.items() if f"all {kind}" in counts
    }


def restated(folder: Path) -> dict[str, tuple[int, int]]:
    """By family and whether claims are true, those of which one sentence of a context has all words, and all of them."""
    counts: Counter[tuple[str, bool]] = Counter()
    sizes: Counter[tuple[str, bool]] = Counter()
    for name in ("wice-dev", *FAMILIES):
        labelled = read(folder / f"{name}.jsonl")
        texts = [(row, [row["reference"]]) for row in labelled]
        right: set[str] = set()
        if name == "bump-dev":  # summaries of which one sentence was changed
            texts = [(row, [*split_sentences(row["reference"])]) for row in labelled]
            right = {
                unit for row, units in texts if row["labels"]["reference_supported"] for unit in units
            }
        for row, units in texts:
            true = bool(row["labels"]["reference_supported"])
            for unit in units:
                if true or unit not in right:
                    sizes[name, true] += 1
                    contexts = row["retrieved_contexts"]
                    counts[name, true] += any(find_restatement(unit, text, "en") for text in contexts)
    return {f"{name}, {true}": (counts[name, true], size) for (name, true), size in sizes.items()}


def run(argv: list[str]) -> dict[str, object]:
    options = make_parser("doubts").parse_args(argv)
    found = claims(options.data)
    counts = {
        key: Counter(kind for item in items for kind in alarms(*item)) for key, items in found.items()
    }
    lines = []
    figures: dict[str, Any] = {}
    for name, how in dict.fromkeys(key[:2] for key in found):
        sizes = [len(found.get((name, how, true), ())) for true in (True, False)]
        cells = []
        for kind in KINDS:
            given = [counts.get((name, how, true), Counter())[kind] for true in (True, False)]
            shares = [hit / max(1, size) for hit, size in zip(given, sizes, strict=True)]
            figures[f"{name}, {how}: {kind}"] = shares
            cells.append(
                " / ".join(
                    f"{hit} of {size} ({share:.1%})"
                    for hit, size, share in zip(given, sizes, shares, strict=True)
                )
            )
        lines.append((f"{name}, {how}", *cells))
    heads = ("family, evidence", *(f"{kind}, true / false" for kind in KINDS))
    print(docs.figures(" | ".join(heads), lines))
    rated = usefulness(options.data)
    for kind, (hits, size) in rated.items():
        print(f"clapnq-dev: {kind}: {hits} of {size} ({hits / size:.1%})")
    stated = restated(options.data)
    for kind, (hits, size) in stated.items():
        print(f"all words in one sentence: {kind}: {hits} of {size} ({hits / size:.1%})")
    return {"benchmark": "doubts", "shares": figures, "usefulness": rated, "restated": stated}

"""What the embedded judge notices when one thing in a supported sentence is made wrong, and what harmless changes cost.

``python benchmarks/run.py attacks [--data DIR] [--show KIND]``

Each supported sentence is changed in one place, and judged against the same contexts. *Caught* is a no, or a yes with the
flag ``uncertain``. The sentences are those of the public data that the judge calls supported (BEGIN's fully attributable
answers, CLAPNQ's written answers), all that hold something of the kind; and sentences made from templates, 100 a kind.
Harmless changes (number words, dates, case, spelling, abbreviations) must be kept: a yes without a flag.

The template sentences were written together with the judge's word lists.
"""

from __future__ import annotations

import calendar
import random
import re
from collections import defaultdict
from pathlib import Path

from _shared import docs
from _shared.data import read_data

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.text.sentences import split_sentences
from validity.agreement import BEGIN, CLAPNQ, find_missing, make_parser, read

BARS = {"negation inserted": 0.80, "negation removed": 0.75}
"""What the judge looks for; the other kinds show what it does not see."""
KEPT = 0.95
FLAGGED = 0.02
MONTHS = list(calendar.month_name)[1:]
TEMPLATES = read_data("attacks")
UNITS, CURRENCIES = TEMPLATES["units"], TEMPLATES["currencies"]
SMALL, SPELLING = TEMPLATES["small_numbers"], TEMPLATES["spelling"]
AUXILIARY = r"\b(is|was|are|were|has|have|had|can|could|will|would|may|should|must)\b(?! not)"


# --- changes: (unit, contexts, random source) -> changed unit, or None where it holds nothing of the kind ---


def replace_first(unit, *changes):
    """The unit with the first change that changes it, made once; a change is a pattern, and what is put there."""
    for pattern, put in changes:
        changed = re.sub(pattern, put, unit, count=1)
        if changed.strip() != unit.strip():
            return changed
    return None


def insert_not(unit, contexts, source):
    word = source.choice(("not", "not", "never"))
    before = "never" if word == "never" else "did not"
    return replace_first(unit, (AUXILIARY, rf"\1 {word}"), (r"\b([a-z]{3,}ed)\b", rf"{before} \1"))


def remove_not(unit, contexts, source):
    return replace_first(
        unit,
        (r"\b(do|does|did) not ", ""), (r"\bcannot\b", "can"), (r"n[o']t\b ?(?=\s|$)", ""), (r"\bnever ", ""),
        (r"\bnot (?!only)", ""), (r"\bno (?=[a-z])", ""), (r"\bwithout\b", "with"), (r"\bneither\b", "both"),
    )  # fmt: skip


def change_currency(unit, contexts, source):
    changes = []
    for old, new in CURRENCIES.items():
        pattern = rf"(?<=[\dnd]\s){old}\b" if old.isalpha() else rf"{re.escape(old)}(?=\s?\d)"
        changes.append((pattern, new))
    return replace_first(unit, *changes)


def change_month(unit, contexts, source):
    match = re.search(rf"\b({'|'.join(MONTHS)})\b", unit)
    if not match or (match[1] in {"May", "March"} and match.start() == 0):
        return None
    return (
        unit[: match.start()]
        + source.choice([m for m in MONTHS if m not in unit])
        + unit[match.end() :]
    )


def change_unit(unit, contexts, source):
    names = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
    match = re.search(rf"(?<=\d)([ -]?)({names})(?![A-Za-z])", unit)
    return unit[: match.start(2)] + UNITS[match[2]] + unit[match.end() :] if match else None


def number_from_elsewhere(unit, contexts, source):
    own = re.findall(r"(?<![\d.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\d,]\d|\d)", unit)
    others = sorted(
        {n for text in contexts for n in re.findall(r"\b\d+(?:,\d{3})*(?:\.\d+)?\b", text)} - set(own)
    )
    alike = [n for n in others if own and len(n) == len(own[0])] or others
    return unit.replace(own[0], source.choice(alike), 1) if own and alike else None


def name_from_elsewhere(unit, contexts, source):
    pattern = r"(?<=[a-z,] )[A-Z][a-z]{2,}\b"
    own = [name for name in re.findall(pattern, unit) if name not in MONTHS]
    others = sorted(
        {n for text in contexts for n in re.findall(pattern, text)}
        - set(re.findall(r"\w+", unit))
        - set(MONTHS)
    )
    return re.sub(rf"\b{own[-1]}\b", source.choice(others), unit, count=1) if own and others else None


def swap_roles(unit, contexts, source):
    match = re.match(
        r"((?:[A-Z]\w+ ?)+)\b(\w+ed|won|bought|sold|beat|wrote|led)( (?:the )?)((?:[A-Z]\w+ ?)+)(.*)",
        unit,
        re.DOTALL,
    )
    if not match:
        return None
    one, verb, gap, other, rest = match.groups()
    return f"{other.strip()} {verb}{gap}{one.strip()} {rest}".replace(" .", ".")


# --- harmless changes ---


def number_word(unit, contexts, source):
    """Write a small number as a word, or the other way round; the day of a date and a clock time have digits only."""
    months = "|".join(MONTHS)
    if re.search(rf"(?i)\b({months}) \d\d?\b|\b\d\d? ({months})\b|\d ?: ?\d\d|\d %", unit):
        return None
    digits = r"(?<![\d.,$€£-])\b(\d|1[0-2])\b(?![.,:/-]\d|%|-|,000)"
    words = rf"\b({'|'.join(SMALL[2:])})\b(?![ -](?:hundred|thousand|million))"
    return replace_first(
        unit,
        (digits, lambda match: SMALL[int(match[1])]),
        (words, lambda match: str(SMALL.index(match[1]))),
    )


def other_spelling(unit, contexts, source):
    changes = [(rf"\b{old}", new) for pair in SPELLING for old, new in (pair, pair[::-1])]
    return replace_first(unit, *changes)


HARMLESS = {
    "number words": number_word,
    "upper case": lambda unit, *_: unit.upper(),
    "lower case": lambda unit, *_: unit.lower(),
    "spelling": other_spelling,
}
HARMFUL = {
    "negation inserted": insert_not,
    "negation removed": remove_not,
    "currency": change_currency,
    "month": change_month,
    "unit": change_unit,
    "number from elsewhere": number_from_elsewhere,
    "name from elsewhere": name_from_elsewhere,
    "roles exchanged": swap_roles,
}


# --- sentences ---


def of_the_data(data: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Sentences that people wrote from the contexts, or called attributable to them."""
    begin, clapnq = read(data / BEGIN), read(data / CLAPNQ)
    rows = [row for row in begin if row["labels"]["reference_supported"]] + clapnq
    return [
        (unit, tuple(row["retrieved_contexts"]))
        for row in rows
        for unit in split_sentences(row["reference"])
    ]


def of_the_templates(kind: str, templates: dict) -> list[tuple[str, str | None, tuple[str, ...]]]:
    """(Supported sentence, changed sentence or None, contexts) from the templates of a kind, at most 100."""
    source, made = random.Random(kind), []
    fills, found = templates["fill"], templates["kinds"][kind]
    for _ in range(-(-100 // len(found))):
        for template in found:
            values = {name: source.sample(values, len(values)) for name, values in fills.items()}
            put = {name: chosen[0] for name, chosen in values.items()}
            put |= {
                f"{name}{index}": text
                for name, chosen in values.items()
                for index, text in enumerate(chosen)
            }
            contexts = tuple(text.format_map(put) for text in template["contexts"])
            wrong = template.get("wrong")
            made.append((template["right"].format_map(put), wrong and wrong.format_map(put), contexts))
    return made[:100]


def judged(judge: LexicalJudge, unit: str, contexts: tuple[str, ...]):
    (verdict,) = judge.support(JudgeRequest(units=(unit,), contexts=contexts, answer=unit))
    return verdict


def measure(data: Path | None, judge: LexicalJudge | None = None) -> dict:
    """Count per kind and source: sentences, caught (or kept); and how many unchanged sentences are flagged."""
    judge = judge or LexicalJudge()
    templates = TEMPLATES
    figures: dict = {"caught": {}, "kept": {}, "unchanged": {}}
    misses = figures["misses"] = defaultdict(list)

    def count(group, kind, origin, pairs):
        n = hits = 0
        for unit, changed, contexts in pairs:
            if changed is None or changed == unit:
                continue
            before = judged(judge, unit, contexts)
            if not before.value or (group == "kept" and before.code is not None):
                continue
            verdict = judged(judge, changed, contexts)
            kept = verdict.value and verdict.code is None
            n += 1
            hit = kept if group == "kept" else not kept
            hits += hit
            if not hit:
                misses[f"{kind}, {origin}"].append((unit, changed, verdict.reason, contexts))
        figures[group].setdefault(kind, {})[origin] = {"n": n, "share": hits / n if n else None}

    sentences = of_the_data(data) if data else []
    for kind, change in [*HARMFUL.items(), *HARMLESS.items()]:
        source = random.Random(kind)
        pairs = [(unit, change(unit, contexts, source), contexts) for unit, contexts in sentences]
        count("kept" if kind in HARMLESS else "caught", kind, "data", pairs)
    unchanged = []
    for kind in templates["kinds"]:
        made = of_the_templates(kind, templates)
        unchanged += [(unit, contexts) for unit, _, contexts in made]
        change = HARMLESS.get(kind) or HARMFUL.get(kind)
        source = random.Random(kind)
        pairs = [
            (unit, wrong if wrong is not None else change(unit, contexts, source), contexts)
            for unit, wrong, contexts in made
        ]
        count("kept" if kind in HARMLESS else "caught", kind, "templates", pairs)
    for origin, given in (("data", sentences), ("templates", unchanged)):
        verdicts = [judged(judge, unit, contexts) for unit, contexts in given]
        yes = [verdict for verdict in verdicts if verdict.value]
        flagged = sum(verdict.code is not None for verdict in yes)
        figures["unchanged"][origin] = {"n": len(yes), "share": flagged / len(yes) if yes else None}
    return figures


def rows(figures: dict) -> list[list[str]]:
    made = []
    for group in ("caught", "kept"):
        for kind, found in figures[group].items():
            bar = f"{BARS[kind]:.2f}" if kind in BARS else f"{KEPT:.2f}" if group == "kept" else ""
            cells = [f"{kind}: {group}"]
            for origin in ("data", "templates"):
                one = found.get(origin) or {"n": 0, "share": None}
                cells += [str(one["n"]), "" if one["share"] is None else f"{one['share']:.2f}"]
            made.append([*cells, bar])
    cells = ["unchanged: flagged"]
    for found in figures["unchanged"].values():
        cells += [str(found["n"]), "" if found["share"] is None else f"{found['share']:.3f}"]
    return [*made, [*cells, f"at most {FLAGGED}"]]


def table(figures: dict) -> str:
    """Return the figures as a table for the docs."""
    head = ["what was changed", "n, public data", "share", "n, templates", "share", "bar"]
    return docs.markdown(head, rows(figures)).replace("|  |", "| |").replace("|  |", "| |")


def run(argv: list[str]) -> dict:
    parser = make_parser("attacks", __doc__)
    parser.add_argument("--show", metavar="KIND", help="print what was missed of a kind")
    options = parser.parse_args(argv)
    missing = find_missing(options.data, (BEGIN, CLAPNQ))
    if missing:
        print(f"{options.data} has no {', '.join(missing)}: templates only; see benchmarks/README.md")
    figures = measure(None if missing else options.data)
    misses = figures.pop("misses")
    print(table(figures))
    for kind, found in misses.items():
        if options.show and kind.startswith(options.show):
            print(f"\n{kind}")
            for unit, changed, reason, contexts in found:
                print(f"  - {unit}\n    {changed}\n    {reason}\n    {' // '.join(contexts)[:400]}")
    return {"benchmark": "attacks", **figures}

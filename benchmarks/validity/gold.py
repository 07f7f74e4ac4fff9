"""Errors that are planted into gold: how many `check_gold` finds, and how many of the other questions it accuses.

    python benchmarks/run.py gold --data DIR [--seeds 5] [--judge truth] [--family NAME] [--kind NAME]

Families: CLAPNQ (passages are sentences), MT-RAG (passages are pages; the retrieved ones are gold) and the handbook of the
examples. Two more were kept back while bars and rules were chosen: WiCE (claims of Wikipedia; its questions are made of the title of the
page and two words of the claim) and BEGIN (turns of a conversation, with one passage each). Every passage of the family is the corpus; the run is BM25 over it. Each kind is planted alone, in 5 % and in 20 % of
the questions, in one of several forms. A question that a planted error also touches (the other one of two equal questions)
counts as touched. A passage of the handbook that people called useful and that is not gold is a hole of the family: it is no
accusation. The families have wrong gold of their own (chunks of MT-RAG overlap): a finding that stands before anything is planted is no
accusation. ``found`` is the share of planted questions with a finding of the kind; ``before`` the share of all questions with one
before planting; ``accused`` the share of untouched ones with one that had none before, ``new`` the same for any kind. ``--judge truth`` is a judge that knows what each passage
states: the sentences of the reference that its own gold stated before anything was planted.

The data: benchmarks/README.md says where to get it.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxmetrics.evaluation.gold.answers import is_answer
from ctxmetrics.evaluation.gold.check_gold import check_gold
from ctxmetrics.evaluation.gold.passages import Passages, read_words
from ctxmetrics.evaluation.retrievers.corpus import read_corpus
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.verdicts import Evidence, Verdict
from validity.agreement import make_parser

HANDBOOK = Path(__file__).resolve().parents[2] / "examples" / "handbook.jsonl"
SHARES = (0.05, 0.2)
RETRIEVED = 10
MOST = 300  # questions of a family
# The title of a page in its first context, and how many of its words a question has.
_TITLE = re.compile(r"TITLE:\s*(.*?)(?:\(meta data\)|$)", re.DOTALL)
_TITLE_WORDS = 8


class Family:
    """Samples, the corpus of all their passages, and what BM25 retrieves from it."""

    def __init__(self, name: str, rows: Sequence[dict[str, Any]]) -> None:
        self.name = name
        self.corpus: dict[str, str] = {}
        for row in rows:
            for list_name in ("retrieved_context", "reference_context"):
                texts = row.get(f"{list_name}s") or ()
                self.corpus |= dict(zip(row.get(f"{list_name}_ids") or (), texts, strict=True))
        passages = Passages(read_corpus(self.corpus), [])
        ids = list(self.corpus)
        self.samples = []
        # For each question, the passages that people called useful and that are not gold.
        self.known_holes: list[set[str]] = []
        for row in rows:
            gold = [*(row.get("reference_context_ids") or row["retrieved_context_ids"])]
            labels = (row.get("labels") or {}).get("context_useful") or ()
            useful = {
                id_
                for id_, label in zip(row["retrieved_context_ids"], labels, strict=bool(labels))
                if label
            }
            self.known_holes.append(useful - {*gold})
            keys = [word.key for word in read_words(row["user_input"])]
            found = [ids[place] for place in passages.search(keys, RETRIEVED)]
            self.samples.append(
                {
                    "id": row["id"],
                    "user_input": row["user_input"],
                    "reference": row["reference"],
                    "reference_context_ids": gold,
                    "retrieved_context_ids": found,
                    "retrieved_contexts": [self.corpus[id_] for id_ in found],
                }
            )


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_supported(path: Path) -> list[dict[str, Any]]:
    """Read the rows whose reference people called supported, with an id for each context."""
    rows = []
    for row in read_rows(path):
        if row["labels"]["reference_supported"]:
            ids = [f"{row['id']}/{number}" for number in range(len(row["retrieved_contexts"]))]
            rows.append({**row, "retrieved_context_ids": ids, "labels": {}})
    return rows


def read_wice(path: Path) -> list[dict[str, Any]]:
    """Read WiCE: the gold is the smallest set of contexts with all sentences of a proof. Those of other proofs are known holes."""
    rows = []
    for row in read_supported(path):
        contexts = row["retrieved_contexts"]
        proofs = [
            {
                min(place for place, text in enumerate(contexts) if sentence in text)
                for sentence in proof
            }
            for proof in row["metadata"]["supporting_sentences"]
        ]
        gold = min(proofs, key=lambda places: (len(places), sorted(places)))
        useful = set().union(*proofs)
        rows.append(
            {
                **row,
                "user_input": ask_about_page(row["reference"], contexts[0]),
                "reference_context_ids": [
                    row["retrieved_context_ids"][place] for place in sorted(gold)
                ],
                "reference_contexts": [contexts[place] for place in sorted(gold)],
                "labels": {"context_useful": [place in useful for place in range(len(contexts))]},
            }
        )
    return rows


def ask_about_page(claim: str, first_context: str) -> str:
    """Return a question with the title of a page and the two longest words of a claim."""
    found = _TITLE.search(first_context)
    title = " ".join(found[1].split()[:_TITLE_WORDS]) if found else ""
    words = sorted(set(re.findall(r"[^\W\d_]+", claim)), key=lambda word: (-len(word), word))
    return f'What does "{title}" say about {words[0]} and {words[1]}?'


class Planter:
    """Plants one kind of error; each method ``KIND_form`` changes a sample and the corpus, or returns False."""

    def __init__(self, family: Family, others: Sequence[str], source: random.Random) -> None:
        self.samples = [dict(sample) for sample in family.samples]
        self.corpus = dict(family.corpus)
        self.others = others  # sentences of another family
        self.source = source
        self.touched: set[int] = set()
        self.forms: dict[int, str] = {}

    def plant(self, kind: str, share: float) -> None:
        forms = [name for name in dir(self) if name.startswith(f"{kind}_")]
        wanted = max(1, round(share * len(self.samples)))
        places = self.source.sample(range(len(self.samples)), len(self.samples))
        for place in places:
            if len(self.forms) >= wanted:
                break
            if place in self.touched:
                continue
            form = forms[len(self.forms) % len(forms)]
            for name in [form, *forms]:
                if getattr(self, name)(self.samples[place], place):
                    self.forms[place] = name
                    self.touched.add(place)
                    break

    # --- kind 1 ---

    def references_added(self, sample, place):
        sample["reference"] = f"{sample['reference']} {self.source.choice(self.others)}"
        return True

    def references_replaced(self, sample, place):
        sentences = split_sentences(sample["reference"])
        sentences = [*sentences]
        sentences[self.source.randrange(len(sentences))] = self.source.choice(self.others)
        sample["reference"] = " ".join(sentences)
        return True

    # --- kind 2 ---

    def _set_gold(self, sample, old, *new):
        gold = [*sample["reference_context_ids"]]
        at = gold.index(old)
        sample["reference_context_ids"] = [*gold[:at], *new, *gold[at + 1 :]]
        return True

    def ids_unknown(self, sample, place):
        old = self.source.choice(sample["reference_context_ids"])
        return self._set_gold(sample, old, f"gone-{self.source.randrange(10**9):x}")

    def ids_form(self, sample, place):
        old = self.source.choice(sample["reference_context_ids"])
        forms = (f"kb/{old}", f"{old}.pdf", old.upper() if old.upper() != old else f" {old}.md")
        return self._set_gold(sample, old, self.source.choice(forms))

    def ids_chunk(self, sample, place):
        old = self.source.choice(sample["reference_context_ids"])
        return self._set_gold(sample, old, f"{old}#chunk-{self.source.randrange(90, 99)}")

    def ids_double(self, sample, place):
        old = self.source.choice(sample["reference_context_ids"])
        text = self.corpus[old]
        if self.source.random() < 0.5:
            text = text.upper() if self.source.random() < 0.5 else f"  {text.replace(' ', '  ')}"
        else:
            words = text.split()
            small = [number for number, word in enumerate(words) if word.islower() and word.isalpha()]
            if len(words) < 15 or not small:
                return False
            del words[self.source.choice(small)]
            text = " ".join(words)
        self.corpus[f"copy-{place}"] = text
        for other, same in enumerate(self.samples):
            if old in same["reference_context_ids"]:
                self.touched.add(other)
        return True

    def ids_overlap(self, sample, place):
        old = self.source.choice(sample["reference_context_ids"])
        text = self.corpus[old]
        if len(text) < 100:
            return False
        other = self.source.choice(self.others)
        self.corpus[f"window-{place}"] = f"{text[len(text) // 2 :]} {other[: len(text) // 2]}"
        return self._set_gold(sample, old, old, f"window-{place}")

    # --- kind 3 ---

    def holes_removed(self, sample, place):
        gold = sample["reference_context_ids"]
        held = [id_ for id_ in gold if id_ in sample["retrieved_context_ids"]]
        if len(gold) < 2 or not held or not is_answer(sample["reference"]):
            return False  # no judge is asked about a reference that is a question
        left = self.source.choice(held)
        sample["reference_context_ids"] = [id_ for id_ in gold if id_ != left]
        return True

    def holes_replaced(self, sample, place):
        """Another passage of the run is gold in place of those that state the reference."""
        gold = sample["reference_context_ids"]
        held = [id_ for id_ in gold if id_ in sample["retrieved_context_ids"]]
        # The same text under another id is right gold, too.
        texts = {normalise(self.corpus[id_]) for id_ in gold if id_ in self.corpus}
        others = [
            id_ for id_ in sample["retrieved_context_ids"] if normalise(self.corpus[id_]) not in texts
        ]
        if not held or not others or not is_answer(sample["reference"]):
            return False
        sample["reference_context_ids"] = [self.source.choice(others)]
        return True

    # --- kind 4 ---

    def demand_more(self, sample, place):
        gold = sample["reference_context_ids"]
        new = self.source.choice([*self.corpus])
        if new in gold:
            return False
        sample["reference_context_ids"] = [*gold, new]
        return True

    def demand_any(self, sample, place):
        gold = sample["reference_context_ids"]
        text = sample["reference"]
        self.corpus[f"all-{place}"] = f"Summary. {text}"
        self.corpus[f"also-{place}"] = f"As was written elsewhere: {text}"
        sample["reference_context_ids"] = [f"all-{place}", f"also-{place}"]
        return bool(gold)

    # --- kind 5 ---

    def retriever_first(self, sample, place):
        k = self.source.choice((3, 5))
        first = sample["retrieved_context_ids"][:k]
        if {*first} == {*sample["reference_context_ids"]}:
            return False
        sample["reference_context_ids"] = first
        return True

    # --- kind 6 ---

    def questions_repeated(self, sample, place):
        other = self._choose_other(place)
        sample["user_input"] = self.samples[other]["user_input"]
        self.touched.add(other)
        return True

    def questions_named(self, sample, place):
        first = split_sentences(sample["reference"])[0]
        if len(first.split()) < 2:  # "Sure."
            return False
        sample["user_input"] = f"{sample['user_input']} ({first})"
        return True

    def questions_refusal(self, sample, place):
        sample["reference"] = "The provided documents do not contain this information."
        return True

    def questions_asks(self, sample, place):
        sample["reference"] = self.samples[self._choose_other(place)]["user_input"].rstrip("?.! ") + "?"
        return True

    def questions_placeholder(self, sample, place):
        sample["reference"] = self.source.choice(
            ["TODO", "n/a", "[insert answer]", "lorem ipsum dolor", "-"]
        )
        return True

    def questions_copied(self, sample, place):
        other = self._choose_other(place)
        sample["reference"] = self.samples[other]["reference"]
        self.touched.add(other)
        return True

    def questions_contradicts(self, sample, place):
        words = sample["reference"].split()
        numbers = [
            number
            for number, word in enumerate(words)
            if word.strip(".,").isdigit() and not word.endswith(".")  # "1." marks an item of a list
        ]
        held = " ".join(self.corpus.get(id_, "") for id_ in sample["reference_context_ids"])
        numbers = [number for number in numbers if words[number].strip(".,") in held]
        if not numbers:
            return False
        at = self.source.choice(numbers)
        bare = words[at].strip(".,")
        words[at] = words[at].replace(bare, str(int(bare) + self.source.randint(2, 9)))
        sample["reference"] = " ".join(words)
        return True

    def questions_readings(self, sample, place):
        """Another edition of a gold passage has another number in the place of the answer."""
        asked = {word.strip(".,?!") for word in sample["user_input"].split()}
        in_reference = {word.strip(".,") for word in sample["reference"].split()}
        for old in sample["reference_context_ids"]:
            text = self.corpus.get(old, "")
            words = {word.strip(".,") for word in text.split()}
            numbers = sorted(word for word in words & in_reference - asked if word.isdigit())
            if numbers:
                number = self.source.choice(numbers)
                other = str(int(number) + self.source.randint(2, 9))
                edition = re.sub(rf"(?<!\d){number}(?!\d)", other, text)
                self.corpus[f"edition-{place}"] = f"{self.source.choice(self.others)} {edition}"
                return True
        return False

    def _choose_other(self, place):
        free = [
            other for other in range(len(self.samples)) if other != place and other not in self.touched
        ]
        return self.source.choice(free)


class TruthJudge:
    """A judge that knows which passages state each sentence of the references.

    Each gold passage of a question states a part of the sentence that it shares most words with; a sentence that none shares
    most words with is stated by its nearest gold passage. What was planted states nothing, except passages that repeat the whole
    reference (``demand_any``).
    """

    name = "truth"
    warnings: tuple[str, ...] = ()

    def __init__(self, family: Family) -> None:
        # By the text of a sentence, the normalised texts of the passages that state it. One of equal texts is judged for all.
        self.stating: dict[str, set[str]] = {}
        for sample in family.samples:
            units = split_sentences(sample["reference"])
            words = {unit: self._read(unit) for unit in units}
            passages = [family.corpus[id_] for id_ in sample["reference_context_ids"]]
            for passage in passages:
                held = self._read(passage)
                nearest = max(
                    units, key=lambda unit: len(words[unit] & held) / max(1, len(words[unit]))
                )
                self.stating.setdefault(nearest, set()).add(normalise(passage))
            for unit in units:
                if unit not in self.stating:
                    best = max(passages, key=lambda passage: len(words[unit] & self._read(passage)))
                    self.stating[unit] = {normalise(best)}

    @staticmethod
    def _read(text: str) -> frozenset[str]:
        return frozenset(word.key for word in read_words(text))

    async def attribute(self, request: JudgeRequest) -> Judgement:
        verdicts = []
        for id_, unit in zip(request.unit_ids, request.units, strict=True):
            stating = self.stating.get(unit, set())
            evidence = []
            for number, context in enumerate(request.contexts):
                repeats = (
                    context.startswith(("Summary. ", "As was written elsewhere: ")) and unit in context
                )
                if repeats or normalise(context) in stating:
                    whole = repeats or len(stating) == 1
                    evidence.append(Evidence(number, 0, len(context), context, whole=whole))
            value = bool(evidence)
            verdicts.append(Verdict(id=id_, value=value, text=unit, evidence=tuple(evidence)))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request: JudgeRequest) -> Judgement:
        stating = set().union(*(self.stating.get(unit, ()) for unit in split_sentences(request.answer)))
        verdicts = []
        for number, (id_, context) in enumerate(
            zip(request.context_ids, request.contexts, strict=True)
        ):
            evidence = (
                (Evidence(number, 0, len(context), context),) if normalise(context) in stating else ()
            )
            verdicts.append(Verdict(id=id_, value=bool(evidence), text=context, evidence=evidence))
        return Judgement(verdicts=tuple(verdicts))


KINDS = ("references", "ids", "holes", "demand", "retriever", "questions")


def measure(
    family: Family,
    others: Sequence[str],
    kind: str,
    share: float,
    seed: int,
    *,
    judge: TruthJudge | None = None,
):
    planter = Planter(family, others, random.Random(f"{family.name}/{kind}/{share}/{seed}"))
    planter.plant(kind, share)
    check = check_gold(
        [Sample(**sample) for sample in planter.samples],
        corpus=planter.corpus,
        judge=judge,
        progress=False,
    )
    return planter, check


def numbers_of(check, kind=None, family=None) -> set[int]:
    """The places of the questions with a finding of a kind; of a family, without the holes that people labelled."""
    places = set()
    for finding in check.findings:
        place = finding.number - 1
        is_known = family is not None and not family.known_holes[place].isdisjoint(finding.items)
        if kind in (None, finding.kind) and not (finding.code == "hole" and is_known):
            places.add(place)
    return places


def read_families(folder: Path, most: int) -> list[tuple[Family, list[str]]]:
    """The families, each with sentences of another one and its first questions."""
    rows = {"handbook": read_rows(HANDBOOK)}
    if folder.is_dir():
        rows["clapnq"] = read_rows(folder / "clapnq-dev.jsonl")
        rows["mtrag"] = [
            row for row in read_rows(folder / "mtragun.jsonl") if row["retrieved_contexts"]
        ]
        rows["wice"] = read_wice(folder / "wice-dev.jsonl")
        rows["begin"] = read_supported(folder / "begin-wow-dev.jsonl")
    names = [*rows]
    families = []
    for place, name in enumerate(names):
        other = rows[names[place - 1]]
        sentences = [text for row in other for text in split_sentences(row["reference"])]
        long = [text for text in sentences if len(text.split()) >= 8]
        families.append((Family(name, rows[name][:most]), long))
    return families


def run(argv: list[str]) -> dict[str, Any]:
    parser = make_parser("gold", __doc__, seeds=5)
    parser.add_argument("--judge", choices=("lexical", "truth"), default="lexical")
    parser.add_argument("--questions", type=int, default=MOST, help="the first questions of a family")
    parser.add_argument("--family", action="append", help="only this family; may be repeated")
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="only this kind; may be repeated"
    )
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {}
    print(
        f"{'family':10}{'kind':12}{'share':>6}{'found':>8}{'of':>6}{'before':>8}{'accused':>9}{'new':>7}"
    )
    for family, others in read_families(options.data, options.questions):
        if options.family and family.name not in options.family:
            continue
        samples = [Sample(**sample) for sample in family.samples]
        judge = TruthJudge(family) if options.judge == "truth" else None
        check = check_gold(samples, corpus=family.corpus, judge=judge, progress=False)
        before = numbers_of(check, family=family)
        before_by_kind = {kind: numbers_of(check, kind, family) for kind in KINDS}
        print(f"{family.name:10}before: {len(before) / len(samples):.3f} have a finding")
        figures[family.name] = {"before": len(before) / len(samples)}
        for kind in options.kind or KINDS:
            for share in SHARES:
                counts: Counter[str] = Counter()
                for seed in range(options.seeds):
                    planter, check = measure(family, others, kind, share, seed, judge=judge)
                    untouched = {*range(len(samples))} - planter.touched
                    accused = numbers_of(check, family=family) & untouched
                    counts["planted"] += len(planter.forms)
                    counts["found"] += len(numbers_of(check, kind) & planter.forms.keys())
                    counts["untouched"] += len(untouched)
                    of_kind = numbers_of(check, kind, family) & untouched
                    counts["accused"] += len(of_kind - before_by_kind[kind])
                    counts["new"] += len(accused - before)
                found = counts["found"] / max(1, counts["planted"])
                accused = counts["accused"] / counts["untouched"]
                new = counts["new"] / counts["untouched"]
                standing = len(before_by_kind[kind]) / len(samples)
                print(
                    f"{family.name:10}{kind:12}{share:6}{found:8.3f}{counts['planted']:6}{standing:8.3f}{accused:9.3f}{new:7.3f}",
                    flush=True,
                )
                figures[family.name][f"{kind} {share}"] = {
                    "found": found,
                    "before": standing,
                    "accused": accused,
                    "new": new,
                }
    return figures

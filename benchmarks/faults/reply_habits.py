"""Habits of models, servers and gateways: how many numbers come out wrong without a flag.

    python benchmarks/run.py reply_habits [--paths core ragas deepeval langsmith] [--samples 10] [--only KIND ..]

The corpora, the rates and the measure are those of ``reply_contradictions``. The kinds are what people who run judges see: grades
and labels of other tools beside a verdict, remarks about the whole reply, texts that take verdicts back, chunks of a stream that
are lost, exchanged or belong to another request, evidence that belongs to another sentence, and marks of chat templates around the
reply. ``LEFT`` names the kinds that no reader of one reply can find out, and why. The honest kinds have other keys, marks or
spellings and the same content: their numbers are right and not flagged.
"""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from faults import content_faults as base
from faults import reply_contradictions as kinds
from faults import reply_slips as slips
from faults.content_faults import Ask, Entry, best, fault, of_sample, rated_of, sentences, units_of
from faults.reply_contradictions import supported
from faults.reply_remarks import agreed, remarked, remarked_useful
from faults.reply_slips import (
    TRUE,
    explained,
    extra,
    extra_useful,
    misquoted,
    place_of,
    requoted,
    wrapped,
)
from faults.reply_spellings import told_apart, with_evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# --- a yes, and a label, grade or remark of another tool against it ---

LABELS: dict[str, Any] = {
    "entails": False,
    "faithful": "no",
    "grounded": False,
    "attributable": 0,
    "verified": "false",
    "hallucination": 1,
    "nli": "neutral",
    "stance": "refutes",
    "support_level": "none",
    "certainty": "low",
    "correct": False,
    "consistent": False,
    "in_context": False,
    "evidence_supports": False,
    "evidence_quality": "irrelevant",
    "judgment": "NO",
    "judgement": "NOT ENOUGH INFO",
    "conclusion": "refuted",
    "outcome": "fail",
    "status": "rejected",
    "pass": False,
    "ok": False,
    "match": False,
    "polarity": "negative",
    "class": "NEI",
    "assessment": "insufficient evidence",
    "final_verdict": "Not Supported (value differs)",
    "fact_check": "mostly false",
    "supported_by_context": False,
    "is_entailed": "0",
    "reasoning": "The passage talks about something else entirely, so the claim cannot be confirmed.",
    "thought": "Hmm, c3 gives a different value. I'd say it is not the same thing.",
    "rationale": "Contexts do not provide this information.",
    "comment": "wrong year",
    "critique": "The quote is about a different item.",
    "explanation": "While c3 is related, the specific claim isn't made there.",
    "analysis": "c3 mentions a similar thing but with another value; the sentence as written has no support.",
    "notes": ["value mismatch"],
    "discrepancy": "context: another value",
    "mismatched_terms": ["year"],
    "hallucinated_terms": ["year"],
    "unsupported_spans": [{"text": "the year", "start": 0, "end": 4}],
    "conflicts_with": ["c3"],
    "refuted_by": "c3",
    "negative_evidence": [{"context": "c3", "quote": "another"}],
    "support": {"full": False, "partial": True},
    "scores": {"entailment": 0.05, "neutral": 0.15, "contradiction": 0.8},
    "logprob_yes": -4.6,
    "p_true": 0.04,
    "confidence_no": 0.91,
    "confidence": "I am not sure at all",
    "sureness_level": "very unsure",
    "disputed": True,
    "failed": True,
    "missing_count": 2,
}
"""Keys that say no, each with its value."""

# --- the whole reply says otherwise ---

COUNTS: dict[str, Callable[[list[str], list[str]], Entry]] = {
    "an object of counts": lambda right, wrong: {
        "summary": {"supported": len(right), "unsupported": len(wrong)}
    },
    "counts of true and false": lambda right, wrong: {
        "verdict_counts": {"true": len(right), "false": len(wrong)}
    },
    "totals in words": lambda right, wrong: {
        "totals": f"{len(right)} supported, {len(wrong)} unsupported"
    },
    "a coverage": lambda *_: {"coverage": 0.43},
    "signs in order": lambda right, wrong: {"verdicts": "Y" * len(right) + "N" * len(wrong)},
    "grades in order": lambda right, wrong: {
        "score_per_sentence": [0.9] * len(right) + [0.1] * len(wrong)
    },
    "a range of ids": lambda _, wrong: {"unsupported_ids": f"{wrong[0]}-{wrong[-1]}"},
    "numbers of the failed": lambda _, wrong: {"failed": [int(id_[1:]) for id_ in wrong]},
    "metrics": lambda *_: {"metrics": {"context_recall": 0.43}},
    "out of": lambda right, _: {"supported_ratio": f"{len(right)} out of 7"},
    "a number of noes": lambda _, wrong: {"num_unsupported": len(wrong)},
    "stats within overall": lambda right, wrong: {
        "overall": {"n_supported": len(right), "n_total": len(right) + len(wrong)}
    },
    "ids of yes and no": lambda right, wrong: {"yes": right, "no": wrong},
    "ids by label": lambda right, wrong: {"labels": {"SUPPORTED": right, "NOT_SUPPORTED": wrong}},
    "numbers of sentences": lambda _, wrong: {"unsupported_ids": [int(id_[1:]) for id_ in wrong]},
    "a list of booleans": lambda right, wrong: {
        "decisions": [True] * len(right) + [False] * len(wrong)
    },
    "letters": lambda right, wrong: {"sequence": "Y" * len(right) + "N" * len(wrong)},
    "warnings": lambda _, wrong: {"warnings": [f"{id_} could not be verified" for id_ in wrong]},
    "retracted": lambda _, wrong: {"retracted": wrong},
    "low confidence": lambda _, wrong: {"low_confidence_ids": wrong},
    "final as a list": lambda right, wrong: {
        "final": [{"id": id_, "label": "yes"} for id_ in right]
        + [{"id": id_, "label": "no"} for id_ in wrong]
    },
    "a line a sentence": lambda right, wrong: {
        "answer": "\n".join([f"{id_} = yes" for id_ in right] + [f"{id_} = no" for id_ in wrong])
    },
}

TEXTS: dict[str, str] = {
    "on reflection": "On reflection, {ids} look wrong.",
    "retracted": "I retract {ids}.",
    "guesses": "{ids} were guesses.",
    "after s3": "Everything after s3 is a guess.",
    "the last four": "The last four sentences are not supported.",
    "all but the first three": "All but the first three sentences are unsupported.",
    "none after the third": "None of the sentences after the third is supported.",
    "only the first three": "Only the first three sentences are supported.",
    "should have been": "{ids} should have been marked false.",
    "ignore": "Please ignore my verdicts for {ids}; the contexts do not state them.",
    "set to false": "Update: set {ids} to false.",
    "an assumption": "Note that {ids} rest on an assumption, not on the text.",
    "three of seven": "Recall: 3/7.",
    "score": "Overall score: 0.43",
    "German": "Hinweis: {ids} sind nicht belegt.",
    "Spanish": "Nota: {ids} no aparecen en los contextos.",
    "Chinese": "注意：{ids} 没有依据。",
}


def with_text(text: str, *, before: bool = False) -> kinds.Fault:
    """A text behind or before the object that takes the yes about false sentences back."""

    def add(reply: Entry, _: list[str], wrong: list[str]) -> str:
        words = text.format(ids=", ".join(wrong))
        parts = [words, json.dumps(reply)] if before else [json.dumps(reply), words]
        return "\n\n".join(parts)

    return remarked(add)


# --- streams and other requests ---


def without_chunk(text: str, share: float, size: int) -> str:
    first = int(len(text) * share)
    return text[:first] + text[first + size :]


def chunks_exchanged(text: str, share: float, size: int = 60) -> str:
    first = int(len(text) * share)
    one, two = text[first : first + size], text[first + size : first + 2 * size]
    return text[:first] + two + one + text[first + 2 * size :]


@fault
def crossed(reply: Entry, ask: Ask, share: float, step: int = 1) -> Any:
    """The beginning of this reply, and the rest of the one about another sample."""
    other = of_sample(ask, ask.number // 10 * 10 + (ask.number + step) % 10)
    own, foreign = json.dumps(reply), json.dumps({**other, "code": reply["code"]})
    # Both streams are cut at the same id.
    ids = re.findall(r'"[sc]\d+": \{', own)
    if len(ids) < 2:
        return reply
    cut = ids[int(len(ids) * share)]
    if cut not in foreign:
        return reply
    return own[: own.index(cut)] + foreign[foreign.index(cut) :]


@fault
def list_of_another(reply: Entry, ask: Ask, key: str, step: int = 1) -> Any:
    """One of the two lists belongs to another sample."""
    other = of_sample(ask, ask.number // 10 * 10 + (ask.number + step) % 10)
    return {**reply, key: other[key]} if key in reply else reply


@fault
def shifted(reply: Entry, ask: Ask, field: str, key: str, step: int) -> Any:
    """A field of each entry of a list is that of a neighbour; the first or last keeps a default."""
    cells = [*reply.get(key, {}).values()]
    values = [copy.deepcopy(cell[field]) for cell in cells]
    moved = values[-step:] + values[:-step] if step else values
    for cell, value in zip(cells, moved, strict=True):
        cell[field] = value
    return reply


@fault
def filled_with_yes(reply: Entry, ask: Ask, first: int, *, evidence: bool) -> Any:
    """A reply that was cut off; what was lost is a yes, without evidence or with that of the last sentence before."""
    cells = [*units_of(reply).values()]
    for cell in cells[first:]:
        old = copy.deepcopy(cells[first - 1]["evidence"]) if evidence else []
        cell.update(evidence=old, missing="", supported=True)
    return reply


@fault
def renumbered(reply: Entry, ask: Ask) -> Any:
    """Contexts that the model did not need are left out of its numbering."""
    used = sorted({item["context"] for cell in units_of(reply).values() for item in cell["evidence"]})
    names = {id_: f"c{number}" for number, id_ in enumerate(used, 1)}
    for cell in units_of(reply).values():
        for item in cell["evidence"]:
            item["context"] = names[item["context"]]
    cells = rated_of(reply)
    for number, id_ in enumerate(cells, 1):
        cells[id_].update(useful=number <= len(used), quote="")
    return reply


@fault
def with_evidence_of(reply: Entry, ask: Ask, sources: Mapping[int, int]) -> Any:
    """False sentences by the evidence of true ones: the place of each, and of the one whose evidence it has."""
    cells = {place_of(id_, ask): cell for id_, cell in units_of(reply).items()}
    for place, source in sources.items():
        if place in cells and source in cells:
            cells[place].update(copy.deepcopy(cells[source]))
    return reply


@fault
def valued_true(reply: Entry, ask: Ask, value: Any) -> Any:
    """This value for the true sentences."""
    for id_, entry in units_of(reply).items():
        if place_of(id_, ask) in TRUE:
            entry["supported"] = value
    return reply


def whole_context(quote: str, _: str, ask: Ask) -> str:
    return next((text for text in ask.question.contexts.values() if quote in text), quote)


def with_next(quote: str, unit: str, ask: Ask) -> str:
    """The quote and the sentence behind it."""
    home = whole_context(quote, unit, ask)
    place = home.index(quote)
    return home[place : place + 2 * len(quote)]


def translated(quote: str, *_: Any) -> str:
    words = {
        "the": "der",
        "was": "wurde",
        "is": "ist",
        "of": "von",
        "in": "im",
        "by": "durch",
        "a": "ein",
    }
    return " ".join(
        words.get(word, f"{word[:-1]}en" if word.islower() else word) for word in quote.split()
    )


def as_stream(text: str, size: int = 30) -> str:
    chunks = [text[start : start + size] for start in range(0, len(text), size)]
    return "\n\n".join(f"data: {json.dumps({'delta': chunk})}" for chunk in [*chunks, "[DONE]"])


def cut_in_verdict(text: str, number: int) -> str:
    """The text up to the middle of a verdict, closed."""
    places = [match.end() for match in re.finditer(r'"supported": [tf]', text)]
    if len(places) <= number:
        return text
    return f"{text[: places[number]]}}}}}}}"


KINDS: dict[str, kinds.Fault] = {
    **{
        f"supported, and {key}: {json.dumps(value)[:40]}": extra({key: value})
        for key, value in LABELS.items()
    },
    **{
        f"the reply has {name}": remarked(
            lambda reply, right, wrong, form=form: reply.update(form(right, wrong))
        )
        for name, form in COUNTS.items()
    },
    **{f"a text behind: {name}": with_text(text) for name, text in TEXTS.items()},
    **{f"a text before: {name}": with_text(text, before=True) for name, text in TEXTS.items()},
    "useful, and helpful: false": extra_useful({"helpful": False}),
    "useful, and grade: irrelevant": extra_useful({"grade": "irrelevant"}),
    "useful, and relevance_score: 0.05": extra_useful({"relevance_score": 0.05}),
    "useful, and topic: other": extra_useful({"why": "Different topic, does not help."}),
    "useful, and needed: false": extra_useful({"needed": False}),
    "useful, and a rank of none": extra_useful({"contribution": "none"}),
    "the reply has a list of needed contexts": remarked_useful(
        lambda reply, right, _: reply.update(needed_contexts=right)
    ),
    "the reply has a precision": remarked_useful(lambda reply, *_: reply.update(useful_count=3)),
    **{
        f"{size} characters lost at {share:.0%}": wrapped(
            lambda _, text, share=share, size=size: without_chunk(text, share, size)
        )
        for size in (80, 160, 320)
        for share in (0.15, 0.35, 0.55, 0.75)
    },
    **{
        f"two chunks exchanged at {share:.0%}": wrapped(
            lambda _, text, share=share: chunks_exchanged(text, share)
        )
        for share in (0.1, 0.3, 0.5, 0.7)
    },
    **{
        f"from {share:.0%} on the stream of another sample": crossed(share)
        for share in (0.15, 0.3, 0.5, 0.7, 0.9)
    },
    "the sentences of another sample": list_of_another("sentences"),
    "the contexts of another sample": list_of_another("useful"),
    "verdicts of the sentences down by one": shifted("supported", "sentences", 1),
    "verdicts of the contexts down by one": shifted("useful", "useful", 1),
    "verdicts of the contexts up by one": shifted("useful", "useful", -1),
    "verdicts of the contexts down by two": shifted("useful", "useful", 2),
    "quotes of the contexts down by one": shifted("quote", "useful", 1),
    "cut at sentence 3, filled with yes": filled_with_yes(2, evidence=False),
    "cut at sentence 4, filled with yes and the last evidence": filled_with_yes(3, evidence=True),
    "cut at sentence 6, filled with yes and the last evidence": filled_with_yes(5, evidence=True),
    "only contexts that were needed are numbered": renumbered(),
    "sentence 4 by the evidence of 2": with_evidence_of({3: 1}),
    "sentences 5, 6 and 7 by the evidence of 1, 2 and 3": with_evidence_of({4: 0, 5: 1, 6: 2}),
    "sentences 4 and 7 by the evidence of 3": with_evidence_of({3: 2, 6: 2}),
    "false sentences by the whole context": misquoted(whole_context),
    "false sentences by two sentences": misquoted(with_next),
    "false sentences by a translated quote": misquoted(translated),
    "true sentences by a translated quote": misquoted(translated, TRUE),
    "true sentences: partially": valued_true("partially"),
    "true sentences: mostly": valued_true("mostly"),
    "true sentences: null": valued_true(None),
    "verdicts T and F": slips.valued("T", "F"),
    "a stream's raw events": wrapped(lambda _, text: as_stream(text)),
    **{
        f"cut in verdict {number}, closed": wrapped(
            lambda _, text, number=number - 1: cut_in_verdict(text, number)
        )
        for number in (2, 4, 6)
    },
    "evidence: a list of nothing": wrapped(
        lambda _, text: text.replace('"evidence": []', '"evidence": [null]')
    ),
}
"""The kinds by name."""

# Written after the kinds above were looked at.
LATER_LABELS: dict[str, Any] = {
    "veracity": "false",
    "attribution": "not attributable",
    "supported_fraction": 0.2,
    "is_fabricated": True,
    "extrapolated": True,
    "external_knowledge": True,
    "needs_context": True,
    "confidence_level": "very low",
    "truthfulness": 1,
    "quality": "poor",
    "decision": {"final": "reject"},
    "steps": [{"check": "year", "result": "mismatch"}],
    "checklist": {"subject": True, "value": False},
    "argument": "The sentence names X but the passage names Y.",
    "why": "Similar wording, different subject.",
    "explanation_zh": "数值不同。",
    "begruendung": "Der Wert weicht ab.",
    "observaciones": "El dato no coincide.",
    "closest_match": None,
    "revised_sentence": "The item has another value.",
    "missing_evidence": "the year",
    "contradicting_quote": "another value",
    "faithfulness": "0/1",
    "entail_prob": 0.07,
    "verdict_after_review": "no",
}
LATER_TEXTS: dict[str, str] = {
    "taken back": "I take back what I said on {ids}.",
    "two counts": "Supported: 3. Unsupported: 4.",
    "only sure": "I am only confident about s1, s2 and s3.",
    "the rest": "s1, s2, s3 hold; the rest do not.",
    "the other four": "The other four sentences lack evidence.",
    "bold": "**Unsupported:** {ids}",
    "struck": "~~{ids}~~",
    "an object": 'Correction: {{"s4": false, "s5": false, "s6": false, "s7": false}}',
    "not true": "Sorry, {ids} must be false, not true.",
    "nothing found": "For {ids} I found nothing.",
    "French": "Remarque : {ids} ne figurent dans aucun contexte.",
    "Russian": "Примечание: {ids} не подтверждены.",
    "Japanese": "注：{ids} は文脈に記載がありません。",
    "percent": "So 43% of the sentences are supported.",
}
# The value of a true yes, and of a false one.
GRADES: dict[str, tuple[Any, Any]] = {
    "quote_match": (1.0, 0.3),
    "overlap": ("high", "low"),
    "tier": ("A", "C"),
    "remark": ("ok", "??"),
    "source": ("c2", "memory"),
    "basis": ("quote", "inference"),
    "kind": ("stated", "implied"),
    "sim": (0.98, 0.35),
    "check": ("pass", "skip"),
    "tags": (["direct"], ["indirect"]),
}


def with_line_for_each(line: str) -> kinds.Fault:
    """A line behind the object for each false sentence."""
    return remarked(
        lambda reply, _, wrong: "\n".join([json.dumps(reply), *(line.format(id=id_) for id_ in wrong)])
    )


def with_all_evidence(*, all_yes: bool) -> kinds.Fault:
    """Each sentence has the evidence of all, and, if ``all_yes``, a yes."""

    def change(reply: Entry, _: str) -> Entry:
        pieces = [piece for cell in units_of(reply).values() for piece in cell["evidence"]]
        for cell in units_of(reply).values():
            cell["evidence"] = copy.deepcopy(pieces)
            if all_yes:
                cell.update(missing="", supported=True)
        return reply

    return wrapped(change)


LATER: dict[str, kinds.Fault] = {
    **{
        f"supported, and {key}: {json.dumps(value, ensure_ascii=False)[:40]}": extra({key: value})
        for key, value in LATER_LABELS.items()
    },
    **{f"a text behind: {name}": with_text(text) for name, text in LATER_TEXTS.items()},
    **{f"every yes with {key}": told_apart(key, *values) for key, values in GRADES.items()},
    "the reply has a list of the rejected": remarked(
        lambda reply, _, wrong: reply.update(rejected=wrong)
    ),
    "the reply has an object of problems": remarked(
        lambda reply, _, wrong: reply.update(problems=dict.fromkeys(wrong, "another year"))
    ),
    "the reply has a recall in a result": remarked(
        lambda reply, *_: reply.update(result={"recall": "42.9%"})
    ),
    "the reply has grades by id": remarked(
        lambda reply, right, wrong: reply.update(
            grades={**dict.fromkeys(right, "A"), **dict.fromkeys(wrong, "F")}
        )
    ),
    "the reply has sources by id": remarked(
        lambda reply, right, wrong: reply.update(
            sources={id_: ["c2"] if id_ in right else [] for id_ in [*right, *wrong]}
        )
    ),
    "the reply has a list of the unverifiable": remarked(
        lambda reply, _, wrong: reply.update(unverifiable=wrong)
    ),
    "objects behind": with_line_for_each('{{"id": "{id}", "supported": false}}'),
    "percentages behind": with_line_for_each("{id}: 10%"),
    "contexts of quotes with the letter of sentences": wrapped(
        lambda _, text: text.replace('"context": "c', '"context": "s')
    ),
    "all evidence for each sentence": with_all_evidence(all_yes=False),
    "all evidence for each sentence, all yes": with_all_evidence(all_yes=True),
}
KINDS |= LATER

# Written after both rounds, from the page alone.
FRESH_LABELS: dict[str, Any] = {
    "evidence_strength": "none",
    "votes_against": 3,
    "found_in_context": False,
    "audit": {"ok": False},
    "verdict_de": "nicht belegt",
    "revised_verdict": "unsupported",
    "on_second_thought": "no",
    "my_confidence": "1 out of 10",
    "gap": "The value is not given.",
    "justification": "Same topic, other item.",
    "why_supported": "It is plausible.",
    "note_ja": "文脈には書かれていません",
}
FRESH_TEXTS: dict[str, str] = {
    "by mistake": "I marked {ids} as supported by mistake.",
    "own knowledge": "{ids} came from my own knowledge, not from the contexts.",
    "from s4 on": "From s4 on, nothing is backed by the texts.",
    "the first 3 hold": "Only the first 3 hold up.",
    "4 of the 7": "4 of the 7 fail.",
    "not rely": "I would not rely on {ids}.",
    "Italian": "{ids} non sono supportate dai contesti.",
    "Polish": "{ids} nie mają potwierdzenia w kontekstach.",
    "Korean": "{ids}는 문맥에 없습니다.",
    "Turkish": "{ids} bağlamlarda yer almıyor.",
}
FRESH_REMARKS: dict[str, Callable[[list[str], list[str]], Entry]] = {
    "errors by id": lambda _, wrong: {"errors": [f"{id_}: another value" for id_ in wrong]},
    "an accuracy": lambda *_: {"accuracy": "3 of 7"},
    "a vector of verdicts": lambda right, wrong: {
        "verdict_vector": [1] * len(right) + [0] * len(wrong)
    },
    "flags by id": lambda _, wrong: {"flags": dict.fromkeys(wrong, "value differs")},
    "issues by number": lambda _, wrong: {
        "issues": [{"sentence": int(id_[1:]), "problem": "not stated"} for id_ in wrong]
    },
    "a German list": lambda _, wrong: {"nicht_belegt": wrong},
    "the disputed": lambda _, wrong: {"disputed": wrong},
    "a comment on ids": lambda _, wrong: {"comment": f"I was too generous with {', '.join(wrong)}."},
    "a share": lambda right, _: {"share_supported": round(len(right) / 7, 2)},
}


@fault
def padded_with(reply: Entry, ask: Ask, place: int) -> Any:
    """False sentences by the closest sentence, and by the evidence of a true sentence beside it."""
    supported(change=lambda pieces, _: [*pieces, *best(sentences(ask.number)[place], ask)])(reply, ask)
    return reply


def equal_lines_dropped(text: str) -> str:
    return "\n".join(dict.fromkeys(text.splitlines()))


def lines_lost(text: str, share: float, count: int) -> str:
    lines = text.splitlines()
    first = int(len(lines) * share)
    return "\n".join([*lines[:first], *lines[first + count :]])


FRESH: dict[str, kinds.Fault] = {
    **{
        f"supported, and {key}: {json.dumps(value, ensure_ascii=False)[:40]}": extra({key: value})
        for key, value in FRESH_LABELS.items()
    },
    **{f"a text behind: {name}": with_text(text) for name, text in FRESH_TEXTS.items()},
    **{
        f"the reply has {name}": remarked(
            lambda reply, right, wrong, form=form: reply.update(form(right, wrong))
        )
        for name, form in FRESH_REMARKS.items()
    },
    "false sentences, evidence of sentence 1 beside": padded_with(0),
    "equal lines dropped": wrapped(lambda reply, _: equal_lines_dropped(json.dumps(reply, indent=1))),
    **{
        f"{count} lines lost at {share:.0%}": wrapped(
            lambda reply, _, share=share, count=count: lines_lost(
                json.dumps(reply, indent=1), share, count
            )
        )
        for share in (0.12, 0.3, 0.45, 0.8)
        for count in (1, 7)
    },
}
KINDS |= FRESH

LEFT: dict[str, str] = {
    "the reply has letters": "a text of letters names no sentence",
    "a text behind: the other four": "it does not say which four",
    "supported, and truthfulness: 1": "a number without a scale",
    "supported, and closest_match: null": "null says nothing",
    **dict.fromkeys(
        (
            "every yes with quote_match",
            "every yes with overlap",
            "every yes with tier",
            "every yes with sim",
        ),
        "an honest judge may grade two yeses so",
    ),
    **dict.fromkeys(
        ("a text behind: score", "a text before: score"), "a score may be of anything, on any scale"
    ),
    **dict.fromkeys(
        (
            "false sentences by the whole context",
            "false sentences by two sentences",
            "false sentences, evidence of sentence 1 beside",
        ),
        "random words: a quote with two of the five words of a sentence",
    ),
}


# --- honest replies ---

MARKS: dict[str, tuple[str, str]] = {
    "an end of turn": ("", "<|im_end|>"),
    "an end of text": ("", "</s>"),
    "a turn of the assistant": ("<|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>"),
    "channels": (
        "<|channel|>analysis<|message|>Look for each.<|end|><|start|>assistant<|channel|>final<|message|>",
        "",
    ),
    "a tool call in tags": ('<tool_call>\n{"name": "reply", "arguments": ', "}\n</tool_call>"),
    "a function in tags": ("<function=reply>", "</function>"),
    "tool calls of Mistral": ('[TOOL_CALLS][{"name": "reply", "arguments": ', "}]"),
    "a python tag": ("<|python_tag|>", ""),
    "answer tags": ("<answer>", "</answer>"),
    "output tags": ("<output>\n", "\n</output>"),
    "json tags": ("<json>", "</json>"),
    "a box": ("\\boxed{", "}"),
    "a heading": ("**Answer:**\n\n", ""),
    "tildes": ("~~~json\n", "\n~~~"),
    "a name": ("reply = ", ";"),
    "JSON:": ("JSON: ", ""),
    "single backticks": ("`", "`"),
    "thoughts": ("<thought>Look for each.</thought>\n", ""),
    "thoughts in brackets": ("[THINK]Look for each.[/THINK]\n", ""),
    "a scratchpad": ("<scratchpad>s1: c2. s4: nothing.</scratchpad>\n", ""),
}
"""Texts before and behind a reply."""


def surrounded(before: str, after: str) -> kinds.Fault:
    return wrapped(lambda _, text: f"{before}{text}{after}")


def after_draft(begin: str, end: str) -> kinds.Fault:
    """A thought with a draft that says the opposite, and the reply."""
    return slips.wrapped_wrong(lambda _, __, text, other: f"{begin}{other}{end}\n{text}")


@fault
def flattened(reply: Entry, ask: Ask) -> Any:
    """The fields of the one piece of evidence stand in the entry."""
    for entry in units_of(reply).values():
        pieces = entry.pop("evidence")
        entry.update(pieces[0] if pieces else {"context": "", "quote": "", "whole": False})
    return reply


def with_keys(names: Mapping[str, str]) -> kinds.Fault:
    """Keys in another spelling."""
    return wrapped(
        lambda _, text: re.sub(r'"(\w+)":', lambda match: f'"{names.get(match[1], match[1])}":', text)
    )


YES_REASONS = {
    "unlike": "Unlike c3, c2 states it.",
    "not c1 but c2": "Not c1 but c2 states this.",
    "only c2": "No other context states it, only c2.",
    "it is in c2": "This is not in c1; it is in c2.",
    "no inference": "No inference needed, c2 is explicit.",
    "no doubt": "There is no doubt: c2 states it.",
    "doesn't just": "c2 doesn't just mention it, it states it.",
    "nothing against": "Nothing contradicts this.",
    "although": "Although worded differently, c2 has the same meaning.",
    "cannot be otherwise": "c2 leaves no room for another reading.",
    "verbatim": "Verbatim in c2. Other contexts are irrelevant.",
    "French": "Aucun doute : c2 le dit mot pour mot.",
    "German": "Kein Zweifel, das steht so in c2.",
    "Spanish": "No cabe duda: c2 lo dice.",
    "missing nothing": "c2 has every part, nothing is missing.",
    "paraphrase": "c2 says the same in other words, so it is not verbatim but supported.",
    "false alarm": "At first it looked unsupported, but c2 states it.",
    "in doubt no more": "I was unsure until c2, which states it.",
}
YES_KEYS: dict[str, tuple[Any, Any]] = {
    "uncertainty": (0.05, 0.05),
    "risk": ("low", "low"),
    "hallucination": (False, True),
    "needs_inference": (False, False),
    "distance": (0.0, 0.9),
    "contradiction_score": (0.01, 0.4),
    "error": (None, None),
    "missing_count": (0, 3),
    "difficulty": ("low", "low"),
    "similarity": (0.41, 0.2),
    "index": (0, 0),
    "start": (0, 0),
    "page": (0, 0),
    "num_contexts_checked": (6, 6),
    "latency_ms": (12, 12),
    "priority": ("low", "low"),
    "evidence_count": (1, 0),
    "confidence": ("85%", "90%"),
    "support_level": ("full", "none"),
    "nli": ("entailment", "neutral"),
    "stance": ("supports", "none"),
    "assumptions": ([], []),
    "limitations": ("none", "none"),
    "scores": (
        {"entailment": 0.97, "neutral": 0.02, "contradiction": 0.01},
        {"entailment": 0.02, "neutral": 0.9, "contradiction": 0.08},
    ),
    "p_true": (0.97, 0.03),
    "logprob": (-0.02, -0.4),
    "type": ("fact", "fact"),
    "status": ("ok", "failed"),
    "negated": (False, False),
    "language": ("no", "no"),
}

HONEST: dict[str, kinds.Fault] = {
    "honest": lambda reply, _: reply,
    **{f"honest, {name}": surrounded(*texts) for name, texts in MARKS.items()},
    "honest, a draft in thoughts": after_draft("<thought>", "</thought>"),
    "honest, a draft in brackets": after_draft("[THINK]", "[/THINK]"),
    "honest, a draft in a scratchpad": after_draft("<scratchpad>", "</scratchpad>"),
    "honest, a draft in a channel": after_draft(
        "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
    ),
    "honest, the example before it": lambda reply, ask: (
        f"{base.example(reply, ask)}\n\n{json.dumps(reply)}"
    ),
    "honest, a next turn behind it": lambda reply, ask: (
        f"{json.dumps(reply)}\nuser: Another one.\nassistant: {json.dumps({**of_sample(ask, (ask.number + 1) % 10), 'code': '0badc0de'})}"
    ),
    "honest, evidence by context": with_evidence(
        lambda pieces: {piece["context"]: piece["quote"] for piece in pieces}
    ),
    "honest, evidence as texts": with_evidence(
        lambda pieces: [f"{piece['context']}: {piece['quote']}" for piece in pieces]
    ),
    "honest, evidence as one text": with_evidence(
        lambda pieces: f"{pieces[0]['context']}: {pieces[0]['quote']}" if pieces else ""
    ),
    "honest, evidence in pairs": with_evidence(
        lambda pieces: [[piece["context"], piece["quote"]] for piece in pieces]
    ),
    "honest, evidence as a text of JSON": with_evidence(json.dumps),
    "honest, evidence in the entry": flattened(),
    "honest, entries as texts of JSON": wrapped(
        lambda reply, _: {
            key: {id_: json.dumps(entry) for id_, entry in value.items()}
            if isinstance(value, dict)
            else value
            for key, value in reply.items()
        }
    ),
    "honest, lists as texts of JSON": wrapped(
        lambda reply, _: {
            key: json.dumps(value) if isinstance(value, dict) else value for key, value in reply.items()
        }
    ),
    "honest, the code in capitals": wrapped(lambda reply, _: {**reply, "code": reply["code"].upper()}),
    "honest, the code behind a word": wrapped(
        lambda reply, _: {**reply, "code": f"code: {reply['code']}"}
    ),
    "honest, keys in capitals": with_keys(
        {"supported": "Supported", "evidence": "Evidence", "useful": "Useful"}
    ),
    "honest, context_id": with_keys({"context": "context_id"}),
    "honest, contextId": with_keys({"context": "contextId"}),
    "honest, numbers 1.0 and 0.0": slips.valued(1.0, 0.0),
    "honest, true and false with a stop": slips.valued("true.", "false."),
    "honest, verdicts in fences": slips.valued("`true`", "`false`"),
    "honest, verdicts in stars": slips.valued("**yes**", "**no**"),
    **{
        f"honest, a reason: {name}": explained({"reason": words}, {"reason": "Not stated."})
        for name, words in YES_REASONS.items()
    },
    **{
        f"honest, {key}: {json.dumps(values[0])[:30]}": explained({key: values[0]}, {key: values[1]})
        for key, values in YES_KEYS.items()
    },
    **{
        f"honest, {words!r} missing": kinds.nothing_missing(words)
        for words in (
            "Nothing.",
            "nichts",
            "rien",
            "-",
            "∅",
            "No missing words.",
            "nothing is missing",
            "empty",
            "null",
            "(none)",
            "无",
            "All words are stated.",
        )
    },
    "honest, quotes in NFKC": requoted(lambda quote: unicodedata.normalize("NFKC", quote)),
    "honest, wide digits": requoted(
        lambda quote: re.sub(r"\d", lambda match: chr(ord(match[0]) + 0xFEE0), quote)
    ),
    "honest, soft hyphens": requoted(lambda quote: re.sub(r"(\w{4})(\w{3})", "\\1\u00ad\\2", quote)),
    "honest, quotes without stops": requoted(lambda quote: re.sub(r"[.,;:]", "", quote)),
    "honest, quotes with line numbers": requoted(lambda quote: f"L12: {quote}" if quote else ""),
    "honest, quotes cut at the end": requoted(
        lambda quote: f"{quote.rpartition(' ')[0]} [...]" if len(quote) > 30 else quote
    ),
    "honest, quotes as a list": requoted(lambda quote: f"* {quote}" if quote else ""),
    "honest, quotes escaped": requoted(lambda quote: quote.replace("e", "\\u0065", 1)),
    "honest, quotes in fences": requoted(lambda quote: f"```\n{quote}\n```" if quote else ""),
    "honest, quotes with a speaker": requoted(
        lambda quote: f'The text says: "{quote}"' if quote else ""
    ),
    "honest, counts": agreed(
        lambda reply, right, wrong: reply.update(
            summary={"supported": len(right), "unsupported": len(wrong)}, coverage=0.43
        )
    ),
    "honest, ids by label": agreed(
        lambda reply, right, wrong: reply.update(labels={"SUPPORTED": right, "NOT_SUPPORTED": wrong})
    ),
    "honest, of an API": wrapped(
        lambda reply, _: {
            "id": "msg_1",
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "usage": {"input": 10, "output": 0},
            **reply,
        }
    ),
    "honest, a text behind": agreed(
        lambda reply, _, wrong: f"{json.dumps(reply)}\n\nThe last four sentences are not supported."
    ),
    "honest, an offer behind": wrapped(
        lambda _, text: (
            f"{text}\n\nLet me know if you'd like me to double-check anything. No changes were made to the ids."
        )
    ),
}
LATER_REASONS: dict[str, tuple[str, str]] = {
    "not only": ("c2 not only mentions but states it.", "c3 mentions another item."),
    "rather than": ("c2 states it directly rather than implying it.", "only implied"),
    "rules out": ("c2 rules out any other value.", "the value is absent"),
    "other wording": ("Different wording, same fact.", "no such fact"),
    "despite": ("Despite the noise in c1, c2 states it.", "c1 is noise"),
    "German, without": ("c2 nennt genau das, ohne Einschränkung.", "c2 nennt das nicht."),
    "French, nothing": ("c2 l'affirme, rien à redire.", "rien"),
    "Italian": ("c2 lo dice senza riserve.", "nessun contesto lo dice"),
    "Chinese": ("c2 明确说明, 没有歧义。", "没有提到"),
    "Russian": ("В c2 это сказано без оговорок.", "не сказано"),
    "each context": ("Checked all contexts: c1 no, c2 yes, c3 no.", "Checked all contexts: none."),
    "none missing": ("Every element is present, none is missing.", "the subject is missing"),
}
LATER_KEYS: dict[str, tuple[Any, Any]] = {
    **GRADES,
    "closest_match": ("c2", None),
    "step": (1, 2),
    "weight": (0.2, 0.1),
    "word_count": (7, 0),
    "flag": ("", "unsupported"),
    "hash": ("0f", "00"),
    "negation": ("no", "no"),
    "time_ms": (0, 0),
    "attempt": (0, 0),
    "salience": (0.1, 0.9),
    "importance": ("low", "high"),
}
LATER_HONEST: dict[str, kinds.Fault] = {
    **{
        f"honest, a reason: {name}": explained({"reason": yes}, {"reason": no})
        for name, (yes, no) in LATER_REASONS.items()
    },
    **{
        f"honest, {key}: {json.dumps(yes)}": explained({key: yes}, {key: no})
        for key, (yes, no) in LATER_KEYS.items()
    },
    "honest, the rest": agreed(
        lambda reply, *_: f"{json.dumps(reply)}\ns1, s2, s3 hold; the rest do not."
    ),
    "honest, two counts": agreed(
        lambda reply, *_: f"{json.dumps(reply)}\nSupported: 3. Unsupported: 4."
    ),
    "honest, the rejected": agreed(
        lambda reply, _, wrong: reply.update(rejected=wrong, result={"recall": "42.9%"})
    ),
    "honest, sources by id": agreed(
        lambda reply, right, wrong: reply.update(
            sources={id_: ["c2"] if id_ in right else [] for id_ in [*right, *wrong]}
        )
    ),
    "honest, quotes with a place": requoted(
        lambda quote: f"{quote} (Context c2, line 3)" if quote else ""
    ),
    "honest, quotes as JSON": requoted(json.dumps),
    "honest, quotes emphasised": requoted(lambda quote: f"<em>{quote}</em>" if quote else ""),
    "honest, quotes in double brackets": requoted(lambda quote: f"[[{quote}]]" if quote else ""),
    "honest, between lines": surrounded("---\n", "\n---"),
    "honest, JavaScript": surrounded("const reply = ", ";"),
    "honest, HTML": surrounded("<pre><code>", "</code></pre>"),
    "honest, entities": wrapped(lambda _, text: text.replace('"', "&quot;")),
    "honest, printed": surrounded("print(", ")"),
    "honest, a comment behind": surrounded("", "\n<!-- done -->"),
    "honest, a list of results": wrapped(lambda reply, _: {"results": [reply]}),
    "honest, as the response of an API": wrapped(
        lambda _, text: {"request_id": "r-1", "model": "m", "response": text}
    ),
    "honest, reasoning first": wrapped(
        lambda reply, _: {
            "reasoning": "s1 by c2, s2 by c4, s3 by c5; s4 to s7 are not stated anywhere.",
            **reply,
        }
    ),
}
FRESH_REASONS: dict[str, tuple[str, str]] = {
    "not a single word": ("Not a single word is missing.", "Not a single word of it is there."),
    "the others silent": ("c2 states it; the others are silent.", "All contexts are silent."),
    "no need": ("No need to combine contexts.", "Even combined, no context has it."),
    "isn't paraphrased": ("It isn't paraphrased: word for word.", "It isn't there."),
    "nothing inferred": ("Directly stated; nothing was inferred.", "It could only be inferred."),
    "only difference": ("Yes - the only wording difference is the article.", "No - another number."),
    "not contradicted": (
        "Verified twice. Not contradicted by any context.",
        "Not stated by any context.",
    ),
    "Hungarian": ("Ez szó szerint szerepel.", "Ez nem szerepel."),
    "Vietnamese": ("c2 hoàn toàn nêu điều này.", "Không nêu."),
}
FRESH_KEYS: dict[str, tuple[Any, Any]] = {
    "alternatives": ([], []),
    "false_positive_risk": (0.05, 0.05),
    "is_negation": (False, False),
    "opposite": ("none", "none"),
    "votes_against": (0, 3),
    "ratio_missing": (0.0, 1.0),
    "novelty": (0.1, 0.9),
    "evidence_type": ("quote", "none"),
    "evidence_strength": ("strong", "none"),
}
FRESH_HONEST: dict[str, kinds.Fault] = {
    **{
        f"honest, a reason: {name}": explained({"reason": yes}, {"reason": no})
        for name, (yes, no) in FRESH_REASONS.items()
    },
    **{
        f"honest, {key}: {json.dumps(yes)}": explained({key: yes}, {key: no})
        for key, (yes, no) in FRESH_KEYS.items()
    },
    **{
        f"honest, {words!r} missing": kinds.nothing_missing(words)
        for words in ("N.A.", "no words", "(empty)", "n/a - fully supported", "ninguna")
    },
    "honest, both kinds behind": agreed(
        lambda reply, right, wrong: (
            f"{json.dumps(reply)}\nSupported: {', '.join(right)}. Unsupported: {', '.join(wrong)}."
        )
    ),
    "honest, a line for each": agreed(
        lambda reply, right, wrong: "\n".join(
            [json.dumps(reply), *(f"{id_}: ok" for id_ in right), *(f"{id_}: no" for id_ in wrong)]
        )
    ),
    "honest, a note on a yes": agreed(
        lambda reply, right, _: (
            f"{json.dumps(reply)}\n{right[0]} is stated in other words." if right else json.dumps(reply)
        )
    ),
    "honest, an offer to mend": surrounded("", "\nIf any of these are wrong, tell me."),
    "honest, ids with their texts": lambda reply, ask: (
        {
            **reply,
            "sentences": {
                f"{id_}: {ask.question.units[id_][:20]}...": entry
                for id_, entry in units_of(reply).items()
            },
        }
        if units_of(reply)
        else reply
    ),
    "honest, quotes with (source)": requoted(lambda quote: f"{quote} (source)" if quote else ""),
    "honest, tabs": wrapped(lambda reply, _: json.dumps(reply, indent="\t")),
    "honest, line ends of Windows": wrapped(
        lambda reply, _: json.dumps(reply, indent=1).replace("\n", "\r\n")
    ),
}
HONEST |= LATER_HONEST | FRESH_HONEST
ALL = {**KINDS, **HONEST}


def run(argv: list[str]) -> dict[str, object]:
    return kinds.run_kinds("reply_habits", KINDS, HONEST, LEFT, argv)

"""Replies in other languages, spellings and wrappings: how many numbers come out wrong without a flag.

    python benchmarks/run.py reply_spellings [--paths core ragas deepeval langsmith] [--samples 10] [--only KIND ..] [--write-docs]

The corpora, the rates and the measure are those of ``reply_contradictions``. In these kinds a remark denies the verdict in another
language or in other words; ids have another spelling; a server or gateway wraps, repeats, joins or mends a reply; or the reply
belongs to a request that had fewer or other contexts. ``LEFT`` names the kinds that no reader of one reply can find out, and why.
The honest kinds have another spelling and the same content: their numbers are right and not flagged.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import copy
import html
import json
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from faults import content_faults as base
from faults import reply_contradictions as kinds
from faults import reply_remarks as remarks
from faults import reply_slips as slips
from faults.content_faults import Ask, Entry, fault, rated_of, units_of
from faults.reply_contradictions import FALSE, noes, supported
from faults.reply_remarks import agreed, remarked, remarked_useful, renamed
from faults.reply_slips import extra, extra_no, extra_useful, misquoted, place_of, requoted, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


# --- texts around the object ---


def with_text_before(text: str) -> Callable[[Entry, list[str], list[str]], str]:
    """A text before the object that names the ids that are not supported, or those that are."""
    return lambda reply, right, wrong: (
        text.format(ids=", ".join(wrong), right=", ".join(right), lines=as_lines(wrong))
        + "\n"
        + json.dumps(reply)
    )


def as_lines(ids: list[str]) -> str:
    return "\n".join(f"- {id_}: unsupported" for id_ in ids)


def with_object(form: Callable[[list[str], list[str]], Any]) -> Callable[..., str]:
    """A second JSON value behind the reply."""
    return lambda reply, right, wrong: f"{json.dumps(reply)}\n{json.dumps(form(right, wrong))}"


# --- the spelling of ids and fields ---


def as_id(form: str) -> kinds.Fault:
    """All ids, also those in the evidence, in another form: ``{id}``, ``{letter}``, ``{number}``, ``{name}``."""

    def spell(id_: str) -> str:
        name = "Sentence" if id_[0] == "s" else "Context"
        return form.format(id=id_, letter=id_[0], number=id_[1:], name=name)

    return spelled(spell)


@fault
def spelled(reply: Entry, ask: Ask, spell: Callable[[str], str]) -> Any:
    """All ids spelled so, also those in the evidence."""
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            item["context"] = spell(item["context"])
    return renamed(lambda id_, _: spell(id_))(reply, ask)


@fault
def spelled_again(reply: Entry, ask: Ask, spell: Callable[[str], str]) -> Any:
    """False sentences called supported; under another spelling of their ids they are not."""
    wrong = [id_ for id_ in units_of(reply) if place_of(id_, ask) in FALSE]
    denied = {spell(id_): copy.deepcopy(units_of(reply)[id_]) for id_ in wrong}
    supported()(reply, ask)
    if wrong:
        reply["sentences"].update(denied)
    return reply


@fault
def with_evidence(reply: Entry, ask: Ask, change: Callable[[list[Entry]], Any]) -> Any:
    """The evidence of each sentence in another form."""
    for entry in units_of(reply).values():
        entry["evidence"] = change(entry["evidence"])
    return reply


@fault
def with_field(reply: Entry, ask: Ask, change: Callable[[Entry], None]) -> Any:
    """A change of each piece of evidence."""
    for entry in units_of(reply).values():
        for item in entry["evidence"]:
            change(item)
    return reply


# --- what a gateway makes of a reply ---


@fault
def mended(reply: Entry, ask: Ask, first: int, filled: Callable[[Entry, str, Ask], Entry]) -> Any:
    """A reply that was cut off at a sentence; a gateway filled in the rest, and the defaults for the contexts."""
    for id_, entry in [*units_of(reply).items()][first:]:
        reply["sentences"][id_] = filled(entry, id_, ask)
    for entry in rated_of(reply).values():
        entry.update(quote="", useful=False)
    return reply


def no_because(words: str) -> Callable[[Entry, str, Ask], Entry]:
    return lambda *_: {"evidence": [], "missing": words, "supported": False}


@fault
def either(reply: Entry, ask: Ask, one: int, two: int) -> Any:
    """Two sentences have one entry, which says yes if one of them is supported, with the evidence of both."""
    ids = [*units_of(reply)]
    if len(ids) > max(one, two):
        first, second = (units_of(reply)[ids[place]] for place in (one, two))
        entry = {
            "evidence": [*first["evidence"], *second["evidence"]],
            "missing": "",
            "supported": first["supported"] or second["supported"],
        }
        reply["sentences"][ids[one]] = entry
        reply["sentences"][ids[two]] = copy.deepcopy(entry)
    return reply


@fault
def stale(reply: Entry, ask: Ask, change: Callable[[Entry], None]) -> Any:
    """The honest reply to a request with other data, with the code of this one."""
    data = copy.deepcopy(dict(ask.question.data))
    change(data)
    try:
        other = base.honest(Ask(base.asked(ask, data), ask.number))
    except KeyError:
        return reply
    other["code"] = reply["code"]
    return other


def first_contexts(count: int) -> Callable[[Entry], None]:
    """Only so many contexts."""
    return lambda data: data.update(contexts=data["contexts"][:count])


def moved_contexts(step: int) -> Callable[[Entry], None]:
    """The contexts in an order that begins further on."""

    def change(data: Entry) -> None:
        texts = [item["text"] for item in data["contexts"]]
        for item, text in zip(data["contexts"], texts[step:] + texts[:step], strict=True):
            item["text"] = text

    return change


def moved_sentences(data: Entry) -> None:
    """The sentences in the opposite order."""
    texts = [item["text"] for item in data.get("sentences", ())][::-1]
    for item, text in zip(data.get("sentences", ()), texts, strict=True):
        item["text"] = text


@fault
def collapsed_to(reply: Entry, ask: Ask, place: int) -> Any:
    """All entries of each list are equal to one of them."""
    for key in ("sentences", "useful"):
        cells = reply.get(key)
        if cells:
            reply[key] = {id_: copy.deepcopy([*cells.values()][place]) for id_ in cells}
    return reply


def stuttering(text: str, size: int = 40) -> str:
    """Each chunk of a stream twice."""
    return "".join(text[start : start + size] * 2 for start in range(0, len(text), size))


def restarted(text: str, share: float) -> str:
    """A stream that broke off and began again."""
    return text[: int(len(text) * share)] + text


def tail_twice(text: str, share: float) -> str:
    return text + text[int(len(text) * share) :]


def chunk_lost(text: str, start: float, size: int = 24) -> str:
    first = int(len(text) * start)
    return text[:first] + text[first + size :]


def as_yaml(reply: Entry) -> str:
    lines = [f"code: {reply['code']}"]
    for key, field in (("sentences", "supported"), ("useful", "useful")):
        lines.append(f"{key}:")
        for id_, entry in reply.get(key, {}).items():
            lines.append(f"  {id_}:\n    {field}: {str(entry[field]).lower()}")
    return "\n".join(lines)


def as_xml(reply: Entry) -> str:
    cells = [f'<s id="{id_}">{entry["supported"]}</s>' for id_, entry in units_of(reply).items()]
    return f"<reply><code>{reply['code']}</code>{''.join(cells)}</reply>"


def as_csv(reply: Entry) -> str:
    lines = [f"{id_},{entry['supported']}" for id_, entry in units_of(reply).items()]
    return "\n".join(["id,supported", *lines])


def in_python(text: str) -> str:
    for word, other in (("true", "True"), ("false", "False"), ("null", "None")):
        text = re.sub(rf": {word}\b", f": {other}", text)
    return text


def without_key_quotes(text: str) -> str:
    return re.sub(r'"(\w+)":', r"\1:", text)


def with_smart_quotes(text: str) -> str:
    return re.sub(r'"([^"]*)"', "“\\1”", text)


def tool_use(reply: Entry, _: str) -> Any:
    return {"type": "tool_use", "name": "reply", "input": reply}


def of_question(ask: Ask) -> str:
    """The data of the request as text, as a model or a proxy repeats it."""
    return json.dumps(dict(ask.question.data))


def numbered(id_: str, step: int = 0) -> str:
    return str(int(id_[1:]) + step)


YES_BY_REASON = {
    "Portuguese": "Nenhum contexto afirma isso.",
    "Dutch": "Geen enkele context vermeldt dit.",
    "Polish": "Żaden kontekst tego nie stwierdza.",
    "Turkish": "Hiçbir bağlam bunu söylemiyor.",
    "Japanese": "どの文脈にも記載がありません。",
    "Chinese": "上下文中没有提到这一点。",
    "Korean": "어떤 문맥에도 언급되지 않습니다.",
    "Arabic": "لا يذكر أي سياق ذلك.",
    "Hindi": "किसी भी संदर्भ में यह नहीं कहा गया है।",
    "Swedish": "Ingen kontext nämner detta.",
    "Spanish": "No se menciona en los contextos.",
    "French, nothing": "Rien dans les contextes ne le confirme.",
    "German, nothing": "Nichts davon wird im Kontext genannt.",
    "Russian": "Ни в одном контексте этого нет.",
    "English, not found": "Not found in c3.",
    "English, says another": "The context names another one, not this.",
    "English, differs": "The value in the context differs.",
    "English, cannot": "Cannot be verified from the contexts.",
    "English, only": "The contexts only mention a similar one.",
    "English, opposite": "c3 says the opposite.",
    "English, could not find": "I could not find this in any context.",
    "English, insufficient": "Insufficient information in the contexts.",
    "English, nothing": "Nothing in the contexts says so.",
    "English, isn't": "This isn't stated anywhere.",
    "English, neither": "Neither c2 nor c3 states it.",
}


def against_by_reason(reasons: Mapping[str, str]) -> dict[str, kinds.Fault]:
    """Return the kinds of a yes with a reason against it, one for each language."""
    return {
        f"supported, and a reason against it: {language}": extra({"reason": words})
        for language, words in reasons.items()
    }


KINDS: dict[str, kinds.Fault] = {
    # a yes, and a reason against it
    **against_by_reason(YES_BY_REASON),
    # a yes, and other keys against it
    "supported, and verdict: ✗": extra({"verdict": "✗"}),
    "supported, and label: ❌": extra({"label": "❌"}),
    "supported, and verdict: N": extra({"verdict": "N"}),
    "supported, and verdict: F": extra({"verdict": "F"}),
    "supported, and verdict: hayır": extra({"verdict": "hayır"}),
    "supported, and verdict: nie": extra({"verdict": "nie"}),
    "supported, and verdict: 不是": extra({"verdict": "不支持"}),
    "supported, and verdict: No, because": extra({"verdict": "No, the year differs"}),
    "supported, and support_score: 0.1": extra({"support_score": 0.1}),
    "supported, and entailment_probability: 0.03": extra({"entailment_probability": 0.03}),
    "supported, and score: 0": extra({"score": 0}),
    "supported, and confidence: a text 0.1": extra({"confidence": "0.1"}),
    "supported, and confidence: 0,1": extra({"confidence": "0,1"}),
    "supported, and confidence by label": extra({"confidence": {"yes": 0.1, "no": 0.9}}),
    "supported, and probabilities by label": extra(
        {"probabilities": {"supported": 0.08, "unsupported": 0.92}}
    ),
    "supported, and p_no: 0.95": extra({"p_no": 0.95}),
    "supported, and verdict: an object": extra({"verdict": {"label": "no", "score": 0.9}}),
    "supported, and a verdict two levels deep": extra({"evaluation": {"result": {"supported": False}}}),
    "supported, and supporting_contexts: []": extra({"supporting_contexts": []}),
    "supported, and supported_by: none": extra({"supported_by": "none"}),
    "supported, and source: null": extra({"source": None}),
    "supported, and n_supporting: 0": extra({"n_supporting_contexts": 0}),
    "supported, and why_not": extra({"why_not": "The context has another value."}),
    "supported, and unsupported_reason": extra({"unsupported_reason": "another value"}),
    "supported, and correction": extra({"correction": "The context names another value."}),
    "supported, and should_be": extra({"should_be": False}),
    "supported, and errors: true": extra({"errors": True}),
    "supported, and error_count: 1": extra({"error_count": 1}),
    "supported, and mismatch: true": extra({"mismatch": True}),
    "supported, and exact: false": extra({"exact_match": False}),
    "supported, and a quote with match: partial": extra({"match": "partial"}, in_evidence=True),
    "supported, and a quote with negated: true": extra({"negated": True}, in_evidence=True),
    "supported, and a quote with about: topic only": extra(
        {"relation": "topic only"}, in_evidence=True
    ),
    "supported, and a quote with confidence 0.1": extra({"confidence": 0.1}, in_evidence=True),
    "unsupported, and score: 1.0, supported_by": extra_no({"supported_by": ["c2"]}),
    "unsupported, and a reason for it": extra_no({"reason": "c2 states it word for word."}),
    "useful, and a Dutch reason against it": extra_useful(
        {"reason": "Deze context gaat over iets anders."}
    ),
    "useful, and topic_only: true": extra_useful({"topic_only": True}),
    "useful, and usefulness: none": extra_useful({"usefulness": "none"}),
    "useful, and verdict: ✗": extra_useful({"verdict": "✗"}),
    # the whole reply says otherwise
    "recall: 0.43 beside seven yeses": remarked(lambda reply, *_: reply.update(recall=0.43)),
    "score: 3 beside seven yeses": remarked(lambda reply, *_: reply.update(score=3, total=7)),
    "all_supported: false": remarked(lambda reply, *_: reply.update(all_supported=False)),
    "verdict: partially supported, of the whole": remarked(
        lambda reply, *_: reply.update(verdict="partially supported")
    ),
    "a list of changes": remarked(
        lambda reply, _, wrong: reply.update(
            changes=[{"id": id_, "from": True, "to": False} for id_ in wrong]
        )
    ),
    "errata in words": remarked(
        lambda reply, _, wrong: reply.update(errata="; ".join(f"{id_}: false" for id_ in wrong))
    ),
    "a self-check": remarked(
        lambda reply, _, wrong: reply.update(
            self_check=[{"sentence": id_, "ok": False} for id_ in wrong]
        )
    ),
    "a text before, aren't": remarked(with_text_before("{ids} aren't stated in any context.")),
    "a text before, no support": remarked(with_text_before("I found no support for {ids}.")),
    "a text before, only": remarked(with_text_before("Only {right} are supported.")),
    "a text before, lines": remarked(with_text_before("Verdicts:\n{lines}")),
    "a text before, German": remarked(with_text_before("{ids} sind nicht belegt.")),
    "a list behind the object": remarked(with_object(lambda _, wrong: {"unsupported": wrong})),
    "a map behind the object": remarked(with_object(lambda _, wrong: dict.fromkeys(wrong, False))),
    "a correction of entries behind the object": remarked(
        with_object(lambda _, wrong: {"sentences": {id_: {"supported": False} for id_ in wrong}})
    ),
    "a text behind, useless contexts": remarked_useful(
        lambda reply, _, wrong: reply.update(note=f"{', '.join(wrong)} do not help.")
    ),
    # ids in a second spelling
    "denied under s04": spelled_again(lambda id_: f"s0{id_[1:]}"),
    "denied under Sentence 4": spelled_again(lambda id_: f"Sentence {id_[1:]}"),
    "denied under sentence_4": spelled_again(lambda id_: f"sentence_{id_[1:]}"),
    "denied under 4": spelled_again(lambda id_: id_[1:]),
    "denied under s-4": spelled_again(lambda id_: f"s-{id_[1:]}"),
    "denied under a Cyrillic letter": spelled_again(lambda id_: f"ѕ{id_[1:]}"),
    "denied under a wide digit": spelled_again(lambda id_: f"s{chr(0xFF10 + int(id_[1:]))}"),
    "denied under s4 (final)": spelled_again(lambda id_: f"{id_} (final)"),
    "denied under a zero-width space": spelled_again(lambda id_: f"{id_}\u200b"),
    # a cut reply that a gateway filled in
    "cut at sentence 3, filled: not evaluated": mended(2, no_because("not evaluated")),
    "cut at sentence 3, filled: [truncated]": mended(2, no_because("[truncated]")),
    "cut at sentence 3, filled: error": mended(2, no_because("error")),
    "cut at sentence 3, filled: a refusal": mended(2, no_because("I can't assist with that.")),
    "cut at sentence 3, filled: the sentence": mended(
        2, lambda entry, id_, ask: no_because(ask.question.units[id_])(entry, id_, ask)
    ),
    "all sentences no, filtered": noes(lambda *_: "[content removed by policy]"),
    "all sentences no, in Chinese": noes(lambda *_: "上下文没有提到"),
    # two sentences as one, replies to other requests
    "sentences 3 and 4 under one yes": either(2, 3),
    "sentences 1 and 7 under one yes": either(0, 6),
    "a reply to the first four contexts": stale(first_contexts(4)),
    "a reply to the contexts moved by one": stale(moved_contexts(1)),
    "a reply to the contexts moved by three": stale(moved_contexts(3)),
    "a reply to the sentences in opposite order": stale(moved_sentences),
    # streams and servers
    "each chunk of the stream twice": wrapped(lambda _, text: stuttering(text)),
    "a stream begun again after a third": wrapped(lambda _, text: restarted(text, 0.33)),
    "a stream begun again near its end": wrapped(lambda _, text: restarted(text, 0.95)),
    "the last tenth of the stream twice": wrapped(lambda _, text: tail_twice(text, 0.9)),
    "the second half of the stream twice": wrapped(lambda _, text: tail_twice(text, 0.5)),
    **{
        f"a chunk lost at {share:.0%}": wrapped(lambda _, text, share=share: chunk_lost(text, share))
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    },
    "YAML": wrapped(lambda reply, _: as_yaml(reply)),
    "XML": wrapped(lambda reply, _: as_xml(reply)),
    "CSV": wrapped(lambda reply, _: as_csv(reply)),
    "an error object": wrapped(lambda *_: {"error": {"message": "content policy", "code": 400}}),
    "a refusal for each sentence": wrapped(
        lambda reply, _: {
            **reply,
            "sentences": dict.fromkeys(units_of(reply), "I can't help with that."),
        }
    ),
    "verdicts NaN": wrapped(
        lambda _, text: re.sub(r'"supported": (?:true|false)', '"supported": NaN', text)
    ),
}
"""The kinds by name."""

# Written after the kinds above were looked at.
LATER_REASONS = {
    "Catalan": "Cap context no ho diu.",
    "Estonian": "Kontekst seda ei maini.",
    "Bengali": "কোনো প্রসঙ্গে এটি বলা হয়নি।",
    "Swahili": "Muktadha hausemi hivyo.",
    "Greek": "Κανένα πλαίσιο δεν το αναφέρει.",
    "Hebrew": "אף הקשר לא מציין זאת.",
    "Vietnamese": "Không có ngữ cảnh nào nêu điều này.",
    "Hungarian": "Egyik kontextus sem említi.",
    "Czech": "Žádný kontext to neuvádí.",
    "Finnish": "Mikään konteksti ei mainitse tätä.",
    "Ukrainian": "Жоден контекст цього не згадує.",
    "English, contradicted by": "Contradicted by c3.",
    "English, beyond": "The sentence goes beyond the context.",
    "English, topic": "Only the topic matches.",
    "English, false": "False.",
    "English, a guess": "This is a guess.",
    "English, partially": "Partially: the name matches, the year does not.",
    "English, assumed": "Assumed; the contexts are silent on this.",
    "English, hallucinated": "Hallucinated detail.",
    "English, unclear": "It is unclear whether the context means this.",
}

LATER: dict[str, kinds.Fault] = {
    **against_by_reason(LATER_REASONS),
    "supported, and truth: false": extra({"truth": "false"}),
    "supported, and stars: 1": extra({"stars": "1/5"}),
    "supported, and probability_of_support: 5%": extra({"probability_of_support": "5%"}),
    "supported, and is_hallucination: yes": extra({"is_hallucination": "yes"}),
    "supported, and second_opinion: no": extra({"second_opinion": "no"}),
    "supported, and votes": extra({"votes": {"yes": 1, "no": 4}}),
    "supported, and flags": extra({"flags": ["unsupported"]}),
    "supported, and warning": extra({"warning": "not stated in the contexts"}),
    "supported, and caveat": extra({"caveat": "The year is another one."}),
    "supported, and inferred: true": extra({"inferred": True}),
    "supported, and evidence_found: false": extra({"evidence_found": False}),
    "supported, and confidence: 0 %": extra({"confidence": "0 %"}),
    "supported, and belegt: false": extra({"belegt": False}),
    "supported, and a German key of a reason": extra({"begründung": "Kein Kontext nennt das."}),
    "supported, and a Chinese key of a reason": extra({"理由": "上下文没有提到。"}),
    "supported, and SUPPORTED?: false": extra({"SUPPORTED?": False}),
    "supported, and counter_evidence": extra({"counter_evidence": "The context has another value."}),
    "supported, and contradicting_contexts": extra({"contradicting_contexts": ["c3"]}),
    "supported, and a quote that supports: nothing": extra(
        {"supports_sentence": "no"}, in_evidence=True
    ),
    "useful, and usefulness_score: 0.1": extra_useful({"usefulness_score": 0.1}),
    "useful, and a Greek reason against it": extra_useful(
        {"reason": "Το κείμενο δεν αναφέρει τίποτα σχετικό."}
    ),
    "notes on sentences by number": remarked(
        lambda reply, _, wrong: reply.update(
            notes=f"Sentences {' and '.join(numbered(id_) for id_ in wrong)} are not supported."
        )
    ),
    "a range behind the object": remarked(remarks.with_text_behind("\nNote: s4-s7 are not supported.")),
    "an edit behind the object": remarked(
        lambda reply, _, wrong: (
            json.dumps(reply) + "\n" + "\n".join(f"EDIT: {id_} → false" for id_ in wrong)
        )
    ),
    "a table behind the object": remarked(
        lambda reply, _, wrong: (
            json.dumps(reply)
            + "\n| id | verdict |\n|---|---|\n"
            + "\n".join(f"| {id_} | no |" for id_ in wrong)
        )
    ),
    "a JSON patch": remarked(
        lambda reply, _, wrong: reply.update(
            patch=[
                {"op": "replace", "path": f"/sentences/{id_}/supported", "value": False}
                for id_ in wrong
            ]
        )
    ),
    "a second version of the sentences": remarked(
        lambda reply, _, wrong: reply.update(sentences_v2={id_: {"supported": False} for id_ in wrong})
    ),
    "a final answer as a text of JSON": remarked(
        lambda reply, _, wrong: reply.update(final_answer=json.dumps(dict.fromkeys(wrong, "no")))
    ),
    "percent of the sentences": remarked(lambda reply, *_: reply.update(recall="43%")),
    "how many of the sentences, in words": remarked(
        lambda reply, right, _: reply.update(summary=f"{len(right)} of 7 sentences are supported.")
    ),
    # what a gateway makes of it
    "false sentences by a quote that is no quote": misquoted(lambda *_: "NOT FOUND"),
    "false sentences by two contexts in one quote": misquoted(
        lambda quote, unit, ask: (
            quote + " " + base.sentences_in(next(iter(ask.question.contexts.values())))[0]
        )
    ),
    "numbers of quotes masked": misquoted(lambda quote, *_: re.sub(r"\d", "#", quote)),
    "texts cut after 20 characters": wrapped(
        lambda _, text: re.sub(r'"([^"]{20})[^"]+"', r'"\1…"', text)
    ),
    "words of the reply hidden by a filter": wrapped(
        lambda _, text: re.sub(r"\b(?:not|never|other|another)\b", "****", text)
    ),
    "keys in capitals": wrapped(
        lambda _, text: re.sub(r'"(\w+)":', lambda match: f'"{match[1].title()}":', text)
    ),
    "escaped for HTML": wrapped(lambda _, text: html.escape(text)),
    "each brace twice": wrapped(lambda _, text: text.replace("{", "{{").replace("}", "}}")),
    "false made true by a filter": wrapped(lambda _, text: text.replace("false", "true")),
    "true made false by a filter": wrapped(lambda _, text: text.replace("true", "false")),
    "all entries equal to the last one": collapsed_to(-1),
    "all entries equal to the first one": collapsed_to(0),
}
KINDS |= LATER


@fault
def told_apart(reply: Entry, ask: Ask, key: str, right: Any, wrong: Any) -> Any:
    """False sentences called supported; each yes has a key, whose value denies the false ones only."""
    supported()(reply, ask)
    for id_, entry in units_of(reply).items():
        entry[key] = wrong if place_of(id_, ask) in FALSE else right
    return reply


# Written after the kinds above: every yes has a remark, as judges write them.
REMARKS: dict[str, tuple[str, Any, Any]] = {
    "a reason, another year": ("reason", "c2 gives it.", "The year given there is another."),
    "a reason, does not match": ("reason", "It matches c2.", "It does not match c3."),
    "a reason, in doubt": ("reason", "c2 gives it.", "Doubtful."),
    "a reason, at most": ("reason", "Found in c2.", "At most implied."),
    "a reason, hard to say": ("reason", "Found in c2.", "Hard to say from these texts."),
    "a reason, the context has": ("reason", "c2 has it.", "c3 has X210 in place of X200."),
    "a reason, world knowledge": ("reason", "c2 has it.", "I know this from elsewhere."),
    "a reason in Italian": ("reason", "Il contesto lo dice.", "Il contesto parla di un altro modello."),
    "a reason in German": ("grund", "Steht in c2.", "Steht so nirgends im Text."),
    "a reason in Catalan": ("motiu", "Ho diu c2.", "Cap text no ho diu."),
    "a verdict in Swahili": ("hukumu", "ndiyo", "hapana"),
    "a grade of letters": ("grade", "A", "F"),
    "a grade of words": ("strength", "strong", "none"),
    "a colour": ("light", "green", "red"),
    "plus and minus": ("sign", "+", "-"),
    "stars": ("rating", "★★★★★", "★☆☆☆☆"),
    "a number of 5": ("support_level", 5, 1),
    "a number of 100": ("certainty_percent", 98, 12),
    "a count of quotes": ("matching_quotes", 1, 0),
    "a kind of match": ("match_type", "exact", "none"),
    "a label of NLI": ("nli_label", "ENTAILMENT", "NEUTRAL"),
    "a label in brackets": ("label", "[Fully supported]", "[No support / Contradictory]"),
    "a list of problems": ("problems", [], ["other year"]),
    "a difference": ("difference", "", "the year"),
    "a need for review": ("needs_review", False, True),
}
LATEST: dict[str, kinds.Fault] = {
    f"every yes with {name}": told_apart(*words) for name, words in REMARKS.items()
} | {
    "sentences told apart by an emoji behind the id": remarked(
        lambda reply, _, wrong: reply.update(overview=" ".join(f"{id_}❌" for id_ in wrong))
    ),
    "a heading and a list before the object": remarked(with_text_before("Not supported:\n{lines}")),
    "a text before, I doubt": remarked(with_text_before("I doubt {ids}.")),
    "a text before, unsure": remarked(with_text_before("I am not sure about {ids}.")),
    "a text before, French": remarked(with_text_before("{ids} ne sont pas confirmées.")),
    "a text before, except": remarked(with_text_before("All sentences are supported except {ids}.")),
    "a list of exceptions": remarked(lambda reply, _, wrong: reply.update(exceptions=wrong)),
    "a list to check again": remarked(lambda reply, _, wrong: reply.update(needs_review=wrong)),
    "an object of confidences": remarked(
        lambda reply, right, wrong: reply.update(
            confidence={**dict.fromkeys(right, 0.97), **dict.fromkeys(wrong, 0.12)}
        )
    ),
    "a list of texts by sentence": remarked(
        lambda reply, right, wrong: reply.update(
            log=[f"{id_}: ok" for id_ in right] + [f"{id_}: not ok" for id_ in wrong]
        )
    ),
    "useful, and every yes with a reason": extra_useful({"reason": "It is about another model."}),
}
KINDS |= LATEST

LEFT: dict[str, str] = {
    "every yes with a verdict in Swahili": "a language that is not read, and no entry says no",
    "every yes with a reason in Catalan": "a language that is not read, and no entry says no",
    "every yes with a reason in Italian": "another context may state it",
    "numbers of quotes masked": "random words: a quote with two of the five words of a sentence",
    "supported, and source: null": "null says nothing",
    "supported, and exact: false": "a sentence may be stated in other words",
    "supported, and a quote with match: partial": "a sentence may be stated in other words",
}


# --- honest replies in other spellings ---


@fault
def repeated(reply: Entry, ask: Ask) -> Any:
    """The data of the request before the reply."""
    return f"{of_question(ask)}\n{json.dumps(reply)}"


@fault
def with_texts(reply: Entry, ask: Ask) -> Any:
    """Each entry repeats its sentence, or the beginning of its context."""
    for id_, entry in units_of(reply).items():
        entry["sentence"] = ask.question.units[id_]
    for id_, entry in rated_of(reply).items():
        entry["text"] = ask.question.contexts[id_][:40]
    return reply


def in_order(names: Callable[[list[str]], list[str]]) -> kinds.Fault:
    """The entries in another order, each under its id."""
    return wrapped(
        lambda reply, _: {
            key: {id_: value[id_] for id_ in names([*value])} if isinstance(value, dict) else value
            for key, value in reply.items()
        }
    )


HONEST: dict[str, kinds.Fault] = {
    "honest": lambda reply, _: reply,
    "honest, ids as s1.": as_id("{id}."),
    "honest, ids as [s1]": as_id("[{id}]"),
    "honest, ids as (s1)": as_id("({id})"),
    "honest, ids as S1": spelled(str.upper),
    "honest, ids as s1:": as_id("{id}:"),
    "honest, ids as Sentence 1": as_id("{name} {number}"),
    "honest, ids as sentence_1": spelled(
        lambda id_: f"{'sentence' if id_[0] == 's' else 'context'}_{id_[1:]}"
    ),
    "honest, ids as s01": as_id("{letter}0{number}"),
    "honest, ids as s_1": as_id("{letter}_{number}"),
    "honest, ids as 1": as_id("{number}"),
    "honest, ids as <s1>": as_id("<{id}>"),
    "honest, contexts of quotes as numbers": with_field(
        lambda item: item.update(context=int(item["context"][1:]))
    ),
    "honest, contexts of quotes in brackets": with_field(
        lambda item: item.update(context=f"[{item['context']}]")
    ),
    "honest, contexts of quotes as Context 2": with_field(
        lambda item: item.update(context=f"Context {item['context'][1:]}")
    ),
    "honest, lists in opposite order": in_order(lambda ids: ids[::-1]),
    "honest, keys in opposite order": wrapped(lambda reply, _: dict([*reply.items()][::-1])),
    "honest, the sentences repeated": with_texts(),
    "honest, the data before the reply": repeated(),
    "honest, a byte order mark": wrapped(lambda _, text: f"\ufeff{text}"),
    "honest, smart quotes": wrapped(lambda _, text: with_smart_quotes(text)),
    "honest, words of Python": wrapped(lambda _, text: in_python(text)),
    "honest, keys without quotes": wrapped(lambda _, text: without_key_quotes(text)),
    "honest, trailing commas": wrapped(lambda _, text: text.replace("}}", "},}")),
    "honest, comments": wrapped(
        lambda reply, _: json.dumps(reply, indent=1).replace("{\n", "{ // as asked\n", 1)
    ),
    "honest, in a tool call": wrapped(tool_use),
    "honest, as the text of a tool call": wrapped(
        lambda _, text: {"function": {"name": "reply", "arguments": text}}
    ),
    "honest, within an output": wrapped(lambda reply, _: {"output": reply}),
    "honest, as a JSON text": wrapped(lambda _, text: json.dumps(text)),
    "honest, as a content block": wrapped(lambda _, text: json.dumps([{"type": "text", "text": text}])),
    "honest, another JSON object before": wrapped(lambda _, text: f'{{"plan": "read all"}}\n{text}'),
    "honest, reasons in Portuguese": slips.explained(
        {"reason": "O contexto afirma isso, embora outro não."},
        {"reason": "Nenhum contexto afirma isso."},
    ),
    "honest, reasons in Japanese": slips.explained(
        {"reason": "文脈に記載があります。"}, {"reason": "どの文脈にも記載がありません。"}
    ),
    "honest, reasons in Chinese": slips.explained(
        {"reason": "上下文明确提到了这一点。"}, {"reason": "上下文中没有提到这一点。"}
    ),
    "honest, reasons in Arabic": slips.explained(
        {"reason": "السياق يذكر ذلك."}, {"reason": "لا يذكر أي سياق ذلك."}
    ),
    "honest, reasons in Russian": slips.explained(
        {"reason": "Это прямо сказано в контексте."}, {"reason": "Ни в одном контексте этого нет."}
    ),
    "honest, probabilities by label": slips.explained(
        {"probabilities": {"supported": 0.97, "unsupported": 0.03}},
        {"probabilities": {"supported": 0.02, "unsupported": 0.98}},
    ),
    "honest, marks as verdicts": slips.explained({"verdict": "✓"}, {"verdict": "✗"}),
    "honest, sources": slips.explained(
        {"supported_by": ["c2"], "errors": 0}, {"supported_by": [], "why_not": "no context has it"}
    ),
    "honest, the recall": agreed(
        lambda reply, right, wrong: reply.update(recall=0.43, all_supported=False)
    ),
    "honest, a list behind the object": agreed(with_object(lambda _, wrong: {"unsupported": wrong})),
    "honest, a text before": agreed(with_text_before("I found no support for {ids}.")),
    "honest, quotes in small capitals": requoted(lambda quote: quote.upper()),
    "honest, quotes with line breaks": requoted(lambda quote: quote.replace(" ", " \n ")),
    "honest, quotes in single marks": requoted(lambda quote: f"'{quote}'" if quote else ""),
    "honest, quotes in guillemets": requoted(lambda quote: f"«{quote}»" if quote else ""),
    "honest, quotes behind a dash": requoted(lambda quote: f"- {quote}" if quote else ""),
    "honest, quotes with dots at both ends": requoted(lambda quote: f"...{quote}..." if quote else ""),
    "honest, quotes with zero-width spaces": requoted(lambda quote: quote.replace(" ", " \u200b")),
}

LATER_HONEST: dict[str, kinds.Fault] = {
    "honest, reasons in German with a negation": slips.explained(
        {"reason": "Steht wörtlich im Kontext, nicht nur sinngemäß."},
        {"reason": "Das sagt kein Kontext."},
    ),
    "honest, reasons in French with a negation": slips.explained(
        {"reason": "Le contexte le dit sans ambiguïté."}, {"reason": "Rien ne le confirme."}
    ),
    "honest, reasons in Spanish with a negation": slips.explained(
        {"reason": "El contexto lo afirma, no hay duda."}, {"reason": "No aparece."}
    ),
    "honest, reasons in Dutch with a negation": slips.explained(
        {"reason": "De context zegt dit letterlijk, niets wijst op het tegendeel."},
        {"reason": "Geen context zegt dit."},
    ),
    "honest, reasons in Turkish": slips.explained(
        {"reason": "Bağlam bunu açıkça söylüyor."}, {"reason": "Hiçbir bağlam bunu söylemiyor."}
    ),
    "honest, reasons in Korean": slips.explained(
        {"reason": "문맥에 명시되어 있습니다."}, {"reason": "문맥에 언급되지 않습니다."}
    ),
    "honest, no contradiction, in Chinese": slips.explained(
        {"reason": "上下文与该句没有矛盾。"}, {"reason": "没有依据。"}
    ),
    "honest, an English reason with no": slips.explained(
        {"reason": "Stated in full; no part of it is missing."}, {"reason": "No context has it."}
    ),
    "honest, a reason about another context": slips.explained(
        {"reason": "c1 does not help, c2 states it."}, {"reason": "c1 to c6 do not state it."}
    ),
    "honest, votes": slips.explained({"votes": {"yes": 5, "no": 0}}, {"votes": {"yes": 0, "no": 5}}),
    "honest, no counter-evidence": slips.explained(
        {"counter_evidence": [], "caveat": "none", "inferred": False, "flags": []},
        {"counter_evidence": [], "flags": ["unsupported"]},
    ),
    "honest, the fault of each no": slips.explained(
        {"error_count": 0, "errors": False, "mismatch": None}, {"error_count": 1, "mismatch": True}
    ),
    "honest, words of true and false": slips.valued("true", "false"),
    "honest, wrapped lines": wrapped(lambda _, text: re.sub(r"(.{60,80}) ", r"\1\n", text)),
    "honest, ids as s1)": as_id("{id})"),
    "honest, ids as #1": as_id("#{number}"),
    "honest, ids as sentence 1 of 7": as_id("{name} {number} of 7"),
    "honest, quotes behind a number": requoted(lambda quote: f"1. {quote}" if quote else ""),
    "honest, quotes with an ellipsis": requoted(lambda quote: f"…{quote}" if quote else ""),
    "honest, quotes decomposed": requoted(lambda quote: unicodedata.normalize("NFD", quote)),
    "honest, a patch without changes": wrapped(
        lambda reply, _: {**reply, "patch": [], "recall": "43%"}
    ),
    "honest, notes on sentences by number": agreed(
        lambda reply, _, wrong: reply.update(
            notes=f"Sentences {' and '.join(numbered(id_) for id_ in wrong)} are not supported."
        )
    ),
    "honest, null for nothing": wrapped(
        lambda _, text: text.replace('"evidence": []', '"evidence": null').replace(
            '"missing": ""', '"missing": null'
        )
    ),
}
LATEST_HONEST: dict[str, kinds.Fault] = {
    f"honest, with {name}": slips.explained({key: right}, {key: wrong})
    for name, (key, right, wrong) in REMARKS.items()
} | {
    "honest, an object of confidences": agreed(
        lambda reply, right, wrong: reply.update(
            confidence={**dict.fromkeys(right, 0.97), **dict.fromkeys(wrong, 0.91)}
        )
    ),
    "honest, a text before, except": agreed(
        with_text_before("All sentences are supported except {ids}.")
    ),
    "honest, a list to check again": agreed(
        lambda reply, _, wrong: reply.update(needs_review=wrong, exceptions=wrong)
    ),
}
HONEST |= LATER_HONEST | LATEST_HONEST
ALL = {**KINDS, **HONEST}


def run(argv: list[str]) -> dict[str, object]:
    return kinds.run_kinds("reply_spellings", KINDS, HONEST, LEFT, argv)

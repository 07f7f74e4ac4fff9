"""Whatever a model replies, nothing raises, no denominator moves, and every span is the text it claims to be."""

from __future__ import annotations

import json
import string
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmetrics import ContextPrecision, ContextRecall, Sample, ScriptedJudge, evaluate
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.judges.llm.parsing import UnreadableReplyError, parse
from ctxmetrics.metrics.judged import ContextUtilization
from ctxmetrics.models.base import Reply
from ctxmetrics.prompts import get_pack, render
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.quote_search import find_quote
from ctxmetrics.text.sentences import split_sentences
from ctxmetrics.text.visible import see

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(),
    texts,
    st.sampled_from(["s1", "s2", "c1", "c2", "yes", "no"]),
)
trees = st.recursive(scalars, lambda children: st.lists(children, max_size=4) | st.dictionaries(st.sampled_from(["id", "supported", "useful", "evidence", "context", "quote", "whole", "missing", "code", "sentences", "s1", "c1"]) | texts, children, max_size=5), max_leaves=20)  # fmt: skip
entries = st.dictionaries(
    st.sampled_from(["s1", "s2", " s2", "s3", "c1", "c2", "c9", ""]) | texts,
    st.one_of(
        trees,
        st.fixed_dictionaries(
            {},
            optional={
                "supported": scalars,
                "useful": scalars,
                "evidence": st.lists(st.fixed_dictionaries({"context": st.sampled_from(["c1", "c2", "c3", "s1"]), "quote": texts | st.sampled_from(["the pump hums", "at night"]), "whole": scalars}), max_size=3),
                "missing": scalars,
                "quote": texts | st.sampled_from(["the pump hums", "at night"]),
            },
        ),
    ),
    max_size=6,
)  # fmt: skip
objects = st.fixed_dictionaries(
    {"code": st.just("$code") | scalars, "sentences": entries | trees, "useful": entries | trees}
)
replies = st.one_of(
    objects,
    texts,
    trees.map(lambda tree: json.dumps(tree, allow_nan=True)),
    objects.map(json.dumps),
    st.tuples(objects.map(json.dumps), st.integers(0, 500)).map(lambda pair: pair[0][: pair[1]]),
)
SAMPLE = Sample(
    user_input="Does it hum?",
    reference="The pump hums. It hums at night.",
    retrieved_contexts=["Yes, the pump hums a little.", "Best heard at night."],
)


@given(texts | replies.filter(lambda reply: isinstance(reply, str)))
def test_parsing_raises_nothing_but_the_documented_error(content: Any) -> None:
    try:
        found = parse(Reply(content=content), ("sentences", "useful"))
    except UnreadableReplyError:
        return
    assert any(isinstance(found.get(key), dict) for key in ("sentences", "useful"))


@given(st.lists(replies, min_size=1, max_size=3))
def test_no_reply_changes_a_denominator_or_another_verdict(
    given_replies: list[Any],
) -> None:
    forget()
    scripted = [
        reply if isinstance(reply, (str, dict)) else json.dumps(reply, allow_nan=True)
        for reply in given_replies
    ]
    judge = ScriptedJudge(
        lambda prompt: scripted[min(prompt.attempt, len(scripted) - 1)], name=repr(scripted)
    )
    for metric, count in ((ContextRecall(judge=judge), 2), (ContextPrecision(judge=judge), 2)):
        score = metric.score(SAMPLE)
        assert len(score.verdicts) == count
        assert score.value is None or 0.0 <= score.value <= 1.0
        assert (score.value is None) == any(verdict.value is None for verdict in score.verdicts)
        for verdict in score.verdicts:
            for span in verdict.evidence:
                assert SAMPLE.retrieved_contexts is not None
                assert SAMPLE.retrieved_contexts[span.context][span.start : span.end] == span.quote
            assert verdict.value is not True or metric.base_name != "context_recall" or verdict.evidence


@given(texts, texts)
def test_a_found_span_is_inside_the_context(quote: str, context: str) -> None:
    for span in find_quote(quote, context):
        assert 0 <= span.start < span.end <= len(context)


def _is_in_a_number(text: str, place: int) -> bool:
    around = text[max(0, place - 1) : place + 1]
    return len(around) > 1 and all(character.isnumeric() or character in ".,'" for character in around)


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=120), st.data())
def test_stretch_of_a_context_is_located_where_it_stands(context: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(context) - 1))
    end = data.draw(st.integers(start + 1, len(context)))
    quote = context[start:end]
    letters = [character for character in quote if character.isalnum()]
    if len(letters) < 3 or "..." in quote or "…" in quote:
        return
    if any(_is_in_a_number(context, place) for place in (start, end)):
        return  # a number is found whole or not at all
    spans = find_quote(quote, context)
    assert spans
    assert normalise(context[spans[0].start : spans[0].end]) == normalise(quote)


@given(texts)
def test_sentences_stand_in_the_text_in_order(text: str) -> None:
    position = 0
    for sentence in split_sentences(text):
        position = text.index(sentence, position) + len(sentence)
        assert sentence == sentence.strip()
        assert any(character.isalnum() for character in sentence)


@given(st.dictionaries(st.sampled_from(["question", "answer"]), texts), st.lists(texts, max_size=4))
def test_data_stays_in_its_block_and_is_the_same_data(
    fields: dict[str, str], contexts: list[str]
) -> None:
    data = {
        **fields,
        "contexts": [{"id": f"c{number}", "text": text} for number, text in enumerate(contexts, 1)],
    }
    prompt = render(get_pack("en"), "usefulness", data)
    opening, body, code, closing, *keys = prompt.user.split("\n")
    assert json.loads(body) == data
    nonce = opening.removeprefix("BEGIN DATA ")
    assert closing == f"END DATA {nonce}"
    assert nonce not in body
    assert code == f"code: {prompt.data_code}"
    assert nonce.startswith(prompt.data_code)
    assert len(nonce) >= 96 / 4
    ids = ", ".join(f"c{number}" for number in range(1, len(contexts) + 1))
    assert keys == ([f"Keys of useful: {ids}."] if ids else [])
    assert all(character in string.hexdigits for character in nonce)


@settings(max_examples=settings().max_examples // 8)
@given(st.permutations(["recall", "precision", "utilization", "supports"]), st.integers(1, 4))
def test_score_is_independent_of_other_metrics_and_order(order: list[str], count: int) -> None:
    metrics = {
        "recall": ContextRecall(),
        "precision": ContextPrecision(),
        "utilization": ContextUtilization(),
        "supports": ContextPrecision(relevance="supports"),
    }
    sample = Sample(**{**SAMPLE.to_dict(), "response": "It hums."})

    def answer(prompt: Any) -> Any:
        data = json.loads(prompt.user.split("\n")[1])
        quote = {"context": "c1", "quote": "the pump hums", "whole": True}
        sentences = {
            item["id"]: {"supported": "pump" in item["text"], "evidence": [quote]}
            for item in data.get("sentences", [])
        }
        useful = {
            item["id"]: {"quote": item["text"], "useful": "pump" in item["text"]}
            for item in data["contexts"]
        }
        return {"code": "$code", "sentences": sentences, "useful": useful}

    alone = {}
    for name, metric in metrics.items():
        forget()
        alone[name] = evaluate(
            [sample], [metric], judge=ScriptedJudge(answer, name="order"), progress=False
        )[0][metric.name].value
    assert alone == {"recall": 0.5, "precision": 1.0, "utilization": 1.0, "supports": 1.0}
    forget()
    chosen = order[:count]
    row = evaluate(
        [sample],
        [metrics[name] for name in chosen],
        judge=ScriptedJudge(answer, name="order"),
        progress=False,
    )[0]
    assert {name: row[metrics[name].name].value for name in chosen} == {
        name: alone[name] for name in chosen
    }


MARKUP = st.lists(
    st.sampled_from(
        ["a ", "bc", "9", " ", "\n", "<b>", "</b>", "<p>", "<sup>1</sup>", "&amp;", "&nbsp;", "**", "_", "`", "[", "]", "](u)",
         "[1]", "$", "x_2", "\\frac{", "}{", "}", "\\*", "| ", "|-|\n", "# ", "> ", "\n- 1 -\n", "-\n", "\u00ad", "''", "[[", "]]"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(MARKUP, st.integers(0, 60), st.integers(0, 60))
def test_visible_places_lie_in_the_text_in_order(text, first, size):
    view = see(text)
    assert len(view.text) <= len(text) + 2 * text.count("<")
    start = min(first, len(view.text))
    end = min(start + size, len(view.text))
    span = view.to_source(Span(start, end))
    assert 0 <= span.start <= span.end <= len(text)
    if start < end:
        assert view.text[start:end] in view.cut(span)
        assert view.to_visible(span.start) <= start
        assert view.to_visible(span.end) >= end
    places = [view.to_visible(place) for place in range(len(text) + 1)]
    assert places == sorted(places)
    assert places[-1] == len(view.text)

"""Requests and tokens that context recall and context precision cost together: ours, Ragas' and DeepEval's.

    python benchmarks/run.py traffic [--samples 3] [--ks 1 5 10 20] [--encoding FOLDER] [--write-docs]

References of five sentences, of which four are supported, and contexts of 500 characters; a sample with 10 contexts holds
1,396 tokens of data (question, reference, contexts; characters / 4). The judge is a server on the loopback that answers
honestly, quotes whole sentences, gives every key of the schema, and counts; every score is checked. Ours runs in four places, nothing judged before, with the LLM object of that place: the core's
`evaluate`, `ragas.evaluate`, `deepeval.evaluate` and `langsmith.evaluate`. Bars: one request a sample everywhere; with
10 contexts in the core at most 2,600 tokens of prompt and schema, and 450 tokens of reply where one context states each
sentence. The second table has two contexts a sentence.

Tokens are those of o200k_base where its file is at hand: in the folder that `--encoding` names, or in the package litellm,
which brings it along; else characters / 4, and the first line says so. A JSON schema in `response_format` or a tool counts
as its JSON text: what a provider bills for it, and whether from a cache, is its own affair. Dollars are those of a thousand
samples at 0.15 a million tokens sent and 0.60 a million received.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from uuid import UUID

HERE = Path(__file__).resolve()
from _shared import arguments, docs, judging

SENTENCES, CONTEXT, REST = 5, 500, 584
MOST_SENT, MOST_RECEIVED, AT_K = 2600, 450, 10
MOST_SPACED = 470
"""Tokens of a reply with a space after each colon and comma: the form is not ours to choose."""
README = HERE.parents[2] / "README.md"
IN_README = {"ctxmetrics": "ctxmetrics", "Ragas evaluate": "Ragas", "DeepEval evaluate": "DeepEval"}
"""The contenders of the README's table, and what it calls them."""
HANDBOOK = HERE.parents[2] / "examples" / "handbook.jsonl"
SUPPORTED, MOST_HELD = 4, 3
DOLLARS_SENT, DOLLARS_RECEIVED = 0.15, 0.60
# The name under which tiktoken looks for the file of o200k_base: a hash of its address.
O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"
_WORDS = "harbour record keeper winter lantern market bridge copper valley garden letter"


# --- data of a known size ---


def _sentence(source: random.Random, fact: str, length: int) -> str:
    """One sentence of exactly so many characters that ends in a fact."""
    tail = f" that {fact}"
    text = "It is written"
    while len(text) < length - len(tail):
        text += f" {source.choice(_WORDS.split())}"
    return text[: length - len(tail)].rstrip().ljust(length - len(tail), "x") + tail


def _case(number: int, k: int, copies: int = 1) -> judging.Case:
    """A sample whose first four sentences stand in so many contexts each, as far as there is room."""
    source = random.Random(number * 100 + k)
    question = f"What is written about {number} in the old books?"
    length = (REST - len(question) - (SENTENCES - 1)) // SENTENCES
    facts = [f"Fact {number}-{index} holds." for index in range(SENTENCES)]
    sentences = [_sentence(source, fact, length) for fact in facts]
    question += "?" * (REST - len(question) - len(" ".join(sentences)))
    held: list[list[str]] = [[] for _ in range(k)]
    for index, sentence in enumerate(sentences[: min(SUPPORTED, MOST_HELD * k)]):
        for copy in range(min(copies, k)):
            held[(2 * index + 1 + 3 * copy) % k].append(sentence)
    contexts = []
    for rank, found in enumerate(held):
        text = " ".join([f"Note {number}-{rank}: the weather was fair.", *found])
        while len(text) < CONTEXT:
            text += f" {source.choice(_WORDS.split())}"
        contexts.append(text[:CONTEXT])
    recall = len({text for found in held for text in found}) / SENTENCES
    precision = judging.precision_of([bool(found) for found in held])
    return judging.Case(question, " ".join(sentences), tuple(contexts), recall, precision)


def _data_tokens(case: judging.Case) -> float:
    return sum(map(len, (case.question, case.reference, *case.contexts))) / 4


# --- contenders: the values of recall and precision ---


def _core(given, url):
    from ctxmetrics import ContextPrecision, ContextRecall, evaluate

    metrics = [ContextRecall(), ContextPrecision()]
    rows = evaluate(judging.samples_of(given), metrics, judge=judging.judge_at(url), progress=False)
    return [(row["context_recall"].value, row["context_precision"].value) for row in rows]


def _in_ragas(given, url):
    from ctxmetrics_ragas import ContextPrecision, ContextRecall

    metrics = [ContextRecall(judge="framework"), ContextPrecision(judge="framework")]
    return judging.in_ragas(given, judging.chat_at(url), metrics)


def _in_deepeval(given, url):
    from deepeval import evaluate
    from deepeval.models import OpenAIModel

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

    model = OpenAIModel(model="gpt-4o-mini", base_url=url, api_key="sk-fake")
    tests = judging.deepeval_cases(given)
    found = evaluate(tests, [ContextRecallMetric(model=model), ContextPrecisionMetric(model=model)])
    return judging.deepeval_values(found, ("context_recall", "context_precision"))


def _in_langsmith(given, url):
    from langsmith import Client, evaluate
    from langsmith.schemas import Example

    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator

    class Silent(Client):
        """Uploads nothing: it would trace the chat model, whatever upload_results says."""

        def create_run(self, *args, **kwargs):
            pass

        update_run = create_run

    chat = judging.chat_at(url)
    examples = [
        Example(
            id=UUID(int=index),
            inputs={"question": case.question, "n": index},
            outputs={"reference": case.reference},
        )
        for index, case in enumerate(given)
    ]
    rows = evaluate(
        lambda inputs: {"contexts": list(given[inputs["n"]].contexts)},
        examples,
        [ContextRecallEvaluator(judge=chat), ContextPrecisionEvaluator(judge=chat)],
        upload_results=False,
        client=Silent(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False),
    )
    found = [{one.key: one.score for one in row["evaluation_results"]["results"]} for row in rows]
    return [(row["context_recall"], row["context_precision"]) for row in found]


OURS = {
    "ctxmetrics": _core,
    "in ragas.evaluate": _in_ragas,
    "in deepeval.evaluate": _in_deepeval,
    "in langsmith.evaluate": _in_langsmith,
}
THEIRS = {
    "Ragas evaluate": judging.ragas_scores,
    "Ragas collections": judging.collections_scores,
    "DeepEval evaluate": judging.deepeval_scores,
}


def counter(folder: str | None):
    """Return the name of a way to count the tokens of a text, and the way."""
    import importlib.util

    package = importlib.util.find_spec("litellm")
    inside = Path(package.origin).parent / "litellm_core_utils" / "tokenizers" if package else None
    places = (folder, os.environ.get("TIKTOKEN_CACHE_DIR"), inside)
    place = next((place for place in places if place and (Path(place) / O200K).exists()), None)
    if place is not None:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(place)
        import tiktoken

        encoding = tiktoken.get_encoding("o200k_base")
        return "o200k_base", lambda text: len(encoding.encode(text, disallowed_special=()))
    return "characters / 4: the file of o200k_base is not at hand", lambda text: len(text) / 4


def measure(
    ask, k: int, samples: int, count, copies: int = 1, *, case=None, respond=judging.respond
) -> dict[str, float]:
    """Ask once, with nothing judged before; figures are per sample. ``case`` makes the sample of a number."""
    from ctxmetrics.judges.llm.judge import forget
    from support import FakeOpenAIServer

    forget()
    given = [case(number) if case else _case(number, k, copies) for number in range(samples)]
    with FakeOpenAIServer(respond) as server:
        with judging.silence():
            scores = ask(given, server.base_url)
        requests = server.requests
    if judging.wrong(scores, given) or judging.missing(scores):
        raise SystemExit(f"{ask.__name__}: wrong scores: {scores}")
    forms = [json.dumps(body) for request in requests for body in _forms(request.body)]
    found = {
        "requests": len(requests) / samples,
        "tokens": sum(count(request.text) for request in requests) / samples,
        "schema": sum(map(count, forms)) / samples,
        "reply": sum(count(respond(request)) for request in requests) / samples,
    }
    sent = found["tokens"] + found["schema"]
    found["dollars"] = (sent * DOLLARS_SENT + found["reply"] * DOLLARS_RECEIVED) / 1000
    return found


def _handbook() -> list[str]:
    """The handbook's passages, put together to contexts of up to `CONTEXT` characters, whole sentences only."""
    from ctxmetrics import read_samples
    from ctxmetrics.text.sentences import split_sentences

    samples = read_samples(HANDBOOK)
    passages = dict.fromkeys(text for sample in samples for text in sample.retrieved_contexts)
    contexts = [""]
    for sentence in (
        one for passage in passages for one in split_sentences(passage.replace("\n", ". "))
    ):
        if len(contexts[-1]) + len(sentence) > CONTEXT:
            contexts.append("")
        contexts[-1] += f" {sentence}" if contexts[-1] else sentence
    return contexts


def _prose(number: int) -> judging.Case:
    """A question about ten contexts of the handbook; four of five sentences stand in one of them each, word for word."""
    from ctxmetrics.text.sentences import split_sentences

    source = random.Random(number)
    whole = {  # by context the sentences that stay sentences beside others
        text: [one for one in split_sentences(text) if split_sentences(f"{one} {one}") == (one, one)]
        for text in _handbook()
    }
    chosen = source.sample([text for text, sentences in whole.items() if sentences], AT_K + 1)
    stated = chosen[: 2 * SUPPORTED : 2]
    sentences = [source.choice(whole[text]) for text in (*stated, chosen[-1])]
    precision = judging.precision_of([text in stated for text in chosen[:AT_K]])
    return judging.Case(
        "What does the handbook say about the place, the filters, the noise and the guarantee of the unit?",
        " ".join(sentences),
        tuple(chosen[:AT_K]),
        SUPPORTED / len(sentences),
        precision,
    )


def real_prose(count, samples: int) -> dict[str, float]:
    """What real prose takes in the core: the reply compact, and with the spaces that `json.dumps` puts."""
    from ctxmetrics.text.sentences import split_sentences
    from support import answer_from

    def useful(context: str, answer: str) -> bool:
        return any(sentence in context for sentence in split_sentences(answer))

    honest = answer_from(supported=judging.supported, useful=useful)
    found = measure(_core, AT_K, samples, count, case=_prose, respond=honest)

    def with_spaces(asked) -> str:
        return json.dumps(json.loads(honest(asked)), ensure_ascii=False)

    spaced = measure(_core, AT_K, samples, count, case=_prose, respond=with_spaces)
    return {**found, "sent": found["tokens"] + found["schema"], "spaced": spaced["reply"]}


def _forms(body):
    yield from (body[key] for key in ("response_format", "tools") if body.get(key))


def costs(found: dict[str, dict[str, float]]) -> str:
    """The README's table of what a thousand samples with ten contexts cost, by contender."""
    rows = []
    for name, title in IN_README.items():
        row = found[name]
        sent = (row["tokens"] + row["schema"]) / 1000
        tokens = f"{sent:.1f} + {row['reply'] / 1000:.1f}"
        rows.append((title, f"{1000 * row['requests']:,.0f}", tokens, f"{row['dollars']:.2f}"))
    return docs.markdown(("", "requests", "million tokens, in + out", "dollars"), rows)


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("traffic", samples=3)
    parser.add_argument("--write-docs", action="store_true", help="write the table of the README")
    parser.add_argument("--ks", type=int, nargs="*", default=[1, 5, AT_K, 20])
    parser.add_argument(
        "--only", nargs="*", choices=[*OURS, *THEIRS], help="contenders; by default all"
    )
    parser.add_argument("--encoding", metavar="FOLDER", help=f"where the file {O200K} of o200k_base is")
    options = parser.parse_args(argv)
    unit, count = counter(options.encoding)
    print(f"tokens: {unit}\n")
    os.environ.update(judging.QUIET, DEEPEVAL_FILE_SYSTEM="READ_ONLY")
    contenders = {
        name: ask
        for name, ask in (OURS | THEIRS).items()
        if name in (options.only or {**OURS, **THEIRS})
    }
    found = {
        name: {k: measure(ask, k, options.samples, count) for k in options.ks}
        for name, ask in contenders.items()
    }
    twice = {
        name: measure(ask, AT_K, options.samples, count, copies=2) for name, ask in contenders.items()
    }
    data = {k: round(_data_tokens(_case(0, k))) for k in options.ks}
    for title, key in (
        ("requests per sample", "requests"),
        ("prompt tokens per sample", "tokens"),
        ("JSON schema beside the prompt, tokens", "schema"),
        ("reply tokens per sample", "reply"),
        ("dollars for a thousand samples", "dollars"),
    ):
        print(f"{title:44}" + "".join(f"{f'k={k}':>9}" for k in options.ks))
        if key == "tokens":
            print(f"{'  the data alone':44}" + "".join(f"{data[k]:9}" for k in options.ks))
        for name, figures in found.items():
            digits = 2 if key == "dollars" else 0
            print(f"{'  ' + name:44}" + "".join(f"{figures[k][key]:9.{digits}f}" for k in options.ks))
        print()
    print(f"{f'two contexts a sentence, k={AT_K}':44}   prompt   schema    reply  dollars")
    for name, row in twice.items():
        cells = "".join(f"{row[key]:9.0f}" for key in ("tokens", "schema", "reply"))
        print(f"{'  ' + name:44}{cells}{row['dollars']:9.2f}")
    print()
    prose = real_prose(count, options.samples)
    print(f"{f'real prose (the handbook), core, k={AT_K}':44}   prompt   schema    reply   spaced")
    cells = "".join(f"{prose[key]:9.0f}" for key in ("tokens", "schema", "reply", "spaced"))
    print(f"{'  mean of the samples':44}{cells}\n")
    ours = {name: figures for name, figures in found.items() if name in OURS}
    misses = [
        f"{name}, k={k}: {figures[k]['requests']:g} requests"
        for name, figures in ours.items()
        for k in options.ks
        if figures[k]["requests"] != 1
    ]
    core = ours.get("ctxmetrics", {}).get(AT_K)
    if core and core["tokens"] + core["schema"] > MOST_SENT:
        misses.append(f"{core['tokens'] + core['schema']:.0f} tokens sent")
    if core and core["reply"] > MOST_RECEIVED:
        misses.append(f"{core['reply']:.0f} tokens of reply")
    for key, most in (("sent", MOST_SENT), ("reply", MOST_RECEIVED), ("spaced", MOST_SPACED)):
        if prose[key] > most:
            misses.append(f"real prose: {key} {prose[key]:.0f} tokens, at most {most}")
    if options.write_docs:
        docs.put(README, "costs", costs({name: found[name][AT_K] for name in IN_README}))
    print("bars: " + ("; ".join(misses) or "all held"))
    return {
        "benchmark": "traffic",
        "samples": options.samples,
        "data_tokens": data,
        "over": misses,
        "unit": unit,
        "found": found,
        "two_contexts": twice,
        "real_prose": prose,
    }

"""Every model class that users of the frameworks have, each with one real request to a server on the loopback.

    python benchmarks/run.py model_classes [--only TEXT] [--write-docs]

A server that speaks the wire format of the class's provider answers what an honest judge would say. The framework's own
runner scores one sample with recall and precision; both must be the core's, with one request. ``--write-docs`` puts the
table into ``benchmarks/model-classes.md``; ``tests/adapters/test_model_classes.py`` runs every row whose packages are
installed.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).resolve()
from _shared import arguments, docs, judging

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.adapting.runners import isolated_process
from ctxmetrics.models.openai.providers import PROVIDERS
from support import answer_from
from support.answers import Question
from support.wire import WireServer

PAGE = HERE.parents[1] / "model-classes.md"
CLASSES = HERE.parents[1] / "data" / "model-classes.jsonl"
HEAD = "| framework | class | wire format | asked for | result |\n|---|---|---|---|---|"
KEY = "sk-fake-key-of-nobody"
IRON, PARIS = "The tower is made of wrought iron.", "The tower is in Paris, France."
JUDGE = answer_from(
    {
        "It is in Paris.": (True, PARIS, "in Paris"),
        "It was built in 1889.": False,
        "It is made of iron.": (True, IRON, "wrought iron"),
    },
    {PARIS: True, IRON: True, "Bananas are yellow.": False},
)
TRUTH = (2 / 3, (1 / 1 + 2 / 3) / 2)
"""Recall: two of three sentences. Precision: useful are the first and the third context."""


def sample(question: str) -> Sample:
    return Sample(
        user_input=f"Where is the tower, and what is it made of? ({question})",
        response="-",
        reference="It is in Paris. It was built in 1889. It is made of iron.",
        retrieved_contexts=[PARIS, "Bananas are yellow.", IRON],
    )


# --- the framework's runners, each with both metrics: values in this order, or the exception ---


def _no_failure(told: Sequence[str | None]) -> None:
    """Raise what a framework's result says of a value that is not there."""
    if told:
        raise RuntimeError(told[0])


def _core(model: Any, given: Sample) -> list[float | None]:
    judge = LLMJudge(model)
    (row,) = evaluate([given], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    return [row["context_recall"].value, row["context_precision"].value]


def _ragas(llm: Any, given: Sample) -> list[float | None]:
    from ragas import EvaluationDataset, SingleTurnSample
    from ragas import evaluate as theirs

    from ctxmetrics_ragas import LLMContextPrecisionWithReference, LLMContextRecall

    dataset = EvaluationDataset([SingleTurnSample(**given.to_dict())])
    metrics = [LLMContextRecall(), LLMContextPrecisionWithReference()]
    found = theirs(dataset, metrics=metrics, llm=llm, show_progress=False, raise_exceptions=True)
    return [found.scores[0][metric.name] for metric in metrics]


def _ragas_collections(llm: Any, given: Sample) -> list[float | None]:
    from ctxmetrics_ragas import ContextPrecision, ContextRecall

    async def both() -> list[float | None]:
        metrics = [ContextRecall(llm=llm), ContextPrecision(llm=llm)]
        found = [await metric.ascore(**given.to_dict()) for metric in metrics]
        _no_failure([one.reason for one in found if one.value is None or math.isnan(one.value)])
        return [one.value for one in found]

    return asyncio.run(both())


def _deepeval(llm: Any, given: Sample, *, sync: bool = False) -> list[float | None]:
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.evaluate.evaluate import evaluate as theirs

    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric

    found = theirs(
        [judging.deepeval_case(given.user_input, given.reference, given.retrieved_contexts)],
        [ContextRecallMetric(model=llm), ContextPrecisionMetric(model=llm)],
        async_config=AsyncConfig(run_async=not sync),
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    data = found.test_results[0].metrics_data
    _no_failure([one.error or one.reason for one in data if one.score is None])
    return [one.score for one in data]


def _langchain(chat_model: Any, given: Sample) -> list[float | None]:
    from langsmith import tracing_context

    from ctxmetrics_langchain import ContextPrecisionEvaluator, ContextRecallEvaluator

    with tracing_context(enabled=False):
        kinds = (ContextRecallEvaluator, ContextPrecisionEvaluator)
        found = [kind(judge=chat_model).as_runnable().invoke(given.to_dict()) for kind in kinds]
    _no_failure([one["comment"] for one in found if one["score"] is None])
    return [one["score"] for one in found]


def _pydantic_evals(model: Any, given: Sample) -> list[float | None]:
    from pydantic_evals import Case, Dataset

    from ctxmetrics_pydantic_evals import ContextPrecisionEvaluator, ContextRecallEvaluator

    judged = [
        kind(judge=model, evaluation_name=kind.__name__)
        for kind in (ContextRecallEvaluator, ContextPrecisionEvaluator)
    ]
    cases = [Case(name="one", inputs=given.user_input, expected_output=given.reference)]
    dataset = Dataset(name="samples", cases=cases, evaluators=judged)
    report = dataset.evaluate_sync(
        lambda _: {"retrieved_contexts": list(given.retrieved_contexts)}, progress=False
    )
    _no_failure([one.error_message for one in report.cases[0].evaluator_failures])
    scores = report.cases[0].scores
    return [scores[one.evaluation_name].value for one in judged]


def _mlflow(model: Any, given: Sample) -> list[float | None]:
    from ctxmetrics_mlflow import ContextPrecisionScorer, ContextRecallScorer

    fields = {
        "inputs": {"user_input": given.user_input},
        "outputs": {"retrieved_contexts": list(given.retrieved_contexts)},
        "expectations": {"reference": given.reference},
    }
    judge = LLMJudge(model)
    return [kind(judge=judge)(**fields).value for kind in (ContextRecallScorer, ContextPrecisionScorer)]


# --- the rows ---


def build(value: Any, url: str) -> Any:
    """Build what a row's JSON describes: an object with ``call`` is a call of a class or function, named by its module."""
    if isinstance(value, str):
        filled = value.replace("{url}", url).replace("{key}", KEY).replace("{here}", __name__)
        return _recorded() if filled == "{recorded}" else filled
    if isinstance(value, list):
        return [build(item, url) for item in value]
    if not isinstance(value, dict):
        return value
    if "call" not in value:
        return {key: build(item, url) for key, item in value.items()}
    module, _, name = build(value["call"], url).partition(":")
    target = import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    arguments = build(value.get("arguments", []), url)
    return target(*arguments, **build(value.get("options", {}), url))


@dataclass(frozen=True)
class Row:
    """One model class.

    Attributes:
        framework: Whose class it is.
        name: The class, and how it is made where there are several ways.
        model: Makes it.
        run: The framework's runner.
        needs: The distributions it needs.
        why: Why it does not work, or was not tried.
        error: What is in the error then; None: it was not tried.
        environment: Variables that are set for the time.
        requests: How many requests must reach the server: none for a model that asks nobody.
    """

    framework: str
    name: str
    model: Callable[[str], Any]
    run: Callable[[Any, Sample], list[float | None]]
    needs: tuple[str, ...] = ()
    why: str | None = None
    error: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    requests: int = 1

    @property
    def tried(self) -> bool:
        """Whether it can be tried here."""
        return self.why is None or self.error is not None

    @property
    def missing(self) -> list[str]:
        """The distributions that are not installed."""
        return [name for name in self.needs if not _installed(name)]


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _core_rows() -> Iterator[Row]:
    for name, provider in PROVIDERS.items():
        title = f'OpenAIModel.preset("{name}", ..)'
        yield Row("ctxmetrics", title, partial(_preset, name), _core, environment={provider.key: KEY})


def _preset(name: str, url: str) -> OpenAIModel:
    """A preset with the path of its own address; its key comes from its variable."""
    address = re.sub(r"\{\w+\}", "-", PROVIDERS[name].base_url or "https://api.openai.com/v1")
    path = address.partition("://")[2] or address
    return OpenAIModel.preset(
        name, "m", base_url=f"{url}{path[path.find('/') :] if '/' in path else ''}"
    )


def _litellm(url: str) -> Any:
    import instructor
    import litellm
    from ragas.llms import LiteLLMStructuredLLM

    client = instructor.from_litellm(litellm.acompletion, mode=instructor.Mode.JSON)
    return LiteLLMStructuredLLM(client, "openai/m", "openai", api_base=url, api_key=KEY)


def _without(llm: Any, *parameters: str) -> Any:
    """An LLM of Ragas' that does not send some of the parameters that Ragas sends by itself."""
    for name in parameters:
        del llm.model_args[name]
    return llm


def _mode(name: str) -> Any:
    import instructor

    return instructor.Mode[name]


def _moved(model: Any, url: str) -> Any:
    """A model whose class has a fixed address, at another one."""
    model.base_url = url
    return model


def own_deepeval_model(url: str, *, schema: bool) -> Any:
    """What DeepEval's page on custom models says to write: with a schema an object of it, else text."""
    from deepeval.models import DeepEvalBaseLLM
    from openai import AsyncOpenAI, OpenAI

    def asked(prompt: str) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": prompt}]}

    def text_of(found: Any) -> str:
        return found.choices[0].message.content

    class Text(DeepEvalBaseLLM):
        def __init__(self) -> None:
            self.sync = OpenAI(base_url=url, api_key=KEY)
            self.wait = AsyncOpenAI(base_url=url, api_key=KEY)

        def load_model(self) -> Any:
            return self.sync

        def get_model_name(self) -> str:
            return "my model"

        def generate(self, prompt: str) -> str:
            return text_of(self.sync.chat.completions.create(**asked(prompt)))

        async def a_generate(self, prompt: str) -> str:
            return text_of(await self.wait.chat.completions.create(**asked(prompt)))

    class Typed(Text):
        def generate(self, prompt: str, schema: Any) -> Any:
            return schema.model_validate_json(super().generate(prompt))

        async def a_generate(self, prompt: str, schema: Any) -> Any:
            return schema.model_validate_json(await super().a_generate(prompt))

    return Typed() if schema else Text()


def _called(thing: Any, method: str, *arguments: Any) -> Any:
    return getattr(thing, method)(*arguments)


def _recorded() -> str:
    """A right reply that was written before it was asked for: it repeats no code, but its quotes are found."""
    given = sample("-")
    units = [f"{text.strip('. ')}." for text in given.reference.split(". ")]
    data = {
        "sentences": [{"id": f"s{n}", "text": text} for n, text in enumerate(units, 1)],
        "contexts": [
            {"id": f"c{n}", "text": text} for n, text in enumerate(given.retrieved_contexts, 1)
        ],
    }
    keys = {
        "sentences": [item["id"] for item in data["sentences"]],
        "useful": [item["id"] for item in data["contexts"]],
    }
    return json.dumps(JUDGE.answer(Question("joint", data, "", keys)))


def _pydantic_function(messages: list[Any], info: Any) -> Any:
    from pydantic_ai.messages import ModelResponse, ToolCallPart

    text = "\n".join(str(part.content) for message in messages for part in message.parts)
    return ModelResponse([ToolCallPart(info.output_tools[0].name, JUDGE(SimpleNamespace(text=text)))])


def _function_model() -> Any:
    from pydantic_ai.models.function import FunctionModel

    return FunctionModel(_pydantic_function)


RUNNERS = {
    "core": _core,
    "ragas": _ragas,
    "ragas_collections": _ragas_collections,
    "deepeval": _deepeval,
    "deepeval_sync": partial(_deepeval, sync=True),
    "langchain": _langchain,
    "pydantic_evals": _pydantic_evals,
    "mlflow": _mlflow,
}


def _read_row(line: str) -> Row:
    fields = json.loads(line)
    model = partial(build, fields.pop("model"))
    needs = tuple(fields.pop("needs"))
    return Row(model=model, run=RUNNERS[fields.pop("run")], needs=needs, **fields)


def rows() -> list[Row]:
    """All rows, by framework: one for each preset of this library, and those of the file of data."""
    lines = CLASSES.read_text(encoding="utf-8").splitlines()
    return [*_core_rows(), *map(_read_row, lines)]


# --- trying a row ---


@dataclass(frozen=True)
class Found:
    """What came of a row.

    Attributes:
        values: Recall and precision.
        requests: How many requests there were.
        format: The wire format of the requests.
        form: In which form the reply was asked for.
        problem: The exception, or why the server refused.
    """

    values: tuple[float | None, ...]
    requests: int
    format: str
    form: str
    problem: str | None = None


def works(row: Row, found: Found) -> bool:
    """Whether a row gave the true values with one request."""
    return found.values == TRUTH and found.requests == row.requests and not found.problem


@contextmanager
def served(row: Row) -> Iterator[WireServer]:
    """Serve a row's class: the variables of its environment are set, and its warnings are not shown."""
    with (
        WireServer(JUDGE) as server,
        isolated_process({**judging.QUIET, **build(dict(row.environment), server.url)}),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield server


def attempt(row: Row) -> Found:
    """Score one sample with a row's model."""
    values: tuple[float | None, ...] = ()
    problem = None
    with served(row) as server:
        try:
            values = tuple(row.run(row.model(server.url), sample(row.name)))
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        seen = server.exchanges
    refused = next((one.problem for one in seen if one.problem), None)
    last = seen[-1] if seen else None
    return Found(
        values, len(seen), (last and last.format) or "-", last.form if last else "-", problem or refused
    )


def result(row: Row, found: Found) -> str:
    """Return what the table says came of a row."""
    if works(row, found):
        return "works"
    told = found.problem or f"{found.values} after {found.requests} requests"
    if row.why and row.error and re.search(row.error, told) and not any(map(_is_number, found.values)):
        return row.why
    return f"fails: {told}"


def _is_number(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def line(row: Row, found: Found | None) -> str:
    """Return a row of the table; without a finding that of a class that was not tried."""
    format_, form, came = "-", "-", row.why
    if found is not None:
        format_, form, came = found.format, found.form, result(row, found)
    return f"| {row.framework} | `{row.name}` | {format_} | {form} | {came} |"


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("model_classes", write_docs=False)
    parser.add_argument("--only", default="", help="rows with this text in framework or class")
    options = parser.parse_args(argv)
    chosen = [row for row in rows() if options.only in f"{row.framework} {row.name}"]
    if absent := {name for row in chosen for name in row.missing}:
        raise SystemExit(f"not installed: {', '.join(sorted(absent))}; pip install -e '.[dev]'")
    lines = []
    for row in chosen:
        lines.append(line(row, attempt(row) if row.tried else None))
        print(lines[-1], flush=True)
    if options.write_docs:
        peers = sorted({name for row in rows() for name in row.needs})
        docs.write("model_classes", "\n".join([HEAD, *lines]), page=PAGE, peers=peers)
    ends = Counter(one.rpartition("| ")[2].partition(":")[0].strip(" |") for one in lines)
    return {
        "benchmark": "model_classes",
        "rows": len(lines),
        "works": ends["works"],
        "fails": ends["fails"],
    }

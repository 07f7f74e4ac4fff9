"""The same reply on every path: what becomes of each faulty reply in the core, the command line and every framework.

    python benchmarks/run.py reply_faults [--paths core cli ..] [--write-docs]

The golden cases that are tagged ``malformed`` hold recorded replies. A server on the loopback plays them to the real
client of each path, so that each path reads them in the way its framework hands them on. An outcome is the score with
the verdict and code of every unit or context; each path's outcomes are compared with those of the core. Beside the
golden cases there are faults that no recorded text can hold: of the server's answer and of the message around the text.

``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _shared import arguments, docs, judging

from ctxmetrics import LLMJudge, OpenAIModel
from ctxmetrics.adapting.runners import isolated_process
from ctxmetrics.evaluation.frameworks.parity import CORE
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.testing.golden import Case, load_cases, make_metric, make_sample
from support import FakeOpenAIServer, Fault
from support.answers import read_question
from support.command import run_command
from support.rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples.sample import Sample

KEY = "sk-fake"
NAME = "fake-judge"
GOOD = "recall-reply-plain-text"
"""The golden case whose good reply the server's own faults spoil."""
SERVER_FAULTS = {
    "html": (1,),
    "no_content": (1,),
    "no_choices": (1,),
    "two_choices": (1, None),
    "null": (1, None),
    "refusal_field": (1, None),
    "length": (1, None),
}
"""Faults of the answer around the text, and in how many of a question's replies: in the first, in every one (None)."""


REQUIRED = ("core", "cli", "ragas, Instructor", "ragas, LangChain wrapper", "deepeval", "langsmith", "lcel")  # fmt: skip
"""Paths on which every outcome is the core's, but for what `HIDDEN` lists."""
REFUSAL = ("deepeval", "server-refusal_field-every-reply")
PARSED = "returns message.parsed, which is None for a refusal as for an empty message"
HIDDEN = {REFUSAL: f"deepeval/models/llms/openai_model.py:248 {PARSED}"}
"""What a framework hides from the adapter, by path and case, with the file and line that does (deepeval 4.3.1)."""


@dataclass(frozen=True)
class Outcome:
    """What a path gave for a case.

    Attributes:
        value: The score.
        verdicts: Id, verdict and code of everything that was judged, in order; a claims step that failed is one entry.
    """

    value: float | None
    verdicts: tuple[tuple[str, bool | None, str | None], ...]

    def __str__(self) -> str:
        codes = sorted({code for _, verdict, code in self.verdicts if code})
        told = f" ({', '.join(codes)})" if codes else ""
        return f"{'no value' if self.value is None else format(self.value, '.4g')}{told}"


# --- the cases, and the server that plays their replies ---


def cases() -> list[Case]:
    """The golden cases of faulty replies, then one a fault of the server."""
    golden = load_cases()
    found = [case for case in golden if "malformed" in case.tags]
    (good,) = (case for case in golden if case.id == GOOD)
    for fault, shares in SERVER_FAULTS.items():
        for times in shares:
            found.append(
                replace(good, id=_server_case(fault, times), tags=("malformed", f"kind:{fault}"))
            )
    return found


def _server_case(fault: str, times: int | None) -> str:
    return f"server-{fault}-{'every' if times is None else 'first'}-reply"


def _mark(case: Case) -> str:
    return f"[{case.id}]"


class Recorded:
    """A responder that gives each question the recorded replies of its case, one an attempt, the last repeating."""

    def __init__(self, given: Sequence[Case]) -> None:
        self._cases = {_mark(case): case for case in given}
        self._asked: Counter[tuple[str, bool]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: Any) -> str:
        question = read_question(request.text)
        marked = question.data["text" if question.step == "claims" else "question"]
        case = self._cases[marked.rpartition(" ")[2]]
        with self._lock:
            place = (case.id, question.step == "claims")
            attempt = self._asked[place]
            self._asked[place] += 1
        replies = case.judge.get(question.step) or case.judge["joint"]
        reply = replies[min(attempt, len(replies) - 1)]
        return reply if isinstance(reply, str) else json.dumps(reply)


def serve(given: Sequence[Case]) -> FakeOpenAIServer:
    """A server for these cases, with the faults of those that are the server's."""
    faults = [
        Fault(fault, contains=f"[{_server_case(fault, times)}]", times=times)
        for fault, shares in SERVER_FAULTS.items()
        for times in shares
    ]
    return FakeOpenAIServer(Recorded(given), faults=faults)


class Recorder:
    """A judge that notes what another one decided, by question."""

    def __init__(self, judge: Any) -> None:
        self._judge = judge
        self.name, self.warnings = judge.name, judge.warnings
        self.found: dict[str, tuple[Any, ...]] = {}

    async def attribute(self, request: Any) -> Any:
        return self._note(request.user_input, await self._judge.attribute(request))

    async def rate(self, request: Any) -> Any:
        return self._note(request.user_input, await self._judge.rate(request))

    async def decompose(self, text: str, *, language: str) -> Any:
        claims = await self._judge.decompose(text, language=language)
        if claims.code:
            self.found[text] = (("reference", None, claims.code),)
        return claims

    def _note(self, question: str, judgement: Any) -> Any:
        self.found[question] = tuple((v.id, v.value, v.code) for v in judgement.verdicts)
        return judgement


# --- the paths: each scores samples with a metric and a judge that asks the server ---


def _through(
    runner: str, make: Callable[[str], Any], metric: Metric, samples: Sequence[Sample], url: str
) -> list[Outcome]:
    """Score with a framework's runner, and its LLM as the judge's model."""
    judge = Recorder(LLMJudge(make(url), reuse=False))
    values = get_runner(runner).score(metric.with_judge(judge), samples)
    return [
        Outcome(value, judge.found.get(sample.user_input) or judge.found.get(sample.reference) or ())
        for sample, value in zip(samples, values, strict=True)
    ]


def get_runner(name: str) -> Any:
    """The runner of this name: the other frameworks are not imported."""
    package = {"langsmith": "langchain"}.get(name.partition(".")[0], name.partition(".")[0])
    runners = [CORE] if name == "core" else import_module(f"ctxmetrics_{package}.runners").RUNNERS
    return next(runner for runner in runners if runner.name == name)


def _cli(metric: Metric, samples: Sequence[Sample], url: str) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "samples.jsonl", Path(folder) / "out.jsonl"
        rows = [{**sample.to_dict(), "id": str(number)} for number, sample in enumerate(samples)]
        given.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        forget()
        done = run_command(
            "score", given, "--base-url", url, "--out", out, "--judge", f"openai/{NAME}",
            "--metric", metric.name, "--convention", metric.convention,
            OPENAI_API_KEY=KEY,
        )  # fmt: skip
        if not out.exists():
            raise RuntimeError(done.stderr)
        lines = read_rows(out)
    found = {line["sample_id"]: line for line in lines}
    return [_from_row(found[row["id"]]) for row in rows]


def _from_row(row: dict[str, Any]) -> Outcome:
    return Outcome(row["value"], tuple((v["id"], v["value"], v["code"]) for v in row["verdicts"]))


def _openai(url: str) -> Any:
    return OpenAIModel(NAME, base_url=url, api_key=KEY)


def _instructor(url: str) -> Any:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    from ctxmetrics_ragas import RagasModel

    return RagasModel(llm_factory(NAME, client=AsyncOpenAI(base_url=url, api_key=KEY)))


def _ragas_wrapper(url: str) -> Any:
    from ragas.llms import LangchainLLMWrapper

    from ctxmetrics_ragas import RagasModel

    return RagasModel(LangchainLLMWrapper(judging.chat_at(url)))


def _deepeval(url: str, model: str) -> Any:
    from deepeval.models import GPTModel, LocalModel

    from ctxmetrics_deepeval import DeepEvalModel

    kind = LocalModel if model == NAME else GPTModel
    return DeepEvalModel(kind(model=model, base_url=url, api_key=KEY))


def _chat(url: str, **options: Any) -> Any:
    from ctxmetrics_langchain import ChatModel

    return ChatModel(judging.chat_at(url), **options)


def _pydantic_ai(url: str) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from ctxmetrics_pydantic_evals import PydanticAIModel

    return PydanticAIModel(OpenAIChatModel(NAME, provider=OpenAIProvider(base_url=url, api_key=KEY)))


PATHS: dict[str, Callable[[Any, Any, str], list[Outcome]]] = {
    "core": partial(_through, "core", _openai),
    "cli": _cli,
    "ragas, Instructor": partial(_through, "ragas.collections", _instructor),
    "ragas, LangChain wrapper": partial(_through, "ragas.evaluate", _ragas_wrapper),
    "deepeval": partial(_through, "deepeval.evaluate", partial(_deepeval, model="gpt-4o")),
    "langsmith": partial(_through, "langsmith.evaluate", _chat),
    "lcel": partial(_through, "langchain.lcel", _chat),
    "deepeval, JSON mode": partial(
        _through, "deepeval.evaluate", partial(_deepeval, model="gpt-3.5-turbo")
    ),
    "deepeval, LocalModel": partial(_through, "deepeval.evaluate", partial(_deepeval, model=NAME)),
    "lcel, tools": partial(_through, "langchain.lcel", partial(_chat, tools=True)),
    "pydantic-evals": partial(_through, "pydantic_evals.evaluate", _pydantic_ai),
}


def outcomes(path: str, given: Sequence[Case]) -> dict[str, Outcome]:
    """Put cases through a path; return what came out, by case."""
    found: dict[str, Outcome] = {}
    groups: dict[Metric, list[Case]] = defaultdict(list)
    for case in given:
        groups[make_metric(replace(case, judge=None))].append(case)
    for metric, group in groups.items():
        with isolated_process(dict(judging.QUIET), silent=False), serve(group) as server:
            rows = PATHS[path](metric, [_marked(case, metric) for case in group], server.base_url)
        found.update((case.id, row) for case, row in zip(group, rows, strict=True))
    return found


def _marked(case: Case, metric: Metric) -> Sample:
    """The case's sample, with what tells it from all others in each text that alone is asked about."""
    sample = make_sample(case)
    sample = replace(sample, user_input=f"{sample.user_input or 'What holds?'} {_mark(case)}")
    return (
        replace(sample, reference=f"{sample.reference} {_mark(case)}")
        if metric.counted_unit == "claim"
        else sample
    )


def differences(path: str, found: dict[str, Outcome], core: dict[str, Outcome]) -> list[str]:
    """Return a line for each case whose outcome on a path is not the core's. Of a row of ``--out`` the value and the
    verdicts count; where they are not those that the judge gave (``relevance="supports"``), the value alone."""
    lines = []
    for id_, outcome in found.items():
        wanted = core[id_]
        same = outcome == wanted or (
            path == "cli"
            and outcome.value == wanted.value
            and len(outcome.verdicts) != len(wanted.verdicts)
        )
        if not same:
            lines.append(f"{id_}: {outcome}, in the core {wanted}")
    return lines


def kind_of(case: Case) -> str:
    return next(tag.removeprefix("kind:") for tag in case.tags if tag.startswith("kind:"))


def table(given: Sequence[Case], found: dict[str, dict[str, Outcome]]) -> str:
    """Return the table as the docs have it: a line a kind of fault, a column a path."""
    kinds: dict[str, list[Case]] = defaultdict(list)
    for case in given:
        kinds[kind_of(case)].append(case)
    paths = [path for path in found if path != "core"]
    lines = []
    for kind, group in kinds.items():
        codes = Counter(
            ", ".join(sorted({code for _, _, code in found["core"][case.id].verdicts if code}))
            or "read"
            for case in group
        )
        outcome = "; ".join(f"{count} {code}" for code, count in codes.items())
        cells = []
        for path in paths:
            part = {case.id: found[path][case.id] for case in group}
            count = len(differences(path, part, found["core"]))
            cells.append(f"{count} differ" if count else "equal")
        lines.append([f"`{kind}`", str(len(group)), outcome, *cells])
    return docs.markdown(["the reply", "cases", "core", *paths], lines)


def run(argv: list[str]) -> dict[str, object]:
    parser = arguments.make_parser("reply_faults", write_docs=False)
    parser.add_argument("--paths", nargs="*", choices=PATHS, default=list(REQUIRED))
    options = parser.parse_args(argv)
    given = cases()
    found = {path: outcomes(path, given) for path in dict.fromkeys(("core", *options.paths))}
    shown = table(given, found)
    print(shown)
    lines = {path: differences(path, rows, found["core"]) for path, rows in found.items()}
    for path, told in lines.items():
        print(*(f"{path}: {line}" for line in told), sep="\n")
    if options.write_docs:
        docs.write("reply_faults", shown)
    return {
        "benchmark": "reply_faults",
        "cases": len(given),
        "differences": {path: len(told) for path, told in lines.items()},
    }

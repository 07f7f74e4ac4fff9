"""Recall and precision of many samples with an LLM judge: wall and CPU time.

    python benchmarks/run.py speed [--samples 200] [--latency 0.2] [--at-once 16] [--rounds 3] [--skip-peers]
    python benchmarks/run.py speed --samples 5000 --latency 0.005 --at-once 256 --rounds 1 --skip-peers

A fake judge in a process of its own answers after a fixed time, honestly, so every score is known. The contenders:

* ours: `evaluate`, 16 requests in flight, over aiohttp and over httpx;
* bare: `AsyncOpenAI` over the same transport and a semaphore of 16, sending exactly the same requests and parsing the
  replies as JSON. It has no time limits, as ours has none for the parts of a request: the client's default of 5 s to
  connect ends in time-outs when hundreds of requests begin at once on a busy machine;
* HTTP: the same requests and JSON over the HTTP client alone, which ours uses as well: what no framework can do without;
* `ragas.evaluate` (legacy LLM metrics, 16 workers, its default) and `deepeval.evaluate`, both with recall and precision.

Each is warm (imports and one sample before); each transport and each peer is in a process of its own; ours, bare and HTTP
take turns and the medians count. Ideal is ceil(requests / at once) times the latency. Bars: wall at most 1.25 x ideal (with
16 at once and 0.2 s) and 1.15 x bare; CPU at most 1.5 x bare; at least 5 x faster than either peer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

import _judging as judging

TRANSPORTS = ("aiohttp", "httpx")


class _Recorder:
    """A judge's model that notes what would be sent."""

    identity = "recorder"

    def __init__(self) -> None:
        self.prompts = []

    async def generate(self, prompt, schema):
        from types import SimpleNamespace

        from ctxmetrics.models.base import Reply

        self.prompts.append((prompt, schema))
        return Reply(content=judging.respond(SimpleNamespace(text=prompt.text)))


async def _bare(requests, base_url, at_once, transport):
    import openai

    over = openai.DefaultAioHttpClient if transport == "aiohttp" else openai.DefaultAsyncHttpxClient
    slots = asyncio.Semaphore(at_once)
    async with openai.AsyncOpenAI(
        base_url=base_url, api_key="sk-fake", http_client=over(), timeout=None
    ) as client:

        async def ask(body):
            async with slots:
                completion = await client.chat.completions.create(**body)
            return json.loads(completion.choices[0].message.content)

        return await asyncio.gather(*map(ask, requests))


async def _http(requests, base_url, at_once):
    from ctxmetrics.models.openai.client import client_for

    client, slots = client_for(base_url, "sk-fake"), asyncio.Semaphore(at_once)

    async def ask(body):
        async with slots:
            answer = await client.post(body)
        return json.loads(json.loads(answer)["choices"][0]["message"]["content"])

    return await asyncio.gather(*map(ask, requests))


def _bodies(given, base_url):
    """The requests that ours sends for these samples."""
    from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, evaluate, forget
    from ctxmetrics.models.openai.capabilities import capabilities_of
    from ctxmetrics.models.openai.model import request_body

    forget()
    recorder = _Recorder()
    evaluate(judging.samples_of(given), [ContextRecall(), ContextPrecision()], judge=LLMJudge(recorder))
    model = judging.judge_at(base_url).model
    capabilities = capabilities_of(base_url, "fake-judge")
    return [request_body(model, prompt, schema, capabilities) for prompt, schema in recorder.prompts]


def _ours_and_bare(transport, options, base_url):
    import openai

    from ctxmetrics import ContextPrecision, ContextRecall, evaluate, forget
    from ctxmetrics.models.runtime.background import run_sync

    if transport == "httpx":  # what ours takes then; the bare loop is told
        del openai.DefaultAioHttpClient
    at_once = options["at_once"]
    metrics = [ContextRecall(), ContextPrecision()]
    judge = judging.judge_at(base_url)
    evaluate(judging.samples_of(judging.cases(1, first=10**6)), metrics, judge=judge)
    warm = _bodies(judging.cases(1, first=10**6 + 1), base_url)
    asyncio.run(_bare(warm, base_url, at_once, transport))
    rounds = []
    for turn in range(options["rounds"]):
        given = judging.cases(options["samples"], first=turn * options["samples"])
        samples, bodies = judging.samples_of(given), _bodies(given, base_url)
        forget()
        names = ("bare", "ours", "HTTP")
        for name in reversed(names) if turn % 2 else names:
            with judging.Clock() as clock:
                if name == "ours":
                    results = evaluate(
                        samples, metrics, judge=judge, max_concurrency=at_once, progress=False
                    )
                elif name == "HTTP":
                    run_sync(_http, bodies, base_url, at_once)
                else:
                    asyncio.run(_bare(bodies, base_url, at_once, transport))
            row = {
                "name": f"{name} {transport}",
                "wall": clock.wall,
                "cpu": clock.cpu,
                "requests": len(bodies),
            }
            rounds.append(row)
            if name == "ours":
                scores = [tuple(row[metric].value for metric in results.metrics) for row in results]
                row |= {"wrong": judging.wrong(scores, given), "missing": judging.missing(scores)}
                row["requests"] = results.usage.calls
    return rounds


def _peer(name, options, base_url):
    score = judging.ragas_scores if name == "ragas" else judging.deepeval_scores
    score(judging.cases(1, first=10**6), base_url)
    given = judging.cases(options["samples"])
    with judging.Clock() as clock:
        scores = score(given, base_url)
    return [
        {
            "name": name,
            "wall": clock.wall,
            "cpu": clock.cpu,
            "wrong": judging.wrong(scores, given),
            "missing": judging.missing(scores),
        }
    ]


def _worker(name, options):
    base_url = options["base_url"]
    own = name in TRANSPORTS
    print(json.dumps((_ours_and_bare if own else _peer)(name, options, base_url)))


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(
        prog="speed", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-peers", action="store_true", help="only ours and the bare loop")
    options = parser.parse_args(argv)
    figures: dict[str, object] = {"benchmark": "speed", **vars(options)}
    rows = []
    with judging.Server(latency=options.latency) as server:
        for name in TRANSPORTS if options.skip_peers else (*TRANSPORTS, "ragas", "deepeval"):
            server.reset()
            with tempfile.TemporaryDirectory() as folder:  # DeepEval writes into the directory it is in
                given = {**vars(options), "base_url": server.base_url}
                done = subprocess.run(
                    [sys.executable, str(HERE), name, json.dumps(given)],
                    cwd=folder,
                    env={**os.environ, **judging.QUIET},
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
            found = json.loads(done.stdout.splitlines()[-1])
            stats = server.stats()
            rows += [
                {"in_flight": stats["max_in_flight"], "sent": stats["count"], **row} for row in found
            ]
    print(
        f"{options.samples} samples, 5 sentences, 5 contexts, {options.latency * 1000:.0f} ms a request, "
        f"{options.at_once} at once"
    )
    print(
        f"{'':14}{'requests':>9}{'ideal s':>9}{'wall s':>9}{'CPU ms/sample':>15}{'wrong':>7}{'missing':>9}"
    )
    medians = {}
    for name in dict.fromkeys(row["name"] for row in rows):
        own = [row for row in rows if row["name"] == name]
        requests = own[-1].get("requests", own[-1]["sent"])
        wall, cpu = (statistics.median(row[key] for row in own) for key in ("wall", "cpu"))
        ideal = math.ceil(requests / options.at_once) * options.latency
        medians[name] = wall, cpu
        scored = (
            f"{own[-1]['wrong']:7}{own[-1]['missing']:9}" if "wrong" in own[-1] else f"{'-':>7}{'-':>9}"
        )
        print(
            f"{name:14}{requests:9}{ideal:9.2f}{wall:9.2f}{cpu / options.samples * 1000:15.2f}{scored}"
        )
        key = name.replace(" ", "_")
        figures |= {
            f"{key}_requests": requests,
            f"{key}_wall": round(wall, 3),
            f"{key}_cpu_ms_per_sample": round(cpu / options.samples * 1000, 3),
        }
    ideal = math.ceil(options.samples / options.at_once) * options.latency
    for transport in TRANSPORTS:
        wall, cpu = medians[f"ours {transport}"]
        bare_wall, bare_cpu = medians[f"bare {transport}"]
        bars = [
            ("wall / ideal", wall / ideal if ideal else 0.0, 1.25),
            ("wall / bare", wall / bare_wall, 1.15),
            ("CPU / bare", cpu / bare_cpu, 1.5),
        ]
        for title, value, bar in bars:
            print(f"{f'{transport}: {title}':24}{value:6.2f}  (at most {bar})")
            figures[f"{transport}_{title.replace(' / ', '_over_').lower()}"] = round(value, 3)
    wall = medians["ours aiohttp"][0]
    for name in ("ragas", "deepeval"):
        if name in medians:
            print(f"{name + ' wall / ours':24}{medians[name][0] / wall:6.2f}  (at least 5)")
            figures[f"{name}_over_ours"] = round(medians[name][0] / wall, 2)
    return figures


if __name__ == "__main__":
    _worker(sys.argv[1], json.loads(sys.argv[2]))

"""Which functions of the library one judged sample enters: with a model in the process, with OpenAI's client, and the recall
of the embedded judge.

Each kind is counted in a process of its own, from the first call of ``evaluate()`` with recall and precision to its
results: distinct functions and methods, in all threads. ``--list`` names them. Exits with 1 above a limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _shared import judging

KINDS = {"model in the process": 169, "OpenAI client": 194, "embedded judge": 116}
"""The most functions that each kind may enter."""


def run(argv: list[str]) -> dict:
    figures, over = {}, []
    for kind, most in KINDS.items():
        done = subprocess.run(
            [sys.executable, __file__, kind], capture_output=True, text=True, check=True, timeout=120
        )
        found = json.loads(done.stdout)
        figures[kind] = {
            "functions": len(found),
            "calls": sum(count for *_, count in found),
            "files": len({file for file, *_ in found}),
        }
        print(f"{kind}: {figures[kind]} (at most {most} functions)")
        if len(found) > most:
            over.append(f"{kind}: {len(found)} functions (at most {most})")
        for file, function, count in found if "--list" in argv else ():
            print(f"  {count:4}  {file}  {function}")
    return {**figures, "over": over}


def entered(kind: str) -> list[tuple[str, str, int]]:
    """Score one sample; return file, function and number of calls of each function that was entered."""
    import ctxmetrics
    from ctxmetrics import ContextPrecision, ContextRecall, LexicalJudge, ScriptedJudge, evaluate
    from support import answer_from

    root = f"{Path(ctxmetrics.__file__).parent}/"
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame, event, arg) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and "<" not in code.co_name:
            calls[code.co_filename.removeprefix(root), code.co_qualname] += 1

    answer = answer_from(supported=judging.supported, useful=judging.useful)
    samples, metrics = judging.samples_of(judging.cases(1)), [ContextRecall(), ContextPrecision()]
    metrics = metrics[:1] if kind == "embedded judge" else metrics
    with judging.Server() as server:
        judge = {
            "OpenAI client": lambda: judging.judge_at(server.base_url),
            "model in the process": lambda: ScriptedJudge(answer, name="x"),
            "embedded judge": LexicalJudge,
        }[kind]()
        threading.setprofile(count)
        sys.setprofile(count)
        evaluate(samples, metrics, judge=judge, progress=False)
        sys.setprofile(None)
    return [(*where, number) for where, number in sorted(calls.items()) if "testing/" not in where[0]]


if __name__ == "__main__":
    print(json.dumps(entered(sys.argv[1])))

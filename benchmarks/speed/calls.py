"""Which functions of the library one judged sample enters: with a model in the process, with OpenAI's client, and the recall
of the embedded judge.

Each kind is counted in a process of its own, from the first call of ``evaluate()`` with recall and precision to its
results: distinct functions and methods, in all threads, and how many of their calls stand on each other at most (a recursion
counts each time). ``--list`` names them and the deepest stack. Exits with 1 above a limit.
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

KINDS = {"model in the process": 22, "OpenAI client": 33, "embedded judge": 17}
"""How many functions may stand on each other at most."""


def run(argv: list[str]) -> dict:
    figures, over = {}, []
    for kind, most in KINDS.items():
        done = subprocess.run(
            [sys.executable, __file__, kind], capture_output=True, text=True, check=True, timeout=120
        )
        found, deepest = json.loads(done.stdout)
        figures[kind] = {
            "functions": len(found),
            "calls": sum(count for *_, count in found),
            "files": len({file for file, *_ in found}),
            "deepest": len(deepest),
        }
        print(f"{kind}: {figures[kind]} (at most {most} deep)")
        if len(deepest) > most:
            over.append(f"{kind}: {len(deepest)} deep (at most {most})")
        if "--list" in argv:
            for file, function, count in found:
                print(f"  {count:4}  {file}  {function}")
            print(f"  the deepest stack: {' > '.join(deepest)}")
    return {**figures, "over": over}


def entered(kind: str) -> tuple[list[tuple[str, str, int]], list[str]]:
    """Score one sample; return file, function and calls of each function that was entered, and the deepest stack."""
    import ctxmetrics
    from ctxmetrics import ContextPrecision, ContextRecall, LexicalJudge, ScriptedJudge, evaluate
    from support import answer_from

    root = f"{Path(ctxmetrics.__file__).parent}/"
    calls: Counter[tuple[str, str]] = Counter()
    deepest: list[str] = []

    def is_counted(code) -> bool:
        return code.co_filename.startswith(root) and "<" not in code.co_name

    def count(frame, event, arg) -> None:
        if event != "call" or not is_counted(frame.f_code):
            return
        calls[frame.f_code.co_filename.removeprefix(root), frame.f_code.co_qualname] += 1
        stack = []
        while frame is not None:
            if is_counted(frame.f_code):
                stack.insert(0, frame.f_code.co_qualname)
            frame = frame.f_back
        if len(stack) > len(deepest):
            deepest[:] = stack

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
    found = [(*where, number) for where, number in sorted(calls.items()) if "testing/" not in where[0]]
    return found, deepest


if __name__ == "__main__":
    print(json.dumps(entered(sys.argv[1])))

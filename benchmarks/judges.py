"""What check-judge says of judges with one planted weakness each, and of an honest one.

    python benchmarks/run.py judges

Each judge is a server on the loopback that knows the labels. Its sheet must name what was planted; the honest one must be
called fit. Two repetitions each.
"""

from __future__ import annotations

from support.judges import WEAKNESSES, WeakJudge


def run(argv):
    del argv
    figures = {}
    for planted, make in {"honest": WeakJudge, **WEAKNESSES}.items():
        sheet = make().check(repetitions=2)
        named = [item.code for item in sheet.weaknesses]
        right = sheet.fitness == "fit" and not named if planted == "honest" else planted in named
        figures[planted] = {"fitness": sheet.fitness, "named": named, "right": right}
        print(f"{planted:20} {sheet.fitness:25} {', '.join(named) or '-'}{'' if right else '   MISSED'}")
    return {"judges": figures, "all_right": all(item["right"] for item in figures.values())}

"""How the CPU time of each text function grows with its text.

    python benchmarks/run.py text_growth [--kilobytes 1 10 100 1000] [--only NAME ..]

Each function reads texts that are hard for some function: marks of lists, abbreviations, dates, numbers, quotations, markup, one
long word, and a text of each script. The exponent is the slope of the logarithm of the time over the logarithm of the size: 1 is
linear, 2 is square. Times are the least of three, each of another text. What is above the bar is measured again, twice at
most, and the least times count: other work on the machine makes single times longer. A function that takes longer than ten
seconds for a text gets no longer one. Bar: 1.1.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import time
from collections.abc import Callable

LIMIT = 1.1
SLOW = 10.0
# What takes so long is measured once.
CERTAIN = 0.02
# How often an exponent above the bar is measured again.
MOST_REPEATS = 2
# What takes less is noise.
LEAST = 0.0005

# A text is made of pieces; "#" is a number that is drawn.
TEXTS = {
    "English": "The pump of the station has # valves, and it runs. Who built it? ",
    "marks": "10. ",
    "numbers in a list": "#. ",
    "bibliography": "vol. #. no. #. pp. #. ",
    "references": "Meyer K. Valves of pumps. J. Pumps. #. vol. #. no. #. ",
    "abbreviations": "ca. bzw. e.g. Dr. Prof. o.a. ",
    "dates": "am #. Mai ",
    "dates in digits": "#. 3. 2020 ",
    "times and ranges": "#:00 to #:30, 3:1, 5-# km ",
    "begins with a digit": "# pumps run. ",
    "lines of a list": "\n- a. \n1. b. ",
    "heads": "Step #. Go. 1.#. Stop. ",
    "quotations": "“Go.” he said. ",
    "open quotations": "“Go. ",
    "straight quotations": '"Go. ',
    "markup": "<b>x</b> **y** [z](http://a.b) `c` $H_2O$ &nbsp; | d | [#] ",
    "open markup": "<b [x ( ** ` $ & | ",
    "negations": "It is not # and not never nothing. ",
    "brackets": "((((",
    "one word": "a",
    "one number": "1",
    "spaces": " \t\u00a0",
    "lines": "\n",
    "stops": ". . ",
    "ellipses": "go ... on … ",
    "Chinese": "你好。我来了#次。",
    "Chinese, no mark": "你好",
    "Chinese, quotations": "「你。",
    "Japanese": "はい。「いいえ」と言った。",
    "Korean": "네. 아니요. ",
    "Thai": "ไป มา ",
    "Russian": "Да. Нет, в # г. она не была. ",
    "Ukrainian": "Їжа є. Ні. ",
    "Greek": "Ναι. Όχι. ",
    "Arabic": "نعم. لا. ",
    "Hebrew": "כן. לא. ",
    "Hindi": "हाँ। नहीं। ",
    "German": "Er kam am #. Mai z. B. nach Köln. Nein! ",
    "French": "Il dit : « Oui. » Où est-il ? ",
    "Spanish": "¿Dónde está? No hay nada. ",
    "Polish": "Był #. maja, tj. dawno. ",
}


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="text_growth", description=__doc__)
    parser.add_argument("--kilobytes", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="functions to measure")
    options = parser.parse_args(argv)
    functions = get_functions()
    names = options.only or list(functions)
    figures: dict[str, object] = {"benchmark": "text_growth"}
    over: list[str] = []
    print(
        f"{'function':<20}{'highest exponent':>17}  {'of the text':<22}{'slowest, ms':>12}  of the text"
    )
    for name in names:
        exponents: dict[str, float] = {}
        slowest: dict[str, float] = {}
        for kind in TEXTS:
            seconds = measure(functions[name], kind, options.kilobytes)
            exponents[kind] = get_exponent(seconds)
            for _ in range(MOST_REPEATS):
                if exponents[kind] <= LIMIT:
                    break
                for size, again in measure(functions[name], kind, options.kilobytes).items():
                    seconds[size] = min(seconds.get(size, again), again)
                exponents[kind] = get_exponent(seconds)
            slowest[kind] = max(seconds.values())
            if exponents[kind] > LIMIT:
                over.append(f"{name}, {kind}: exponent {exponents[kind]:.2f}, at most {LIMIT}")
        highest = max(exponents, key=exponents.__getitem__)
        worst = max(slowest, key=slowest.__getitem__)
        figures[name] = round(exponents[highest], 2)
        print(
            f"{name:<20}{exponents[highest]:>17.2f}  {highest:<22}{slowest[worst] * 1000:>12.1f}  {worst}",
            flush=True,
        )
    return figures | {"over": over}


def get_functions() -> dict[str, Callable[[str], object]]:
    """Return the functions by name; each gets one text."""
    from ctxmetrics import LexicalJudge
    from ctxmetrics._internal.display import replace_invisible_on_page
    from ctxmetrics._internal.secrets import mask_secrets
    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.judges.evidence.contradiction import find_contradiction
    from ctxmetrics.judges.evidence.words import tokenize
    from ctxmetrics.prompts import get_pack, render
    from ctxmetrics.samples.refusals import find_refusal
    from ctxmetrics.text.character_spans import has_content
    from ctxmetrics.text.languages import detect_language
    from ctxmetrics.text.list_marks import skip_list_marks
    from ctxmetrics.text.normal_form import normalise
    from ctxmetrics.text.quantities import read_quantities
    from ctxmetrics.text.quote_search import EffortExceededError, find_quote, stands_in
    from ctxmetrics.text.repeats import find_repeats, measure_overlaps
    from ctxmetrics.text.sentences import sentence_spans
    from ctxmetrics.text.visible import see

    judge, pack = LexicalJudge(), get_pack("en")
    quote = "a quote of some words that stand nowhere"

    def search(text: str) -> object:
        try:
            return find_quote(quote, text)
        except EffortExceededError:
            return None

    def judge_context(text: str) -> object:
        unit = "The pump has 3 valves and is not in Berlin."
        return judge.support(JudgeRequest(units=(unit,), contexts=(text,), answer=unit))

    def judge_usefulness(text: str) -> object:
        return judge.usefulness(JudgeRequest(units=(), contexts=("The pump.", text), answer=text))

    return {
        "sentence_spans": sentence_spans,
        "see": see,
        "skip_list_marks": skip_list_marks,
        "read_quantities": read_quantities,
        "find_repeats": lambda text: find_repeats([text, f"{text} {text[:9]}", text]),
        "measure_overlaps": lambda text: measure_overlaps([text, text[len(text) // 3 :]]),
        "detect_language": detect_language,
        "has_content": has_content,
        "normalise": normalise,
        "find_quote": search,
        "stands_in": lambda text: stands_in(quote, text),
        "tokens": tokenize,
        "contradiction": lambda text: find_contradiction("not the pump " + text, [text], "en"),
        "find_refusal": find_refusal,
        "mask_secrets": mask_secrets,
        "visible_on_page": replace_invisible_on_page,
        "prompt": lambda text: render(pack, "claims", {"text": text}),
        "support": judge_context,
        "usefulness": judge_usefulness,
    }


def measure(function: Callable[[str], object], kind: str, kilobytes: list[int]) -> dict[int, float]:
    """Return the CPU seconds of a function by the characters of its text."""
    seconds: dict[int, float] = {}
    for size in kilobytes:
        times = []
        for turn in range(3):
            text = write(kind, size * 1000, turn)
            gc.disable()  # it runs as often as objects are made, and reads all there are
            begin = time.process_time()
            function(text)
            times.append(time.process_time() - begin)
            gc.enable()
            if times[-1] > CERTAIN:
                break
        seconds[size * 1000] = min(times)
        if seconds[size * 1000] > SLOW:
            break
    return seconds


def write(kind: str, characters: int, seed: int) -> str:
    """Write a text of so many characters."""
    source = random.Random(seed)
    piece = TEXTS[kind]
    pieces = [f"{seed}{characters} "]
    length = 0
    while length < characters:
        if "#" in piece:
            parts = piece.split("#")
            pieces.append("".join(part + str(source.randint(1, 28)) for part in parts[:-1]) + parts[-1])
        else:
            pieces.append(piece * (1 + min(1000, characters // 100) // len(piece)))
        length += len(pieces[-1])
    return "".join(pieces)[:characters]


def get_exponent(seconds: dict[int, float]) -> float:
    """Return the slope of the logarithms by least squares, of the times that are no noise."""
    points = [(math.log(size), math.log(time)) for size, time in seconds.items() if time >= LEAST]
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


if __name__ == "__main__":
    raise SystemExit("python benchmarks/run.py text_growth")

"""All golden cases through an adapter's runners: ``python -m ctxmetrics.testing MODULE:RUNNERS``.

Exit code 0: no difference; 1: differences, one a line; 2: wrong usage.
"""

import sys
from argparse import ArgumentParser
from importlib.metadata import EntryPoint

from ctxmetrics.scores.wording import plural
from ctxmetrics.testing.golden import differences, load_cases, select_cases

_parser = ArgumentParser(prog="python -m ctxmetrics.testing", description=__doc__)
_parser.add_argument("runners", metavar="MODULE:RUNNERS", help="a list of runners, and where it stands")
_runners = EntryPoint("", _parser.parse_args().runners, "").load()
_exit_code = 0
for _runner in _runners:
    _lines = differences(_runner)
    _cases = select_cases(_runner, load_cases())
    _counts = f"{plural(len(_lines), 'difference')} in {plural(len(_cases), 'case')}"
    print(*_lines, f"{_runner.name}: {_counts}", sep="\n")  # noqa: T201 - a command
    if _lines:
        _exit_code = 1
sys.exit(_exit_code)

"""All golden cases through an adapter's runners: ``python -m ctxmetrics.testing MODULE:RUNNERS``.

Exit code 0: no difference; 1: differences, one a line; 2: wrong usage.
"""

import sys
from argparse import ArgumentParser
from importlib.metadata import EntryPoint

from ctxmetrics.presentation.wording import plural
from ctxmetrics.testing.golden import differences, load_cases, taken_by

_parser = ArgumentParser(prog="python -m ctxmetrics.testing", description=__doc__)
_parser.add_argument("runners", metavar="MODULE:RUNNERS", help="a list of runners, and where it stands")
_found = [(one, differences(one)) for one in EntryPoint("", _parser.parse_args().runners, "").load()]
for _runner, _lines in _found:
    print(  # noqa: T201 - a command
        *_lines,
        f"{_runner.name}: {plural(len(_lines), 'difference')} in {plural(len(taken_by(_runner, load_cases())), 'case')}",
        sep="\n",
    )
sys.exit(any(lines for _, lines in _found))

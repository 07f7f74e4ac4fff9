"""All golden cases through an adapter's runners: ``python -m ctxmetrics.testing MODULE:RUNNERS``.

Exit code 0: no difference; 1: differences, one a line; 2: wrong usage.
"""

import sys
from argparse import ArgumentParser
from importlib.metadata import EntryPoint

from ctxmetrics.testing.golden import differences, load_cases, taken_by

parser = ArgumentParser(prog="python -m ctxmetrics.testing", description=__doc__)
parser.add_argument("runners", metavar="MODULE:RUNNERS", help="a list of runners, and where it stands")
found = [(one, differences(one)) for one in EntryPoint("", parser.parse_args().runners, "").load()]
for runner, lines in found:
    count = len(taken_by(runner, load_cases()))
    print(*lines, f"{runner.name}: {len(lines)} differences in {count} cases", sep="\n")  # noqa: T201 - a command
sys.exit(any(lines for _, lines in found))

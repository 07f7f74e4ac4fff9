"""The commands by their names, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.cli._options import with_options
from ctxmetrics.cli.compare import compare
from ctxmetrics.cli.doctor import doctor, estimate
from ctxmetrics.cli.files import init, inspect, spans
from ctxmetrics.cli.history import history
from ctxmetrics.cli.judges import agree, check_judge
from ctxmetrics.cli.label import label
from ctxmetrics.cli.parity import parity
from ctxmetrics.cli.score import demo, score

_IN_ORDER = (
    *(demo, inspect, init, score, compare, history, parity),
    *(estimate, doctor, agree, label, spans, check_judge),
)
# Each in the form that typer takes.
COMMANDS: Mapping[str, Callable[..., None]] = FrozenDict(
    {command.__name__.replace("_", "-"): with_options(command) for command in _IN_ORDER}
)

"""The commands by their names, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.evaluation.cli._options import with_options
from ctxmetrics.evaluation.cli.compare import compare
from ctxmetrics.evaluation.cli.doctor import doctor, estimate
from ctxmetrics.evaluation.cli.files import init, inspect, metrics, spans
from ctxmetrics.evaluation.cli.gold import check_gold
from ctxmetrics.evaluation.cli.history import history
from ctxmetrics.evaluation.cli.judges import agree, check_judge
from ctxmetrics.evaluation.cli.label import label
from ctxmetrics.evaluation.cli.parity import parity
from ctxmetrics.evaluation.cli.run import run
from ctxmetrics.evaluation.cli.score import demo, score
from ctxmetrics.evaluation.cli.view import view

_COMMANDS_IN_HELP_ORDER = (
    demo,
    inspect,
    init,
    score,
    run,
    compare,
    history,
    view,
    parity,
    estimate,
    doctor,
    agree,
    label,
    spans,
    check_judge,
    check_gold,
    metrics,
)
FUNCTIONS: Mapping[str, Callable[..., None]] = FrozenDict(
    {command.__name__.replace("_", "-"): command for command in _COMMANDS_IN_HELP_ORDER}
)


class _Commands(Mapping[str, Callable[..., None]]):
    """The commands in the form that typer takes. A command is brought into this form when it is first used, since all its options are read."""

    def __init__(self) -> None:
        # The commands that were used so far.
        self._commands: dict[str, Callable[..., None]] = {}

    def __getitem__(self, name: str) -> Callable[..., None]:
        """Return a command."""
        if name not in self._commands:
            self._commands[name] = with_options(FUNCTIONS[name])
        return self._commands[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in the order of the help."""
        return iter(FUNCTIONS)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(FUNCTIONS)


COMMANDS: Mapping[str, Callable[..., None]] = _Commands()

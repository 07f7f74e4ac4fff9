"""The commands by their names, in the order in which the help lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics.evaluation.cli._options import with_options

# The module of this package in which each command is a function. The function has the command's name, with "_" for "-".
_MODULES: Mapping[str, str] = FrozenDict(
    {
        "demo": "score",
        "inspect": "files",
        "init": "files",
        "score": "score",
        "run": "run",
        "compare": "compare",
        "history": "history",
        "view": "view",
        "parity": "parity",
        "estimate": "doctor",
        "doctor": "doctor",
        "agree": "judges",
        "label": "label",
        "spans": "files",
        "check-judge": "judges",
        "check-gold": "gold",
        "metrics": "files",
    }
)


def load_function(name: str) -> Callable[..., None]:
    """Load the function of a command. A run loads the module of its own command only."""
    module = import_module(f"{__package__}.{_MODULES[name]}")
    function: Callable[..., None] = getattr(module, name.replace("-", "_"))
    return function


class _Commands(Mapping[str, Callable[..., None]]):
    """The commands in the form that typer takes. A command is converted when it is first used: its options are read then."""

    def __init__(self) -> None:
        # The commands that were used so far.
        self._commands: dict[str, Callable[..., None]] = {}

    def __getitem__(self, name: str) -> Callable[..., None]:
        """Return a command."""
        if name not in self._commands:
            self._commands[name] = with_options(load_function(name))
        return self._commands[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in the order of the help."""
        return iter(_MODULES)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(_MODULES)


COMMANDS: Mapping[str, Callable[..., None]] = _Commands()

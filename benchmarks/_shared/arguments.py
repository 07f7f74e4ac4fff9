"""The arguments of a benchmark."""

from __future__ import annotations

import argparse


def make_parser(name: str, about: str | None = None, **defaults) -> argparse.ArgumentParser:
    """Return a benchmark's parser with an option for each default: a number, a switch that is off, or all of some choices."""
    parser = argparse.ArgumentParser(prog=name, description=about)
    for option, default in defaults.items():
        flag = f"--{option.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true")
        elif isinstance(default, (int, float)):
            parser.add_argument(flag, type=type(default), default=default)
        else:
            parser.add_argument(flag, nargs="*", choices=default, default=list(default))
    return parser

"""A score: what it rests on, how published systems count it, and how it is shown."""

from collections.abc import Callable
from typing import Any

from ctxmetrics._internal.public_names import load_on_first_use

# A pickle that was written when this package was one module names its classes here.
__getattr__: Callable[[str], Any] = load_on_first_use(
    __name__,
    {"Provenance": "ctxmetrics.scores.score", "Score": "ctxmetrics.scores.score"},
)

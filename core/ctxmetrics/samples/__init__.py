"""One question with what was retrieved for it, and what systems call its fields."""

from collections.abc import Callable
from typing import Any

from ctxmetrics._internal.public_names import load_on_first_use

# A pickle that was written when this package was one module names its class here.
__getattr__: Callable[[str], Any] = load_on_first_use(__name__, {"Sample": "ctxmetrics.samples.sample"})

"""What adapters are made of: `wrapper` is a metric of the core in a framework, `runners` and `parity` prove it."""

from ctxmetrics.adapting.runners import Runner, aside
from ctxmetrics.adapting.wrapper import Wrapper, compact
from ctxmetrics.fields import Place, Schema

__all__ = ["Place", "Runner", "Schema", "Wrapper", "aside", "compact"]

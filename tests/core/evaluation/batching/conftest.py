"""The forms of batches that tests run with."""

from __future__ import annotations

import pytest

from ctxmetrics.evaluation.batching import rounds
from support.batch_runs import ANTHROPIC, OPENAI, Form


@pytest.fixture(params=[OPENAI, ANTHROPIC], ids=lambda form: form.name)
def form(request, monkeypatch) -> Form:
    """A form, which the server of the test speaks."""
    if request.param is ANTHROPIC:
        pytest.importorskip("anthropic", reason="the anthropic extra is not installed")
        monkeypatch.setattr(rounds, "get_batch_terms", lambda address: ("anthropic", 0.5))
    return request.param

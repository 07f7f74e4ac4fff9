"""Tools for testing what judges with language models: loaded on first use, never by ``import ctxmetrics``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxmetrics.testing._http import HttpResponse
    from ctxmetrics.testing.answers import HonestResponder, Question, answer_from, read_question
    from ctxmetrics.testing.chat import ChatRequest, Reply
    from ctxmetrics.testing.faults import CONTENT_FAULTS, FAULTS, TRANSPORT_FAULTS, Fault
    from ctxmetrics.testing.server import FakeOpenAIServer

_HOMES = {
    "CONTENT_FAULTS": "faults",
    "ChatRequest": "chat",
    "FAULTS": "faults",
    "FakeOpenAIServer": "server",
    "Fault": "faults",
    "HonestResponder": "answers",
    "HttpResponse": "_http",
    "Question": "answers",
    "Reply": "chat",
    "TRANSPORT_FAULTS": "faults",
    "answer_from": "answers",
    "read_question": "answers",
}

__all__ = [
    "CONTENT_FAULTS",
    "FAULTS",
    "TRANSPORT_FAULTS",
    "ChatRequest",
    "FakeOpenAIServer",
    "Fault",
    "HonestResponder",
    "HttpResponse",
    "Question",
    "Reply",
    "answer_from",
    "read_question",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

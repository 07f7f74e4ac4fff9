"""What tests and benchmarks share: a fake OpenAI-compatible server, its faults, and honest answers to our prompts."""

from importlib.util import find_spec
from pathlib import Path

from support._http import HttpResponse
from support.answers import HonestResponder, Question, answer_from, read_question
from support.chat import ChatRequest, Reply
from support.faults import CONTENT_FAULTS, FAULTS, TRANSPORT_FAULTS, Fault
from support.server import FakeOpenAIServer

# The folder that a process needs in its PYTHONPATH for `import support`.
TESTS = str(Path(__file__).parents[1])


def missing(*packages: str) -> str:
    """The packages that are not installed, separated by commas. They are not imported: a framework takes seconds."""
    return ", ".join(package for package in packages if find_spec(package) is None)


__all__ = [
    "CONTENT_FAULTS",
    "FAULTS",
    "TESTS",
    "TRANSPORT_FAULTS",
    "ChatRequest",
    "FakeOpenAIServer",
    "Fault",
    "HonestResponder",
    "HttpResponse",
    "Question",
    "Reply",
    "answer_from",
    "missing",
    "read_question",
]

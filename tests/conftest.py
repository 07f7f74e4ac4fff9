"""No telemetry, no network beyond the loopback, no memory of the test before."""

from __future__ import annotations

import os
import tempfile

# MLflow, once a test has used it, records the OpenTelemetry spans of all tests after it.
_recorded_spans = tempfile.TemporaryDirectory()

os.environ.update(
    {
        "ANONYMIZED_TELEMETRY": "false",
        "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
        "DO_NOT_TRACK": "1",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "LANGCHAIN_TRACING_V2": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LANGSMITH_TEST_TRACKING": "false",
        "LANGSMITH_TRACING": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_TRACKING_URI": f"sqlite:///{_recorded_spans.name}/mlflow.db",
        "RAGAS_DO_NOT_TRACK": "true",
        # Two runs write the same bytes.
        "SOURCE_DATE_EPOCH": "1790000000",
    }
)
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
    os.environ.pop(name, None)

import asyncio
import ipaddress
import logging
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from ctxmetrics.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A shell starts its background commands with SIGINT ignored, nohup with SIGHUP ignored, and a process that is started inherits
# that: where the tests run in the background, neither would reach the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")

_departures: list[str] = []
_connect, _connect_ex, _getaddrinfo = (
    socket.socket.connect,
    socket.socket.connect_ex,
    socket.getaddrinfo,
)


def _is_local(host: Any) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False


def _refuse(target: Any) -> None:
    _departures.append(str(target))
    raise OSError(f"a test tried to leave the loopback: {target}")


def _guarded_connect(self: socket.socket, address: Any) -> Any:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
        _refuse(address)
    return _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> Any:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
        _refuse(address)
    return _connect_ex(self, address)


def _guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
    if not _is_local(host):
        _refuse(host)
    return _getaddrinfo(host, *args, **kwargs)


socket.socket.connect = _guarded_connect  # type: ignore[method-assign]  # a method of a class is replaced
socket.socket.connect_ex = _guarded_connect_ex  # type: ignore[method-assign]  # as above
socket.getaddrinfo = _guarded_getaddrinfo


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test that needs an extra which is not installed: the library says so itself."""
    try:
        return (yield)
    except MissingExtraError as error:
        pytest.skip(f"{item.name}: {error}")


@pytest.fixture(autouse=True)
def stays_on_the_loopback() -> Iterator[None]:
    """Fail any test during which a socket was meant to leave this machine, also where somebody caught the error."""
    _departures.clear()
    yield
    assert not _departures, f"left the loopback: {_departures}"


@pytest.fixture(autouse=True)
def leaves_asyncio_alone() -> Iterator[None]:
    """Fail any test that applies nest_asyncio in this process: since Python 3.14 time limits fail in each task after that."""
    patched = hasattr(asyncio, "_nest_patched")
    yield
    assert hasattr(asyncio, "_nest_patched") == patched, "run it in a process of its own"


@pytest.fixture(autouse=True)
def forgets_judgements() -> None:
    """Start each test as a new process would: with nothing judged and nobody warned yet."""
    from ctxmetrics.adapting import wrapper
    from ctxmetrics.judges.llm.judge import forget

    forget()
    wrapper.framework_run.cache_clear()


@pytest.fixture(autouse=True)
def forgets_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test as a new process would: with no key known."""
    monkeypatch.setattr("ctxmetrics._internal.secrets._known", {})


@pytest.fixture(autouse=True)
def other_pytests_run_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pytest of a process that a test starts know nothing of this one's order and processes."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def waits_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait milliseconds between attempts, and no minute for a server that refuses everything."""
    monkeypatch.setattr("ctxmetrics.models.runtime.limits.FIRST_WAIT", 0.001)
    monkeypatch.setattr("ctxmetrics.models.runtime.limits.LONGEST_WAIT", 0.002)
    monkeypatch.setattr("ctxmetrics.models.runtime.run._SPREAD", 0.001)
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to run the tests in the same order again; pytest-randomly says it only without ``-q``."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"In this order again: pytest --randomly-seed={seed}")


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Logs, without asyncio's about tasks of tests before: other libraries leave them, and Python collects them at any time."""

    def is_of_this_test(record: logging.LogRecord) -> bool:
        return record.name != "asyncio" or "core/ctxmetrics" in record.getMessage()

    caplog.handler.addFilter(is_of_this_test)
    yield caplog
    caplog.handler.removeFilter(is_of_this_test)


def pytest_configure(config: pytest.Config) -> None:
    """Leave the modules of frameworks as they are: pytest rewrites those of its plugins, and Python 3.11.7 may fail there."""
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set())
    for name in [name for name in marked if name.partition(".")[0] in {"deepeval", "langsmith"}]:
        marked.discard(name)

"""No telemetry, no network beyond the loopback, no memory of the test before."""

from __future__ import annotations

import gc
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

# MLflow, once a test has used it, records the OpenTelemetry spans of all tests after it.
_recorded_spans = tempfile.TemporaryDirectory()

# What a program that fetches packages needs; in a worker of pytest-xdist, SSL_CERT_FILE is already that of the tests.
os.environ.setdefault("CTXMETRICS_TEST_CERTIFICATES", os.environ.get("SSL_CERT_FILE", ""))
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
        "LOGFIRE_IGNORE_NO_CONFIG": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # Else ten threads write the spans of one trace to SQLite, and a span that cannot be written is dropped in silence.
        "MLFLOW_ASYNC_TRACE_LOGGING_MAX_WORKERS": "1",
        "MLFLOW_TRACKING_URI": f"sqlite:///{_recorded_spans.name}/mlflow.db",
        # Logfire's plugin costs every process a third of a second.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        "RAGAS_DO_NOT_TRACK": "true",
        # Two runs write the same bytes.
        "SOURCE_DATE_EPOCH": "1790000000",
        # Each client reads all certificates: those of a machine take it 50 ms, and no test needs one.
        "SSL_CERT_FILE": str(Path(__file__).parent / "support" / "guard" / "authority.pem"),
    }
)
for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
    os.environ.pop(name, None)

# Images of Python set this variable. Each of hundreds of processes would then compile the frameworks anew.
if sys.dont_write_bytecode and sys.pycache_prefix is None:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parent / "__pycache__" / "of_all")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The guard of `support.guard` stands in this process and in each that a test starts.
_GUARD = Path(__file__).parent / "support" / "guard"
_departures = Path(_recorded_spans.name) / "departures"
_departures.touch()
os.environ["CTXMETRICS_TEST_DEPARTURES"] = str(_departures)
if "sitecustomize" not in sys.modules or not hasattr(sys.modules["sitecustomize"], "is_local"):
    runpy.run_path(str(_GUARD / "sitecustomize.py"))
_start_process = subprocess.Popen.__init__


def _start_guarded_process(process: Any, *arguments: Any, **options: Any) -> None:
    environment = os.environ if options.get("env") is None else options["env"]
    folders = [str(_GUARD), *filter(None, [environment.get("PYTHONPATH")])]
    options["env"] = {**environment, "PYTHONPATH": os.pathsep.join(folders)}
    _start_process(process, *arguments, **options)


subprocess.Popen.__init__ = _start_guarded_process  # type: ignore[method-assign]  # a method of a class is replaced

import asyncio
import logging
import signal
import threading

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from ctxmetrics.errors import MissingExtraError
from ctxmetrics.models.runtime import breaker, limits, run
from support.cases import start_anew

if TYPE_CHECKING:
    from collections.abc import Iterator

# A shell starts its background commands with SIGINT ignored, nohup with SIGHUP ignored, and a process that is started inherits
# that: where the tests run in the background, neither would reach the processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Property tests draw the same examples in each run: no change is refused for what another one let in. CI draws as many others
# once, in the environment `everything`: --hypothesis-profile=others --hypothesis-seed=1. Other versions of Python and of
# packages draw a fifth: --hypothesis-profile=versions. To draw new ones, and twenty times as many:
# --hypothesis-profile=search. A test of another size multiplies `settings().max_examples`.
settings.register_profile(
    "repeat",
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("others", settings.get_profile("repeat"), derandomize=False, database=None)
settings.register_profile("versions", settings.get_profile("repeat"), max_examples=20)
settings.register_profile(
    "search", settings.get_profile("repeat"), max_examples=2000, derandomize=False, print_blob=True
)
settings.load_profile("repeat")


def pytest_collection() -> None:
    """Collect without Python's collector of garbage: it would walk through all that was imported so far, again and again."""
    gc.disable()


def pytest_sessionstart() -> None:
    """Keep Hypothesis from drawing constants of the modules that are loaded: which those are depends on the tests before."""
    providers: Any = sys.modules.get("hypothesis.internal.conjecture.providers")
    draws_the_same_again = settings().derandomize or settings().database is None
    if draws_the_same_again and hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


_MARK = re.compile(r"\bmark\.(?:slow|browser|cluster)\b")
_MARK_OF_ALL = re.compile(r"^pytestmark = pytest\.mark\.(?:slow|browser|cluster)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file whose tests are all left out, by the README's command or by CI's slow tests: frameworks take seconds."""
    if collection_path.suffix != ".py":
        return None
    marks = config.getoption("markexpr")
    if marks == "not slow and not browser and not cluster":
        return bool(_MARK_OF_ALL.search(collection_path.read_text(encoding="utf-8"))) or None
    if marks == "slow or browser or cluster":
        return not _MARK.search(collection_path.read_text(encoding="utf-8")) or None
    return None


_FRAMEWORK = re.compile("ragas|deepeval|langchain|langsmith|pydantic_evals|inspect|mlflow")


class _ByFramework(LoadScopeScheduling):
    """One process runs all tests that name a framework, since each process would import it anew; else all tests of a file."""

    def _split_scope(self, nodeid: str) -> str:
        framework = _FRAMEWORK.search(nodeid)
        return framework[0] if framework else nodeid.partition("::")[0]


_IMPORT_OF_FRAMEWORK = re.compile(
    r"\blater\(\"|\brunner_of\b|\b(?:import|from) (?:ctxmetrics_)?(?:ragas|deepeval|lang|mlflow|pydantic_|inspect)"
)
_LONG_FILES = {
    "tests/cluster/test_cluster.py": 100,
    "tests/security/test_departures.py": 100,
    "tests/core/test_distribution.py": 80,
    "tests/adapters/deepeval/test_cli.py": 60,
    "tests/core/evaluation/batching/test_processes.py": 30,
    "tests/examples/test_ci.py": 50,
    "tests/docs/test_pages.py": 50,
    "tests/examples/test_platforms.py": 40,
    "tests/examples/test_scripts.py": 30,
    "tests/adapters/mlflow/test_evaluate.py": 30,
    "tests/adapters/ragas/test_import.py": 20,
    "tests/core/test_new_metric.py": 20,
    "tests/docs/test_readme.py": 20,
}
"""Seconds of files whose tests take much longer than `_USUAL_SECONDS` each: a process that begins one last ends alone."""
_USUAL_SECONDS = 0.4


class _SlowByFile(LoadScopeScheduling):
    """One process runs all tests of a file, long files first; the last process leaves the frameworks to the others.

    Importing all frameworks takes a process half a minute.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        """Put the file that this process runs next at the head of the queue, from which it is taken."""
        wants_frameworks = node is not self.nodes[-1]
        own = [file for file in self.workqueue if self._imports_frameworks(file) == wants_frameworks]
        longest = max(own or self.workqueue, key=self._estimate_seconds)
        self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)

    def _estimate_seconds(self, file: str) -> float:
        return _LONG_FILES.get(file, _USUAL_SECONDS * len(self.workqueue[file]))

    def _imports_frameworks(self, file: str) -> bool:
        text = (self.config.rootpath / file).read_text(encoding="utf-8")
        return bool(_IMPORT_OF_FRAMEWORK.search(text))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Share the tests out to several processes: the quick ones by framework, the slow ones of `.ci/run` by file."""
    schedulers = {"load": _ByFramework, "loadfile": _SlowByFile}
    scheduler = schedulers.get(config.getoption("dist"))
    return scheduler(config, log) if scheduler else None


def pytest_collection_finish() -> None:
    """Prepare this process for its tests."""
    # Milliseconds between attempts, and no minute for a server that refuses everything.
    limits.FIRST_WAIT = 0.001
    limits.LONGEST_WAIT = 0.002
    run._SPREAD = 0.001
    breaker.OVERLOAD_PATIENCE = 0.0
    # The pytest of a process that a test starts knows nothing of this one's order and processes, and loads no plugin that takes
    # longer than the rest of its start.
    unused = ("randomly", "logfire", "pytest_logfire", "langsmith_plugin", "anyio", "asyncio")
    os.environ["PYTEST_ADDOPTS"] = " ".join(f"-p no:{name}" for name in unused)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        os.environ.pop(name, None)
    # Python's collector of garbage does not walk through the frameworks and all tests again and again. It also runs more rarely than
    # by default (after 700 new objects, and 10 times as many for older ones): that took a tenth of the time.
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skip a test that needs an extra which is not installed: the library says so itself."""
    try:
        return (yield)
    except MissingExtraError as error:
        pytest.skip(f"{item.name}: {error}")


# A framework brings hundreds of modules. After so many new ones, what is in memory is frozen.
_NEW_MODULES = 50
_frozen_modules = 0


def _freeze_new_modules() -> None:
    """Keep Python's collector of garbage from walking through the frameworks that tests import: it does so in each later test."""
    global _frozen_modules  # noqa: PLW0603 - the count is one of the process
    if len(sys.modules) > _frozen_modules + _NEW_MODULES:
        _frozen_modules = len(sys.modules)
        gc.freeze()


@pytest.fixture(autouse=True)
def starts_like_a_new_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start each test with nothing judged, nobody warned and no key known, and look at what it did.

    It fails where it applied nest_asyncio in this process (since Python 3.14 time limits fail in each task after that), and where
    it or a process of it tried to leave this machine. Tests with a mark may do that: they install packages, ask for their
    versions, or start a cluster that looks for its cloud.

    One fixture for all of it, without another one: thousands of tests pay for each.
    """
    start_anew()
    patched = hasattr(asyncio, "_nest_patched")
    yield
    _freeze_new_modules()
    assert hasattr(asyncio, "_nest_patched") == patched, "run it in a process of its own"
    if not _departures.stat().st_size:
        return
    addresses = _departures.read_text(encoding="utf-8").split("\n")
    _departures.write_text("", encoding="utf-8")
    if not any(request.node.get_closest_marker(name) for name in ("slow", "cluster", "browser")):
        pytest.fail(f"left the loopback: {addresses}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to run the tests in the same order again; pytest-randomly says it only without ``-q``."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"In this order again: pytest --randomly-seed={seed}")


_SENDS_LATER = {"backoff", "langsmith", "mlflow", "opentelemetry", "posthog", "urllib3"}
"""Libraries whose threads outlive a test, and log in later ones that its server is gone."""


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Logs of this test: without those of threads of tests before, and asyncio's about their tasks, which Python collects at any time."""
    others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def is_of_this_test(record: logging.LogRecord) -> bool:
        if record.name == "asyncio":
            return "core/ctxmetrics" in record.getMessage()
        return record.thread not in others or record.name.partition(".")[0] not in _SENDS_LATER

    caplog.handler.addFilter(is_of_this_test)
    yield caplog
    caplog.handler.removeFilter(is_of_this_test)


def pytest_configure(config: pytest.Config) -> None:
    """Leave the modules of frameworks as they are: pytest rewrites those of its plugins, and Python 3.11.7 may fail there."""
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set())
    for name in [name for name in marked if name.partition(".")[0] in {"deepeval", "langsmith"}]:
        marked.discard(name)

"""The command line. `doctor` also has estimate, `files` inspect and spans, `judges` agree and check-judge, `score` demo.

Results go to stdout, progress and messages to stderr. The exit status is 0 done, 1 a gate failed, 2 bad usage or input,
3 stopped early or a result could not be written, 130 interrupted (`ctxmetrics.evaluation.cli._terminal`).
"""

from ctxmetrics.evaluation.cli._app import app, main

__all__ = ["app", "main"]

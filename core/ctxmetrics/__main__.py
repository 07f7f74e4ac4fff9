"""``python -m ctxmetrics``."""

from ctxmetrics.evaluation.cli import main

main()

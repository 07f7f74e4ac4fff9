"""``python -m ctxmetrics``."""

from ctxmetrics.cli import main

main()

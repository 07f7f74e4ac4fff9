"""``python -m ctxmetrics``, and the script ``ctxmetrics``."""

import gc

# What a start makes lives until the end. With Python's own threshold the collector looks at all of it again and again, which
# takes an eighth of the start.
gc.set_threshold(50_000, 20, 20)

from ctxmetrics.evaluation.cli import main  # noqa: E402 - the imports are the start

if __name__ == "__main__":
    main()

"""``python -m ctxmetrics``, and the script ``ctxmetrics``."""

import atexit
import gc

# What a start makes lives until the end. With Python's own threshold the collector looks at all of it again and again, which
# takes an eighth of the start; and without `freeze` it looks at it three times more at the end, which takes as long.
gc.set_threshold(150_000, 20, 20)
atexit.register(gc.freeze)

from ctxmetrics.evaluation.cli import main  # noqa: E402 - the imports are the start

if __name__ == "__main__":
    main()

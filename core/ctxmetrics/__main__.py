"""``python -m ctxmetrics``, and the script ``ctxmetrics``."""

import atexit
import gc

# The objects that are made at the start live until the end. With Python's own threshold, the garbage collector would check all of
# them many times, which takes an eighth of the start. Without `freeze` it would check them three times more at the end, which takes as long.
gc.set_threshold(150_000, 20, 20)
atexit.register(gc.freeze)

from ctxmetrics.evaluation.cli import main  # noqa: E402 - the imports are the start

if __name__ == "__main__":
    main()

"""`mlflow.genai.evaluate`; the argument `server` says that the tracking server is the recorder, which answers too little."""

import sys
import traceback

import mlflow
from marked import WORDS, fields, own_judge

from ctxmetrics_mlflow import ContextRecallScorer

judges = {"none": None, "model": own_judge()}
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    try:
        run = mlflow.genai.evaluate(
            data=[
                {
                    "inputs": {"question": texts["user_input"]},
                    "expectations": {"expected_response": texts["reference"]},
                }
            ],
            predict_fn=lambda question: {
                "answer": texts["response"],  # noqa: B023 - it is called in this round
                "documents": texts["retrieved_contexts"],  # noqa: B023 - as above
            },
            scorers=[ContextRecallScorer(judge=judge)],
        )
        assert run.metrics, run
    except Exception:
        if "server" not in sys.argv:
            raise
        traceback.print_exc()
mlflow.flush_trace_async_logging()

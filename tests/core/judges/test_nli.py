"""The judge around a cross-encoder: what is asked, in which batches, what becomes of it, and what fails.

No model exists here: `TinyModel` is one, built of numbers, with the call of a cross-encoder.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LLMJudge,
    NLIJudge,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Sample,
    VerdictCache,
    agree,
    estimate,
    evaluate,
    forget,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge, JudgeRequest
from ctxmetrics.judges.context_windows import choose_complementary, choose_windows
from ctxmetrics.judges.pair_queue import PredictionError, read_scores
from ctxmetrics.models.runtime.memo import digest_key
from support.deadlines import LONGEST_PROCESS

WORD = re.compile(r"\w+")


class TinyModel:
    """A cross-encoder of three weights: words of the hypothesis that are missing, numbers that are, and a "not" too many.

    Called as ``CrossEncoder.predict`` is, and keeps what it was called with.
    """

    weights = np.array([-20.0, -9.0, -9.0])

    def __init__(self):
        self.batches = []
        self.threads = set()
        self.calls = 0
        self.most_calls = 0

    @property
    def pairs(self):
        return [pair for batch in self.batches for pair in batch]

    def predict(self, sentences, batch_size=32, show_progress_bar=None):
        self.calls += 1
        self.most_calls = max(self.most_calls, self.calls)
        self.threads.add(threading.current_thread())
        self.batches.append(list(sentences))
        features = np.array([self.features(*pair) for pair in sentences])
        self.calls -= 1
        return (1 / (1 + np.exp(-(features @ self.weights + 3)))).astype(np.float32)

    @staticmethod
    def features(premise, hypothesis):
        said, asked = (WORD.findall(text.casefold()) for text in (premise, hypothesis))
        missing = [word for word in asked if word not in said]
        numbers = [word for word in missing if word.isdigit()]
        return len(missing) / max(1, len(asked)), bool(numbers), ("not" in said) != ("not" in asked)


def judge_of(model, **options):
    options = {"identity": "tiny-1", "wait_seconds": 0.02, **options}
    return NLIJudge(getattr(model, "predict", model), **options)


def request(units, contexts, question=None, answer=None):
    return JudgeRequest(
        units=tuple(units),
        contexts=tuple(contexts),
        answer=answer or " ".join(units),
        user_input=question,
    )


def attribute(judge, *given, **more):
    return asyncio.run(judge.attribute(request(*given, **more))).verdicts


CARS = (
    "The car is red. It has 4 doors.",
    "Filters are washed monthly.",
    "Our car is red. It is not fast.",
)


# --- verdicts -------------------------------------------------------------------------------------------------


def test_every_entailing_context_is_named_with_its_window():
    red, fast, doors = attribute(
        judge_of(TinyModel()), ["The car is red.", "The car is fast.", "It has 5 doors."], CARS
    )
    assert red.value is True
    assert [(span.context, span.whole, span.quote) for span in red.evidence] == [(0, True, CARS[0])]
    assert red.details["probability"] == max(red.details["probabilities"])
    assert len(red.details["probabilities"]) == 3
    assert (fast.value, doors.value) == (False, False)
    assert fast.evidence == ()
    assert "at best, in context" in fast.reason
    assert "at best, in context 1" in doors.reason


def test_two_contexts_that_each_entail_a_unit_are_both_whole():
    (verdict,) = attribute(
        judge_of(TinyModel()), ["The car is red."], ["Rain.", "The car is red.", "So the car is red!"]
    )
    assert [(span.context, span.whole) for span in verdict.evidence] == [(1, True), (2, True)]


def test_a_unit_that_two_contexts_state_together_rests_on_both():
    contexts = ["The tower is old.", "Filters are washed.", "It is 90 metres high."]
    (verdict,) = attribute(judge_of(TinyModel()), ["The tower is old and 90 metres high."], contexts)
    assert verdict.value is True
    assert [(span.context, span.whole) for span in verdict.evidence] == [(0, False), (2, False)]
    assert max(verdict.details["probabilities"]) < 0.5 <= verdict.details["probability"]
    score = ContextRecall(judge=judge_of(TinyModel())).score(
        Sample(reference="The tower is old and 90 metres high.", retrieved_contexts=contexts)
    )
    assert score.attribution.smallest_ks == (3,)
    assert score.attribution.cells == (("part", "none", "part"),)


def test_parts_are_chosen_for_the_words_that_each_adds():
    unit = "The tower is old and 90 metres high."
    contexts = ["The tower is old.", "The old tower.", "It is 90 metres high.", "High, this tower."]
    ((_, rows),) = choose_windows(request([unit], contexts), [unit], 3, 3)
    assert [span.context for span in choose_complementary(rows, 3)] == [0, 2]
    assert choose_complementary(rows[:2], 3) == ()


def test_the_scores_of_a_context_do_not_depend_on_the_others():
    judge, contexts = judge_of(TinyModel()), [*CARS, "It has 4 doors. " * 9]
    units = ["The car is red.", "It has 4 doors."]
    together = attribute(judge, units, contexts)
    for place, context in enumerate(contexts):
        alone = attribute(judge, units, [context])
        assert [item.details["probabilities"][place] for item in together] == [
            item.details["probabilities"][0] for item in alone
        ]


def test_where_no_thread_can_be_started_the_next_call_starts_one(monkeypatch):
    judge = judge_of(TinyModel())
    refused = []

    def start(thread):
        refused.append(thread)
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", start)
        with pytest.raises(RuntimeError, match="can't start"):
            attribute(judge, ["The car is red."], CARS)
    assert len(refused) == 1
    asked = judge.attribute(request(["The car is red."], CARS))
    (verdict,) = asyncio.run(asyncio.wait_for(asked, 60)).verdicts
    assert verdict.value is True


def test_usefulness_comes_from_the_same_matrix_and_the_question():
    model = TinyModel()
    judge = judge_of(model)
    sample = Sample(
        user_input="Which colour is the car?",
        reference="Red.",
        retrieved_contexts=[
            "Which colour is the car? Red paint, as always.",
            "Filters are washed.",
            "Red.",
        ],
    )
    results = evaluate([sample], [ContextRecall(), ContextPrecision()], judge=judge, progress=False)
    assert [item.value for item in results[0]["context_precision"].verdicts] == [True, False, True]
    asked = {hypothesis for _, hypothesis in model.pairs}
    assert asked == {"Red.", "Which colour is the car? Red."}
    assert len(model.pairs) == len(set(model.pairs))


def test_a_part_that_a_supported_unit_needs_is_useful():
    contexts = ["The tower is old.", "Filters are washed.", "It is 90 metres high."]
    judgement = asyncio.run(
        judge_of(TinyModel()).rate(request(["The tower is old and 90 metres high."], contexts))
    )
    assert [item.value for item in judgement.verdicts] == [True, False, True]


def test_a_response_is_cut_into_sentences():
    sample = Sample(response="It is red. It is fast.", retrieved_contexts=["It is red.", "Rain."])
    verdicts = ContextUtilization(judge=judge_of(TinyModel())).score(sample).verdicts
    assert [item.value for item in verdicts] == [True, False]


def test_a_blank_context_is_asked_nothing():
    model = TinyModel()
    (verdict,) = attribute(judge_of(model), ["It is red."], ["  ", "\n"])
    assert (verdict.value, verdict.reason) == (False, "no context has a sentence")
    assert model.batches == []


def test_windows_overlap_by_a_sentence_and_fullest_are_chosen():
    text = " ".join(f"Sentence number {number} speaks." for number in range(9)) + " The pump is blue."
    unit = "The pump is blue."
    ((_, (row,)),) = choose_windows(request([unit], [text]), [unit], size=3, most_windows=2)
    assert [window.span.quote for window in row] == [
        "Sentence number 0 speaks. Sentence number 1 speaks. Sentence number 2 speaks.",
        "Sentence number 8 speaks. The pump is blue.",
    ]
    ((_, (row,)),) = choose_windows(request([unit], [text]), [unit], size=3, most_windows=9)
    assert [len(window.span.quote.split(". ")) for window in row] == [3, 3, 3, 3, 2]
    assert all(window.span.quote == text[window.span.start : window.span.end] for window in row)


# --- batches --------------------------------------------------------------------------------------------------


def samples(count=12, units=3, contexts=4):
    return [
        Sample(
            id=str(number),
            user_input=f"What is item {number}?",
            reference=" ".join(f"Item {number} has part {part}." for part in range(units)),
            retrieved_contexts=[f"Item {number} has part {part}." for part in range(contexts)],
        )
        for number in range(count)
    ]


METRICS = [ContextRecall(), ContextPrecision()]


@pytest.mark.slow
def test_pairs_of_many_samples_fill_batches():
    model = TinyModel()
    judge = judge_of(model, batch_size=25, wait_seconds=2)
    found = evaluate(samples(), METRICS, judge=judge, progress=False)
    assert [row["context_recall"].value for row in found] == [1.0] * 12
    sizes = [len(batch) for batch in model.batches]
    assert sum(sizes) == len(set(model.pairs)) == 12 * (3 + 1) * 4
    assert sizes[:-1] == [25] * (len(sizes) - 1)
    assert model.most_calls == 1
    assert threading.main_thread() not in model.threads


def test_a_second_run_asks_nothing():
    model = TinyModel()
    first, second = (
        evaluate(samples(), METRICS, judge=judge_of(model), progress=False) for _ in range(2)
    )
    assert len(model.pairs) == len(set(model.pairs)) == 192
    assert first.usage.reused == 0
    assert all(
        row[name].usage.reused for row in second for name in ("context_recall", "context_precision")
    )
    judge = replace(judge_of(model), bar=0.9)
    evaluate(samples(), METRICS, judge=judge, progress=False)
    assert len(model.pairs) == 192


def test_another_identity_is_another_model():
    model = TinyModel()
    for identity in ("tiny-1", "tiny-2"):
        evaluate(samples(2), METRICS, judge=judge_of(model, identity=identity), progress=False)
    assert len(model.pairs) == 2 * len(set(model.pairs))


def test_other_process_asks_nothing_that_the_cache_holds(tmp_path):
    model = TinyModel()
    first = evaluate(samples(), METRICS, judge=judge_of(model), cache=tmp_path, progress=False)
    forget()
    second = evaluate(samples(), METRICS, judge=judge_of(model), cache=tmp_path, progress=False)
    assert len(model.pairs) == len(set(model.pairs))
    assert [row["context_recall"].value for row in first] == [
        row["context_recall"].value for row in second
    ]


def test_a_score_that_was_changed_on_disk_is_asked_for_again(tmp_path):
    model = TinyModel()
    evaluate(samples(1), METRICS, judge=judge_of(model), cache=tmp_path, progress=False)
    asked = len(model.pairs)
    cache = VerdictCache(tmp_path)
    for key in [digest_key(("nli-1", "tiny-1", "None", "none", *pair)) for pair in model.pairs]:
        seal, _, score = cache.get(key).partition(" ")
        cache.put(key, f"{seal} {1 - float(score)!r}")
    cache.close()
    forget()
    evaluate(samples(1), METRICS, judge=judge_of(model), cache=tmp_path, progress=False)
    assert len(model.pairs) == 2 * asked


def test_several_workers_call_at_the_same_time():
    model, first, second = TinyModel(), threading.Event(), threading.Event()

    def slow(pairs):
        if first.is_set():
            second.set()
        first.set()
        assert second.wait(60)  # the first call ends only when another one is under way
        return model.predict(pairs)

    judge = judge_of(slow, workers=2, batch_size=8, wait_seconds=0)
    found = evaluate(samples(4), METRICS[:1], judge=judge, progress=False)
    assert [row["context_recall"].value for row in found] == [1.0] * 4


def test_an_async_function_is_awaited():
    model = TinyModel()

    async def predict(pairs):
        await asyncio.sleep(0)
        return model.predict(pairs)

    assert [item.value for item in attribute(judge_of(predict), ["The car is red."], CARS)] == [True]


def test_judge_works_in_a_running_loop_and_in_threads():
    model = TinyModel()
    judge = judge_of(model)
    metric = ContextRecall(judge=judge)

    async def inside():
        return metric.score(samples(1)[0]).value  # sync, in a loop that it blocks

    assert asyncio.run(inside()) == 1.0
    found = []
    threads = [
        threading.Thread(target=lambda one=one: found.append(metric.score(one).value))
        for one in samples()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [1.0] * 12
    assert len(model.pairs) == len(set(model.pairs))


def test_a_cancelled_request_takes_nothing_from_the_others():
    model, entered, go_on = TinyModel(), threading.Event(), threading.Event()

    def slow(pairs):
        entered.set()
        assert go_on.wait(60)
        return model.predict(pairs)

    judge = judge_of(slow, batch_size=1, wait_seconds=0)

    async def main():
        given = request(["The car is red."], CARS[:2])
        first, second = (asyncio.create_task(judge.attribute(given)) for _ in range(2))
        await asyncio.to_thread(entered.wait, 60)
        first.cancel()
        await asyncio.wait((first,))
        go_on.set()
        return (await second).verdicts

    assert [item.value for item in asyncio.run(main())] == [True]


# --- failures -------------------------------------------------------------------------------------------------


def failing(wrong, model):
    def predict(pairs):
        if any(wrong in hypothesis for _, hypothesis in pairs):
            raise RuntimeError("index out of range in self")
        return model.predict(pairs)

    return predict


def test_pair_that_the_model_refuses_costs_its_sample_alone():
    model = TinyModel()
    results = evaluate(samples(), METRICS, judge=judge_of(failing("Item 7 ", model)), progress=False)
    for row in results:
        expected = None if row.sample.id == "7" else 1.0
        assert row["context_recall"].value == expected
    lost = results[7]["context_recall"]
    assert lost.reason_code == "not_judged"
    assert {item.code for item in lost.verdicts} == {"judge_error"}
    assert "RuntimeError: index out of range in self" in lost.verdicts[0].reason


def test_a_failed_score_is_not_kept(tmp_path):
    model = TinyModel()
    broken = judge_of(failing("Item", model))
    assert (
        evaluate(samples(2), METRICS[:1], judge=broken, cache=tmp_path, progress=False)[0][
            "context_recall"
        ].value
        is None
    )
    again = evaluate(samples(2), METRICS[:1], judge=judge_of(model), cache=tmp_path, progress=False)
    assert again[0]["context_recall"].value == 1.0


@pytest.mark.parametrize("problem", [float("nan"), 1.5, -0.2, None, "0.9", float("inf")], ids=str)
def test_one_score_that_is_none_costs_its_own_unit_alone(problem):
    model = TinyModel()

    def predict(pairs):
        return [
            problem if "part 1" in hypothesis else float(score)
            for (_, hypothesis), score in zip(pairs, model.predict(pairs), strict=True)
        ]

    score = ContextRecall(judge=judge_of(predict)).score(samples(1)[0])
    assert [item.value for item in score.verdicts] == [True, None, True]
    assert score.verdicts[1].code == "judge_error"
    assert "number from 0 to 1" in score.verdicts[1].reason


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda pairs: [0.5] * (len(pairs) + 1), "it was given 12, and returned 13"),
        (lambda pairs: [], "it was given 12, and returned 0"),
        (lambda pairs: None, "predict returned NoneType: it must return one score for each pair"),
        (lambda pairs: 0.5, "predict returned float"),
        (lambda pairs: {"scores": [0.5] * len(pairs)}, "predict returned dict"),
        (
            lambda pairs: [3.2] * len(pairs),
            "predict returned 3.2 for a pair: it must be a number from 0 to 1",
        ),
        (
            lambda pairs: np.zeros((len(pairs), 3)),
            "predict returned [0.0, 0.0, 0.0] for a pair: it must be a number from 0 to 1",
        ),
    ],
)
def test_what_is_returned_and_cannot_be_read_is_named(returned, message):
    score = ContextRecall(judge=judge_of(returned)).score(samples(1)[0])
    assert score.value is None
    assert message in score.verdicts[0].reason
    assert {item.code for item in score.verdicts} == {"judge_error"}


def test_a_key_in_an_error_is_not_shown(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")

    def predict(pairs):
        raise RuntimeError("refused sk-secret-0123456789")

    score = ContextRecall(judge=judge_of(predict)).score(samples(1)[0])
    assert "sk-secret" not in str(score.to_dict())


# --- what predict may return ----------------------------------------------------------------------------------


class Tensor:
    """As PyTorch's: no sequence, but it can be made a list."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return self.values


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ([0.25, 1], [0.25, 1.0]),
        (np.array([0.25, 1.0], dtype=np.float32), [0.25, 1.0]),
        (np.array([[0.25], [1.0]]), [0.25, 1.0]),
        (Tensor([0.25, 1.0]), [0.25, 1.0]),
        ([Tensor(0.25), Tensor([1.0])], [0.25, 1.0]),
        ((value for value in (0.25, 1.0)), [0.25, 1.0]),
        ([1.0000001, -1e-9], [1.0, 0.0]),
    ],
)
def test_numbers_arrays_and_tensors_are_read(returned, expected):
    assert read_scores(returned, 2) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([{"label": "yes", "score": 1}, {"label": "no", "score": 0}], "labels"),
        ([0.1, 0.9], "predict returned [0.1, 0.9] for a pair"),
        ([], "predict returned [] for a pair"),
        ("yes", "must be a number"),
        (7.5, "logits"),
        (True, "predict returned True for a pair"),
        ([False], "predict returned False for a pair"),
    ],
)
def test_what_is_no_probability_is_said_in_words(item, message):
    (found,) = read_scores([item], 1)
    assert message in found


def test_a_similarity_may_answer_yes_or_no():
    assert read_scores([True, False], 2, takes_booleans=True) == [1.0, 0.0]


def test_the_count_must_fit():
    with pytest.raises(PredictionError, match="given 3, and returned 2"):
        read_scores([0.1, 0.2], 3)


# --- the object -----------------------------------------------------------------------------------------------


def test_judge_compares_by_parameters_and_can_be_copied():
    model = TinyModel()
    judge = judge_of(model)
    assert isinstance(judge, Judge)
    assert not isinstance(judge, LLMJudge)
    assert judge == judge_of(TinyModel())
    assert judge != judge_of(model, bar=0.6)
    assert len({judge, judge_of(model)}) == 1
    assert copy.deepcopy(judge) is judge
    assert judge.name == "nli:tiny-1"
    assert replace(judge, bar=0.7, batch_size=8).name == "nli:tiny-1(bar=0.7)"
    loaded = pickle.loads(pickle.dumps(replace(judge, predict=read_scores)))  # noqa: S301 - our own
    assert loaded == judge
    assert loaded.predict is read_scores
    assert copy.copy(judge) == judge


@pytest.mark.parametrize(
    "options",
    [
        {"predict": 3},
        {"identity": ""},
        {"identity": None},
        {"bar": 1.1},
        {"bar": True},
        {"batch_size": 0},
        {"window": 1.5},
        {"max_windows": 0},
        {"workers": 0},
        {"wait_seconds": -1},
        {"wait_seconds": float("inf")},
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_named(options):
    (name,) = options
    with pytest.raises(ParameterError, match=f"NLIJudge: {name}="):
        NLIJudge(**{"predict": TinyModel().predict, "identity": "tiny", **options})


def test_it_costs_no_request():
    assert estimate(samples(2), METRICS, judge=judge_of(TinyModel())).calls == 0


def test_bar_is_chosen_by_people_without_asking_again():
    model = TinyModel()
    labelled = [
        replace(
            sample,
            labels={"unit_supported": [True, True, number % 2 == 0]},
            retrieved_contexts=sample.retrieved_contexts[: 3 if number % 2 == 0 else 2],
        )
        for number, sample in enumerate(samples(30))
    ]
    judge = judge_of(model)
    found = {}
    for bar in (0.2, 0.9):
        report = agree(labelled, judge=replace(judge, bar=bar), progress=False)
        found[bar] = report.agreements[0].balanced_accuracy
    assert found[0.9] == 1.0
    assert len(model.pairs) == len(set(model.pairs))


@pytest.mark.slow
def test_a_forked_child_asks_for_itself(tmp_path):
    script = tmp_path / "fork.py"
    script.write_text(
        "import os, sys\n"
        "from ctxmetrics import ContextRecall, NLIJudge, Sample\n"
        "judge = NLIJudge(lambda pairs: [float(h in p) for p, h in pairs], identity='in', wait_seconds=0)\n"
        "def value(word):\n"
        "    sample = Sample(reference=word, retrieved_contexts=[f'{word} it is.', 'Rain.'])\n"
        "    return ContextRecall(judge=judge).score(sample).value\n"
        "assert value('Red') == 1.0\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if value('Blue') == 1.0 else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, script], timeout=LONGEST_PROCESS, check=False, capture_output=True
    )
    assert done.returncode == 0, done.stderr


# --- the string metrics ---------------------------------------------------------------------------------------


def test_one_argument_similarity_gets_all_pairs_at_once():
    model = TinyModel()
    sample = Sample(
        reference_contexts=["The car is red.", "Rain."], retrieved_contexts=["Rain.", "The car is red."]
    )
    by_batch = NonLLMContextRecall(similarity=model.predict)
    assert by_batch.score(sample).value == 1.0
    assert NonLLMContextPrecision(similarity=model.predict).score(sample).value == 1.0
    assert [len(batch) for batch in model.batches] == [4]
    one_by_one = NonLLMContextRecall(
        similarity=lambda one, other: float(model.predict([(one, other)])[0])
    )
    assert [item.details["similarity"] for item in one_by_one.score(sample).verdicts] == [
        item.details["similarity"] for item in by_batch.score(sample).verdicts
    ]


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        (lambda pairs: [0.5], "given 4, and returned 1"),
        (lambda pairs: [7.0] * len(pairs), "number from 0 to 1"),
        (lambda pairs: [float("nan")] * len(pairs), "number from 0 to 1"),
    ],
)
def test_similarity_for_all_pairs_without_results_is_named(similarity, message):
    sample = Sample(reference_contexts=["a", "b"], retrieved_contexts=["c", "d"])
    with pytest.raises(ParameterError, match=message):
        NonLLMContextRecall(similarity=similarity).score(sample)

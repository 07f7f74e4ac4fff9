"""Questions without an answer: how often a setting returns nothing, and what a threshold over its scores would do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    Sample,
    ScriptedJudge,
    compare_retrievers,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Verdict
from support import answer_from
from support.answers import read_question

if TYPE_CHECKING:
    from ctxmetrics.judges.base import JudgeRequest
    from ctxmetrics.models.base import Prompt

FACTS = [f"Fact {number} has the value {7 * number + 100}." for number in range(4)]
QUESTIONS = [
    *(
        Sample(
            id=f"q{number}",
            user_input=f"What is fact {number}?",
            reference=fact,
            reference_context_ids=[f"d{number}"],
        )
        for number, fact in enumerate(FACTS)
    ),
    Sample(id="u0", user_input="What is fact 90?", reference="x", labels={"unanswerable": True}),
    Sample(id="u1", user_input="What is fact 91?", reference="I don't know."),
    Sample(id="u2", user_input="What is fact 92?", reference="x", labels={"unanswerable": True}),
]
# The score of what is retrieved, by the number in the question.
SCORES = {0: 0.9, 1: 0.8, 2: 0.7, 3: 0.3, 90: 0.6, 91: 0.5, 92: 0.2}


def scored(question: str) -> list[dict[str, Any]]:
    number = int(question.rsplit(maxsplit=1)[-1].rstrip("?"))
    text = FACTS[number] if number < 4 else "Nothing of that kind."
    return [{"id": f"d{number}", "text": text, "score": SCORES[number]}]


def modest(question: str) -> list[dict[str, Any]]:
    return [item for item in scored(question) if item["score"] > 0.55]


def plain(question: str) -> list[str]:
    return [item["text"] for item in scored(question)]


def test_empty_results_without_an_answer_are_counted() -> None:
    found = compare_retrievers(QUESTIONS, {"scored": scored, "modest": modest}, [ContextRecall()])
    nothing = found.nothing()
    assert (nothing["scored"].questions, nothing["scored"].empty) == (3, 0)
    assert (nothing["modest"].questions, nothing["modest"].empty) == (3, 2)
    assert nothing["modest"].recall == 0.75
    assert "modest   2 of 3" in str(found)


def test_recall_and_empty_share_over_the_threshold() -> None:
    """By hand: at .7 three of four facts and no other text are left."""
    found = compare_retrievers(QUESTIONS, {"scored": scored}, [ContextRecall()])
    item = found.nothing()["scored"]
    assert [(point.threshold, point.recall, point.empty) for point in item.points] == [
        *((0.2, 1.0, 0), (0.3, 1.0, 1), (0.5, 0.75, 1), (0.6, 0.75, 2)),
        *((0.7, 0.75, 3), (0.8, 0.5, 3), (0.9, 0.25, 3)),
    ]
    assert item.threshold is not None
    assert item.threshold.threshold == 0.3  # 95 % of the recall
    three_quarters = found.nothing(keep=0.75)["scored"].threshold
    assert three_quarters is not None
    assert (three_quarters.threshold, three_quarters.empty) == (0.7, 3)
    with pytest.raises(ParameterError, match="keep"):
        found.nothing(keep=0)


def test_ids_are_looked_for_above_the_threshold_too() -> None:
    found = compare_retrievers(QUESTIONS, {"scored": scored}, [IDBasedContextRecall()])
    item = found.nothing()["scored"]
    assert [point.recall for point in item.points] == [1.0, 1.0, 0.75, 0.75, 0.75, 0.5, 0.25]


def test_distances_have_an_upper_threshold() -> None:
    """The scores of the settings above as distances: 1 - score, with a worse text behind each."""

    def distances(question: str) -> list[tuple[str, float]]:
        score = scored(question)[0]["score"]
        return [(plain(question)[0], 1 - score), ("Another text.", 1.5)]

    found = compare_retrievers(QUESTIONS, {"distances": distances}, [ContextRecall()])
    item = found.nothing(keep=0.75)["distances"]
    assert item.lower_is_better
    assert item.points[0].threshold == 1.5
    assert (item.points[0].recall, item.points[0].empty) == (1.0, 0)
    assert item.threshold is not None
    assert item.threshold.threshold == pytest.approx(0.3)
    assert (item.threshold.recall, item.threshold.empty) == (0.75, 3)
    assert "at most 0.7" in str(found)  # 95 % of the recall


@pytest.mark.parametrize("keep", [0.5, 0.9, 1.0])
def test_the_strictest_threshold_is_that_of_all_scores(keep: float) -> None:
    """Of 400 scores, of which the curve shows 60: question n of 200 loses its fact above n / 1000."""
    questions = [
        *(Sample(user_input=f"{n}", reference=f"Fact {n} is true.") for n in range(200)),
        Sample(user_input="none", reference="x", labels={"unanswerable": True}),
    ]

    def many(question: str) -> list[tuple[str, float]]:
        if question == "none":
            return [("Something else.", 0.0655)]
        return [(f"Fact {question} is true.", int(question) / 1000)]

    found = compare_retrievers(questions, {"many": many}, [ContextRecall()], progress=False)
    item = found.nothing(keep)["many"]
    assert len(item.points) == 60
    assert item.threshold is not None
    lost = round(200 * (1 - keep))
    assert item.threshold.threshold == lost / 1000
    assert item.threshold.recall == (200 - lost) / 200
    assert item.threshold.empty == (lost == 100)


def test_parts_count_where_all_of_them_are_kept() -> None:
    questions = [
        Sample(user_input="a", reference="The red tower has a height of ninety metres in winter."),
        Sample(user_input="b", reference="x", labels={"unanswerable": True}),
    ]

    def parts(question: str) -> list[tuple[str, float]]:
        if question == "b":
            return [("Something else.", 0.5)]
        return [("The red tower has a height.", 0.9), ("It is ninety metres in winter.", 0.4)]

    found = compare_retrievers(questions, {"parts": parts}, [ContextRecall()])
    row = found["parts"].results[0]["context_recall"]
    assert row.value == 1.0
    assert not any(span.whole for span in row.verdicts[0].evidence)
    recalls = {point.threshold: point.recall for point in found.nothing()["parts"].points}
    assert recalls == {0.4: 1.0, 0.5: 0.0, 0.9: 0.0}


def test_without_scores_there_is_a_count_and_no_threshold() -> None:
    found = compare_retrievers(QUESTIONS, {"plain": plain}, [ContextRecall()])
    item = found.nothing()["plain"]
    assert (item.questions, item.empty, item.threshold, item.points) == (3, 0, None, ())


def test_questions_without_an_answer_are_in_no_mean() -> None:
    found = compare_retrievers(QUESTIONS, {"scored": scored}, [ContextRecall()])
    summary = found["scored"].results.summary()["context_recall"]
    assert (summary.scored, summary.mean) == (4, 1.0)


def test_with_answers_only_nothing_is_shown() -> None:
    found = compare_retrievers(QUESTIONS[:4], {"scored": scored}, [ContextRecall()])
    assert found.nothing() == {}
    assert "without an answer" not in str(found)
    assert "without an answer" not in found.html()


def test_page_and_json_hold_the_curve() -> None:
    found = compare_retrievers(QUESTIONS, {"scored": scored, "modest": modest}, [ContextRecall()])
    page = found.html()
    assert "Questions without an answer" in page
    assert page.count("<polyline") == 4  # recall over k, and over the threshold
    data = json.loads(json.dumps(found.to_dict()))
    assert data["nothing"]["scored"]["threshold"]["threshold"] == 0.3
    assert "Questions without an answer" in found.markdown()


def test_calls_that_failed_are_left_out() -> None:
    def failing(question: str) -> list[dict[str, Any]]:
        if "91" in question:
            raise OSError("no index")
        return scored(question)

    found = compare_retrievers(QUESTIONS, {"failing": failing}, [ContextRecall()])
    assert found.nothing()["failing"].questions == 2


# --- nothing useful ---

NEAR = "Fact 90 was once believed to have the value 730."
FAR = "Nothing of that kind."


def near_and_far(question: str) -> list[str]:
    """A text that is near to the first question without an answer, one that is not, and nothing for the last."""
    texts = {"90": [FAR, NEAR], "91": [FAR], "92": []}
    return texts.get(question[-3:-1], plain(question))


def far(question: str) -> list[str]:
    """What is near is left out, and something is returned for each question."""
    return [text for text in plain(question) if text != NEAR]


def asks(near: bool | None) -> tuple[ScriptedJudge, list[dict[str, Any]]]:
    """Return a judge to whom the near text is useful, useless or no matter, and the questions without an answer."""
    asked: list[dict[str, Any]] = []
    honest = answer_from(useful=lambda text, _: text == NEAR if near else text in FACTS)

    def reply(prompt: Prompt) -> str:
        question = read_question(prompt.text)
        if "answer" not in question.data and not question.units:
            asked.append(dict(question.data))
            if near is None:
                return "I cannot say."
        return honest(prompt)

    return ScriptedJudge(reply), asked


@pytest.mark.parametrize(
    ("near", "useless", "unjudged"), [(True, (2, 3), 0), (False, (3, 3), 0), (None, (1, 0), 2)]
)
def test_nothing_useful_is_counted_by_the_judge(
    near: bool | None, useless: tuple[int, int], unjudged: int
) -> None:
    """By hand: u2 comes back empty in one setting; the near text of u0 is useful, or is not."""
    judge, _ = asks(near)
    settings = {"near": near_and_far, "far": far}
    found = compare_retrievers(QUESTIONS, settings, [ContextRecall()], judge=judge)
    one, other = found.nothing().values()
    assert (one.questions, one.empty, one.useless, one.unjudged) == (3, 1, useless[0], unjudged)
    assert (other.questions, other.empty, other.useless) == (3, 0, useless[1])
    text = f"near     1 of 3            {useless[0]} of 3"
    assert text + (", 2 not judged" if unjudged else "") in str(found)


def test_nothing_useful_costs_a_request_a_question() -> None:
    """Six texts of four questions with an answer and two without: one pool each; the last one is FAR in one setting."""
    judge, asked = asks(near=True)
    metrics = [ContextRecall(), ContextPrecision()]
    settings = {"near": near_and_far, "far": far}
    found = compare_retrievers(QUESTIONS, settings, metrics, judge=judge)
    assert found.usage.calls == 4 + 3
    assert [data["question"] for data in asked] == [item.user_input for item in QUESTIONS[4:]]
    assert all(data.keys() == {"question", "contexts"} for data in asked)
    assert {item["text"] for item in asked[0]["contexts"]} == {NEAR, FAR}


def test_nothing_useful_changes_no_mean() -> None:
    judge, _ = asks(near=True)
    metrics = [ContextRecall(), ContextPrecision()]
    settings = {"near": near_and_far, "far": far}
    whole = compare_retrievers(QUESTIONS, settings, metrics, judge=judge)
    answered = compare_retrievers(QUESTIONS[:4], settings, metrics, judge=judge)
    assert whole.metrics == answered.metrics == ("context_recall", "context_precision")
    for name in settings:
        one, other = whole[name].results.summary(), answered[name].results.summary()
        for metric in whole.metrics:
            assert (one[metric].mean, one[metric].scored) == (other[metric].mean, 4)
    row = whole["near"].results[4]
    assert {score.reason_code for score in row.scores} == {"unanswerable"}
    assert not any(score.verdicts for score in row.scores)


def test_nothing_useful_is_pooled_within_top_k() -> None:
    """The metric reads one context, and so does the question without an answer."""
    judge, asked = asks(near=True)
    settings = {"near": near_and_far, "far": far}
    metrics = [ContextRecall(top_k=1)]
    found = compare_retrievers(QUESTIONS, settings, metrics, judge=judge)
    assert found.nothing()["near"].useless == 3
    assert [len(data["contexts"]) for data in asked] == [1, 1, 1]


def test_judged_apart_nothing_useful_has_equal_counts() -> None:
    judge, _ = asks(near=True)
    settings = {"near": near_and_far, "far": far}
    found = compare_retrievers(QUESTIONS, settings, [ContextRecall()], judge=judge, pooled=False)
    assert [item.useless for item in found.nothing().values()] == [2, 3]


def test_the_embedded_judge_is_not_asked_what_is_useful() -> None:
    found = compare_retrievers(QUESTIONS, {"plain": plain}, [ContextRecall()])
    assert found.nothing()["plain"].useless is None
    assert "0 of 3            -" in str(found)
    assert found.to_dict()["nothing"]["plain"]["useless"] is None


class OwnJudge:
    """A judge of one's own that can say what answers a question."""

    name = "own"
    warnings = ()
    rates_without_answer = True

    async def attribute(self, request: JudgeRequest) -> Judgement:
        return Judgement(verdicts=tuple(Verdict(id=id_, value=False) for id_ in request.unit_ids))

    async def rate(self, request: JudgeRequest) -> Judgement:
        assert (request.answer, request.units) == ("", ())
        verdicts = [
            Verdict(id=id_, value=text == NEAR)
            for id_, text in zip(request.context_ids, request.contexts, strict=True)
        ]
        return Judgement(verdicts=tuple(verdicts))


def test_a_judge_of_ones_own_can_say_what_is_useful() -> None:
    settings = {"near": near_and_far, "far": far}
    found = compare_retrievers(QUESTIONS, settings, [ContextRecall()], judge=OwnJudge())
    assert [item.useless for item in found.nothing().values()] == [2, 3]

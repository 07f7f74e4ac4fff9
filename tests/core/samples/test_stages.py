"""Stages of a retrieval: how they are read, what one judgement of all of them says of each, and where units were lost."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextRecall,
    LexicalJudge,
    Results,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.samples.stages import Stage
from ctxmetrics.verdicts import Evidence, Verdict
from support import answer_from
from support.cases import each_case

TEXT = "The tower is 330 metres tall. It was built in 1889. It stands in Paris."
HEIGHT, YEAR, CITY = "It is 330 metres tall.", "It was built in 1889.", "It stands in Paris."
OTHER = "Bananas are yellow."


@dataclass
class EachContext:
    """A judge whose truth is each context's own: ``truth`` maps a context to units that it states, whole or in part."""

    truth: dict
    asked: list = field(default_factory=list)
    name: str = "each context"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        self.asked.append(request.contexts)
        verdicts = []
        for number, id_ in enumerate(request.unit_ids, 1):
            cells = [
                (place, self.truth.get(text, {}).get(number))
                for place, text in enumerate(request.contexts)
            ]
            spans = tuple(
                Evidence(place, 0, len(text := request.contexts[place]), text, cell == "whole")
                for place, cell in cells
                if cell
            )
            parts = {cell for _, cell in cells} & {"first part", "second part"}
            value = any(span.whole for span in spans) or len(parts) == 2
            verdicts.append(Verdict(id=id_, value=value, evidence=spans))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request):
        self.asked.append(request.contexts)
        return Judgement(
            verdicts=tuple(
                Verdict(id=id_, value=text in self.truth, evidence=(Evidence(place, 0, 2, text[:2]),))
                for place, (id_, text) in enumerate(
                    zip(request.context_ids, request.contexts, strict=True)
                )
            )
        )


TRUTH = {HEIGHT: {1: "whole"}, YEAR: {2: "whole"}, CITY: {3: "whole"}}
STAGES = {"search": [OTHER, HEIGHT, YEAR, CITY], "rerank": [CITY, YEAR], "prompt": [CITY]}


# --- reading ---


def test_the_last_stage_is_what_was_retrieved():
    sample = Sample(stages={"search": ["a", "b"], "rerank": ["b"]})
    assert sample.retrieved_contexts == ("b",)
    assert sample.stages["search"] == Stage(("a", "b"))
    assert Sample(retrieved_contexts=["b"], stages={"search": ["a", "b"], "rerank": ["b"]}) == sample
    assert Sample.from_dict(sample.to_dict()) == sample
    assert replace(sample, reference="x").stages == sample.stages


def test_later_stages_may_name_ids_of_documents_alone():
    search = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]
    sample = Sample(stages={"search": search, "rerank": [2]})
    assert sample.stages["rerank"] == Stage(("two",), ("2",))
    assert (sample.retrieved_contexts, sample.retrieved_context_ids) == (("two",), ("2",))


@pytest.mark.parametrize(
    "given",
    [
        {"stages": {"search": ["d1", "d2"]}, "reference_context_ids": ["d2"]},
        {
            "stages": {"search": ["d1", "d2"]},
            "retrieved_context_ids": ["d1", "d2"],
            "reference": "A text.",
        },
        {"stages": {"search": {"ids": ["d1", "d2"]}}, "reference": "A text."},
        {"stages": {"search": [{"id": "d1"}, {"id": "d2"}]}, "reference": "A text."},
    ],
)
def test_a_stage_may_be_ids_alone(given):
    sample = Sample(**given)
    assert sample.stages["search"] == Stage(None, ("d1", "d2"))
    assert sample.retrieved_contexts is None
    assert sample.retrieved_context_ids == ("d1", "d2")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stages": {}}, "must map the name of each stage to a list"),
        ({"stages": ["a"]}, "must map the name of each stage to a list, not list"),
        ({"stages": {"search": "a"}}, "'search': field 'contexts' must be a list, not one string"),
        ({"stages": {"search": ["a", 5.5]}}, "field 'contexts', item 2 must be a string"),
        (
            {"stages": {"search": {"contexts": ["a"], "ids": []}}},
            "the numbers of contexts and ids differ, 1 and 0",
        ),
        ({"stages": {"search": {}}}, "holds neither contexts nor ids"),
        ({"stages": {"s": ["a"]}, "retrieved_contexts": ["a", "b"]}, "differ at item 2"),
        (
            {"stages": {"s": ["a", "b"]}, "retrieved_contexts": ["a", "c"]},
            "'retrieved_contexts' holds: they differ at item 2",
        ),
        (
            {"stages": {"s": [1, 2]}, "retrieved_context_ids": [2, 2]},
            "'retrieved_context_ids' holds: they differ at item 1",
        ),
        (
            {"stages": {"s": ["a"]}, "reference": "x", "reference_context_ids": ["a"]},
            'may be texts or ids. Write {"contexts": [..]} or {"ids": [..]}',
        ),
    ],
)
def test_stages_that_cannot_be_read_are_named(given, said):
    with pytest.raises(SampleError) as caught:
        Sample(id="q1", **given)
    assert said in str(caught.value)
    assert "Sample 'q1': field 'stages'" in str(caught.value)


# --- one judgement ---


def test_judge_is_asked_once_about_distinct_contexts_in_order():
    judge = EachContext(TRUTH)
    results = evaluate([Sample(reference=TEXT, stages=STAGES)], [ContextRecall()], judge=judge)
    assert judge.asked == [(OTHER, HEIGHT, YEAR, CITY)]
    score = results[0]["context_recall"]
    assert score.value == pytest.approx(1 / 3)
    assert score.provenance.judge == "each context over stages"
    assert [verdict.value for verdict in score.verdicts] == [False, False, True]
    assert score.verdicts[2].evidence == (Evidence(0, 0, len(CITY), CITY),)
    assert [[stage["value"] for stage in verdict.details["stages"]] for verdict in score.verdicts] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_usefulness_is_asked_of_the_pool_and_counted_at_the_end():
    judge = EachContext(TRUTH)
    stages = {"search": [HEIGHT, OTHER, CITY], "rerank": [OTHER, CITY, OTHER]}
    score = evaluate([Sample(reference=TEXT, stages=stages)], [ContextPrecision()], judge=judge)[0][
        "context_precision"
    ]
    assert judge.asked == [(HEIGHT, OTHER, CITY)]
    assert [(verdict.id, verdict.value) for verdict in score.verdicts] == [
        ("c1", False),
        ("c2", True),
        ("c3", False),
    ]
    assert score.value == 0.5  # the one useful context stands at rank 2
    assert score.verdicts[1].evidence == (Evidence(1, 0, 2, "It"),)


def test_one_request_serves_recall_and_precision_of_all_stages():
    results = evaluate(
        [Sample(reference=TEXT, stages=STAGES)],
        [ContextRecall(), ContextPrecision(), ContextPrecision(relevance="supports")],
        judge=ScriptedJudge(answer_from(useful=lambda context, answer: context != OTHER)),
    )
    assert results.usage.calls == 1
    assert [score.value for score in results[0].values()] == [pytest.approx(1 / 3), 1.0, 1.0]
    assert results.stages().causes == {"dropped by rerank": 1, "dropped by prompt": 1}


def test_embedded_judge_judges_each_stage_as_if_alone():
    sample = Sample(reference=TEXT, stages=STAGES)
    metrics = [ContextRecall(), ContextPrecision(), ContextPrecision(relevance="supports")]
    staged = evaluate([sample], metrics, judge=LexicalJudge())
    alone = evaluate([replace(sample, stages=None)], metrics, judge=LexicalJudge())
    for name in staged.metrics:
        found, wanted = staged[0][name], alone[0][name]
        assert (found.value, found.provenance) == (wanted.value, wanted.provenance)
        for one, other in zip(found.verdicts, wanted.verdicts, strict=True):
            details = {key: value for key, value in one.details.items() if key != "stages"}
            assert replace(one, details=other.details) == other
            assert details == dict(other.details)


@each_case("seed", range(60))
def test_one_judgement_equals_judging_each_stage_alone(seed):
    chance = random.Random(seed)
    units, texts = chance.randint(1, 5), [f"context {number}" for number in range(chance.randint(1, 9))]
    truth = {
        text: {unit: "whole" for unit in range(1, units + 1) if chance.random() < 0.25}
        for text in texts
    }
    names = [f"stage {number}" for number in range(chance.randint(1, 4))]
    stages = {name: chance.sample(texts, chance.randint(0, len(texts))) for name in names}
    reference = " ".join(f"Sentence number {unit}." for unit in range(1, units + 1))
    judge = EachContext(truth)
    results = evaluate(
        [Sample(id="q", reference=reference, stages=stages)], [ContextRecall()], judge=judge
    )
    alone = {
        name: evaluate(
            [Sample(reference=reference, retrieved_contexts=given)],
            [ContextRecall()],
            judge=EachContext(truth),
        )[0]["context_recall"]
        for name, given in stages.items()
    }
    assert results[0]["context_recall"].value == alone[names[-1]].value
    if any(stages.values()):
        found = results.stages()
        assert {stage.name: stage.recall for stage in found.stages} == {
            name: score.value for name, score in alone.items()
        }
        for unit in range(units):
            held = [
                bool(alone[name].verdicts) and alone[name].verdicts[unit].value is True
                for name in names
            ]
            lost = [one for one in found.lost if one.unit == f"s{unit + 1}"]
            assert len(lost) == (not held[-1])
            if lost and any(held):
                last = max(place for place, there in enumerate(held) if there)
                assert (lost[0].stage, lost[0].dropped_by) == (names[last], names[last + 1])
                assert truth[stages[names[last]][lost[0].rank - 1]].get(unit + 1) == "whole"
            elif lost:
                assert (lost[0].stage, lost[0].cause) == (None, "never found")


def test_parts_support_a_unit_where_all_of_them_are_in_the_stage():
    truth = {"a": {1: "first part"}, "b": {1: "second part"}}
    stages = {"search": ["a", "x", "b"], "rerank": ["b", "a"], "prompt": ["b"]}
    results = evaluate(
        [Sample(id="q", reference="One sentence.", stages=stages)],
        [ContextRecall()],
        judge=EachContext(truth),
    )
    assert [stage.recall for stage in results.stages().stages] == [1.0, 1.0, 0.0]
    (lost,) = results.stages().lost
    assert (lost.stage, lost.dropped_by, lost.context, lost.rank) == ("rerank", "prompt", "c1", 1)


def test_hops_add_up_where_that_is_asked():
    truth = {"a": {1: "first part"}, "b": {1: "second part"}, "c": {2: "whole"}}
    sample = Sample(
        id="q",
        reference="One sentence. Another sentence.",
        stages={"hop 1": ["a", "c"], "hop 2": ["b"]},
    )
    results = evaluate([sample], [ContextRecall()], judge=EachContext(truth))
    assert [stage.recall for stage in results.stages().stages] == [0.5, 0.0]
    added = results.stages(accumulate=True)
    assert [stage.recall for stage in added.stages] == [0.5, 1.0]
    assert (added.lost, added.found_later) == ((), {"hop 2": 1})


def test_rewritten_text_is_another_context_doubles_count_once():
    judge = EachContext({"long": {1: "whole"}})
    stages = {
        "search": [
            {"id": "d1", "text": "x"},
            {"id": "d2", "text": "long"},
            {"id": "d2", "text": "long"},
        ],
        "compress": [{"id": "d2", "text": "short"}],
    }
    results = evaluate(
        [Sample(id="q", reference="One sentence.", stages=stages)], [ContextRecall()], judge=judge
    )
    assert judge.asked == [("x", "long", "short")]
    (lost,) = results.stages().lost
    assert str(lost) == "q, s1: d2 of search (rank 2), dropped by compress: One sentence."
    assert [(stage.contexts, stage.precision) for stage in results.stages().stages] == [
        (2, 0.5),
        (1, 0.0),
    ]


def test_empty_stage_has_precision_zero_like_the_metric():
    samples = [
        Sample(reference="Height.", stages={"search": [HEIGHT], "rerank": [HEIGHT]}),
        Sample(reference="Height.", stages={"search": [HEIGHT], "rerank": []}),
        Sample(reference="Height.", stages={"search": [], "rerank": []}),
    ]
    metrics = [ContextRecall(), ContextPrecision(relevance="supports", formula="share")]
    results = evaluate(samples, metrics, judge=EachContext({HEIGHT: {1: "whole"}}))
    assert [row[metrics[1].name].value for row in results] == [1.0, 0.0, 0.0]
    assert [stage.precision for stage in results.stages().stages] == [
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    ]


def test_top_k_cuts_the_last_stage_only():
    judge = EachContext(TRUTH)
    stages = {"search": [HEIGHT, YEAR, CITY], "rerank": [OTHER, CITY, HEIGHT]}
    results = evaluate([Sample(reference=TEXT, stages=stages)], [ContextRecall(top_k=2)], judge=judge)
    assert judge.asked == [(HEIGHT, YEAR, CITY, OTHER)]
    assert [stage.recall for stage in results.stages().stages] == [1.0, pytest.approx(1 / 3)]
    assert [stage.contexts for stage in results.stages().stages] == [3, 2]


def test_an_empty_last_stage_still_says_where_units_were_lost():
    for judge in (EachContext(TRUTH), LexicalJudge()):
        results = evaluate(
            [Sample(reference=TEXT, stages={"search": [CITY], "prompt": []})],
            [ContextRecall(), ContextPrecision()],
            judge=judge,
        )
        assert [score.value for score in results[0].values()] == [0.0, 0.0]
        assert results.stages().causes["dropped by prompt"] >= 1


# --- over a run ---


def run_of_two(judge=None):
    samples = [
        Sample(id="a", reference=TEXT, stages=STAGES),
        Sample(id="b", reference=TEXT, stages={"search": [OTHER, YEAR], "rerank": [YEAR, HEIGHT]}),
    ]
    return evaluate(samples, [ContextRecall()], judge=judge or EachContext(TRUTH))


def test_the_sums_of_a_run_say_what_each_stage_dropped():
    found = run_of_two().stages()
    # a: search 3/3, rerank 2/3, prompt 1/3; b: search 1/3, rerank 2/3
    assert [(stage.name, stage.samples, stage.recall) for stage in found.stages] == [
        ("search", 2, pytest.approx(2 / 3)),
        ("rerank", 2, pytest.approx(2 / 3)),
        ("prompt", 1, pytest.approx(1 / 3)),
    ]
    assert (found.units, found.causes) == (
        6,
        {"never found": 1, "dropped by rerank": 1, "dropped by prompt": 1},
    )
    assert found.found_later == {"rerank": 1}
    text = str(found)
    assert "of 3 missed of 6: 1 never found, 1 dropped by rerank, 1 dropped by prompt" in text
    assert "found only later: 1 rerank" in text
    # 4 contexts of 19 + 22 + 21 + 19 characters, and 2 of 19 + 21
    assert (found.stages[0].contexts, found.stages[0].tokens) == (3.0, (81 + 40) / 2 / 4)


def test_a_file_of_results_says_the_same(tmp_path):
    results = run_of_two()
    results.to_jsonl(tmp_path / "run.jsonl")
    assert Results.from_jsonl(tmp_path / "run.jsonl").stages().to_dict() == results.stages().to_dict()
    evaluate(
        [row.sample for row in results],
        [ContextRecall()],
        judge=EachContext(TRUTH),
        out=tmp_path / "out.jsonl",
    )
    assert Results.from_jsonl(tmp_path / "out.jsonl").stages().to_dict() == results.stages().to_dict()


def test_a_unit_that_was_not_judged_is_not_called_lost():
    class Silent(EachContext):
        async def attribute(self, request):
            found = await super().attribute(request)
            return replace(found, verdicts=found.verdicts[:-1])

    results = run_of_two(Silent(TRUTH))
    assert [row["context_recall"].value for row in results] == [None, None]
    found = results.stages()
    assert found.stages == ()
    assert (found.units, len(found.lost)) == (4, 2)


def test_stages_of_ids_need_no_judge():
    sample = Sample(
        id="q",
        reference_context_ids=["d1", "d2", "d9"],
        stages={"search": ["d5", "d1", "d2"], "rerank": ["d2", "d1"]},
    )
    results = evaluate([sample], [IDBasedContextRecall(), IDBasedContextRecall(top_k=1)])
    assert results[0]["id_based_context_recall"].value == pytest.approx(2 / 3)
    assert [stage.recall for stage in results.stages().stages] == [pytest.approx(2 / 3)] * 2
    cut = results.stages("id_based_context_recall(top_k=1)")
    assert [stage.recall for stage in cut.stages] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert [str(lost) for lost in cut.lost] == [
        "q, d1: d1 of search (rank 2), dropped by rerank: d1",
        "q, d9: never found: d9",
    ]


def test_a_run_without_stages_says_so():
    results = evaluate([Sample(reference="A text.", retrieved_contexts=["a"])], [ContextRecall()])
    with pytest.raises(ParameterError, match="no sample has units with stages in context_recall"):
        results.stages()
    with pytest.raises(ParameterError, match="in id_recall"):
        run_of_two().stages("id_recall")


# --- what a judge may say, and what a stage may lack ---


@dataclass(frozen=True)
class Says:
    """A judge that gives these verdicts, whatever it is asked."""

    verdicts: tuple
    name: str = "says"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        return Judgement(verdicts=self.verdicts)

    async def rate(self, request):
        raise NotImplementedError  # recall asks about units alone


def values_by_stage(sample, judge, metric=None):
    score = evaluate([sample], [metric or ContextRecall()], judge=judge)[0].scores[0]
    return score, [
        [stage["value"] for stage in verdict.details["stages"]] for verdict in score.verdicts
    ]


def test_yes_without_evidence_holds_in_stages_with_every_context():
    sample = Sample(
        reference="One sentence.", stages={"search": ["a", "b"], "rerank": ["b"], "prompt": ["b", "a"]}
    )
    score, held = values_by_stage(sample, Says((Verdict(id="s1", value=True),)))
    assert (score.value, held) == (1.0, [[True, False, True]])
    (lost,) = (
        evaluate(
            [Sample(id="q", reference="One sentence.", stages={"search": ["a", "b"], "rerank": ["b"]})],
            [ContextRecall()],
            judge=Says((Verdict(id="s1", value=True),)),
        )
        .stages()
        .lost
    )
    assert (lost.stage, lost.dropped_by, lost.context, lost.rank) == ("search", "rerank", None, None)


def test_a_flag_of_a_yes_is_not_a_flag_of_a_no():
    verdict = Verdict(
        id="s1",
        value=True,
        code="weak_evidence",
        evidence=(Evidence(0, 0, 1, "a"),),
        details={"smallest_k": 1, "kept": 2},
    )
    sample = Sample(reference="One sentence.", stages={"search": ["a", "b"], "rerank": ["b"]})
    score, _ = values_by_stage(sample, Says((verdict,)))
    found = score.verdicts[0]
    assert (found.value, found.code, found.evidence) == (False, None, ())
    assert found.reason == "the contexts of this stage do not state it; those of another stage do"
    assert (found.details["kept"], "smallest_k" in found.details) == (2, False)
    same, _ = values_by_stage(
        Sample(reference="One sentence.", stages={"search": ["a"]}), Says((verdict,))
    )
    assert (same.verdicts[0].value, same.verdicts[0].code) == (True, "weak_evidence")


def test_whole_context_is_named_before_one_with_a_part():
    judge = EachContext({"a": {1: "first part"}, "b": {1: "whole"}})
    sample = Sample(
        id="q", reference="One sentence.", stages={"search": ["a", "x", "b"], "rerank": ["x"]}
    )
    (lost,) = evaluate([sample], [ContextRecall()], judge=judge).stages().lost
    assert (lost.context, lost.rank) == ("c3", 3)


def test_texts_decide_where_a_stage_has_no_ids():
    judge = EachContext({})
    stages = {"search": [{"id": "d1", "text": "a"}, {"id": "d2", "text": "b"}], "rerank": ["b"]}
    evaluate([Sample(reference="One sentence.", stages=stages)], [ContextRecall()], judge=judge)
    assert judge.asked == [("a", "b")]


def test_texts_of_ids_are_looked_up_in_what_was_retrieved_too():
    sample = Sample(
        stages={"search": {"ids": ["d2", "d1"]}, "rerank": {"ids": ["d1", "d2"]}},
        retrieved_contexts=["one", "two"],
        retrieved_context_ids=["d1", "d2"],
    )
    assert sample.stages["search"] == Stage(("two", "one"), ("d2", "d1"))


def test_a_stage_of_unknown_texts_is_not_judged():
    stages = {"search": {"ids": ["d1", "d2", "d3"]}, "rerank": {"contexts": [CITY], "ids": ["d2"]}}
    results = evaluate(
        [Sample(reference=TEXT, stages=stages)], [ContextRecall()], judge=EachContext(TRUTH)
    )
    assert [stage.name for stage in results.stages().stages] == ["rerank"]


def test_nothing_in_any_stage_is_a_recall_of_0_in_each():
    samples = [
        Sample(reference=TEXT, stages={"search": [], "rerank": []}),
        Sample(reference=TEXT, stages={"search": [CITY, YEAR, HEIGHT], "rerank": []}),
    ]
    results = evaluate(samples, [ContextRecall()], judge=EachContext(TRUTH))
    assert [(stage.recall, stage.samples) for stage in results.stages().stages] == [(0.5, 2), (0.0, 2)]


def test_size_of_ids_is_unknown_if_a_sample_has_none():
    stages = [{"search": [1, 2], "rerank": [2]}, {"search": [1], "rerank": {"ids": []}}]
    samples = [Sample(reference_context_ids=[1, 2], stages=each) for each in stages]
    found = evaluate(samples, [IDBasedContextRecall()]).stages().stages
    assert [(stage.contexts, stage.tokens) for stage in found] == [(1.5, None), (0.5, None)]


def test_sizes_follow_top_k():
    stages = {"search": ["a" * 8, "b" * 8], "rerank": ["a" * 8, "b" * 8]}
    results = evaluate(
        [Sample(reference="One sentence.", stages=stages)],
        [ContextRecall(top_k=1)],
        judge=EachContext({}),
    )
    assert [(stage.contexts, stage.tokens) for stage in results.stages().stages] == [(2, 4), (1, 2)]


def test_the_embedded_judge_keeps_what_a_hop_before_had():
    stages = {"hop 1": [HEIGHT, YEAR], "hop 2": [CITY]}
    results = evaluate([Sample(reference=TEXT, stages=stages)], [ContextRecall()], judge=LexicalJudge())
    added = results.stages(accumulate=True)
    assert [stage.recall for stage in added.stages] == [pytest.approx(2 / 3), 1.0]
    assert [stage.precision for stage in added.stages] == [None, None]


def test_a_part_that_a_hop_before_had_still_counts_in_part():
    metric = ContextRecall(unit="fact", partial=0.5)
    stages = {"hop 1": ["a"], "hop 2": ["x"]}
    sample = Sample(reference_facts=["One fact.", "Another fact."], stages=stages)
    results = evaluate([sample], [metric], judge=EachContext({"a": {1: "first part"}}))
    assert [stage.recall for stage in results.stages().stages] == [0.25, 0.0]
    assert [stage.recall for stage in results.stages(accumulate=True).stages] == [0.25, 0.25]


def test_a_picture_in_any_stage_is_no_text():
    stages = {"search": [CITY, "pictures/tower.png"], "rerank": [CITY]}
    judge = EachContext(TRUTH)
    score = evaluate([Sample(reference=TEXT, stages=stages)], [ContextRecall()], judge=judge)[0][
        "context_recall"
    ]
    assert (score.value, score.reason_code, judge.asked) == (None, "not_text", [])
    assert "field 'stages', item 2" in score.message


def test_contexts_of_a_cut_stage_count_as_those_of_a_whole_one():
    """A double counts once, also among the first k, and of ids too."""
    stages = {"search": ["a" * 8, "b" * 4], "joined": ["a" * 8, "a" * 8, "b" * 4]}
    metric = ContextRecall(top_k=2)
    sample = Sample(reference="One sentence.", stages=stages)
    found = evaluate([sample], [metric], judge=EachContext({"a" * 8: {1: "whole"}})).stages().stages
    assert [(one.contexts, one.tokens, one.precision) for one in found] == [(2, 3, 0.5), (1, 2, 1.0)]
    ids = Sample(
        reference_context_ids=["d1", "d2"],
        stages={"search": {"ids": ["d1", "d2"]}, "joined": {"ids": ["d1", "d1", "d2"]}},
    )
    found = evaluate([ids], [IDBasedContextRecall(top_k=2)]).stages().stages
    assert [(one.contexts, one.recall, one.precision) for one in found] == [
        (2, 1.0, 1.0),
        (1, 0.5, 1.0),
    ]


def test_nothing_is_said_about_ids_that_are_not_known():
    texts = {"contexts": ["one", "two"]}
    first, last = {"ids": ["d1", "d2"]}, {"ids": ["d1"]}
    metric = IDBasedContextRecall()
    sample = Sample(
        reference_context_ids=["d1", "d2"], stages={"search": first, "rewrite": texts, "prompt": last}
    )
    found = evaluate([sample], [metric]).stages()
    assert [(stage.name, stage.recall) for stage in found.stages] == [("search", 1.0), ("prompt", 0.5)]
    assert (found.causes, found.found_later) == ({"dropped by prompt": 1}, {})
    hidden = Sample(reference_context_ids=["d1", "d2"], stages={"search": first, "rewrite": texts})
    found = evaluate([sample, hidden], [metric]).stages()
    assert (found.units, len(found.lost)) == (2, 1)


def test_facts_that_do_not_count_are_not_lost():
    facts = [
        {"text": "Height.", "importance": "okay"},
        {"text": "Year.", "importance": "vital"},
        {"text": "City.", "importance": "vital"},
    ]
    metric = ContextRecall(unit="fact", weighting="vital")
    runs = [
        evaluate(
            [Sample(id="q", reference_facts=facts, stages={"search": [HEIGHT, YEAR, CITY], "rerank": kept})],
            [metric],
            judge=EachContext(TRUTH),
        )
        for kept in ([HEIGHT, YEAR, CITY], [YEAR], [HEIGHT, YEAR, CITY])
    ]  # fmt: skip
    found = runs[1].stages()
    assert (found.units, [lost.unit for lost in found.lost]) == (2, ["s3"])
    compared = runs[0].compare(runs[1])
    assert [unit.id for unit in compared.lost] == ["s3"]
    assert [lost.unit for lost in compared.stages.stages[1].lost] == ["s3"]
    assert [unit.id for unit in runs[1].compare(runs[2]).won] == ["s3"]


@pytest.mark.parametrize("name", [1, None, True, "\ud800", ("a",)])
def test_the_name_of_a_stage_is_text(name):
    with pytest.raises(
        SampleError, match=r"field 'stages', the name of stage 2 (must be a string|holds)"
    ):
        Sample(stages={"1": ["a"], name: ["b"]})


def test_without_a_stage_the_message_says_so():
    with pytest.raises(SampleError, match="to a list, and is empty"):
        Sample(stages={})


def test_usefulness_for_the_response_is_about_the_last_stage():
    """No other metric shares that request, and what stands in other stages costs tokens."""
    judge = EachContext(TRUTH)
    sample = Sample(
        response=CITY, stages={"search": [HEIGHT, "pictures/tower.png", CITY], "rerank": [CITY]}
    )
    (row,) = evaluate([sample], [ContextUtilization()], judge=judge)
    assert judge.asked == [(CITY,)]
    assert (row.scores[0].value, row.scores[0].provenance.judge) == (1.0, "each context")


def test_resumed_run_judges_other_orders_of_stages_anew(tmp_path):
    out = tmp_path / "out.jsonl"
    stages = {"search": [HEIGHT, YEAR], "rerank": [HEIGHT], "prompt": [HEIGHT]}
    other = {name: stages[name] for name in ("rerank", "search", "prompt")}
    evaluate(
        [Sample(id="q", reference=TEXT, stages=stages)],
        [ContextRecall()],
        out=out,
        judge=LexicalJudge(),
    )
    out.rename(tmp_path / "out.jsonl.part")
    evaluate(
        [Sample(id="q", reference=TEXT, stages=other)], [ContextRecall()],
        out=out, judge=LexicalJudge(), resume=True,
    )  # fmt: skip
    assert [stage.name for stage in Results.from_jsonl(out).stages().stages] == [*other]

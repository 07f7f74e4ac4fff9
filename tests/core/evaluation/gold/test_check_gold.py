"""`check_gold`: each kind of wrong gold is found with its evidence, and right gold is not accused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import Sample, check_gold
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.gold.check_gold import GoldCheck
from ctxmetrics.evaluation.gold.findings import CODES
from ctxmetrics.evaluation.retrievers.corpus import read_corpus
from ctxmetrics.evaluation.retrievers.floor import BM25
from support.command import run_command as ctxmetrics

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
CORPUS = {
    "pump-1": "The garden pump weighs 12 kilograms and has a handle of oak.",
    "pump-2": "Its motor is guaranteed for three years after the purchase.",
    "oven-1": "The oven heats to 300 degrees within fifteen minutes of switching on.",
    "oven-2": "Clean the oven door with vinegar and a soft cloth every month.",
    "bike-1": "The bicycle has eight gears and two brakes made of steel.",
}


def make_sample(**changes: object) -> dict[str, object]:
    sample: dict[str, object] = {
        "id": "q1",
        "user_input": "How heavy is the garden pump?",
        "reference": "The garden pump weighs 12 kilograms.",
        "reference_context_ids": ["pump-1"],
    }
    return {**sample, **changes}


def check(*samples: dict[str, object], corpus: dict[str, str] | None = CORPUS) -> GoldCheck:
    return check_gold(samples, corpus=corpus, progress=False)


def list_codes(report: GoldCheck) -> list[str]:
    return [finding.code for finding in report.findings]


OVEN = make_sample(
    id="q2",
    user_input="How hot does the oven get?",
    reference="The oven heats to 300 degrees.",
    reference_context_ids=["oven-1"],
)
BIKE = make_sample(
    id="q3",
    user_input="How many gears does the bicycle have?",
    reference="It has eight gears.",
    reference_context_ids=["bike-1"],
)


def test_right_gold_has_no_finding() -> None:
    report = check(make_sample(), OVEN, BIKE)
    assert list_codes(report) == []
    assert report.shares[-1].share == 0.0


WRONG_SAMPLES = [
    ("unknown_id", {"reference_context_ids": ["cellar-7"]}),
    ("other_form", {"reference_context_ids": ["PUMP_1"]}),
    ("other_form", {"reference_context_ids": ["docs/pump-1.md"]}),
    ("other_form", {"reference_context_ids": ["pump-001"]}),
    ("old_chunks", {"reference_context_ids": ["pump-17"]}),
    ("old_chunks", {"reference_context_ids": ["pump.pdf#page=3"]}),
    ("repeated_id", {"reference_context_ids": ["pump-1", "pump-1"]}),
    (
        "other_text",
        {"reference_contexts": ["This pump was sold until 1990 and nothing else is known of it."]},
    ),
    (
        "unknown_text",
        {
            "reference_context_ids": None,
            "reference_contexts": ["Steam engines moved the first trains of the valley."],
        },
    ),
    (
        "unstated",
        {"reference": "The garden pump weighs 12 kilograms. Violins sound warmer in Cremona."},
    ),
    ("contradicts_gold", {"reference": "The garden pump weighs 19 kilograms."}),
    ("adds_nothing", {"reference_context_ids": ["pump-1", "bike-1"]}),
    ("answer_in_question", {"user_input": "The garden pump weighs 12 kilograms, does it not?"}),
    ("id_in_question", {"user_input": "How heavy is the garden pump of pump-1?"}),
    ("refusal", {"reference": "The documents do not say how heavy the pump is."}),
    ("asks", {"reference": "Which pump do you mean?"}),
    ("placeholder", {"reference": "TODO: write the answer"}),
    ("placeholder", {"reference": "{{ answer }}"}),
    ("placeholder", {"reference": "待补充"}),
]


@pytest.mark.parametrize(("code", "changes"), WRONG_SAMPLES)
def test_wrong_gold_is_named_by_its_code(code: str, changes: dict[str, object]) -> None:
    report = check(make_sample(**changes), OVEN, BIKE)
    assert list_codes(report) == [code]
    (finding,) = report.findings
    assert finding.sample == "q1"
    assert finding.fix == CODES[code].fix
    assert finding.evidence in " ".join(str(report).split()) or "…" in finding.evidence


DOUBLES = [
    "  The garden pump weighs 12 kilograms and has a HANDLE of oak. ",
    "The garden pump weighs 12 kilograms and has a handle of the oak.",
    "THE GARDEN PUMP WEIGHS 12 KILOGRAMS AND HAS A HANDLE OF OAK.",
]
FIN = "In quiet mode the compressor stops for 6 consecutive months, the first valve hums at 5 dB and the fan needs 3 x 2.5 mm."


@pytest.mark.parametrize("text", DOUBLES)
def test_double_of_gold_is_found_in_the_corpus(text: str) -> None:
    report = check(make_sample(), corpus={**CORPUS, "copy": text})
    assert list_codes(report) == ["double"]
    assert report.findings[0].items == ("pump-1", "copy")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("consecutive ", "", ["double"]),
        ("first ", "", ["double"]),
        ("3 x 2.5", "3 2.5", ["double"]),
        (FIN, FIN.upper(), ["double"]),
        # Another statement: a number is missing, a word denies.
        ("3 x 2.5", "2.5", []),
        ("5 dB and", "5 dB and not", []),
    ],
)
def test_passage_without_a_word_is_a_double(old: str, new: str, expected: list[str]) -> None:
    question = make_sample(
        user_input="How loud is it?", reference="It hums at 5 dB.", reference_context_ids=["fin-1"]
    )
    corpus = {**CORPUS, "fin-1": FIN, "fin-2": FIN.replace(old, new)}
    assert list_codes(check(question, corpus=corpus)) == expected


def test_another_number_or_name_makes_no_double() -> None:
    corpus = {
        **CORPUS,
        "pump-9": "The garden pump weighs 15 kilograms and has a handle of oak.",
        "pump-8": "The garden Kessler weighs 12 kilograms and has a handle of oak.",
    }
    # The one with another number answers the question, too.
    report = check(make_sample(), corpus=corpus)
    assert [(finding.code, finding.items) for finding in report.findings] == [
        ("two_readings", ("pump-1", "pump-9"))
    ]


def test_gold_windows_that_overlap_are_found() -> None:
    first = "Drain the boiler before winter. Then close both valves and open the small tap below."
    second = "Then close both valves and open the small tap below. Cover the boiler with a blanket."
    corpus = {**CORPUS, "b1": first, "b2": second}
    sample = make_sample(reference=f"{first} {second}", reference_context_ids=["b1", "b2"])
    assert list_codes(check(sample, corpus=corpus)) == ["overlap"]


def test_id_that_was_not_retrieved_is_not_called_missing() -> None:
    sample = make_sample(
        reference_context_ids=["cellar-7"],
        retrieved_contexts=[CORPUS["pump-1"]],
        retrieved_context_ids=["pump-1"],
    )
    report = check(sample, corpus=None)
    assert "unknown_id" not in list_codes(report)
    assert any("--corpus" in note for note in report.notes)


def test_hole_is_what_was_retrieved_and_useful() -> None:
    both = "The garden pump weighs 12 kilograms. Its motor is guaranteed for three years."
    sample = make_sample(
        reference=both,
        retrieved_contexts=[CORPUS["bike-1"], CORPUS["pump-2"], CORPUS["pump-1"]],
        retrieved_context_ids=["bike-1", "pump-2", "pump-1"],
    )
    report = check(sample)
    assert [(finding.code, finding.items) for finding in report.findings] == [("hole", ("pump-2",))]
    labelled = {**sample, "labels": {"context_useful": [0, 0, 1]}}
    assert list_codes(check(labelled)) == []


def test_text_with_most_of_the_reference_is_a_hole() -> None:
    """The gold has all of its words, too: without it, one of the two would be called missing."""
    text = "As the maker says, the garden pump weighs 12 kilograms."
    sample = make_sample(
        retrieved_contexts=[CORPUS["bike-1"], text, CORPUS["pump-1"]],
        retrieved_context_ids=["bike-1", "letter", "pump-1"],
    )
    report = check(sample)
    assert [(finding.code, finding.items) for finding in report.findings] == [("hole", ("letter",))]


def test_passage_that_holds_the_gold_text_is_no_hole() -> None:
    sample = Sample(
        user_input="How heavy is the pump?",
        reference="The garden pump weighs 12 kilograms.",
        reference_contexts=["The garden pump weighs 12 kilograms"],
        retrieved_context_ids=["pump-1"],
        retrieved_contexts=[CORPUS["pump-1"]],
    )
    assert list_codes(check_gold([sample], corpus=CORPUS)) == []


def test_passage_with_words_of_the_question_alone_is_no_hole() -> None:
    corpus = {
        "ferry": "The ferry leaves Port Hale at 7:15 and reaches Skerry Island after 50 minutes.",
        "fog": "In heavy fog the crossing is cancelled, and tickets stay valid for seven days.",
        **CORPUS,
    }
    sample = make_sample(
        user_input="How long does the crossing take?",
        reference="The crossing takes 50 minutes.",
        reference_context_ids=["ferry"],
        retrieved_context_ids=["ferry", "fog"],
    )
    assert list_codes(check(sample, corpus=corpus)) == []


def test_unit_elsewhere_in_the_gold_hides_no_rival() -> None:
    text = "The pump is serviced every year. The pump and its hoses are covered for 2 years."
    sample = make_sample(reference="The pump is covered for 9 years.", reference_context_ids=["pump-3"])
    assert "contradicts_gold" in list_codes(check(sample, corpus={**CORPUS, "pump-3": text}))


def test_year_has_no_rival_but_another_year() -> None:
    corpus = {**CORPUS, "pump-3": "The garden pump number 12 has a handle of oak."}
    sample = make_sample(
        reference="In 2018 the garden pump had a handle of oak.", reference_context_ids=["pump-3"]
    )
    assert "contradicts_gold" not in list_codes(check(sample, corpus=corpus))
    corpus["pump-3"] = "In 2016 the garden pump had a handle of oak."
    assert "contradicts_gold" in list_codes(check(sample, corpus=corpus))


def make_run_sample(number: int, gold: list[str]) -> Sample:
    names = ["pump-2", "oven-2", "bike-1", "oven-1", "pump-1"]
    return Sample(
        id=f"r{number}",
        user_input=f"Question {number}?",
        reference_context_ids=gold,
        retrieved_context_ids=names,
    )


def test_gold_of_all_questions_that_is_the_first_results() -> None:
    samples = [make_run_sample(number, ["pump-2", "oven-2"]) for number in range(10)]
    report = check_gold(samples, corpus=CORPUS)
    (run,) = report.runs
    assert (run.run, run.equal, run.questions) == ("retrieved", 10, 10)
    assert "recall is 1 by construction" in str(report)
    assert {finding.code for finding in report.findings} == {"first_results"}
    assert report.shares[-1].questions == 10


@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        # "bike-1" states nothing of the reference.
        (["pump-1", "bike-1"], ["adds_nothing", "first_results"]),
        (["bike-1", "oven-1", "pump-1"], ["adds_nothing"]),
    ],
)
def test_first_results_with_one_that_the_answer_does_not_need(
    retrieved: list[str], expected: list[str]
) -> None:
    sample = Sample(
        user_input="How heavy is it?",
        reference="The garden pump weighs 12 kilograms.",
        reference_context_ids=["bike-1", "pump-1"],
        retrieved_context_ids=retrieved,
    )
    report = check_gold([sample], corpus=CORPUS)
    assert [finding.code for finding in report.findings] == expected


def test_first_results_in_their_order_are_no_chance_elsewhere() -> None:
    samples = [make_run_sample(number, ["bike-1", "pump-1"]) for number in range(9)]
    samples.append(make_run_sample(9, ["pump-2", "oven-2", "bike-1"]))
    report = check_gold(samples, corpus=CORPUS)
    assert [finding.sample for finding in report.findings] == ["r9"]
    assert report.runs[0].equal == 1


PAGE = {
    "page-1": "The garden pump weighs 12 kilograms and has a handle of oak.",
    "page-2": "The garden pump of oak weighs more than the pump of pine.",
    "page-3": "The handle of the garden pump is guaranteed for three years.",
}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        # Pages 2 and 3 repeat words of page 1 and add none.
        ("The garden pump weighs 12 kilograms and has a handle of oak.", ["first_results"]),
        (
            "The pump weighs 12 kilograms. It weighs more than that of pine. Guaranteed for three years.",
            [],
        ),
    ],
)
def test_first_results_in_the_order_of_ids_add_something(reference: str, expected: list[str]) -> None:
    sample = Sample(
        user_input="What is said about it?",
        reference=reference,
        reference_context_ids=[*PAGE],
        retrieved_context_ids=[*PAGE, "oven-1"],
    )
    codes = list_codes(check_gold([sample], corpus={**CORPUS, **PAGE}))
    assert [code for code in codes if code == "first_results"] == expected


def test_order_of_the_ids_is_no_chance_where_other_gold_has_none() -> None:
    names = ["bike-1", "oven-1", "oven-2", "pump-1", "pump-2"]
    first = Sample(
        id="first",
        user_input="Which parts?",
        reference_context_ids=names[:3],
        retrieved_context_ids=names,
    )
    # Gold of another question, in no order: the order of the first one is that of the ranks.
    unsorted = make_run_sample(1, ["pump-1", "oven-1", "bike-1"])
    other = make_run_sample(2, ["oven-2", "oven-1", "bike-1"])
    assert list_codes(check_gold([first, unsorted, other], corpus=CORPUS)) == ["first_results"]
    in_order = make_run_sample(1, ["bike-1", "oven-1", "pump-1"])
    assert list_codes(check_gold([first, in_order], corpus=CORPUS)) == []


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        # All but one are among the first results, and most say nothing of the pump's weight.
        (["bike-1", "pump-1", "oven-2"], ["adds_nothing", "first_results"]),
        (["pump-1", "oven-2", "pump-2"], ["adds_nothing"]),
    ],
)
def test_gold_that_is_the_first_results_but_one(gold: list[str], expected: list[str]) -> None:
    sample = Sample(
        user_input="How heavy is it?",
        reference="The garden pump weighs 12 kilograms.",
        reference_context_ids=gold,
        retrieved_context_ids=["bike-1", "pump-1", "oven-1", "none-1", "none-2"],
    )
    report = check_gold([sample], corpus=CORPUS)
    assert [finding.code for finding in report.findings] == expected


def test_first_results_are_wrong_if_another_passage_answers() -> None:
    sample = Sample(
        user_input="How heavy is it?",
        reference="The garden pump weighs 12 kilograms.",
        reference_context_ids=["bike-1", "oven-1", "oven-2"],
        retrieved_context_ids=["bike-1", "oven-1", "oven-2", "pump-2"],
    )
    codes = list_codes(check_gold([sample], corpus=CORPUS))
    assert codes == ["stated_elsewhere", "first_results"]
    unstated = Sample(**{**sample.to_dict(), "reference": "Its mass is a dozen."})
    assert "first_results" not in list_codes(check_gold([unstated], corpus=CORPUS))


def test_run_in_another_file_is_joined_by_id_or_question() -> None:
    samples = [make_sample(id=None), OVEN]
    run = [
        {"user_input": OVEN["user_input"], "retrieved_context_ids": ["oven-1", "pump-1"]},
        {"user_input": make_sample()["user_input"], "retrieved_context_ids": ["bike-1", "pump-1"]},
    ]
    report = check_gold(samples, corpus=CORPUS, runs={"bm25": run}, progress=False)
    assert [(item.run, item.questions, item.equal) for item in report.runs] == [("bm25", 2, 1)]


def test_question_asked_twice_with_different_gold() -> None:
    copy = make_sample(id="q9", reference="It has eight gears.", reference_context_ids=["bike-1"])
    report = check(make_sample(), OVEN, copy)
    assert [(finding.code, finding.sample) for finding in report.findings] == [
        ("repeated_question", "q9"),
        ("other_subject", "q9"),
    ]
    assert list_codes(check(make_sample(), make_sample(id="q9"))) == []


def test_one_text_under_two_ids_is_no_different_gold() -> None:
    corpus = {**CORPUS, "copy-1": CORPUS["pump-1"].lower()}
    reference = make_sample()["reference"].lower()
    copy = make_sample(id="q9", reference=reference, reference_context_ids=["copy-1"])
    assert {*list_codes(check(make_sample(), copy, corpus=corpus))} == {"double"}


def test_passage_that_the_gold_names_in_another_form_is_no_hole() -> None:
    sample = make_sample(
        reference_context_ids=["PUMP-1"], retrieved_context_ids=["pump-1"], retrieved_contexts=None
    )
    assert list_codes(check(sample)) == ["other_form"]


def test_polite_words_make_no_other_question() -> None:
    asked = f"Hello, can you please tell me: {make_sample()['user_input']}"
    copy = make_sample(
        id="q9",
        user_input=asked,
        reference="It has eight gears.",
        reference_context_ids=["bike-1"],
    )
    report = check(make_sample(), OVEN, copy)
    codes = [finding.code for finding in report.findings]
    assert codes == ["repeated_question", "other_subject"]


@pytest.mark.parametrize(
    ("reference", "is_other"),
    [
        ("12 kg", False),
        ("It weighs 12 kilograms, with its handle.", False),
        ("The garden pump weighs 14 kilograms.", True),
    ],
)
def test_answer_in_other_words_is_the_same_gold(reference: str, is_other: bool) -> None:
    report = check(make_sample(), OVEN, make_sample(id="q9", reference=reference))
    codes = {finding.code for finding in report.findings}
    assert ("repeated_question" in codes) is is_other


def test_reference_of_another_question_is_named() -> None:
    wrong = {**OVEN, "reference": "The garden pump weighs 12 kilograms."}
    report = check(make_sample(), wrong, BIKE)
    assert ("repeated_reference", "q2") in [(item.code, item.sample) for item in report.findings]
    assert "q1" not in {item.sample for item in report.findings}


def test_one_of_two_offered_answers_is_no_finding() -> None:
    sample = make_sample(
        user_input="Does the pump weigh 12 kilograms or 15 kilograms?", reference="12 kilograms"
    )
    assert list_codes(check(sample)) == []


def test_labelled_question_without_an_answer_is_right() -> None:
    sample = make_sample(
        reference="The documents do not say this.",
        reference_context_ids=[],
        labels={"unanswerable": 1},
    )
    assert list_codes(check(sample, OVEN)) == []


def test_samples_that_expect_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="no sample expects anything"):
        check_gold([Sample(user_input="?")])


def test_run_without_the_questions_is_refused() -> None:
    with pytest.raises(ParameterError, match="has none of the questions"):
        check_gold([make_sample()], runs={"old": [Sample(id="other", user_input="?")]})


def test_handbook_passes_its_own_check() -> None:
    """One reference uses other words on purpose. Holes are contexts that people called useful, and the gold leaves out."""
    report = check_gold(HANDBOOK, progress=False)
    useful: set[tuple[str, str]] = set()
    for line in HANDBOOK.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        labels = row["labels"]["context_useful"]
        pairs = zip(row["retrieved_context_ids"], labels, strict=True)
        useful.update((row["id"], id_) for id_, label in pairs if label)
    unexplained: list[tuple[str, str]] = []
    for finding in report.findings:
        is_labelled = finding.code == "hole" and (finding.sample, finding.items[0]) in useful
        if not is_labelled:
            unexplained.append((finding.sample, finding.code))
    assert unexplained == [("hb-24", "unstated")]
    with_finding = {finding.sample for finding in report.findings}
    # The page of the examples explains each of them.
    explained = {"hb-07", "hb-08", "hb-16", "hb-17", "hb-24", "hb-33", "hb-36"}
    assert with_finding == explained


def test_number_with_another_unit_is_a_word_of_the_gold() -> None:
    """The gold gives the age without a unit."""
    gold = "Ibe, 19, broke through early in the season, and came to the first team before a fall at training."
    sample = make_sample(
        user_input="Who is Ibe?",
        reference="The 19-year-old entered the first team before falling injured.",
        reference_context_ids=["ibe"],
    )
    assert list_codes(check(sample, corpus={**CORPUS, "ibe": gold})) == []
    with_other_age = {
        **sample,
        "reference": "The 23-year-old entered the first team before falling injured.",
    }
    assert list_codes(check(with_other_age, corpus={**CORPUS, "ibe": gold})) == ["unstated"]


def test_handbook_passes_its_own_check_with_a_corpus() -> None:
    """A search over all passages finds one more passage that helps, and one reference context has other words than its id."""
    samples = [Sample(**json.loads(line)) for line in HANDBOOK.read_text(encoding="utf-8").splitlines()]
    corpus: dict[str, str] = {}
    for sample in samples:
        ids = (*(sample.retrieved_context_ids or ()), *(sample.reference_context_ids or ()))
        texts = (*(sample.retrieved_contexts or ()), *(sample.reference_contexts or ()))
        corpus.update(zip(ids, texts, strict=True))
    retriever = BM25(read_corpus(corpus), k=10)
    run: list[dict[str, object]] = []
    for sample in samples:
        documents = retriever(sample.user_input or "")
        ids = tuple(document["id"] for document in documents)
        run.append({"id": sample.id, "retrieved_context_ids": ids})
    report = check_gold(samples, corpus=corpus, runs={"bm25": run}, progress=False)
    alone = check_gold(samples, progress=False)
    explained = {(item.sample, item.code, item.items) for item in alone.findings}
    others = {(item.sample, item.code, item.items) for item in report.findings} - explained
    assert others == {
        ("hb-13", "hole", ("hb:control:10",)),
        ("hb-15", "other_text", ("hb:control:03",)),
    }


def test_command_prints_findings_as_text_and_json(tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(
        "\n".join(json.dumps(item) for item in (make_sample(reference="TBD"), OVEN)), encoding="utf-8"
    )
    corpus = tmp_path / "corpus.jsonl"
    rows = ({"id": id_, "text": text} for id_, text in CORPUS.items())
    corpus.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    text = ctxmetrics("check-gold", samples, "--corpus", corpus)
    assert text.returncode == 0, text.stderr
    assert "q1 [placeholder]" in text.stdout
    assert "no request is sent" in text.stderr
    data = json.loads(ctxmetrics("check-gold", samples, "--corpus", corpus, "--format", "json").stdout)
    assert [finding["code"] for finding in data["findings"]] == ["placeholder"]
    assert {share["kind"]: share["questions"] for share in data["shares"]}["any"] == 1
    wrong = ctxmetrics("check-gold", samples, "--run", "bm25")
    assert wrong.returncode == 2
    assert "NAME=FILE" in wrong.stderr


def test_holes_bound_recall_and_precision() -> None:
    both = "The garden pump weighs 12 kilograms. Its motor is guaranteed for three years."
    names = ["bike-1", "pump-2", "oven-2", "pump-1"]
    sample = make_sample(
        reference=both,
        reference_context_ids=["pump-1", "oven-1"],
        retrieved_contexts=[CORPUS[name] for name in names],
        retrieved_context_ids=names,
        labels={"context_useful": [0, None, None, 1]},
    )
    (bounds,) = check(sample).holes
    # One of two gold passages among four results; pump-2 would be a third one.
    assert (bounds.holes, bounds.recall, bounds.precision) == (1, 1 / 2, 1 / 4)
    assert (bounds.recall_with_holes, bounds.precision_with_holes) == (2 / 3, 2 / 4)
    assert bounds.judged == 2 / 4  # the gold one, and the one that a person called useless


def test_questions_that_decide_between_runs_are_counted() -> None:
    golds = [["a1"], ["a2"], ["a3"], ["a4"]]
    corpus = {f"a{number}": f"Passage {'abcdefghijklmnopqrstuvwxyz'[number]}." for number in range(26)}
    samples = [
        Sample(id=f"{number}", user_input=f"Matter {number}?", reference_context_ids=gold)
        for number, gold in enumerate(golds)
    ]
    first = [["a1"], ["a2"], ["a9"], ["a9"]]
    second = [["a1"], ["a9"], ["a9"], ["a4"]]
    runs = {
        name: [
            Sample(id=f"{number}", user_input=f"Matter {number}?", retrieved_context_ids=ids)
            for number, ids in enumerate(results)
        ]
        for name, results in (("one", first), ("two", second))
    }
    deciding = check_gold(samples, corpus=corpus, runs=runs, progress=False).deciding
    assert deciding is not None
    assert (deciding.questions, deciding.all_right, deciding.all_wrong) == (4, 1, 1)
    assert deciding.by_words == 0
    assert deciding.pairs == {"one and two": 2}


def test_page_of_findings_escapes_what_others_wrote(tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    wrong = make_sample(reference="TBD", user_input="<script>alert(1)</script> How heavy is it?")
    samples.write_text(f"{json.dumps(wrong)}\n{json.dumps(OVEN)}\n", encoding="utf-8")
    page = tmp_path / "gold.html"
    run = ctxmetrics("check-gold", samples, "--report", page, "--title", "Gold of May")
    assert run.returncode == 0, run.stderr
    text = page.read_text(encoding="utf-8")
    assert "<h1>Gold of May</h1>" in text
    assert "<h2>questions and references: 1</h2>" in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<script>alert" not in text


WRONG_SOURCES = [Sample(user_input="?", reference="Red."), {"user_input": "?"}, 5, b"samples.jsonl"]


@pytest.mark.parametrize("source", WRONG_SOURCES)
def test_source_that_is_no_list_of_samples_is_refused(source: Any) -> None:
    with pytest.raises(ParameterError, match="check_gold: samples must be several samples"):
        check_gold(source)
    with pytest.raises(ParameterError, match="check_gold: run 'a': samples must be several samples"):
        check_gold([make_sample()], runs={"a": source})


def test_runs_without_names_are_refused() -> None:
    runs: Any = [[make_sample()]]
    with pytest.raises(ParameterError, match="runs must be a mapping"):
        check_gold([make_sample()], runs=runs)
    with pytest.raises(ParameterError, match="Give the run another name"):
        check_gold([make_sample()], runs={"retrieved": [make_sample()]})


@pytest.mark.parametrize("sample", [0, -1, 2.5])
def test_audit_of_no_question_is_refused(tmp_path: Path, sample: Any) -> None:
    with pytest.raises(ParameterError, match="check_gold: sample="):
        check_gold([make_sample()], audit=tmp_path / "audit.jsonl", sample=sample)


def test_lexical_judge_by_its_call_compares_words(caplog: pytest.LogCaptureFixture) -> None:
    announced: list[str] = []
    named = check_gold(
        [make_sample()],
        corpus=CORPUS,
        judge="lexical:min_coverage=0.6",
        announce=announced.append,
        progress=False,
    )
    assert announced == ["1 question to judge: no request is sent"]
    assert named.judge is not None
    assert named.judge.startswith("lexical")
    assert not caplog.records


def test_ids_of_another_number_than_texts_are_compared() -> None:
    results = {
        "retrieved_contexts": [CORPUS["pump-1"], CORPUS["oven-2"]],
        "retrieved_context_ids": ["pump-1", "bike-1", "oven-2"],
    }
    own = check(make_sample(**results))
    (run,) = own.runs
    assert (run.questions, run.equal) == (1, 1)
    report = check_gold(
        [make_sample()], corpus=CORPUS, runs={"a": [make_sample(**results)]}, progress=False
    )
    (run,) = report.runs
    assert (run.questions, run.equal) == (1, 1)


def test_hole_has_no_id_if_ids_and_texts_differ_in_number() -> None:
    hole = "The garden pump weighs 12 kilograms, says its plate."
    sample = make_sample(
        reference_context_ids=["oven-1"],
        retrieved_contexts=["The ladder is in the cellar.", hole],
        retrieved_context_ids=["ladder", "oven-1", "plate"],
    )
    holes = [item for item in check(sample, corpus=None).findings if item.code == "hole"]
    assert len(holes) == 1
    assert hole in holes[0].evidence


def make_result(id_: str | None, found: str) -> Sample:
    question = "How heavy is the garden pump?"
    return Sample(id=id_, user_input=question, retrieved_context_ids=[found])


@pytest.mark.parametrize("ids", [["pump-1", "oven-1"], ["oven-1", "pump-1"]])
def test_question_with_two_results_in_a_run_is_refused(ids: list[str]) -> None:
    run = [make_result(None, id_) for id_ in ids]
    with pytest.raises(ParameterError, match=r"run 'a' has the question 'How heavy .* twice"):
        check_gold([make_sample(id=None)], corpus=CORPUS, runs={"a": run}, progress=False)


REPEATED_QUESTIONS = [
    ([None, None], ["pump-1", "pump-1"], 2),
    (["q1", "q2"], ["pump-1", "oven-1"], 1),
]


@pytest.mark.parametrize(("ids", "results", "equal"), REPEATED_QUESTIONS)
def test_repeated_questions_of_a_run_are_joined(
    ids: list[str | None], results: list[str], equal: int
) -> None:
    run = [make_result(id_, found) for id_, found in zip(ids, results, strict=True)]
    samples = [make_sample(id=id_) for id_ in ids]
    report = check_gold(samples, corpus=CORPUS, runs={"a": run}, progress=False)
    assert (report.runs[0].questions, report.runs[0].equal) == (2, equal)


@pytest.mark.parametrize("text", [" ", ".", "-"])
def test_gold_without_a_word_hides_no_hole(text: str) -> None:
    sample = make_sample(
        reference_context_ids=None,
        reference_contexts=[CORPUS["oven-1"], text],
        retrieved_contexts=["The well-known garden pump weighs 12 kilograms."],
    )
    assert "hole" in list_codes(check(sample, corpus=None))

"""Notes about the ids and labels of a run: where they appear, and where they must not."""

from __future__ import annotations

import json
import pickle
from time import process_time

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    NonLLMContextRecall,
    Results,
    Sample,
    compare,
    evaluate,
)
from ctxmetrics.scores.label_notes import Labels
from support.command import run_command

COLOURS = ("red", "blue", "green", "grey", "white", "black", "brown", "pink")


def over_ids(pairs: list[tuple[list[str], list[str]]]) -> Results:
    samples = [
        Sample(id=str(number), retrieved_context_ids=found, reference_context_ids=wanted)
        for number, (found, wanted) in enumerate(pairs)
    ]
    return evaluate(samples, [IDBasedContextRecall()], progress=False)


def notes(pairs: list[tuple[list[str], list[str]]]) -> tuple[str, ...]:
    return over_ids(pairs).summary().notes


# --- ids that were never retrieved ---


@pytest.mark.parametrize(
    ("wanted", "found", "way"),
    [
        ("doc_{}#c0", "doc_{}", "with the end of the reference ids cut they would match: doc_0#c0 and doc_0, doc_1#c0 and doc_1"),
        ("doc_{}", "doc_{}:12", "with the end of the retrieved ids cut they would match: doc_0 and doc_0:12"),
        ("kb/en/doc_{}", "doc_{}", "with the beginning of the reference ids cut they would match: kb/en/doc_0 and doc_0"),
        ("doc_{}", "https://kb.example/doc_{}", "with the beginning of the retrieved ids cut they would match: doc_0 and"),
        ("{}", "doc{}", "with the beginning of the retrieved ids cut they would match: 0 and doc0, 1 and doc1"),
        ("{}p", "{}", "with the end of the reference ids cut they would match: 0p and 0"),
        ("DOC-{}", "doc-{}", "in one case they would match: DOC-0 and doc-0"),
        ("00{}", "{}.0", "as numbers they would match: 000 and 0.0"),
        ("a{}", "b{}", "no cut, case or form of a number would match them"),
    ],
)  # fmt: skip
def test_labels_that_meet_no_id_are_named_with_what_would_match(
    wanted: str, found: str, way: str
) -> None:
    (note,) = notes([([found.format(number)], [wanted.format(number)]) for number in range(30)])
    assert note.startswith("no reference id was ever retrieved, in 30 samples; ")
    assert way in note


@pytest.mark.parametrize(
    ("wanted", "found", "way"),
    [
        ("{}.0", "{}", "as numbers they would match: 7.0 and 7"),  # a column of pandas with a hole
        ("d{} ", "d{}", "without blanks around them they would match: d7 and d7"),
        ("D{}", "d{}", "in one case they would match: D7 and d7"),
        ("d{}#c0", "d{}", None),  # a cut may be chance in one sample
        ("a{}", "b{}", None),
    ],
)
def test_in_few_samples_only_a_sure_change_is_named(wanted: str, found: str, way: str | None) -> None:
    said = notes([([found.format(7), "x"], [wanted.format(7)])])
    assert len(said) == (0 if way is None else 1)
    if way is not None:
        assert said[0] == f"no reference id was ever retrieved, in 1 sample; {way}"


def test_in_few_samples_a_cut_that_matches_each_is_named() -> None:
    (note,) = notes([([f"kb/d{number}", "x"], [f"d{number}"]) for number in (1, 2)])
    assert "with the beginning of the retrieved ids cut they would match: d1 and kb/d1" in note
    assert notes([(["kb/d1"], ["d1"]), (["kb/d2"], ["d7"])]) == ()


@pytest.mark.parametrize(
    ("label", "retrieved", "way"),
    [
        ("D9", "d9", "in one case they would match: D9 and d9"),
        ("d9 ", "d9", "without blanks around them they would match: d9 and d9"),
        ("100000", "1E+05", "as numbers they would match: 100000 and 1E+05"),
    ],
)
def test_one_id_in_another_form_is_named(label: str, retrieved: str, way: str) -> None:
    pairs = [([f"d{number}"], [f"d{number}"]) for number in range(8)]
    (note,) = notes([*pairs, ([retrieved], [label])])
    assert note == (
        "1 of 9 reference ids were retrieved for no sample; 1 of 9 samples have such labels; " + way
    )


def test_labels_of_a_part_are_counted() -> None:
    """Of 30 samples 20 have labels of an index that was built anew."""
    pairs = [([f"new{n}"], [f"old{n}" if n < 20 else f"new{n}"]) for n in range(30)]
    (note,) = notes(pairs)
    assert note.startswith(
        "20 of 30 reference ids were retrieved for no sample; 20 of 30 samples have such labels"
    )


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([([f"d{n}"], [f"d{(n + 7) % 30}"]) for n in range(30)], id="a legal zero on a hard set"),
        pytest.param([([f"d{n}", "x"], [f"d{n}", f"old{n}"]) for n in range(30)], id="half is no more than half"),
        pytest.param([([f"{n}"], [f"doc_{n}#c0"]) for n in range(3)], id="three samples"),
        pytest.param([([str(n), str(n + 1)], [str(n)]) for n in range(30)], id="numbers as ids"),
        pytest.param([([f"a#char={n},9{n}"], [f"a#char={n},8{n}"]) for n in range(9)], id="spans"),
        pytest.param([([], [f"d{n}"]) for n in range(30)], id="nothing was retrieved"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_labels_that_meet_their_index(
    pairs: list[tuple[list[str], list[str]]],
) -> None:
    assert notes(pairs) == ()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("doc_{}", "page_{}"),  # the numbers alone would match: two cuts
        ("{}", "1{}"),  # a digit is no part of its own
        ("ab{}", "b{}"),  # nor is a letter
        ("report", "report_{}"),  # all would be one
        ("a-{}-x", "b-{}-y"),
        ("{}", "2{}.5"),
    ],
)
def test_ids_that_really_differ_match_in_no_way(wanted: str, found: str) -> None:
    (note,) = notes([([found.format(n)], [wanted.format(n)]) for n in range(10, 40)])
    assert note.endswith(
        "no cut, case or form of a number would match them: are these labels of this index?"
    )


# --- labels that repeat what was retrieved ---


def told(**changed: object) -> tuple[str, ...]:
    samples = [
        Sample(
            **{
                "reference": f"The pump is {colour}.",
                "response": f"It is {colour}.",
                "retrieved_contexts": [f"Of pump {colour}: it is loud."],
                "reference_contexts": [f"The {colour} pump."],
                **{name: [text.format(colour) for text in value] if isinstance(value, list) else value.format(colour)
                   for name, value in changed.items()},  # type: ignore[attr-defined]
            }
        )
        for colour in COLOURS
    ]  # fmt: skip
    metrics = [ContextRecall(), NonLLMContextRecall()]
    return evaluate(samples, metrics, judge=LexicalJudge(), progress=False).summary().notes


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"reference_contexts": ["Of pump {}: it is loud."]}, "the reference contexts are the retrieved contexts"),
        ({"reference": "Of pump {}: it is loud."}, "the whole reference is one of the retrieved contexts"),
        ({"response": "The pump is {}."}, "the response is the reference"),
    ],
)  # fmt: skip
def test_labels_that_repeat_a_text_in_every_sample_are_named(
    changed: dict[str, object], note: str
) -> None:
    assert told(**changed) == (f"{note}, in all 8 samples: such labels prove nothing",)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"reference": "it is loud."},  # word for word, but a part
        {"response": "The pump is {}"},
        {"reference_contexts": ["Of pump {}: it is loud.", "Another."]},
        {
            "retrieved_contexts": ["The pump is {}. It is loud."],
            "response": "The pump is {}. It is loud.",
        },
    ],
)
def test_texts_that_are_quoted_are_no_circle(changed: dict[str, object]) -> None:
    assert told(**changed) == ()


def test_one_sample_that_differs_and_a_run_of_four_say_nothing() -> None:
    same = [Sample(retrieved_contexts=[text], reference_contexts=[text]) for text in COLOURS]
    other = Sample(retrieved_contexts=["x"], reference_contexts=["y"])
    for samples in ([*same, other], [other, *same], same[:4]):
        assert evaluate(samples, [NonLLMContextRecall()], progress=False).summary().notes == ()


# --- where they are shown ---


def test_they_stand_in_table_json_page_and_command(tmp_path) -> None:
    results = over_ids([([f"doc_{n}"], [f"doc_{n}#c0"]) for n in range(30)])
    summary, note = results.summary(), "no reference id was ever retrieved"
    assert f"labels: {note}" in str(summary)
    assert summary.to_dict()["notes"] == list(summary.notes)
    results.to_html(tmp_path / "page.html")
    assert note in (tmp_path / "page.html").read_text(encoding="utf-8")
    results.to_jsonl(tmp_path / "run.jsonl")
    assert Results.from_jsonl(tmp_path / "run.jsonl").summary().notes == summary.notes
    lines = [json.dumps(row.sample.to_dict()) for row in results if row.sample]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = run_command("score", str(tmp_path / "samples.jsonl"), "--metric", "id_based_context_recall")
    assert note in done.stdout


def test_ids_of_strangers_do_not_act_in_a_terminal() -> None:
    (note,) = notes([([f"\x1b[2Jd{n}"], [f"\x1b[2JD{n}"]) for n in range(9)])
    assert "\x1b" not in note


# --- two runs ---


def run_of(ids: str, text: str, wanted: str = "d{}", many: int = 60) -> Results:
    samples = [
        Sample(
            id=f"q{n}",
            user_input=f"question {n}",
            reference=f"Pump {n} was built in {1900 + n}.",
            retrieved_contexts=[text.format(n, 1900 + n)],
            retrieved_context_ids=[ids.format(n)],
            reference_context_ids=[wanted.format(n)],
        )
        for n in range(many)
    ]
    metrics = [ContextRecall(), IDBasedContextRecall()]
    return evaluate(samples, metrics, judge=LexicalJudge(), progress=False)


SAYS, SILENT = "Pump {} was built in {}.", "Nothing is said about it: {} {} days."


@pytest.mark.parametrize("written", [False, True])
def test_rebuilt_index_is_reported_without_losses(tmp_path, *, written: bool) -> None:
    before, after = run_of("d{}", SAYS), run_of("n{}", SAYS)
    if written:
        after.to_jsonl(tmp_path / "after.jsonl")
        before.to_jsonl(tmp_path / "before.jsonl")
        before, after = (Results.from_jsonl(tmp_path / f"{name}.jsonl") for name in ("before", "after"))
    found = compare(before, after)
    text = str(found)
    assert "another index, or other ids: of 60 retrieved ids 0 are in both runs" in text
    assert "second run only: no reference id was ever retrieved, in 60 samples" in text
    assert (found.worst, found.lost) == ((), ())
    assert "context_recall: no difference shown" in text or found["context_recall"].difference == 0


def test_fifty_units_lost_by_a_true_regression_are_named() -> None:
    before, after = run_of("d{}", SAYS), run_of("d{}", SILENT)
    assert len(compare(before, after).lost) == 60
    rebuilt = compare(before, run_of("n{}", SILENT))
    assert len(rebuilt.lost) == 60  # verdicts about texts stand, whatever the ids
    assert {held.retrieved_by_both for unit in rebuilt.lost for held in unit.contexts} == {None}
    assert {item.metric for item in rebuilt.worst} == {"context_recall"}


def test_ids_with_another_text_are_counted_and_not_missing() -> None:
    found = compare(run_of("d{}", SAYS), run_of("d{}", SILENT))
    assert "another text under 60 of 60 ids of both runs: d0, d1" in found.notes
    assert {held.retrieved_by_both for unit in found.lost for held in unit.contexts} == {None}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(("d{}", SAYS), ("d{}", SAYS), id="the same"),
        pytest.param(
            ("d{}", SAYS, "x{}"), ("d{}", SAYS, "x{}"), id="both have the labels of another index"
        ),
        pytest.param(("d{}", SAYS, "d{}", 6), ("n{}", SAYS, "d{}", 4), id="few"),
    ],
)
def test_nothing_is_said_of_two_runs_over_one_index(before: tuple, after: tuple) -> None:
    assert [
        note
        for note in compare(run_of(*before), run_of(*after)).notes
        if "run only" in note or "another" in note
    ] == []


def test_another_retriever_over_the_same_index_keeps_its_losses() -> None:
    """It finds the neighbour of what is wanted: half of the ids are in both runs, and each loss is one."""
    before = run_of("d{}", SAYS)
    other = [
        Sample(
            id=f"q{n}",
            user_input=f"question {n}",
            reference=f"Pump {n} was built in {1900 + n}.",
            retrieved_contexts=[SAYS.format((n + 30) % 90, 1900 + (n + 30) % 90)],
            retrieved_context_ids=[f"d{(n + 30) % 90}"],
            reference_context_ids=[f"d{n}"],
        )
        for n in range(60)
    ]
    metrics = [ContextRecall(), IDBasedContextRecall()]
    found = compare(before, evaluate(other, metrics, judge=LexicalJudge(), progress=False))
    assert found.notes == ()
    assert {item.metric for item in found.worst} == {"context_recall", "id_based_context_recall"}
    assert {held.retrieved_by_both for unit in found.lost for held in unit.contexts} == {False}


# --- texts that are not what their fields say ---

QUESTION = "How long is the guarantee?"
ANSWER = "The guarantee runs for three years."
OTHER = "The pump stands in the cellar."


def notes_of_texts(contexts: list[str], reference: str = ANSWER) -> tuple[str, ...]:
    sample = Sample(user_input=QUESTION, reference=reference, retrieved_contexts=contexts)
    return evaluate([sample], [ContextRecall()], progress=False).summary().notes


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (f"{OTHER} Score: .55", f"{ANSWER} Score: .91", "Score"),
        (f"Score: 0.55\n{OTHER}", f"Score: 0.91\n{ANSWER}", "Score"),
        (f"(similarity 0.12) {OTHER}", f"(similarity 0.91) {ANSWER}", "similarity"),
        (f"{OTHER} (distance=0.62)", f"{ANSWER} (distance=0.21)", "distance"),
        (f"Rank 2: {OTHER}", f"Rank 1: {ANSWER}", "Rank"),
        (f"{OTHER} [Punktzahl: 0,12]", f"{ANSWER} [Punktzahl: 0,91]", "Punktzahl"),
        (f"[2] {OTHER}", f"[1] {ANSWER}", "the number"),
        (f"(0.12) {OTHER}", f"(0.91) {ANSWER}", "the score"),
    ],
)
def test_an_order_that_stands_in_the_texts_is_named(first: str, second: str, name: str) -> None:
    (note,) = notes_of_texts([first, second])
    assert note.startswith(f"the order of the list counts, whatever {name} in the texts may say")
    assert notes_of_texts([second, first]) == ()


@pytest.mark.parametrize(
    "contexts",
    [
        [f"Article 12: {OTHER}", f"Article 5: {ANSWER}"],
        [f"{OTHER} The score was 3.", ANSWER],
        [f"In 2019 {OTHER}", f"In 2012 {ANSWER}"],
        [f"12. {OTHER}", f"5. {ANSWER}"],
    ],
)
def test_numbers_that_say_no_order_are_not_named(contexts: list[str]) -> None:
    assert notes_of_texts(contexts) == ()


@pytest.mark.parametrize(
    "reference",
    ["manual.pdf, p. 3", "https://docs.example.org/guarantee", "doc_12", "kb/en/guarantee.md"],
)
def test_a_reference_that_names_a_document_is_named(reference: str) -> None:
    assert "1 reference is an address, a file or an id" in notes_of_texts([ANSWER], reference)[0]


@pytest.mark.parametrize("reference", ["GPT-4", "Paris", "12 May 2024", "state-of-the-art", "3:1"])
def test_a_short_answer_is_no_address(reference: str) -> None:
    assert notes_of_texts([ANSWER], reference) == ()


def test_an_address_that_a_context_states_is_an_answer() -> None:
    assert notes_of_texts(["The page is https://example.org/a."], "https://example.org/a") == ()


def test_references_that_are_labels_are_named() -> None:
    samples = [Sample(reference=label, retrieved_contexts=[ANSWER]) for label in ("1", "0")]
    (note,) = evaluate(samples, [ContextRecall()], progress=False).summary().notes
    assert note.startswith("all references are labels (0, 1)")
    assert notes_of_texts(["There is 1 pump."], "1") == ()


def test_several_answers_in_one_reference_are_named() -> None:
    (note,) = notes_of_texts([ANSWER], "The guarantee runs for three years | It lasts 36 months")
    assert note.startswith("1 reference with several texts in one")


def test_a_prompt_in_place_of_passages_is_named() -> None:
    prompt = f"Use the context.\n{OTHER}\n{ANSWER}\nQuestion: {QUESTION}\nAnswer:"
    assert notes_of_texts([prompt])[0].startswith(
        "1 sample with one context that ends with the question"
    )
    assert notes_of_texts([f"{QUESTION} {ANSWER}"]) == ()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("docs/a.pdf", "./docs/a.pdf"),
        ("docs/a.pdf", "docs\\a.pdf"),
        ("https://x.org/a", "https://x.org/a/"),
    ],
)
def test_ids_with_other_marks_are_named_for_one_sample(wanted: str, found: str) -> None:
    (note,) = notes([([found, "b"], [wanted])])
    assert note.endswith(
        f"with the same marks between their words they would match: {wanted} and {found}"
    )


def test_numbers_that_a_sheet_cut_are_named() -> None:
    (note,) = notes([(["1.23457E+11", "5"], ["1.23457E+11"])])
    assert note.startswith("1 id is a number without the last digits, such as 1.23457E+11")


@pytest.mark.parametrize(
    ("reference", "start"),
    [
        (f'"{ANSWER}" (p. 12)', "1 reference ends with a source in brackets"),
        (f"{ANSWER} [see manual.pdf]", "1 reference ends with a source in brackets"),
        ("TODO", "1 reference is still to be written"),
        ("See above.", "1 reference is still to be written"),
    ],
)
def test_what_is_no_part_of_an_answer_is_named(reference: str, start: str) -> None:
    assert notes_of_texts([ANSWER], reference)[0].startswith(start)
    assert notes_of_texts([ANSWER], f"{ANSWER} (three of them)") == ()


def test_word_of_a_context_is_an_answer_and_no_placeholder() -> None:
    assert notes_of_texts(["The button starts a test."], "Test") == ()
    assert notes_of_texts([ANSWER], "Test")[0].startswith("1 reference is still to be written")
    assert "still to be written" not in " ".join(notes_of_texts([ANSWER], "N/A"))


# --- what the notes keep ---


def test_reference_ids_are_kept_once() -> None:
    """A run of a million rows over few documents keeps numbers, not a text for each row."""
    labels = Labels()
    for number in range(3000):
        ids = [f"a document with a long name, number {number % 7 + step}" for step in range(3)]
        labels.add_ids(ids[:1], ids)
    assert len(labels.wanted) == 3000
    assert len(labels.wanted.numbers) == 9
    assert len(pickle.dumps(labels)) < 3000 * 40


def test_labels_of_an_earlier_pickle_are_read() -> None:
    labels = Labels()
    wanted = [("a", "b"), ("b",), ()]
    labels.__setstate__((None, {"wanted": wanted, "retrieved": {"a"}, "answers": {1: {2}, 3: {4, 5}}}))
    assert [*labels.answers.questions] == [1, 3, 3]
    assert {*labels.answers.references} == {2, 4, 5}
    assert labels.answers.count_alternatives() == 2
    labels.__setstate__((None, {"answers": {1: 2, 3: 4}, "several_answers": {3: {4, 5, 6}}}))
    assert labels.answers.count_alternatives() == 3
    assert list(labels.wanted.numbers) == ["a", "b"]
    assert labels.wanted.count_samples_with(["b"]) == 2
    assert len(labels.wanted) == 3


def test_one_question_with_several_references_is_named() -> None:
    """Each reference stands in a sample of its own, and one of them in two samples."""
    labels = Labels()
    for number, reference in enumerate(["Paris.", "Rome.", "Rome.", "Bonn."]):
        labels.add(Sample(user_input="Where?", reference=reference, retrieved_contexts=["A text."]))
        labels.add(Sample(user_input=f"Is {number} even?", reference="No.", retrieved_contexts=["A."]))
    assert not [note for note in labels.describe(embedded_judge=False) if "another reference" in note]
    for reference in ["Oslo.", "Kyiv.", "Lima.", "Riga."]:
        labels.add(Sample(user_input="Where?", reference=reference, retrieved_contexts=["A text."]))
    notes = " ".join(labels.describe(embedded_judge=False))
    assert "7 of 12 samples have the question and contexts of another one" in notes
    assert labels.answers.count_alternatives() == 7


def test_a_row_with_a_question_takes_sixteen_bytes() -> None:
    labels = Labels()
    for number in range(3000):
        labels.add(
            Sample(user_input=f"{number}?", reference=f"{number}.", retrieved_contexts=["A text."])
        )
    kept = labels.answers
    assert len(kept.questions) == len(kept.references) == 3000
    assert kept.questions.itemsize + kept.references.itemsize == 16
    # The 17th byte of each sample is room for all other fields of the labels.
    assert len(pickle.dumps(labels)) < 3000 * 17


# A set of the two ends of a text has another order in each run of Python: 20 texts would show it.
@pytest.mark.parametrize("number", range(20))
def test_the_number_at_the_beginning_of_a_text_counts(number: int) -> None:
    first = f"Rank: 1. {number} {OTHER * 3} Score: 0.3"
    second = f"Rank: 2. {number} {OTHER * 2} {ANSWER} Score: 0.9"
    assert notes_of_texts([first, second]) == ()


def test_an_id_of_many_zeros_costs_no_time() -> None:
    labels = Labels()
    for number in range(5):
        labels.add_ids(["a"], ["0" * 10_000 + "x" * number])
    start = process_time()
    (note,) = labels.describe_never_retrieved()
    assert process_time() - start < 2  # 8 seconds when each zero was tried as the first of the number
    assert note.startswith("no reference id was ever retrieved, in 5 samples")


@pytest.mark.parametrize("reference_id", ["007", "7.0", "7.00", "000007", "7E+00"])
def test_numbers_with_zeros_are_one_number(reference_id: str) -> None:
    labels = Labels()
    labels.add_ids(["7"], [reference_id])
    (note,) = labels.describe_never_retrieved()
    assert note.endswith(f"as numbers they would match: {reference_id} and 7")

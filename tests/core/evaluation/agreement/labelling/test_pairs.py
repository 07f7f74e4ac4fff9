"""One labelling of two runs: what is drawn, what is asked, and what `compare` reads of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, Sample, evaluate
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.agreement.labelling.draw import LabelsFile
from ctxmetrics.evaluation.agreement.labelling.pairs import (
    CHANGED,
    UNCHANGED,
    draw_pairs,
    list_first_keys,
    read_pairs,
)
from ctxmetrics.evaluation.agreement.labelling.session import Session
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.rows.people_answers import apply_labels
from ctxmetrics.evaluation.rows.rows_file import read_rows
from ctxmetrics.evaluation.rows.sample_record import key_of
from support.command import run_command
from support.labelling import LabelProcess

PARIS, TOWER, BERLIN = (
    "Paris is the capital of France.",
    "The tower is 330 metres tall.",
    "Berlin is a city.",
)
FULL = [PARIS, TOWER, BERLIN]
METRICS = [ContextRecall(), ContextPrecision()]


def sample(number: int, contexts: list[str], **fields: object) -> Sample:
    texts = {"reference": f"{PARIS} {TOWER}", "user_input": f"Question {number}?", **fields}
    return Sample(id=f"n{number}", retrieved_contexts=contexts, **texts)


def write_run(path: Path, samples, *, keep_texts: bool = True, metrics=METRICS) -> Path:
    evaluate(samples, metrics, progress=False).to_jsonl(path, keep_texts=keep_texts)
    return path


def write_samples(path: Path, samples) -> Path:
    path.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in samples), encoding="utf-8")
    return path


def two_runs(folder: Path, size: int, changed: int, **options) -> tuple[Path, Path]:
    """Write two runs; the second one lost the tower in the first few samples."""
    before = [sample(number, FULL) for number in range(size)]
    after = [sample(number, [PARIS, BERLIN] if number < changed else FULL) for number in range(size)]
    return (
        write_run(folder / "a.jsonl", before, **options),
        write_run(folder / "b.jsonl", after, **options),
    )


def label(*arguments: object, typed: str = ""):
    return CliRunner().invoke(app, ["label", "--terminal", *map(str, arguments)], input=typed)


@pytest.mark.parametrize(
    ("size", "changed", "n", "expected"),
    [
        (60, 9, 12, (6, 6)),  # ceil(12 / 2): two metrics are labelled
        (60, 3, 12, (3, 9)),  # no more changed
        (60, 30, 13, (7, 6)),  # ceil(13 * 30 / 60)
        (60, 0, 12, (0, 12)),
        (12, 12, 5, (5, 0)),
        (12, 11, 5, (4, 1)),  # one that did not change, although ceil(5 * 11 / 12) is 5
        (12, 5, 40, (5, 7)),
        (12, 11, 1, (1, 0)),
    ],
)
def test_changed_samples_are_drawn_more_often(tmp_path, size, changed, n, expected):
    pairs = read_pairs(*two_runs(tmp_path, size, changed))
    drawn = draw_pairs(pairs, n, seed=1)
    strata = Counter(pairs.strata[key] for key in list_first_keys(drawn, pairs))
    assert (strata[CHANGED], strata[UNCHANGED]) == expected
    sizes = {CHANGED: changed, UNCHANGED: size - changed}
    for item in drawn.drawn:
        assert item.stratum_size == sizes[item.stratum]
        assert item.weight == sizes[item.stratum] / strata[item.stratum]


def test_pair_draw_repeats_by_seed_and_grows(tmp_path):
    pairs = read_pairs(*two_runs(tmp_path, 60, 20))
    small, again = draw_pairs(pairs, 12, seed=5), draw_pairs(pairs, 12, seed=5)
    assert small == again
    assert small.drawn != draw_pairs(pairs, 12, seed=6).drawn
    large = draw_pairs(pairs, 20, seed=5, earlier=small)
    assert list_first_keys(large, pairs)[:12] == list_first_keys(small, pairs)
    assert [item.key for item in large.drawn][: len(small.drawn)] == [item.key for item in small.drawn]
    with pytest.raises(ParameterError, match="n=0 must be 1 or more"):
        draw_pairs(pairs, 0, seed=1)


def test_either_run_stands_first_about_equally_often(tmp_path):
    """Of 40 changed samples all are drawn; 20 first, five standard deviations are 16."""
    pairs = read_pairs(*two_runs(tmp_path, 40, 40))
    drawn = draw_pairs(pairs, 40, seed=3).drawn
    first = sum(item.key in pairs.partners for item in drawn[::2])
    assert 4 < first < 36


def test_change_of_any_labelled_metric_counts(tmp_path):
    """Sample 1 changes its order only, so only precision changes; sample 2 changes its ids only."""
    ids = {"reference_context_ids": ["x"], "retrieved_context_ids": ["x", "y", "z"]}
    before = [sample(number, FULL, **ids) for number in range(3)]
    other_ids = {**ids, "retrieved_context_ids": ["u", "v", "w"]}
    after = [before[0], sample(1, [BERLIN, PARIS, TOWER], **ids), sample(2, FULL, **other_ids)]
    metrics = [*METRICS, IDBasedContextRecall()]
    runs = [
        write_run(tmp_path / name, samples, metrics=metrics)
        for name, samples in (("a.jsonl", before), ("b.jsonl", after))
    ]
    pairs = read_pairs(*runs)
    assert [pairs.strata[key_of(item)] for item in before] == [UNCHANGED, CHANGED, UNCHANGED]


def test_only_shared_samples_with_texts_are_drawn(tmp_path):
    before = [sample(number, FULL) for number in range(4)]
    after = [sample(number, FULL) for number in range(2, 6)]
    runs = write_run(tmp_path / "a.jsonl", before), write_run(tmp_path / "b.jsonl", after)
    assert {key[0] for key in read_pairs(*runs).partners} == {"n2", "n3"}
    others = write_run(tmp_path / "c.jsonl", [sample(9, FULL)])
    with pytest.raises(ParameterError, match="no sample in common"):
        read_pairs(runs[0], others)
    ids = {"reference_context_ids": ["x"], "retrieved_context_ids": ["x"]}
    by_id = [
        write_run(
            tmp_path / name,
            [Sample(id="n1", reference=PARIS, retrieved_contexts=FULL, **ids)],
            metrics=[IDBasedContextRecall()],
        )
        for name in ("d.jsonl", "e.jsonl")
    ]
    with pytest.raises(ParameterError, match="no metric in common that people's labels correct"):
        read_pairs(*by_id)


def test_samples_without_ids_are_joined_by_question(tmp_path):
    before = [replace(sample(number, FULL), id=None) for number in range(3)]
    after = [replace(sample(number, [PARIS] if number else FULL), id=None) for number in range(3)]
    runs = write_run(tmp_path / "a.jsonl", before), write_run(tmp_path / "b.jsonl", after)
    pairs = read_pairs(*runs)
    assert [pairs.strata[key_of(item)] for item in before] == [UNCHANGED, CHANGED, CHANGED]
    assert [pairs.partners[key_of(item)] for item in before] == [key_of(item) for item in after]


@pytest.mark.parametrize("baseline", [False, True])
def test_texts_come_from_the_files_of_samples(tmp_path, baseline):
    before = [sample(number, FULL) for number in range(6)]
    after = [sample(number, [PARIS] if number < 3 else FULL) for number in range(6)]
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    write_run(b, after, keep_texts=False)
    if baseline:
        evaluate(before, METRICS, progress=False).to_baseline(a)
    else:
        write_run(a, before, keep_texts=False)
    with pytest.raises(
        InputFileError, match=r"a\.jsonl: sample 'n0' has no texts there\. Score with --keep-texts"
    ):
        read_pairs(a, b)
    with pytest.raises(InputFileError, match=r"b\.jsonl: sample 'n0' is not in the files of samples"):
        read_pairs(a, b, before)
    pairs = read_pairs(a, b, [*before, *after])
    assert Counter(pairs.strata.values()) == {CHANGED: 3, UNCHANGED: 3}
    files = write_samples(tmp_path / "A.jsonl", before), write_samples(tmp_path / "B.jsonl", after)
    run = label("--compare", a, b, *files, "--n", 2, "--seed", 1, typed="y\n" * 40)
    assert run.exit_code == 0, run.stderr
    assert "3 of 6 samples changed; 1 of these and 1 of the others are drawn" in run.stderr
    done = run_command("compare", a, b, "--labels", f"{b}.labels.jsonl")
    assert done.returncode == 0, done.stderr


def begin(folder: Path, before: list[str], after: list[str], **options) -> Session:
    """Begin a session about one sample of two runs, the first run's version first."""
    runs = (
        write_run(folder / "a.jsonl", [sample(1, before)]),
        write_run(folder / "b.jsonl", [sample(1, after)]),
    )
    pairs = read_pairs(*runs)
    file = LabelsFile(folder / "labels.jsonl")
    for seed in range(20):
        drawn = draw_pairs(pairs, 1, seed=seed)
        if drawn.drawn[0].key in pairs.partners:
            break
    file.begin(drawn)
    return Session(
        pairs.samples, file, annotator="me", partners=pairs.partners, run=pairs.rows, **options
    )


def open_items(session: Session) -> list[str]:
    return [
        session.questions[number].item
        for number, answer in enumerate(session._list_answers())
        if answer is None
    ]


@pytest.mark.parametrize(
    ("before", "after", "answer", "named", "settled"),
    [
        (FULL, [PARIS, BERLIN], "yes", ["c1"], "yes"),  # the context that states it is in both
        (FULL, [TOWER, BERLIN], "yes", ["c1"], None),  # it is gone
        (
            FULL,
            [PARIS, BERLIN],
            "yes",
            [],
            None,
        ),  # some context states it, perhaps the one that is gone
        ([PARIS], FULL, "yes", [], "yes"),
        (FULL, [BERLIN], "no", [], "no"),
        ([BERLIN], FULL, "no", [], None),
        (FULL, [], "no", [], "no"),
        (FULL, [BERLIN, TOWER, PARIS], "cannot_say", [], "cannot_say"),
        (FULL, [BERLIN], "cannot_say", [], None),
    ],
)
def test_what_an_answer_settles_is_not_asked_again(tmp_path, before, after, answer, named, settled):
    session = begin(tmp_path, before, after, labels=("unit_supported",))
    session.answer(0, answer, named)
    assert session._list_answers() == [answer, None, settled, None]


def test_context_of_both_runs_is_asked_about_once(tmp_path):
    session = begin(tmp_path, FULL, [BERLIN, PARIS], labels=("context_useful",))
    for number, answer in enumerate(("yes", "cannot_say", "no")):
        session.answer(number, answer)
    assert session._list_answers() == ["yes", "cannot_say", "no", "no", "yes"]
    assert session.next_after(-1) is None


def test_a_changed_answer_opens_what_it_had_settled(tmp_path):
    session = begin(tmp_path, [PARIS], FULL, labels=("unit_supported",))
    session.answer(0, "yes")
    session.answer(0, "no")
    assert session._list_answers() == ["no", None, "skipped", None]


def test_person_does_not_see_which_run_it_is(tmp_path):
    session = begin(tmp_path, FULL, [PARIS, BERLIN])
    shown = [session.show(number) for number in range(len(session.questions))]
    assert {item["name"] for item in shown} == {"n1"}
    texts = json.dumps(shown)
    assert not any(word in texts for word in ("a.jsonl", "b.jsonl", "first", "second", "before"))
    # The verdict on request is that of the run which retrieved the contexts.
    tower = [n for n, question in enumerate(session.questions) if question.item == "s2"]
    assert [session.verdict(number).partition(".")[0] for number in tower] == ["yes", "no"]


def test_labels_of_both_runs_reach_the_comparison(tmp_path):
    a, b = two_runs(tmp_path, 30, 9)
    # Asked about changed samples: yes to every sentence and context; what is implied is not asked.
    run = label("--compare", a, b, "--n", 6, "--seed", 2, typed="y\n" * 200)
    assert run.exit_code == 0, run.stderr
    path = Path(f"{b}.labels.jsonl")
    assert f"next: ctxmetrics compare {a} {b} --labels {path}" in run.stdout
    rows = apply_labels([path], [[*read_rows(a)], [*read_rows(b)]])
    for run_rows in rows:
        labels = [row.sample.labels for row in run_rows if row.sample.labels]
        assert len(labels) == 6
        strata = Counter((item["stratum"], item["stratum_size"], item["weight"]) for item in labels)
        assert strata == {(CHANGED, 9, 3.0): 3, (UNCHANGED, 21, 7.0): 3}
    done = run_command("compare", a, b, "--labels", path, "--format", "json")
    (recall,) = [
        item for item in json.loads(done.stdout)["metrics"] if item["name"] == "context_recall"
    ]
    assert recall["corrected"]["labelled"] == 6
    assert recall["corrected"]["people"] == 0.0


def test_two_files_about_parts_of_a_sample_make_one(tmp_path):
    """Every other answer stands in a file of its own: none is lost where the later file has no answer."""
    a, b = two_runs(tmp_path, 4, 4)
    assert label("--compare", a, b, "--n", 3, "--seed", 2, typed="y\n" * 200).exit_code == 0
    path = Path(f"{b}.labels.jsonl")
    draw, *answers = path.read_text(encoding="utf-8").splitlines(keepends=True)
    halves = [tmp_path / "even.jsonl", tmp_path / "odd.jsonl"]
    for number, half in enumerate(halves):
        half.write_text("".join([draw, *answers[number::2]]), encoding="utf-8")
    runs = [[*read_rows(a)], [*read_rows(b)]]
    labels = [
        [[row.sample.labels for row in rows] for rows in apply_labels(paths, runs)]
        for paths in ([path], halves, halves[::-1])
    ]
    assert len(answers) > 6
    assert labels[0] == labels[1] == labels[2]


def test_same_pair_command_continues_its_draw(tmp_path):
    a, b = two_runs(tmp_path, 12, 4)
    path = Path(f"{b}.labels.jsonl")
    assert label("--compare", a, b, "--n", 3, "--seed", 4, typed="y\n" * 3).exit_code == 0
    begun = LabelsFile(path)
    assert label("--compare", a, b, typed="y\n").exit_code == 0
    assert LabelsFile(path).draw == begun.draw
    assert len(LabelsFile(path).answers) > len(begun.answers)
    more = label("--compare", a, b, "--n", 40)
    assert "note: 12 samples are drawn, not 40: there are no more that can be labelled" in more.stderr
    assert "was begun with --seed 4" in str(label("--compare", a, b, "--seed", 5).exception)


def test_pair_options_that_do_not_fit_are_refused(tmp_path):
    a, b = two_runs(tmp_path, 4, 1)
    assert "give one FILE of samples, or two runs" in str(label().exception)
    assert "give one FILE of samples, or two runs" in str(label(a, b).exception)
    by = label("--compare", a, b, "--by", "metadata.topic")
    assert "Leave --by out" in str(by.exception)
    single = write_samples(tmp_path / "s.jsonl", [sample(number, FULL) for number in range(4)])
    labels = tmp_path / "l.jsonl"
    assert label(single, "--labels", labels, "--n", 2, typed="q\n").exit_code == 0
    mixed = label("--compare", a, b, "--labels", labels)
    assert "was begun without it" in str(mixed.exception)


def test_unchanged_runs_say_what_labels_can_show(tmp_path):
    a, b = two_runs(tmp_path, 5, 0)
    run = label("--compare", a, b, "--n", 3, typed="q\n")
    assert "0 of 5 samples changed; 0 of these and 3 of the others are drawn" in run.stderr
    assert "labels can only show what the judge missed" in run.stderr


@pytest.mark.slow
def test_page_serves_the_questions_of_both_runs(tmp_path):
    a, b = two_runs(tmp_path, 2, 2)
    with LabelProcess(None, "--compare", str(a), str(b), "--seed", "1") as process:
        question = process.ask("question")
        assert (question["questions"], question["samples"]) == (2 * (2 + 3 + 2 + 2), 4)
        process.ask("answer", {"number": 0, "answer": "yes", "contexts": ["c1"]})
        assert process.ask("question?number=0")["answer"] == "yes"
        assert process.ask("question")["open"] == 16


GATE = ("--max-drop", "context_recall=0.02")


@pytest.fixture(scope="module")
def ten_losses(tmp_path_factory):
    """Two runs that the gate refuses: the judge sees ten losses of .5 in 100 samples."""
    a, b = two_runs(tmp_path_factory.mktemp("runs"), 100, 10)
    assert run_command("compare", a, b, *GATE).returncode == 1
    return a, b


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 10, 25, 40])
@pytest.mark.parametrize("truthful", [True, False])
def test_labels_of_changed_samples_decide_the_gate(ten_losses, tmp_path, n, truthful):
    """People say the same as the judge, or that nothing was lost."""
    a, b = ten_losses
    pairs = read_pairs(a, b)
    file = LabelsFile(tmp_path / "labels.jsonl")
    file.begin(draw_pairs(pairs, n, seed=7))
    session = Session(pairs.samples, file, annotator="me", partners=pairs.partners, run=pairs.rows)
    number = session.next_after(-1)
    while number is not None:
        says_yes = not truthful or session.verdict(number).startswith("yes")
        session.answer(number, "yes" if says_yes else "no")
        number = session.next_after(number)
    done = run_command("compare", a, b, *GATE, "--labels", file.path)
    assert done.returncode == (1 if truthful or n < 10 else 0), done.stdout + done.stderr

"""Labelling by hand: the draw, the questions, the file of answers, the server, and the terminal as a real process."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctxmetrics import ContextPrecision, ContextRecall, Sample, evaluate
from ctxmetrics.errors import (
    InputFileError,
    MissingFieldError,
    OutputFileError,
    ParameterError,
    SampleError,
)
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.agreement.labelling.draw import (
    LabelsFile,
    can_be_labelled,
    draw,
    list_questions,
    read_labelled,
    samples_by_key,
)
from ctxmetrics.evaluation.agreement.labelling.session import Session
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.rows.people_answers import PeopleAnswers, read_answers
from ctxmetrics.evaluation.rows.sample_record import key_of
from support.command import run_command
from support.labelling import LabelProcess
from support.rows import read_rows

REFERENCE = "Paris is the capital of France. The tower is 330 metres tall."
CONTEXTS = ["Berlin is a city.", "Paris is the capital of France."]


def sample(number: int, topic: str = "a", **fields: object) -> Sample:
    given = {
        "reference": REFERENCE,
        "retrieved_contexts": CONTEXTS,
        "user_input": f"Question {number}?",
        **fields,
    }
    return Sample(id=f"n{number}", metadata={"topic": topic}, **given)


def many(size: int, rare: int = 0) -> dict:
    """So many samples by key, of which the last have a rare topic."""
    return samples_by_key(
        sample(number, "rare" if number >= size - rare else "common") for number in range(size)
    )


def written(folder: Path, samples, name: str = "data.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in samples), encoding="utf-8")
    return file


def answers_in(file: Path) -> list[dict]:
    lines = file.with_name(file.name + ".labels.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if "draw" not in json.loads(line)]


def session(folder: Path, samples, *, annotator: str = "me", **options) -> Session:
    """A session over all samples, in the order of a draw."""
    keyed = samples_by_key(samples)
    file = LabelsFile(folder / "labels.jsonl")
    if file.draw is None:
        file.begin(draw(keyed, len(keyed), seed=1))
    return Session(keyed, file, annotator=annotator, **options)


# ---- the draw ----


def test_same_seed_draws_the_same_from_a_shuffled_file():
    samples = many(100)
    items = list(samples.items())
    random.Random(5).shuffle(items)
    one, other = draw(samples, 20, seed=7), draw(dict(items), 20, seed=7)
    assert one == other
    assert len({item.key for item in one.drawn}) == 20
    assert one.drawn != draw(samples, 20, seed=8).drawn
    assert {item.weight for item in one.drawn} == {5.0}


def test_every_sample_is_drawn_equally_often_and_stands_anywhere():
    """Draws of 2 of 4 by 1,200 seeds: each is in 600 of them, and first in 300; five standard deviations are 75 or less."""
    samples = many(4)
    drawn, first = Counter(), Counter()
    for seed in range(1200):
        keys = [one.key for one in draw(samples, 2, seed=seed).drawn]
        drawn.update(keys)
        first.update(keys[:1])
    assert all(abs(drawn[key] - 600) < 87 for key in samples)
    assert all(abs(first[key] - 300) < 75 for key in samples)


def test_where_there_are_fewer_all_are_drawn():
    found = draw(many(3), 50, seed=1)
    assert (len(found.drawn), found.samples, {one.weight for one in found.drawn}) == (3, 3, {1.0})
    with pytest.raises(ParameterError, match="n=0 must be 1 or more"):
        draw(many(3), 0, seed=1)


def test_strata_have_equal_counts_and_weights_of_the_file():
    samples = many(100, rare=10)
    found = draw(samples, 10, seed=3, by="metadata.topic")
    weights = {one.stratum: one.weight for one in found.drawn}
    assert Counter(one.stratum for one in found.drawn) == {"common": 5, "rare": 5}
    assert weights == {"common": 90 / 5, "rare": 10 / 5}
    assert sum(one.weight for one in found.drawn) == 100
    # Scores of 1 where common, 0 where rare: the mean of the file is 0.9.
    scores = [(one.weight, one.stratum == "common") for one in found.drawn]
    assert sum(weight * score for weight, score in scores) / sum(weight for weight, _ in scores) == 0.9


def test_small_stratum_is_whole_and_keyless_samples_are_one():
    samples = samples_by_key(
        [
            *(sample(number, "common") for number in range(20)),
            sample(20, "rare"),
            Sample(id="n21", reference=REFERENCE, retrieved_contexts=CONTEXTS),
        ]
    )
    found = draw(samples, 8, seed=1, by="topic")
    assert Counter(one.stratum for one in found.drawn) == {"common": 6, "rare": 1, "": 1}
    with pytest.raises(ParameterError, match=r"no sample has 'metadata.mood'"):
        draw(samples, 8, seed=1, by="metadata.mood")


def test_a_larger_draw_goes_on_with_the_smaller_one():
    samples = many(100, rare=10)
    small = draw(samples, 10, seed=3, by="metadata.topic")
    large = draw(samples, 31, seed=3, by="metadata.topic", earlier=small)
    assert [one.key for one in large.drawn[:10]] == [one.key for one in small.drawn]
    assert Counter(one.stratum for one in large.drawn) == {"common": 21, "rare": 10}
    assert len({one.key for one in large.drawn}) == 31
    assert sum(one.weight for one in large.drawn) == pytest.approx(100)


@pytest.mark.slow
def test_only_what_can_be_scored_can_be_drawn():
    samples = [
        sample(1),
        sample(2, reference=None),
        sample(3, reference="***"),
        sample(4, retrieved_contexts=None),
        sample(5, retrieved_contexts=[]),
        sample(6, retrieved_contexts=["data:image/png;base64," + "iVBORw0KGgo" * 20]),
    ]
    assert [key[0] for key in samples_by_key(samples)] == ["n1", "n5"]
    recalls = [
        ContextRecall().score(one).value
        for one in samples
        if one.reference and one.retrieved_contexts is not None
    ]
    assert [value is not None for value in recalls] == [True, False, True, False]
    with pytest.raises(MissingFieldError, match="No sample can be labelled"):
        samples_by_key(samples[1:3])
    with pytest.raises(SampleError, match="same id"):
        samples_by_key([sample(1), sample(1, user_input="Another?")])


# ---- the questions ----


@pytest.mark.parametrize(
    "reference",
    [
        REFERENCE,
        "Mr. Fogg came at 3.5 p.m. today. He left!  ***",
        "- first item\n- second item. And more.\n3) third",
        "Башня стоит в Париже. Её высота 330 м.",
        "北京是首都。东京也是首都！",
        "กรุงเทพเป็นเมืองหลวง อยู่ในประเทศไทย",
    ],
)
def test_sentences_are_cut_as_the_metric_cuts_them(reference):
    one = sample(1, reference=reference)
    asked = list_questions(key_of(one), one)
    units = [(verdict.id, verdict.text) for verdict in ContextRecall().score(one).verdicts]
    contexts = [verdict.id for verdict in ContextPrecision().score(one).verdicts]
    assert [(item.item, item.text) for item in asked if item.label == "unit_supported"] == units
    assert [item.item for item in asked if item.label == "context_useful"] == contexts


def test_the_marked_sentence_stands_where_it_stands(tmp_path):
    found = session(tmp_path, [sample(1)])
    shown = [found.show(number) for number in range(4)]
    assert shown[0]["reference"] == [
        "",
        "Paris is the capital of France.",
        " The tower is 330 metres tall.",
    ]
    assert shown[1]["reference"] == [
        "Paris is the capital of France. ",
        "The tower is 330 metres tall.",
        "",
    ]
    assert [(one["label"], one["item"]) for one in shown[2:]] == [
        ("context_useful", "c1"),
        ("context_useful", "c2"),
    ]
    assert "".join(shown[2]["reference"]) == REFERENCE


def test_skipped_questions_come_last_and_unsayable_ones_never(tmp_path):
    found = session(tmp_path, [sample(1)])
    found.answer(0, "skipped")
    found.answer(1, "cannot_say")
    assert (found.next_after(1), found.next_after(-1)) == (2, 2)
    found.answer(2, "yes")
    found.answer(3, "no")
    assert found.next_after(3) == 0
    found.answer(0, "yes")
    assert found.next_after(0) is None
    assert found.counts() == {
        "questions": 4,
        "yes": 2,
        "no": 1,
        "cannot_say": 1,
        "skipped": 0,
        "open": 0,
    }


def test_directions_and_controls_are_shown_as_what_they_are(tmp_path):
    text = "safe \u202egnp.exe\u202c \x1b[31m\u2066end"
    found = session(
        tmp_path, [sample(1, user_input=text, retrieved_contexts=[text], reference=f"One {text}.")]
    )
    shown = json.dumps(found.show(0), ensure_ascii=False)
    assert "safe \ufffdgnp.exe\ufffd \ufffd[31m\ufffdend" in shown
    assert not set("\u202e\u202c\x1b\u2066") & set(shown)


# ---- the file ----


def test_an_answer_is_on_the_disk_before_the_next_question(tmp_path, monkeypatch):
    found = session(tmp_path, [sample(1)])
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_size), real(file)))
    found.answer(0, "yes", ["c2"])
    lines = (tmp_path / "labels.jsonl").read_bytes()
    assert (tmp_path / "labels.jsonl").stat().st_mode & 0o777 == 0o600
    assert synced == [len(lines)]
    assert json.loads(lines.splitlines()[1]) == {
        "sample_id": "n1",
        "hash": key_of(sample(1))[1],
        "label": "unit_supported",
        "item": "s1",
        "text": "Paris is the capital of France.",
        "answer": "yes",
        "contexts": ["c2"],
        "annotator": "me",
        "weight": 1.0,
        "verdict_shown": False,
    }


def test_what_cannot_be_written_is_taken_back_and_said(tmp_path, monkeypatch):
    found = session(tmp_path, [sample(1)])
    found.answer(0, "yes")
    before = (tmp_path / "labels.jsonl").read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OutputFileError, match=r"labels.jsonl cannot be written: No space"):
            found.answer(1, "no")
    assert (tmp_path / "labels.jsonl").read_bytes() == before
    assert found.next_after(0) == 1
    found.answer(1, "no")
    assert len(LabelsFile(tmp_path / "labels.jsonl").answers) == 2


def test_half_a_last_line_is_no_answer_and_is_cut_off(tmp_path):
    session(tmp_path, [sample(1)]).answer(0, "yes")
    path = tmp_path / "labels.jsonl"
    with path.open("ab") as file:
        file.write(b'{"sample_id": "n1", "hash": "')
    again = session(tmp_path, [sample(1)])
    assert again.next_after(-1) == 1
    again.answer(1, "no")
    assert [one.answer for one in LabelsFile(path).answers.values()] == ["yes", "no"]


def test_two_people_with_one_file_lose_nothing(tmp_path):
    one, other = session(tmp_path, [sample(1)]), session(tmp_path, [sample(1)], annotator="you")
    one.answer(0, "yes")
    other.answer(0, "no")
    one.answer(1, "no")
    other.answer(1, "no")
    assert len(LabelsFile(tmp_path / "labels.jsonl").answers) == 4


def test_a_draw_that_a_kill_cut_short_is_made_again(tmp_path):
    for rest in (b"", b'{"draw": {"seed": 1, "by": nul'):
        (tmp_path / "labels.jsonl").write_bytes(rest)
        session(tmp_path, [sample(1)]).answer(0, "yes")
        assert len(LabelsFile(tmp_path / "labels.jsonl").answers) == 1


@pytest.mark.parametrize(
    "content",
    [
        '{"user_input": "mine"}\n',
        "precious notes",
        '{"draw": {}, "drawn": []}\n',
        "[1, 2]\n",
        "1\n",
        "[" * 100_000 + "\n",
        '{"draw": {"seed": 1, "by": null, "samples": 1}, "drawn": [{"sample_id": "a", "hash": "b", "stratum": null, "weight": NaN}]}\n',
    ],
)
def test_a_file_that_holds_anything_else_is_left_alone(tmp_path, content):
    data = written(tmp_path, [sample(1)])
    path = tmp_path / "mine.txt"
    path.write_text(content)
    run = CliRunner().invoke(
        app, ["label", str(data), "--labels", str(path), "--terminal"], input="y\n"
    )
    assert isinstance(run.exception, InputFileError)
    assert "mine.txt, line 1: this is no line of labels" in str(run.exception)
    assert path.read_text() == content


def test_samples_file_holds_no_labels_and_labels_no_results(tmp_path):
    data = written(tmp_path, [sample(1)])
    before = data.read_bytes()
    assert run_command("label", data, "--labels", data, "--terminal").returncode == 2
    assert data.read_bytes() == before
    run_command("label", data, "--terminal", typed="y\n")
    labels = data.with_name("data.jsonl.labels.jsonl")
    before = labels.read_bytes()
    run = run_command("score", data, "--out", labels)
    assert (run.returncode, labels.read_bytes()) == (2, before)


# ---- from the answers to labels ----


def test_answers_become_the_labels_that_agree_reads(tmp_path):
    found = session(tmp_path, [sample(1), sample(2)])
    place = {(item.key[0], item.item): number for number, item in enumerate(found.questions)}
    for (name, item), answer in {
        ("n1", "s1"): "yes",
        ("n1", "s2"): "cannot_say",
        ("n1", "c1"): "no",
        ("n1", "c2"): "skipped",
        ("n2", "c2"): "skipped",
    }.items():
        found.answer(place[name, item], answer)
    found.answer(place["n1", "s1"], "no")  # thought better of it
    given = [sample(1, labels={"unit_supported": [True, True], "mood": "good"}), sample(2), sample(3)]
    read = read_labelled(given, read_answers(tmp_path / "labels.jsonl"))
    assert [one.id for one in read] == ["n1", "n2", "n3"]
    assert read[0].to_dict()["labels"] == {
        "mood": "good",
        "unit_supported": [False, None],
        "context_useful": [False, None],
    }
    assert (read[1].labels, read[2].labels) == ({}, {})


def test_majority_of_people_counts_and_a_tie_is_no_label(tmp_path):
    for name, said in {"a": ("yes", "yes"), "b": ("yes", "no"), "c": ("no", "cannot_say")}.items():
        one = session(tmp_path, [sample(1)], annotator=name)
        for number, answer in enumerate(said):
            one.answer(number, answer)
    path = tmp_path / "labels.jsonl"
    (read,) = read_labelled([sample(1)], read_answers(path))
    assert list(read.labels["unit_supported"]) == [True, None]
    (read,) = read_labelled([sample(1)], read_answers(path), annotator="b")
    assert list(read.labels["unit_supported"]) == [True, False]
    with pytest.raises(ParameterError, match=r"'d': .* only of 'a', 'b', 'c'"):
        read_labelled([sample(1)], read_answers(path), annotator="d")


def test_empty_retrieval_counts_as_far_as_the_person_came(tmp_path):
    """Its precision is 0 without a question; without it, the labelled samples would be no random part."""
    samples = [
        sample(number, retrieved_contexts=[] if number % 2 else CONTEXTS) for number in range(20)
    ]
    one = session(tmp_path, samples, labels=("context_useful",))
    assert len(one.questions) == 20
    order = [item.key[0] for item in one.file.draw.drawn]
    last = one.show(9)["name"]
    for number in range(10):
        one.answer(number, "yes")
    read = read_labelled(samples, read_answers(tmp_path / "labels.jsonl"))
    reached = order[: order.index(last) + 1]
    empty = [name for name in reached if int(name[1:]) % 2]
    assert empty
    assert {item.id for item in read if item.labels} == set(reached)
    assert all(item.to_dict()["labels"] == {"context_useful": []} for item in read if item.id in empty)
    (found,) = agree(read, progress=False).corrections
    assert (found.labelled, found.people_mean) == (len(reached), pytest.approx(5 / len(reached)))


def test_weights_are_handed_on_where_they_differ(tmp_path):
    samples = [sample(number, "rare" if number == 9 else "common") for number in range(10)]
    keyed = samples_by_key(samples)
    file = LabelsFile(tmp_path / "labels.jsonl")
    file.begin(draw(keyed, 4, seed=1, by="metadata.topic"))
    one = Session(keyed, file, annotator="me")
    for number in range(len(one.questions)):
        one.answer(number, "yes")
    assert {answer.weight for answer in file.answers.values()} == {3.0, 1.0}
    read = read_labelled(samples, read_answers(tmp_path / "labels.jsonl"))
    assert sorted(item.labels["weight"] for item in read if item.labels) == [1.0, 3.0, 3.0, 3.0]


def test_weight_of_a_sample_follows_replaced_labels(tmp_path):
    """A draw of all samples has equal weights: what the samples said before is not about it."""
    samples = [sample(n, labels={"unit_supported": [True, None], "weight": 9.0 - n}) for n in range(2)]
    one = session(tmp_path, samples)
    for number in range(len(one.questions)):
        one.answer(number, "yes" if one.show(number)["name"] == "n0" else "no")
    read = read_labelled(samples, read_answers(tmp_path / "labels.jsonl"))
    assert all("weight" not in item.labels for item in read)
    found = agree(samples, labels=tmp_path / "labels.jsonl", progress=False)
    assert {item.people_mean for item in found.corrections} == {0.5}


def test_labels_of_other_texts_are_refused(tmp_path):
    session(tmp_path, [sample(1)]).answer(0, "yes")
    path = tmp_path / "labels.jsonl"
    with pytest.raises(InputFileError, match="sample 'n1' has other texts now"):
        read_labelled([sample(1, retrieved_contexts=["Others."])], read_answers(path))
    with pytest.raises(InputFileError, match="sample 'n1' is not among the samples"):
        read_labelled([sample(2)], read_answers(path))
    with pytest.raises(ParameterError, match="was drawn from other samples: 'n1'"):
        session(tmp_path, [sample(1, user_input="Another?")])
    lines = path.read_text(encoding="utf-8")
    path.write_text(lines.replace('"text":"Paris is', '"text": "Rome is'), encoding="utf-8")
    with pytest.raises(
        InputFileError, match="the reference of sample 'n1' is cut into other sentences now"
    ):
        read_labelled([sample(1)], read_answers(path))


def test_only_ties_are_an_error_that_says_so(tmp_path):
    for name, answer in {"ann": "yes", "bob": "no"}.items():
        session(tmp_path, [sample(1)], annotator=name).answer(0, answer)
    with pytest.raises(InputFileError, match="as many people say yes as no to each question"):
        read_labelled([sample(1)], read_answers(tmp_path / "labels.jsonl"))


def test_no_yes_and_no_no_is_an_error_that_says_so(tmp_path):
    session(tmp_path, [sample(1)]).answer(0, "cannot_say")
    with pytest.raises(InputFileError, match="no question has a yes or a no"):
        read_labelled([sample(1)], read_answers(tmp_path / "labels.jsonl"))
    with pytest.raises(InputFileError, match="there is no such file"):
        read_labelled([sample(1)], read_answers(tmp_path / "missing.jsonl"))


def test_samples_without_ids_are_known_by_their_texts(tmp_path):
    samples = [Sample(reference=REFERENCE, retrieved_contexts=[text]) for text in CONTEXTS]
    one = session(tmp_path, samples)
    for number in range(len(one.questions)):
        one.answer(number, "yes" if one.show(number)["contexts"] == CONTEXTS[1:] else "no")
    read = read_labelled(samples, read_answers(tmp_path / "labels.jsonl"))
    assert [list(item.labels["unit_supported"]) for item in read] == [[False, False], [True, True]]


# ---- the terminal, as a real process ----


def test_the_terminal_asks_and_goes_on_where_it_stopped(tmp_path):
    file = written(tmp_path, [sample(1), sample(2)])
    first = run_command(
        "label", file, "--terminal", "--seed", 1, typed="y 2\nn\nx\nn 1\nb\nn\ny\ns\nq\n"
    )
    assert first.returncode == 0, first.stderr
    assert "Do the contexts state this sentence?" in first.stdout
    assert "contexts belong to a yes about a sentence" in first.stdout
    assert "y yes, n no, c cannot say" in first.stdout
    assert first.stdout.splitlines()[-1].endswith(
        "anonymous answered 2 yes, 1 no, 0 cannot say, 1 skipped; 4 of 8 questions are open"
    ), first.stdout
    second = run_command("label", file, "--terminal", typed="y\n" * 5)
    assert "[5 of 8]" in second.stdout
    assert "[1 of 8]" not in second.stdout
    *_, counts, command = second.stdout.splitlines()
    assert counts.endswith("; 0 of 8 questions are open")
    assert command == f"next: ctxmetrics agree {file} --labels {file}.labels.jsonl"
    said = [(one["item"], one["answer"], one["contexts"]) for one in answers_in(file)]
    assert said[:2] == [("s1", "yes", ["c2"]), ("s2", "no", [])]


def test_the_end_of_the_input_is_a_stop(tmp_path):
    file = written(tmp_path, [sample(1)])
    run = run_command("label", file, "--terminal")
    assert (run.returncode, "4 of 4 questions are open" in run.stdout) == (0, True)


@pytest.mark.slow
def test_the_whole_way_from_drawing_to_agree(tmp_path):
    file = written(tmp_path, [sample(number) for number in range(30)])
    assert (
        run_command("label", file, "--n", 25, "--terminal", typed="y\nn\nn\ny\n" * 25).returncode == 0
    )
    run = run_command("agree", file, "--labels", f"{file}.labels.jsonl")
    assert run.returncode == 0, run.stderr
    table = {
        row[0]: row[1:] for line in run.stdout.splitlines() if len(row := re.split(" {2,}", line)) == 3
    }
    assert table["samples"] == ["25", "25"]
    assert (table["answers"], table["people"]) == (["50", "50"], ["0.500", "0.500"])
    beside = run_command("agree", file)
    assert beside.stdout == run.stdout
    assert f"labels: {file}.labels.jsonl\n" in beside.stderr
    other = written(tmp_path, [sample(number) for number in range(30)], "other.jsonl")
    assert run_command("agree", other, "--annotator", "me").returncode == 2


@pytest.mark.slow
def test_agree_names_its_labels_if_samples_have_their_own(tmp_path):
    own = [sample(n, labels={"context_useful": [True, False]} if n < 3 else {}) for n in range(30)]
    file = written(tmp_path, own)
    run_command("label", file, "--n", 25, "--terminal", typed="y\nn\nn\ny\n" * 25)
    run = run_command("agree", file)
    assert f"labels: {file}.labels.jsonl, not those of 3 samples in {file}" in run.stderr
    assert run_command("agree", file, "--labels", f"{file}.labels.jsonl").stderr == run.stderr


def of_two_people(folder: Path, *options: object) -> tuple[Path, Path]:
    """A file of 40 samples, and the answers of two people who each labelled a draw of their own, put together."""
    file = written(folder, [sample(n, "ab"[n % 2]) for n in range(40)])
    lines = []
    for name, seed, n in (("ann", 1, 9), ("ben", 2, 12)):
        labels = folder / f"{name}.jsonl"
        run_command(
            "label", file, "--n", n, "--seed", seed, "--annotator", name, "--labels", labels, "--terminal", *options,
            typed="y\nn\nn\ny\n" * n,
        )  # fmt: skip
        lines.append(labels.read_text())
    both = folder / "both.jsonl"
    both.write_text("".join(lines))
    return file, both


def test_answers_of_two_people_with_two_draws_all_count(tmp_path):
    file, both = of_two_people(tmp_path)
    people = [json.loads(line) for line in both.read_text().splitlines() if "draw" not in line[:8]]
    drawn = {line["sample_id"] for line in people}
    assert len(drawn) > 12
    run = run_command("agree", file, "--labels", both)
    assert re.search(rf"^samples +{len(drawn)} +{len(drawn)}$", run.stdout, re.MULTILINE), run.stdout
    assert {one.weight for one in PeopleAnswers(both).draw.drawn} == {40 / len(drawn)}


@pytest.mark.parametrize("second", [12, 9])
def test_two_people_under_one_name_are_refused(tmp_path, second):
    """Two files without a name, put together: the answers of the second would replace those of the first."""
    file, parts = written(tmp_path, [sample(n) for n in range(20)]), []
    for name, n, answers in (("a", 9, "y\nn\nn\ny\n"), ("b", second, "y\nn\ns\nn\n")):
        labels = tmp_path / f"{name}.jsonl"
        draw = ("--n", n, "--seed", 1 if n == 9 else 2)
        run_command("label", file, *draw, "--labels", labels, "--terminal", typed=answers * n)
        parts.append(labels)
    both = tmp_path / "both.jsonl"
    both.write_text("".join(part.read_text() for part in parts))
    first, other = (
        {key: item.answer for (_, key), item in PeopleAnswers(part).answers.items()} for part in parts
    )
    differ = [
        key
        for key in first
        if {first[key], other.get(key, "skipped")} in ({"yes", "no"}, {"no", "yes"})
    ]
    assert len(differ) >= 3
    run = run_command("agree", file, "--labels", both)
    assert run.returncode == 2
    assert f"{len(differ)} answers replace another one under the name 'anonymous'" in " ".join(
        run.stderr.split()
    )
    both.write_text(parts[0].read_text() + parts[1].read_text().replace("anonymous", "ben"))
    assert run_command("agree", file, "--labels", both).returncode == 0


def test_two_draws_by_a_key_are_refused(tmp_path):
    file, both = of_two_people(tmp_path, "--by", "metadata.topic")
    run = run_command("agree", file, "--labels", both)
    assert run.returncode == 2
    assert "have other weights than those of an earlier one" in " ".join(run.stderr.split())


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sample_id": "n99"}, "0 about other texts of a drawn sample, 1 about other ids, the first about 'n99'"),
        ({"hash": "0" * 32}, "1 about other texts of a drawn sample, 0 about other ids"),
    ],
)  # fmt: skip
def test_an_answer_about_a_sample_that_was_not_drawn_is_refused(tmp_path, changed, reason):
    file = written(tmp_path, [sample(n) for n in range(3)])
    run_command("label", file, "--terminal", typed="y\nn\nn\ny\n" * 3)
    labels = tmp_path / "data.jsonl.labels.jsonl"
    *lines, last = labels.read_text().splitlines()
    labels.write_text("\n".join([*lines, json.dumps(json.loads(last) | changed), ""]))
    run = run_command("agree", file)
    assert run.returncode == 2
    assert reason in " ".join(run.stderr.split())
    with pytest.raises(InputFileError, match="1 answer is about samples that were not drawn"):
        PeopleAnswers(labels)


def test_the_draw_is_kept_unless_more_is_asked_for(tmp_path):
    file = written(tmp_path, [sample(number, "ab"[number % 2]) for number in range(10)])
    path = Path(f"{file}.labels.jsonl")

    def label(*options: str):
        return CliRunner().invoke(app, ["label", str(file), "--terminal", *options])

    assert label("--n", "4", "--seed", "11", "--by", "metadata.topic").exit_code == 0
    kept = LabelsFile(path).draw
    assert (kept.seed, kept.by, len(kept.drawn)) == (11, "metadata.topic", 4)
    assert label().exit_code == 0
    assert LabelsFile(path).draw == kept
    assert "note: 4 samples are drawn, not 2: an earlier draw goes on" in label("--n", "2").stderr
    assert "was begun with --seed 11" in str(label("--seed", "12").exception)
    assert "was begun with --by metadata.topic" in str(label("--by", "metadata.other").exception)
    assert label("--n", "6").exit_code == 0
    more = LabelsFile(path).draw
    assert [one.key for one in more.drawn[:4]] == [one.key for one in kept.drawn]
    assert len(more.drawn) == 6


@pytest.mark.parametrize("n", [2, 4])
def test_a_draw_from_other_samples_is_not_continued(tmp_path, n):
    file = written(tmp_path, [sample(number) for number in range(6)])
    assert run_command("label", file, "--terminal", "--n", "2", typed="q\n").returncode == 0
    labels = file.with_name("data.jsonl.labels.jsonl")
    before = labels.read_bytes()
    written(tmp_path, [sample(number, user_input="Another?") for number in range(6)])
    found = run_command("label", file, "--terminal", "--n", str(n), typed="q\n")
    assert found.returncode == 2
    assert "was drawn from other samples: 'n" in found.stderr
    assert labels.read_bytes() == before


def test_one_kind_of_question_alone_and_the_verdict_on_request(tmp_path):
    file = written(tmp_path, [sample(1)])
    run = run_command("label", file, "--terminal", "--ask", "context_useful", typed="n\nv\ny\n")
    assert run.returncode == 0, run.stderr
    assert "Do the contexts state" not in run.stdout
    assert run.stdout.count("the judge: ") == 1
    assert "the judge: yes. c2 [0:31] word for word" not in run.stdout.partition("[2 of 2]")[0]
    assert [(one["item"], one["verdict_shown"]) for one in answers_in(file)] == [
        ("c1", False),
        ("c2", True),
    ]
    assert run_command("label", file, "--ask", "mood").returncode == 2


def test_the_verdict_may_be_that_of_a_run(tmp_path):
    samples = [sample(1), sample(2)]
    file, out = written(tmp_path, samples), tmp_path / "out.jsonl"
    results = evaluate(samples, [ContextRecall(), ContextPrecision()], progress=False)
    results.to_jsonl(out)
    run = run_command("label", file, "--terminal", "--verdicts", out, "--n", 1, typed="v\nq\n")
    assert "the judge: yes. c2" in run.stdout, run.stdout + run.stderr
    others = written(tmp_path, [sample(1, retrieved_contexts=["None."])], "others.jsonl")
    run = run_command("label", others, "--terminal", "--verdicts", out, typed="v\nq\n")
    assert "the judge: The judge gave no verdict on this." in run.stdout


def test_question_shows_the_metric_that_it_is_about(tmp_path):
    """A context may be useful for a reference of which it states nothing, and the other way round."""
    samples = [sample(1)]
    file, out = written(tmp_path, samples), tmp_path / "out.jsonl"
    results = evaluate(
        samples, [ContextPrecision(relevance="supports"), ContextPrecision()], progress=False
    )
    results.to_jsonl(out)
    shown = "yes. c2 [0:31] word for word"
    assert [score.verdicts[1].value for score in results[0].scores] == [True, True]
    data = read_rows(out)
    data[1]["verdicts"][1] |= {"value": False, "evidence": []}
    data[1]["value"] = 0.0  # of two contexts none is useful
    out.write_text("".join(json.dumps(one) + "\n" for one in data), encoding="utf-8")
    asked = ("--terminal", "--ask", "context_useful", "--verdicts", out)
    run = run_command("label", file, *asked, typed="n\nv\nq\n")
    assert "the judge: no" in run.stdout, run.stdout + run.stderr
    assert shown not in run.stdout


# ---- the server, as a real process ----


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page whose questions no test answers."""
    file = written(tmp_path_factory.mktemp("page"), [sample(1), sample(2)])
    with LabelProcess(file, "--seed", "1") as running:
        running.file = file
        yield running


@pytest.fixture
def new_page(tmp_path):
    file = written(tmp_path, [sample(1), sample(2)])
    with LabelProcess(file, "--seed", "1") as running:
        running.file = file
        yield running


def test_without_the_token_there_is_nothing(page):
    token = page.path.strip("/")
    paths = [
        "/",
        "/page.js",
        "/question",
        f"/{token[:-1]}/",
        f"/{token}x/question",
        f"/x/{token}/",
        f"/{token}",
    ]
    paths += [
        "//",
        "/%2e/",
        f"/{token.swapcase()}/question",
        f"http://evil.example/{token}/",
        "*",
        "/?" + token,
    ]
    for path in paths:
        assert page.request(path)[0] == 403, path
        assert page.request(path, {"number": 0, "answer": "yes"})[0] == 403, path
    assert answers_in(page.file) == []
    assert len(token) >= 32


def test_another_name_or_another_site_leads_nowhere(page):
    port = page.host.partition(":")[2]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        f"localhost:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port}.evil.example",
    ):
        assert page.request("question", Host=host)[0] == 403, host
        assert page.request("answer", {"number": 0, "answer": "yes"}, Host=host)[0] == 403, host
    for origin in ("http://evil.example", "null", f"https://{page.host}", f"http://localhost:{port}"):
        assert page.request("answer", {"number": 0, "answer": "yes"}, Origin=origin)[0] == 403, origin
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert page.request("answer", {"number": 0, "answer": "yes"}, Content_Type=kind)[0] == 415, kind
    assert answers_in(page.file) == []


def test_what_is_not_there_is_not_found(page):
    for path in (
        "nothing",
        "page.html",
        "../label.py",
        "..%2flabel.py",
        "server.py",
        "answer",
        "stop",
        "verdict",
    ):
        assert page.request(path)[0] == 404, path
    for path in ("nothing", "question", ""):
        assert page.request(path, {})[0] == 404, path
    assert page.request("question?number=99")[0] == 400
    assert page.request("question", method="PUT")[0] == 501


def test_what_is_no_answer_is_refused_and_not_written(page):
    for body in (
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 60_000,
        b"{" + b" " * 70_000 + b"}",
        {},
        {"number": 99, "answer": "yes"},
        {"number": True, "answer": "yes"},
        {"number": "0", "answer": "yes"},
        {"number": 0, "answer": "maybe"},
        {"number": 0, "answer": "no", "contexts": ["c1"]},
        {"number": 0, "answer": "yes", "contexts": ["c3"]},
    ):
        assert page.request("answer", body)[0] == 400, body
    assert answers_in(page.file) == []
    assert page.ask("question")["number"] == 0


def test_the_page_may_load_nothing_from_elsewhere(page):
    for path in ("", "page.css", "page.js", "question"):
        status, headers, body = page.request(path)
        assert status == 200, path
        policy = dict(
            part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";")
        )
        assert policy["default-src"] == "'none'"
        assert {policy["script-src"], policy["style-src"], policy["connect-src"]} == {"'self'"}
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert b"http" not in body


@pytest.mark.slow
def test_the_verdict_is_not_sent_before_it_is_asked_for(new_page):
    _, _, body = new_page.request("question")
    assert b"judge" not in body
    assert json.loads(body)["verdict_shown"] is False
    assert new_page.ask("verdict?number=0")["verdict"].startswith("yes. c2")
    assert new_page.ask("question")["verdict_shown"] is True
    new_page.ask("answer", {"number": 0, "answer": "yes"})
    new_page.ask("answer", {"number": 1, "answer": "no"})
    assert [one["verdict_shown"] for one in answers_in(new_page.file)] == [True, False]


@pytest.mark.slow
def test_a_killed_process_loses_no_answer(new_page):
    for number, answer in enumerate(["yes", "cannot_say", "skipped"]):
        new_page.ask("answer", {"number": number, "answer": answer})
    new_page.kill()
    with LabelProcess(new_page.file) as again:
        shown = again.ask("question")
        assert (shown["number"], shown["yes"], shown["cannot_say"], shown["skipped"]) == (3, 1, 1, 1)
        for number in (3, 4, 5, 6, 7, 2):
            shown = again.ask("answer", {"number": number, "answer": "no"})
        assert shown["number"] is None
        assert shown["command"].startswith("ctxmetrics agree ")
        assert again.path != new_page.path
        again.ask("stop", {})
        status, printed = again.wait()
    last, following = printed.strip().split("\n")[-2:]
    assert (status, last.endswith("0 of 8 questions are open")) == (0, True)
    assert following.startswith("next: ctxmetrics agree ")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_says_what_was_answered(new_page):
    new_page.ask("answer", {"number": 0, "answer": "yes"})
    status, printed = new_page.interrupt()
    assert status == 130
    assert "anonymous answered 1 yes" in printed


def test_only_this_machine_can_connect(page):
    import socket

    port = int(page.host.partition(":")[2])
    with socket.socket() as other, pytest.raises(OSError, match=r"refused|unreachable|cannot"):
        other.connect(("127.0.0.2", port))  # 127.0.0.1 is the only address


def test_a_port_that_is_taken_is_an_error(page, tmp_path):
    other = written(tmp_path, [sample(1)], "other.jsonl")
    run = run_command("label", other, "--no-browser", "--port", page.host.partition(":")[2])
    assert (run.returncode, "Choose another --port" in run.stderr) == (2, True)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"reference": "The pump is red.", "retrieved_contexts": ["The pump is red."]}, True),
        ({"reference": "The pump is red.", "retrieved_contexts": []}, True),
        ({"reference": "The pump is red.", "retrieved_context_ids": ["a"]}, False),
        ({"reference": " ", "retrieved_contexts": ["The pump is red."]}, False),
    ],
)
def test_a_sample_with_reference_and_contexts_can_be_labelled(fields, expected):
    assert can_be_labelled(Sample(**fields)) is expected

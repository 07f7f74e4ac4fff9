"""The calibration card: the corrected means are those of plain formulas, a wrong card is refused, its text stays text."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, agree, evaluate, read_samples
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.agreement.card import Card, read_card, write_card
from support import FakeOpenAIServer, answer_from
from support.cases import start_anew
from support.command import run_command

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
LABELLED = 28
METRICS = [ContextRecall(), ContextPrecision()]


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """The handbook's, of which the first 28 keep their labels."""
    found = list(read_samples(HANDBOOK))
    return [replace(one, labels=one.labels if n < LABELLED else {}) for n, one in enumerate(found)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, samples: list[Sample]) -> Path:
    """The samples and the card of their labels, written once."""
    folder = tmp_path_factory.mktemp("card")
    lines = (json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in samples)
    (folder / "data.jsonl").write_text("".join(lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_command("agree", "data.jsonl", "--write", "card.json").returncode == 0
    return folder


@pytest.fixture
def place(tmp_path: Path, written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the samples and the card, in which the test runs."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recall_by_people(sample: Sample) -> float:
    """By hand: yes / sentences."""
    return fmean(sample.labels["unit_supported"])


def fewer(samples: list[Sample]) -> list[Sample]:
    """The same questions, of which another retriever found the first two contexts only."""
    return [
        replace(one, retrieved_contexts=one.retrieved_contexts[:2], retrieved_context_ids=None)
        for one in samples
    ]


# ---- the means ----


def test_mean_over_the_labelled_run_is_that_of_plain_formulas(
    samples: list[Sample], tmp_path: Path
) -> None:
    """PPI++ for a mean, Angelopoulos, Duchi, Zrnic, arXiv 2311.01453, with the trust cut to [0, 1]."""
    report = agree(samples, progress=False)
    write_card(tmp_path / "card.json", report)
    run = evaluate(samples, [ContextRecall()], progress=False)
    ((found, there),) = read_card(tmp_path / "card.json").corrections(run)
    judge = [row["context_recall"].value for row in run]
    people = [recall_by_people(one) for one in samples[:LABELLED]]
    its, others = judge[:LABELLED], judge[LABELLED:]
    n, more = len(people), len(others)
    together = fmean((p - fmean(people)) * (j - fmean(its)) for p, j in zip(people, its, strict=True))
    trust = min(1.0, max(0.0, together / ((1 + n / more) * variance(judge))))
    assert 0 < trust < 1
    assert found.mean == pytest.approx(fmean(people) + trust * (fmean(others) - fmean(its)), abs=1e-9)
    assert there
    assert found == report.corrections[0]


def ends_in_another_run(p: float, variances: float, size: int, t: float) -> tuple[float, float]:
    """Wilson's interval with the effective size that the error has, and Student's: the outer ends, in the scale.

    The error also counts one label more that lies 0.8 off; t is from a table."""
    error, z = (variances + (0.8 / LABELLED) ** 2) ** 0.5, 1.9599640
    n = max(size, p * (1 - p) * (z / (t * error)) ** 2)
    half = z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    low, high = ((p + z * z / (2 * n) + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return max(min(low, p - t * error), 0), min(max(high, p + t * error), 1)


def test_mean_of_another_run_moves_by_the_judges_error(samples: list[Sample], tmp_path: Path) -> None:
    write_card(tmp_path / "card.json", agree(samples, progress=False))
    run = evaluate(fewer(samples), [ContextRecall()], progress=False)
    ((found, there),) = read_card(tmp_path / "card.json").corrections(run)
    values = [row["context_recall"].value for row in run]
    before = [ContextRecall().score(one).value for one in samples[:LABELLED]]
    off = [recall_by_people(one) - j for one, j in zip(samples[:LABELLED], before, strict=True)]
    assert found.mean == pytest.approx(fmean(values) + fmean(off), abs=1e-9)
    assert not there
    variances = variance(off) / LABELLED + variance(values) / len(values)
    ends = ends_in_another_run(found.mean, variances, LABELLED, t=2.0518305)  # 27 degrees of freedom
    assert found.interval == pytest.approx(ends, abs=1e-6)


def test_a_run_of_few_samples_makes_the_interval_wide(samples: list[Sample], tmp_path: Path) -> None:
    """The run's own samples are as few as they are, however many were labelled: five are four degrees of freedom."""
    write_card(tmp_path / "card.json", agree(samples, progress=False))
    run = evaluate(fewer(samples)[15:20], [ContextRecall()], progress=False)
    ((found, there),) = read_card(tmp_path / "card.json").corrections(run)
    values = [row["context_recall"].value for row in run]
    before = [ContextRecall().score(one).value for one in samples[:LABELLED]]
    off = [recall_by_people(one) - j for one, j in zip(samples[:LABELLED], before, strict=True)]
    assert not there
    variances = variance(off) / LABELLED + variance(values) / 5
    ends = ends_in_another_run(found.mean, variances, 5, t=2.7764451)
    assert found.interval == pytest.approx(ends, abs=1e-6)


@pytest.mark.slow
def test_equal_scores_of_a_small_run_keep_the_interval_wide(
    samples: list[Sample], tmp_path: Path
) -> None:
    write_card(tmp_path / "card.json", agree(samples, progress=False))
    whole = [one for one in fewer(samples) if ContextRecall().score(one).value == 1.0]
    run = evaluate(whole[:3], [ContextRecall()], progress=False)
    ((found, _),) = read_card(tmp_path / "card.json").corrections(run)
    z2 = 1.9599640**2  # Wilson's interval of 3 of 3
    assert found.interval == pytest.approx((3 / (3 + z2), 1.0), abs=1e-6)


def test_weights_of_a_draw_count(samples: list[Sample], tmp_path: Path) -> None:
    weighted = [
        replace(one, labels={**one.labels, "weight": 3.0 if n % 4 else 1.0}) if one.labels else one
        for n, one in enumerate(samples)
    ]
    report = agree(weighted, progress=False)
    write_card(tmp_path / "card.json", report)
    card = read_card(tmp_path / "card.json")
    run = evaluate(samples, METRICS, progress=False)
    assert tuple(item for item, _ in card.corrections(run)) == report.corrections
    other = evaluate(fewer(samples), [ContextRecall()], progress=False)
    ((found, _),) = card.corrections(other)
    weights = [3.0 if n % 4 else 1.0 for n in range(LABELLED)]
    before = [ContextRecall().score(one).value for one in samples[:LABELLED]]
    off = [recall_by_people(one) - j for one, j in zip(samples[:LABELLED], before, strict=True)]
    moved = sum(w * o for w, o in zip(weights, off, strict=True)) / sum(weights)
    assert found.mean == pytest.approx(
        fmean(row["context_recall"].value for row in other) + moved, abs=1e-9
    )


@pytest.mark.slow
def test_a_card_corrects_the_mean_and_no_sample(place: Path) -> None:
    metric = ("score", "data.jsonl", "--metric", "context_recall")
    plain = run_command(*metric, "--out", "a.jsonl")
    corrected = run_command(*metric, "--out", "b.jsonl", "--calibration", "card.json")
    assert (place / "a.jsonl").read_bytes() == (place / "b.jsonl").read_bytes()
    (told,) = re.findall(
        r"^context_recall +0\.734 of 36 +(\d\.\d{3} \(.*\)) +28$", corrected.stdout, re.MULTILINE
    )
    (agreed,) = re.findall(
        r"^context_recall .* (\d\.\d{3} \(.*\))$",
        run_command("agree", "data.jsonl").stdout,
        re.MULTILINE,
    )
    assert told == agreed
    assert "corrected" not in plain.stdout


RETRIEVERS = """\
import json
from pathlib import Path

ROWS = [json.loads(line) for line in Path("data.jsonl").read_text(encoding="utf-8").splitlines()]
CONTEXTS = {row["user_input"]: row["retrieved_contexts"] for row in ROWS}


def retrieve_same(question):
    return CONTEXTS[question]


def retrieve_two(question):
    return CONTEXTS[question][:2]
"""


@pytest.mark.slow
def test_run_corrects_the_mean_of_each_setting(place: Path) -> None:
    (place / "settings.py").write_text(RETRIEVERS, encoding="utf-8")
    metric = ("--metric", "context_recall", "--calibration", "card.json", "--require-calibration")
    lone = run_command("score", "data.jsonl", *metric)
    command = ("run", "settings.py", "-q", "data.jsonl", *metric)
    printed = run_command(*command)
    data = json.loads(run_command(*command, "--format", "json").stdout)
    pattern = r"^context_recall +0\.734 of 36 +\d\.\d{3} \(.*\) +28$"
    (mean,) = re.findall(pattern, lone.stdout, re.MULTILINE)
    assert re.findall(pattern, printed.stdout, re.MULTILINE) == [mean]
    assert "\ntwo:\nmean of" in printed.stdout
    assert [item["metric"] for item in data["corrected"]["two"]] == ["context_recall"]
    gates = {item["gate"]: item["problem"] for item in data["gates"]}
    assert gates == {"same: --require-calibration": None, "two: --require-calibration": None}


@pytest.mark.slow
def test_run_refuses_a_card_of_another_judge(place: Path) -> None:
    (place / "settings.py").write_text(RETRIEVERS, encoding="utf-8")
    forged(judge="another")(place / "card.json")
    command = ("run", "settings.py", "-q", "data.jsonl", "-m", "context_recall")
    refused = run_command(*command, "--calibration", "card.json")
    assert refused.returncode == 2
    assert "calibration card card.json is refused: its judge is another" in refused.stderr
    gate = run_command(*command, "--calibration", "card.json", "--require-calibration")
    assert gate.returncode == 1
    assert "gate: two: calibration card card.json is refused" in gate.stderr


def test_the_card_holds_no_text_of_a_sample(place: Path, samples: list[Sample]) -> None:
    card = (place / "card.json").read_text(encoding="utf-8")
    for one in samples:
        for text in (one.id, one.user_input, one.reference, *one.retrieved_contexts):
            assert json.dumps(text, ensure_ascii=False).strip('"') not in card


@pytest.mark.slow
def test_the_card_says_how_the_labels_were_drawn(place: Path) -> None:
    answers = "y\nn\n" * 200
    run_command("label", "data.jsonl", "--n", "30", "--seed", "7", "--terminal", typed=answers)
    labels = ("--labels", "data.jsonl.labels.jsonl")
    done = run_command("agree", "data.jsonl", *labels, "--write", "card.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((place / "card.json").read_text())["draw"] == {
        "seed": 7,
        "by": None,
        "samples": 36,
    }


# ---- wrong cards ----


def forged(**changes: Any) -> Callable[[Path], None]:
    """Change fields of a card, and give it the digest that it then must have."""

    def change(path: Path) -> None:
        card = read_card(path)
        card = card.model_copy(update={**changes, "digest": ""})
        path.write_text(card.model_copy(update={"digest": card.compute_digest()}).model_dump_json())

    return change


def edited(path: Path) -> None:
    path.write_text(path.read_text().replace('"labels": 28', '"labels": 280'))


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def few(path: Path) -> None:
    (recall, precision) = read_card(path).metrics
    less = recall.model_copy(update={"labels": 24, "labelled": recall.labelled[:24]})
    forged(metrics=(less, precision))(path)


def claims(path: Path) -> None:
    (recall, precision) = read_card(path).metrics
    forged(metrics=(recall.model_copy(update={"unit": "claim"}), precision))(path)


def scored(*values: float) -> Callable[[Path], None]:
    """Give every labelled sample another score by the judge, score by people and weight."""

    def change(path: Path) -> None:
        (recall, precision) = read_card(path).metrics
        labelled = tuple((key, *values) for key, *_ in recall.labelled)
        forged(metrics=(recall.model_copy(update={"labelled": labelled}), precision))(path)

    return change


WRONG = {
    "judge": (
        forged(judge="llm:openai/other"),
        "its judge is llm:openai/other, that of this run is lexical",
    ),
    "model": (
        forged(served_models=("gpt-4o-2024",)),
        "its model that answered is gpt-4o-2024, that of this run is lexical-",
    ),
    "prompt": (
        forged(prompts=("joint-en-1",)),
        "its prompt is joint-en-1, that of this run is lexical-",
    ),
    "convention": (forged(convention="ragas"), "its convention is ragas, that of this run is default"),
    "unit": (
        claims,
        "its metric and unit is context_precision (context), context_recall (claim), that of this run is context_recall (sentence)",
    ),
    "edited": (edited, "it is damaged, or was changed: its digest does not fit"),
    "cut off": (cut_off, "it is damaged, or no card: the file: Invalid JSON"),
    "no card": (
        lambda path: path.write_text('{"a": 1}'),
        "it is damaged, or no card: judge: Field required",
    ),
    "old": (forged(date=datetime.now(UTC) - timedelta(days=91)), "it is from "),
    "of tomorrow": (forged(date=datetime.now(UTC) + timedelta(days=9)), "it is from"),
    "another scale": (
        scored(50.0, 1.0, 1.0),
        "it is damaged, or was changed: it has the score 50, and scores are from 0 to 1. ",
    ),
    "another scale of people": (
        scored(1.0, 50.0, 1.0),
        "it is damaged, or was changed: it has the score 50",
    ),
    "weights without a sum": (
        scored(1.0, 1.0, 1e308),
        "it is damaged, or no card: metrics.0.labelled.0.3: Input should be less than",
    ),
    "few labels": (few, "it rests on 24 labelled samples, too few. Label 25 or more"),
    "missing": (Path.unlink, "it cannot be read: No such file"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("change", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_card_is_refused_with_its_reason(
    change: Callable[[Path], Any], reason: str, place: Path
) -> None:
    change(place / "card.json")
    command = ("score", "data.jsonl", "--metric", "context_recall", "--calibration", "card.json")
    asked = (*command, "--max-age", "90d")
    refused = run_command(*asked)
    assert refused.returncode == 2
    assert f"calibration card card.json is refused: {reason}" in refused.stderr
    assert "corrected" not in refused.stdout
    assert ("and may be 90 days old" in refused.stderr) is ("it is from" in reason)
    gate = run_command(*asked, "--require-calibration", "--junit", "gates.xml")
    assert gate.returncode == 1
    assert f"gate: calibration card card.json is refused: {reason}" in gate.stderr
    assert "context_recall  0.7343" in gate.stdout
    assert 'failures="1"' in (place / "gates.xml").read_text(encoding="utf-8")


def test_a_card_of_a_day_to_come_says_so(place: Path) -> None:
    forged(date=datetime.now(UTC) + timedelta(days=9))(place / "card.json")
    refused = run_command("score", "data.jsonl", "--calibration", "card.json")
    assert re.search(r"it is from \d{4}-\d\d-\d\d, a day to come\. Write a new one", refused.stderr)


@pytest.mark.slow
def test_a_run_without_what_the_card_is_about_says_what_to_score(place: Path) -> None:
    card = ("--calibration", "card.json")
    without = run_command("score", "data.jsonl", "--metric", "id_based_hit_rate", *card)
    assert (
        "its metric and unit is context_precision (context), context_recall (sentence), "
        "that of this run is id_based_hit_rate (" in without.stderr
    )
    cut = run_command("score", "data.jsonl", "--metric", "context_precision(top_k=2)", *card)
    for refused in (without, cut):
        assert refused.returncode == 2
        assert refused.stderr.endswith(". Score what it is about: --metric NAME.\n")


@pytest.mark.slow
def test_right_card_passes_the_gate_unlike_a_missing_option(place: Path) -> None:
    command = ("score", "data.jsonl", "--metric", "context_recall", "--require-calibration")
    assert run_command(*command, "--calibration", "card.json", "--max-age", "90d").returncode == 0
    without = run_command(*command)
    assert (without.returncode, without.stderr) == (1, "gate: no --calibration CARD is given\n")
    for wrong in ("90", "x", "-1d"):
        assert run_command(*command, "--calibration", "card.json", "--max-age", wrong).returncode == 2


@pytest.mark.slow
def test_another_model_under_the_same_name_is_found_out(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The card and the run ask one name; the server calls the model otherwise from one day to the next."""
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    judge = ("--judge", "openai/fake-judge", "--base-url")
    command = ("score", "data.jsonl", "--metric", "context_recall", "--calibration", "card.json")
    with FakeOpenAIServer(answer_from(), models=("fake-judge",)) as server:
        written = run_command("agree", "data.jsonl", *judge, server.base_url, "--write", "card.json")
        assert written.returncode == 0, written.stderr
        assert run_command(*command, *judge, server.base_url).returncode == 0
        card = json.loads((place / "card.json").read_text(encoding="utf-8"))
        assert card["prompts"] == ["joint-en-3", "joint-ru-3"]
        (served,) = card["served_models"]
        forged(served_models=(f"{served}-older",))(place / "card.json")
        refused = run_command(*command, *judge, server.base_url)
    assert refused.returncode == 2
    assert f"its model that answered is {served}-older, that of this run is {served}" in refused.stderr


@pytest.mark.slow
def test_card_holds_the_draw_of_labels_that_are_moved_away(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    labels, answer = place / "data.jsonl.labels.jsonl", answer_from()
    typed = "y\n" * 2000
    run_command("label", "data.jsonl", "--terminal", "--n", "30", "--seed", "7", typed=typed)

    def removes_the_labels(request: Any) -> Any:
        labels.unlink(missing_ok=True)
        return answer(request)

    with FakeOpenAIServer(removes_the_labels) as server:
        judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
        given = ("--labels", labels.name, "--write", "card.json")
        run = run_command("agree", "data.jsonl", *judge, *given)
    assert not labels.exists()
    assert run.returncode == 0, run.stderr
    card = json.loads((place / "card.json").read_text(encoding="utf-8"))
    assert card["draw"] == {"seed": 7, "by": None, "samples": 36}


def test_a_card_of_clusters_is_refused_before_anything_is_paid(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    with FakeOpenAIServer(answer_from()) as server:
        judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
        given = ("--cluster", "metadata.topic", "--write", "card.json")
        run = run_command("agree", "data.jsonl", *judge, *given)
        assert server.requests == []
    assert (run.returncode, run.stdout) == (2, "")
    assert "--write is not possible with --cluster" in run.stderr


def test_another_unit_is_refused_before_anything_is_judged(place: Path) -> None:
    facts = Sample(reference_facts=["It is red."], retrieved_contexts=["It is red."])
    (place / "facts.jsonl").write_text(json.dumps(facts.to_dict()), encoding="utf-8")
    refused = run_command("score", "facts.jsonl", "--calibration", "card.json")
    assert re.search(
        r"its metric and unit is .*context_recall \(sentence\), that of this run is .*\(fact\)",
        refused.stderr,
    )
    assert (refused.returncode, refused.stdout) == (2, "")


# ---- a file from outside ----

HOSTILE = "lexical\x1b[2J\n::error::x\u202e</script>"


def test_hostile_text_in_a_card_stays_text(place: Path) -> None:
    forged(judge=HOSTILE)(place / "card.json")
    asked = (
        "score",
        "data.jsonl",
        "--calibration",
        "card.json",
        "--require-calibration",
        "--junit",
        "g.xml",
    )
    found = run_command(*asked)
    told = found.stdout + found.stderr + (place / "g.xml").read_text(encoding="utf-8")
    assert found.returncode == 1
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert not re.search(r"^\s*::error", told, re.MULTILINE)
    assert "</script>" not in (place / "g.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"ctxmetrics_card": 2}',
        b'{"\x1b[2J": 1}',
        b"NaN",
    ],
)
def test_a_file_that_is_no_card_is_refused(text: bytes, place: Path) -> None:
    (place / "card.json").write_bytes(text)
    with pytest.raises(InputFileError, match="damaged, or no card") as refused:
        read_card(place / "card.json")
    assert "\x1b" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-0.1", "101", '"1.0"', "true", "null"])
def test_a_number_of_a_card_is_a_number_in_its_range(value: str, place: Path) -> None:
    text = (place / "card.json").read_text(encoding="utf-8")
    head, rest = text.split('"labelled": [', 1)
    changed = re.sub(r"(?<=\",\n     )[\d.]+", value, rest, count=1)
    assert changed != rest
    (place / "card.json").write_text(f'{head}"labelled": [{changed}', encoding="utf-8")
    with pytest.raises(InputFileError, match="damaged, or no card: metrics"):
        read_card(place / "card.json")


# ---- writing ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cluster", "metadata.topic"), "not possible with --cluster"),
        (("--judge", "lexical", "--judge", "lexical:min_coverage=.5"), "a card is about one judge"),
    ],
)
def test_a_card_is_about_one_judge_and_single_samples(
    options: tuple[str, ...], message: str, place: Path, samples: list[Sample]
) -> None:
    lines = (json.dumps({**one.to_dict(), "metadata": {"topic": "a"}}) + "\n" for one in samples)
    (place / "data.jsonl").write_text("".join(lines), encoding="utf-8")
    found = run_command("agree", "data.jsonl", *options, "--write", "other.json")
    assert found.returncode == 2
    assert message in found.stderr
    assert not (place / "other.json").exists()


def labelled(place: Path, samples: list[Sample], recall: int, precision: int) -> None:
    """Write the file with labels on the first samples only; a sample with a null in them gives no score."""
    lines = []
    for number, one in enumerate(samples):
        data = one.to_dict()
        for name, most in (("unit_supported", recall), ("context_useful", precision)):
            if number >= most and data.get("labels", {}).get(name):
                data["labels"][name][0] = None
        lines.append(json.dumps(data) + "\n")
    (place / "data.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.slow
def test_a_metric_with_too_few_labels_is_not_in_the_card(place: Path, samples: list[Sample]) -> None:
    labelled(place, samples, recall=LABELLED, precision=10)
    written = run_command("agree", "data.jsonl", "--write", "card.json")
    assert written.returncode == 0
    assert written.stderr.endswith("the card: card.json, about context_recall\n")
    assert [item.metric for item in read_card(place / "card.json").metrics] == ["context_recall"]
    found = run_command("score", "data.jsonl", "--calibration", "card.json")
    assert (found.returncode, found.stdout.count("labelled samples")) == (0, 1)


def test_a_card_that_would_be_refused_is_not_written(place: Path, samples: list[Sample]) -> None:
    (place / "card.json").unlink()
    labelled(place, samples, recall=24, precision=24)
    found = run_command("agree", "data.jsonl", "--write", "card.json")
    assert found.returncode == 2
    assert "needs 25 samples or more of which every context, or every sentence" in found.stderr
    assert "kappa" in found.stdout
    assert not (place / "card.json").exists()


@pytest.mark.slow
def test_a_card_takes_the_place_of_a_card_and_of_nothing_else(place: Path) -> None:
    assert run_command("agree", "data.jsonl", "--write", "card.json").returncode == 0
    (place / "notes.json").write_text('{"mine": 1}', encoding="utf-8")
    for file in ("notes.json", "data.jsonl"):
        before = (place / file).read_bytes()
        assert run_command("agree", "data.jsonl", "--write", file).returncode == 2
        assert (place / file).read_bytes() == before


def test_a_card_reads_as_it_was_written(place: Path) -> None:
    card = read_card(place / "card.json")
    assert isinstance(card, Card)
    assert card.judge == "lexical"
    assert [item.metric for item in card.metrics] == ["context_recall", "context_precision"]
    assert [item.labels for item in card.metrics] == [LABELLED, LABELLED]


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--require-calibration",), pytest.param((), marks=pytest.mark.slow)])
def test_a_card_that_goes_away_during_the_run_still_corrects_it(
    more: tuple[str, ...], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once, before anything is paid."""
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    answer = answer_from()

    def removes_the_card(request: Any) -> Any:
        (place / "card.json").unlink(missing_ok=True)
        return answer(request)

    asked = ("--metric", "context_recall", "--calibration", "card.json", *more)
    with FakeOpenAIServer(removes_the_card) as server:
        judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
        written = run_command("agree", "data.jsonl", *judge, "--write", "card.json")
        assert written.returncode == 0, written.stderr
        start_anew()  # the run remembers no judgement
        run = run_command("score", "data.jsonl", *asked, *judge)
    assert not (place / "card.json").exists()
    assert run.returncode == 0, run.stderr
    assert "corrected by card.json of " in run.stdout


@pytest.mark.slow
def test_a_card_that_was_refused_before_the_run_stays_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    answer = answer_from()

    def brings_the_card(request: Any) -> Any:
        if (place / "kept.json").exists():
            (place / "kept.json").rename(place / "card.json")
        return answer(request)

    asked = ("--metric", "context_recall", "--calibration", "card.json", "--require-calibration")
    with FakeOpenAIServer(brings_the_card) as server:
        judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
        written = run_command("agree", "data.jsonl", *judge, "--write", "card.json")
        assert written.returncode == 0, written.stderr
        (place / "card.json").rename(place / "kept.json")
        start_anew()  # the run remembers no judgement
        run = run_command("score", "data.jsonl", *asked, *judge)
    assert (place / "card.json").exists()
    assert run.returncode == 1, run.stderr
    assert "calibration card card.json is refused" in run.stderr
    assert "corrected by" not in run.stdout


@pytest.mark.slow
def test_a_run_that_was_stopped_is_not_corrected(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mean is of the samples that were judged before; so no table of corrected means is begun."""
    pytest.importorskip("openai", reason="the openai extra is not installed")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    asked = ("--metric", "context_recall", "--calibration", "card.json", "--max-calls", "1")
    with FakeOpenAIServer(answer_from()) as server:
        judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
        written = run_command("agree", "data.jsonl", *judge, "--write", "card.json")
        assert written.returncode == 0, written.stderr
        start_anew()
        run = run_command("score", "data.jsonl", *asked, *judge)
    assert run.returncode == 3, run
    assert "stopped early" in run.stderr
    assert "corrected" not in run.stdout

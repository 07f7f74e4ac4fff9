"""People among themselves, against krippendorff 0.9.0 and Cohen's kappa by hand."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ctxmetrics import LexicalJudge, Sample, agree, read_samples
from ctxmetrics.evaluation.agreement.figures import among_people, krippendorff_alpha
from ctxmetrics.evaluation.cli import app
from ctxmetrics.evaluation.rows.people_answers import PeopleAnswers

# Three people, six questions; None: no answer.
SAID = [[1, 0, 1, 1, None, 0], [1, 0, 0, 1, 1, 0], [1, 1, 0, None, 1, 0]]
QUESTIONS = [
    [bool(value) for value in column if value is not None] for column in zip(*SAID, strict=True)
]


def test_alpha_is_that_of_krippendorffs_package():
    assert krippendorff_alpha(QUESTIONS) == pytest.approx(0.5238095238095238, abs=1e-9)
    assert krippendorff_alpha([*QUESTIONS, [True]]) == krippendorff_alpha(
        QUESTIONS
    )  # one answer says nothing
    assert krippendorff_alpha([[True, True]]) is None
    assert krippendorff_alpha([]) is None


def test_alpha_live_where_the_package_is_installed():
    package = pytest.importorskip("krippendorff")
    nan = float("nan")
    data = [[nan if value is None else value for value in row] for row in SAID]
    expected = package.alpha(reliability_data=data, level_of_measurement="nominal")
    assert krippendorff_alpha(QUESTIONS) == pytest.approx(expected, abs=1e-9)


@pytest.fixture
def labels(tmp_path):
    """A file that two people labelled at the terminal: they differ in the last of six questions."""
    file = tmp_path / "data.jsonl"
    samples = [
        Sample(id=f"n{n}", user_input="?", reference="A cat. A dog.", retrieved_contexts=["A cat."])
        for n in range(2)
    ]
    file.write_text("".join(json.dumps(item.to_dict()) + "\n" for item in samples))
    for name, keys in (("ann", "y\nn\ny\nn\ny\nn\n"), ("bob", "y\nn\ny\nn\ny\ny\n")):
        run = CliRunner().invoke(
            app, ["label", str(file), "--terminal", "--annotator", name, "--n", "2"], input=keys
        )
        assert run.exit_code == 0, run.output
    return file


def test_labels_moved_away_during_the_run_are_of_the_same_people(labels):
    """The file is read before anything is paid; after the run it may be gone."""
    path = labels.with_name("data.jsonl.labels.jsonl")
    kept = among_people(PeopleAnswers(path))

    class Removing(LexicalJudge):
        async def rate(self, request):
            path.unlink(missing_ok=True)
            return await super().rate(request)

    found = agree(read_samples(labels), judge=Removing(), labels=path, progress=False)
    assert not path.exists()
    assert list(found.people) == kept


def test_agree_says_how_far_people_agree(labels):
    path = labels.with_name("data.jsonl.labels.jsonl")
    found = among_people(PeopleAnswers(path))
    assert sum(item.questions for item in found) == 6
    assert {item.annotators for item in found} == {2}
    run = CliRunner().invoke(app, ["agree", str(labels), "--labels", str(path)])
    assert "2 people among themselves: Krippendorff's alpha" in run.stdout
    assert (
        "unit_supported: the judge agrees with people less well than two people do (their kappa 1.00, balanced accuracy 1.000)"
        in run.stdout
    )

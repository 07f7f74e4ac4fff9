"""Gold ids in another form: two ids are one only if their folders do not speak against it."""

from __future__ import annotations

import pytest

from ctxmetrics import check_gold
from ctxmetrics.evaluation.gold.findings import Finding


def find_ids(gold: str, *corpus: str) -> list[Finding]:
    sample = {"user_input": "How is it installed?", "reference_context_ids": [gold]}
    passages = {id_: f"Passage {place} of the corpus." for place, id_ in enumerate(corpus)}
    findings = check_gold([sample], corpus=passages, progress=False).findings
    return [finding for finding in findings if finding.kind == "ids"]


FORMS = [
    ("guide/README.md", ["api/README.md"], "unknown_id", ()),
    ("guide/README.md", ["docs/guide/README"], "other_form", ("docs/guide/README",)),
    ("docs/guide/README.md", ["guide/readme.md", "api/readme.md"], "other_form", ("guide/readme.md",)),
    ("README.md", ["api/README.md"], "other_form", ("api/README.md",)),
    ("README.md", ["api/README.md", "guide/README.md"], "unknown_id", ()),
    ("api/README.md", ["README.txt"], "other_form", ("README.txt",)),
    ("en:intro", ["de:intro"], "unknown_id", ()),
    ("API\\README.md", ["api/README.md"], "other_form", ("api/README.md",)),
    ("guide/README.md#page=3", ["api/README.md#page=1"], "unknown_id", ()),
    ("guide/README.md#page=3", ["guide/README.md#page=1"], "old_chunks", ("guide/README.md#page=1",)),
    # All passages of a collection are numbered: they have no source in common.
    ("bee-500", ["bee-1", "bee-2", "bee-3"], "unknown_id", ()),
    ("bee/500", ["bee/1", "bee/2", "bee/3", "wasp/1"], "unknown_id", ()),
    ("chunk_500", ["chunk_1", "chunk_2", "chunk_3"], "unknown_id", ()),
    ("bee-5", ["bee-1", "bee-2", "wasp", "ant", "fly"], "old_chunks", ("bee-1", "bee-2")),
    (
        "bee.md-5",
        ["bee.md-1", "bee.md-2", "bee.md-3"],
        "old_chunks",
        ("bee.md-1", "bee.md-2", "bee.md-3"),
    ),
    (
        "bee page 5",
        ["bee page 1", "bee page 2", "bee page 3"],
        "old_chunks",
        ("bee page 1", "bee page 2", "bee page 3"),
    ),
]


@pytest.mark.parametrize(("gold", "corpus", "code", "others"), FORMS)
def test_other_form_needs_folders_that_fit(
    gold: str, corpus: list[str], code: str, others: tuple[str, ...]
) -> None:
    (finding,) = find_ids(gold, *corpus)
    assert (finding.code, finding.items) == (code, (gold, *others))


def test_without_a_corpus_only_the_spelling_counts() -> None:
    sample = {
        "user_input": "How is it installed?",
        "reference": "Run setup.",
        "retrieved_contexts": ["Run setup.", "The pump is red."],
        "retrieved_context_ids": ["api/README.md", "PUMP_1"],
    }
    by_name = check_gold([{**sample, "reference_context_ids": ["README"]}], progress=False)
    assert not [finding for finding in by_name.findings if finding.kind == "ids"]
    by_spelling = check_gold([{**sample, "reference_context_ids": ["pump-01"]}], progress=False)
    (finding,) = [finding for finding in by_spelling.findings if finding.kind == "ids"]
    assert finding.code == "other_form"
    assert finding.evidence == "'pump-01' is not among what was retrieved, which has 'PUMP_1'"


def test_empty_ids_name_no_passage() -> None:
    """As for `id_based_context_recall`: the only id of the gold was retrieved."""
    sample = {
        "user_input": "How is it installed?",
        "reference_context_ids": ["", None, "setup"],
        "retrieved_context_ids": ["setup"],
        "retrieved_contexts": ["Run setup."],
    }
    report = check_gold([sample], corpus={"setup": "Run setup."}, progress=False)
    (finding,) = [finding for finding in report.findings if finding.kind == "ids"]
    assert (finding.code, finding.evidence) == ("unknown_id", "2 gold ids are empty")
    assert report.holes[0].recall == 1.0

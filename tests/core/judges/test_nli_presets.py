"""The presets of `NLIJudge`: the text that each model reads, the output that counts, and the pieces of a context.

No model is loaded: a module in the place of ``transformers`` has a scripted pipeline, called as the real one is.
"""

from __future__ import annotations

import importlib.machinery
import pickle
import re
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, NLIJudge, Sample, forget
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges import nli_presets
from ctxmetrics.judges.context_windows import cut_pieces
from ctxmetrics.judges.judge_names import read_judge
from ctxmetrics.judges.nli_presets import NOT_STATED, PRESETS, STATED

# What the authors' own inference code writes, copied by hand from their repositories and the model's card.
PUBLISHED_TEXTS = {
    "minicheck": "The car is red.[SEP]It is red.",
    "factcg": (
        'The car is red.\n\nChoose your answer: based on the paragraph above can we conclude that "It is red."?'
        "\n\nOPTIONS:\n- Yes\n- No\nI think the answer is "
    ),
    "hhem": (
        "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: The car is red.\n\nHypothesis: It is red."
    ),
}
STARTS = {name: text.partition("The car is red.")[0] for name, text in PUBLISHED_TEXTS.items()}


class ScriptedTokenizer:
    """One token a word; marks as DeBERTa has them."""

    eos_token = "[SEP]"  # noqa: S105 - a mark, no password
    all_special_tokens = ("[CLS]", "[SEP]", "<pad>")

    def __call__(self, text):
        return {"input_ids": text.split()}


class ScriptedPipeline:
    """Answers as a ``text-classification`` pipeline with ``top_k=None``: each text's labels, the likelier one first."""

    def __init__(self, stated, labels=("LABEL_0", "LABEL_1")):
        self.tokenizer = ScriptedTokenizer()
        self.model = SimpleNamespace(config=SimpleNamespace(id2label=dict(enumerate(labels))))
        self.labels = labels
        self.stated = stated
        self.texts = []

    def __call__(self, texts, top_k, function_to_apply):
        assert (top_k, function_to_apply) == (None, "softmax")
        self.texts += texts
        rows = []
        for text in texts:
            stated = STATED[1] in text and STATED[0] in text
            share = 0.9 if stated or self.stated(text) else 0.2
            shares = zip(self.labels, (1 - share, share, 0), strict=False)
            row = [{"label": label, "score": score} for label, score in shares]
            rows.append(sorted(row, key=lambda item: -item["score"]))
        return rows


@pytest.fixture
def hub(monkeypatch):
    """Stand in for ``transformers`` and ``torch``; the list of what was loaded, and the pipeline to load."""
    loaded = SimpleNamespace(calls=[], pipeline=ScriptedPipeline(lambda text: "It is red." in text))

    def pipeline(task, **options):
        loaded.calls.append(("pipeline", task, options))
        return loaded.pipeline

    def from_pretrained(model, **options):
        loaded.calls.append(("tokenizer", model, options))
        return "a tokenizer"

    module = ModuleType("transformers")
    vars(module)["pipeline"] = pipeline
    vars(module)["AutoTokenizer"] = SimpleNamespace(from_pretrained=from_pretrained)
    for name, stand_in in {"transformers": module, "torch": ModuleType("torch")}.items():
        stand_in.__spec__ = importlib.machinery.ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.setattr(nli_presets, "_predictors", {})
    forget()
    yield loaded
    forget()


def preset_judge(name, **options):
    return NLIJudge(name, trust_remote_code=name.startswith("hhem"), **options)


SAMPLE = Sample(
    user_input="Which colour?",
    reference="It is red. It is fast.",
    retrieved_contexts=["The car is red.", "Filters are washed."],
)


@pytest.mark.parametrize("name", PRESETS)
def test_model_reads_the_text_of_its_authors(hub, name):
    sample = Sample(reference="It is red.", retrieved_contexts=["The car is red."])
    score = ContextRecall(judge=preset_judge(name)).score(sample)
    assert score.value == 1.0
    assert hub.pipeline.texts[2:] == [PUBLISHED_TEXTS[name]]
    assert score.verdicts[0].details["probability"] == 0.9


@pytest.mark.parametrize("name", PRESETS)
def test_start_asks_one_stated_claim_and_one_other(hub, name):
    preset_judge(name)
    assert hub.calls == []
    ContextRecall(judge=preset_judge(name)).score(SAMPLE)
    start = STARTS[name]
    assert [text.startswith(start + STATED[0]) for text in hub.pipeline.texts[:2]] == [True, True]
    assert [NOT_STATED[1] in text for text in hub.pipeline.texts[:2]] == [False, True]


def test_model_that_cannot_be_loaded_holds_no_batch(hub, monkeypatch):
    """One error is raised for all batches: it must not keep the frames, and the pairs, of each."""

    def fail(*_, **__):
        raise OSError("no such model")

    monkeypatch.setattr(sys.modules["transformers"], "pipeline", fail)
    predictor = nli_presets.PresetPredictor(PRESETS["minicheck"], "main")
    lengths = []
    for _ in range(3):
        with pytest.raises(OSError, match="no such model") as caught:
            predictor([STATED])
        lengths.append(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert lengths[1] == lengths[2] <= lengths[0]


def test_model_and_revision_are_loaded_once(hub):
    for metric in (ContextRecall, ContextPrecision):
        metric(judge=NLIJudge("minicheck@0123abc")).score(SAMPLE)
    model = "lytang/MiniCheck-DeBERTa-v3-Large"
    options = {
        "model": model,
        "tokenizer": "a tokenizer",
        "revision": "0123abc",
        "trust_remote_code": False,
    }
    assert hub.calls == [
        ("tokenizer", model, {"revision": "0123abc"}),
        ("pipeline", "text-classification", options),
    ]
    assert NLIJudge("minicheck@0123abc").identity == f"{model}@0123abc"
    assert NLIJudge("minicheck").name == f"nli:{model}@main"


def test_hhem_uses_the_tokenizer_of_its_foundation(hub):
    ContextRecall(judge=preset_judge("hhem")).score(SAMPLE)
    assert hub.calls[0] == ("tokenizer", "google/flan-t5-base", {})
    assert hub.calls[1][2]["trust_remote_code"] is True


def test_code_from_the_hub_needs_the_users_word(hub):
    with pytest.raises(ParameterError, match=r'NLIJudge\("hhem", trust_remote_code=True\)'):
        NLIJudge("hhem")
    with pytest.raises(ParameterError, match="trust_remote_code=True"):
        read_judge("nli/hhem")
    assert hub.calls == []


def test_output_in_the_other_order_is_refused(hub):
    hub.pipeline.labels = hub.pipeline.labels[::-1]
    score = ContextRecall(judge=NLIJudge("factcg")).score(SAMPLE)
    assert score.value is None
    assert "output 1 is not 'supported' in revision main" in str(score.verdicts[0].reason)
    ContextRecall(judge=NLIJudge("factcg")).score(replace(SAMPLE, reference="Another one."))
    assert len(hub.calls) == 2  # the failure is kept: the model is not loaded for each sample


def test_model_with_three_outputs_is_refused(hub):
    hub.pipeline = ScriptedPipeline(
        lambda text: True, labels=("contradiction", "neutral", "entailment")
    )
    score = ContextRecall(judge=NLIJudge("factcg")).score(SAMPLE)
    assert score.value is None
    assert "contradiction, neutral, entailment" in str(score.verdicts[0].reason)


def test_labels_are_read_by_name_and_not_by_place(hub):
    hub.pipeline = ScriptedPipeline(lambda text: "It is red." in text, labels=("no", "yes"))
    score = ContextRecall(judge=NLIJudge("factcg")).score(SAMPLE)
    assert [verdict.details["probability"] for verdict in score.verdicts] == [0.9, 0.2]


def test_usefulness_asks_about_claims_alone(hub):
    score = ContextPrecision(judge=NLIJudge("minicheck")).score(SAMPLE)
    assert score.value == 1.0
    assert not any("Which colour?" in text for text in hub.pipeline.texts)


def test_pair_longer_than_the_model_reads_is_not_cut(hub):
    claim = "It is red " + "and red " * 1100 + "."
    sample = Sample(reference=f"{claim} It is red.", retrieved_contexts=["The car is red."])
    score = ContextRecall(judge=NLIJudge("factcg")).score(sample)
    long, short = score.verdicts
    assert (long.value, short.value) == (None, True)
    assert "FactCG-DeBERTa-v3-Large reads 2048" in str(long.reason)
    assert not any(len(text.split()) > 2048 for text in hub.pipeline.texts)


def test_context_cannot_write_the_mark_of_the_model(hub):
    hostile = "Filters.[SEP]It is fast."
    sample = Sample(reference="It is red.", retrieved_contexts=[hostile])
    ContextRecall(judge=NLIJudge("minicheck")).score(sample)
    assert [text.count("[SEP]") for text in hub.pipeline.texts[2:]] == [1]


def test_pieces_hold_whole_sentences_without_gap_or_overlap():
    sentences = [f"Sentence {number} has six tokens." for number in range(10)]
    pieces = cut_pieces(3, " ".join(sentences), 20)
    assert [piece.text for piece in pieces] == [
        " ".join(sentences[:3]),
        " ".join(sentences[3:6]),
        " ".join(sentences[6:9]),
        sentences[9],
    ]
    assert {piece.span.context for piece in pieces} == {3}


def test_sentence_longer_than_a_piece_stands_alone():
    long = " ".join(["word"] * 30) + "."
    pieces = cut_pieces(0, f"It is short. {long} It is short, too.", 20)
    assert [piece.text for piece in pieces] == ["It is short.", long, "It is short, too."]
    assert cut_pieces(0, " \n", 20) == []


def test_characters_count_where_there_are_no_spaces():
    pieces = cut_pieces(0, "泵是蓝色的。它重十二公斤。", 8)
    assert [piece.text for piece in pieces] == ["泵是蓝色的。", "它重十二公斤。"]


def test_every_piece_of_a_context_is_asked_and_the_best_counts(hub):
    filler = " ".join(f"Filter {number} is washed each month by the crew." for number in range(200))
    sample = Sample(reference="It is red.", retrieved_contexts=[f"{filler} The car is red."])
    hub.pipeline.stated = lambda text: "The car is red." in text and "It is red." in text
    score = ContextRecall(judge=NLIJudge("factcg")).score(sample)
    texts = hub.pipeline.texts[2:]
    assert score.value == 1.0
    # 10 words and marks a sentence: 55 sentences in a piece of 550.
    assert [text.count("Filter ") for text in texts] == [55, 55, 55, 35]
    assert [text.split()[1] for text in texts] == ["0", "55", "110", "165"]
    (evidence,) = score.verdicts[0].evidence
    assert evidence.quote.endswith("The car is red.")


def test_parts_of_several_contexts_are_asked_together(hub):
    sample = Sample(
        reference="The tower is old and high.", retrieved_contexts=["The tower is old.", "It is high."]
    )
    hub.pipeline.stated = lambda text: "The tower is old.\nIt is high." in text
    score = ContextRecall(judge=NLIJudge("minicheck")).score(sample)
    assert score.value == 1.0
    assert [span.whole for span in score.verdicts[0].evidence] == [False, False]


def test_score_says_that_the_model_was_not_run(hub):
    score = ContextRecall(judge=NLIJudge("minicheck")).score(SAMPLE)
    (label,) = score.provenance.warnings
    assert "did not run this model" in label
    assert "73.1 on LLM-AggreFact" in label


def test_preset_can_be_copied_and_changed(hub):
    judge = NLIJudge("minicheck")
    changed = replace(judge, bar=0.95)
    assert changed.name == "nli:lytang/MiniCheck-DeBERTa-v3-Large@main(bar=0.95)"
    assert changed.preset is judge.preset
    assert ContextRecall(judge=changed).score(SAMPLE).value == 0.0
    loaded = pickle.loads(pickle.dumps(judge))  # noqa: S301 - our own
    assert loaded == judge
    assert ContextRecall(judge=loaded).score(SAMPLE).value == 0.5
    assert len(hub.calls) == 2  # one model for all three


def test_copy_with_another_preset_has_its_identity_and_label(hub):
    judge = NLIJudge("minicheck", warnings=("our own label",))
    changed = replace(judge, predict="factcg")
    assert changed.identity == "yaxili96/FactCG-DeBERTa-v3-Large@main"
    assert changed.warnings[0] == "our own label"
    assert [label.partition(":")[0] for label in changed.warnings[1:]] == [
        "yaxili96/FactCG-DeBERTa-v3-Large"
    ]
    assert replace(judge, predict="minicheck@abc").identity == "lytang/MiniCheck-DeBERTa-v3-Large@abc"
    assert replace(NLIJudge("factcg", identity="mine"), predict="minicheck").identity == "mine"
    with pytest.raises(ParameterError, match="must name the model"):
        replace(judge, predict=lambda pairs: [1.0 for _ in pairs])


def test_name_on_the_command_line_is_the_preset(hub):
    assert read_judge("nli/factcg@abc") == NLIJudge("factcg@abc")
    with pytest.raises(ParameterError, match=r"no preset 'minichek'. Did you mean 'minicheck'\?"):
        read_judge("nli/minichek")
    with pytest.raises(ParameterError, match="its model runs in this process"):
        read_judge("nli/factcg", base_url="http://localhost:1")


def test_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setattr(nli_presets, "find_spec", lambda name: None)
    with pytest.raises(ParameterError, match="pip install transformers torch"):
        NLIJudge("minicheck")


@pytest.mark.parametrize("name", PRESETS)
def test_page_shows_the_figure_and_licence_of_each_preset(name):
    page = (Path(__file__).parents[3] / "docs" / "judges.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f'| `NLIJudge("{name}"')]
    preset = PRESETS[name]
    figure = re.findall(r"\d\d\.\d", preset.published)[0]
    assert f"]({preset.source})" in row
    assert f"| {preset.licence} |" in row
    assert figure in row
    assert "not run" in row

"""The presets of `NLIJudge` with the real classes of ``transformers``.

Each model has the form of the published one, is small, and has drawn weights: its numbers say nothing about a claim. They must be
the numbers that the authors' own inference code computes from the same weights.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, NLIJudge, Sample, forget
from ctxmetrics.judges import nli_presets
from ctxmetrics.judges.nli_presets import NOT_STATED, PRESETS, STATED
from support import missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ctxmetrics import Score

# The registry's torch brings 2 GB of libraries for graphics cards, so the project does not install it.
absent = missing("torch", "transformers")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(absent), reason=f"needs {absent}")]

CONTEXT = "The car is red. It has four doors. It was built in Turin."
CLAIMS = ["The car is red.", "It has four doors.", "A filter lasts a year."]
TEXTS = [*STATED, *NOT_STATED, CONTEXT, *CLAIMS, *(preset.text for preset in PRESETS.values())]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
# The judge refuses a model that rates STATED below NOT_STATED. Half of the drawn weights do.
SEEDS = range(30)

# The published model brings a class of its own as well: T5 whose first token is classified.
REMOTE_CODE = """
from transformers import PretrainedConfig, PreTrainedModel, T5Config, T5ForTokenClassification
from transformers.modeling_outputs import SequenceClassifierOutput


class FirstTokenConfig(PretrainedConfig):
    model_type = "first_token"

    def __init__(self, t5=None, **options):
        self.t5 = t5
        super().__init__(**options)


class FirstTokenModel(PreTrainedModel):
    config_class = FirstTokenConfig

    def __init__(self, config):
        super().__init__(config)
        self.t5 = T5ForTokenClassification(T5Config(**config.t5))
        self.post_init()

    def forward(self, **inputs):
        return SequenceClassifierOutput(logits=self.t5(**inputs).logits[:, 0, :])
"""


def train_pieces(*marks: str) -> list[tuple[str, float]]:
    """Train the word pieces of a unigram tokenizer on the texts of this test."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer: Any = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=list(marks), unk_token=marks[-1]
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    ranked = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return [(piece, 0.0 if piece in marks else -1.0 - rank / 100) for piece, rank in ranked]


def save_deberta(folder: Path, seed: int) -> Any:
    """Save a small DeBERTa with drawn weights, and its tokenizer."""
    import torch
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification, DebertaV2Tokenizer

    pieces = train_pieces("[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]")
    tokenizer = DebertaV2Tokenizer(vocab=pieces, unk_id=4)
    torch.manual_seed(seed)
    config = DebertaV2Config(vocab_size=len(tokenizer), num_labels=2, initializer_range=0.5, **SIZES)
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_t5(folder: Path, seed: int) -> Any:
    """Save a small T5 with drawn weights and a class of its own, and its tokenizer in a folder beside it."""
    import torch
    from transformers import T5Tokenizer
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    tokenizer = T5Tokenizer(vocab=train_pieces("<pad>", "</s>", "<unk>"), extra_ids=0)
    tokenizer.save_pretrained(folder.with_name("tokenizer"))
    (folder / "first_token.py").write_text(REMOTE_CODE, encoding="utf-8")
    model_class: Any = get_class_from_dynamic_module("first_token.FirstTokenModel", str(folder))
    t5 = {
        "vocab_size": len(tokenizer),
        "d_model": 16,
        "d_ff": 16,
        "d_kv": 8,
        "num_heads": 2,
        "num_layers": 2,
    }
    config = model_class.config_class(t5={**t5, "num_labels": 2, "initializer_factor": 0.5})
    torch.manual_seed(seed)
    model_class(config).save_pretrained(folder)
    path = folder / "config.json"
    written = json.loads(path.read_text("utf-8"))
    written["auto_map"] = {
        "AutoConfig": "first_token.FirstTokenConfig",
        "AutoModelForSequenceClassification": "first_token.FirstTokenModel",
    }
    path.write_text(json.dumps(written), encoding="utf-8")
    return tokenizer


def compute_probability(folder: Path, tokenizer: Any, text: str) -> float:
    """Compute what the authors' inference code does: softmax over both outputs, and the second one."""
    import torch
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
    with torch.no_grad():
        logits = model(**tokenizer(text, return_tensors="pt")).logits
    return float(torch.softmax(logits, dim=-1)[0, 1])


# What the authors' code gives to the tokenizer, written by hand.
FORMS: dict[str, Callable[[str, str], str]] = {
    "minicheck": lambda premise, claim: f"{premise}[SEP]{claim}",
    "factcg": lambda premise, claim: (
        f'{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "{claim}"?'
        "\n\nOPTIONS:\n- Yes\n- No\nI think the answer is "
    ),
    "hhem": lambda premise, claim: (
        f"<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {premise}\n\nHypothesis: {claim}"
    ),
}


def draw_model(name: str, folder: Path, *, in_order: bool) -> Any:
    """Save a model that rates STATED above NOT_STATED, or below it, and return its tokenizer."""
    save = save_t5 if name == "hhem" else save_deberta
    folder.mkdir()
    for seed in SEEDS:
        tokenizer = save(folder, seed)
        stated, other = (
            compute_probability(folder, tokenizer, FORMS[name](*pair)) for pair in (STATED, NOT_STATED)
        )
        if (stated > other) == in_order:
            return tokenizer
    raise AssertionError("all drawn models have the same order")


@pytest.fixture
def use_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Let a preset load its model from a folder, and ``transformers`` nothing from the network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(nli_presets, "_predictors", {})
    forget()

    def use(name: str) -> Path:
        folder = tmp_path / "model"
        tokenizer = str(tmp_path / "tokenizer") if PRESETS[name].tokenizer else ""
        preset = replace(PRESETS[name], model=str(folder), tokenizer=tokenizer)
        monkeypatch.setattr(nli_presets, "PRESETS", {name: preset})
        return folder

    return use


def judge_claims(name: str) -> Score:
    judge = NLIJudge(name, trust_remote_code=name == "hhem")
    sample = Sample(reference_facts=CLAIMS, retrieved_contexts=[CONTEXT])
    return ContextRecall(judge=judge, unit="fact").score(sample)


@pytest.mark.parametrize("name", PRESETS)
def test_scores_are_those_of_the_authors_code(name: str, use_model: Callable[[str], Path]) -> None:
    folder = use_model(name)
    tokenizer = draw_model(name, folder, in_order=True)
    expected = [compute_probability(folder, tokenizer, FORMS[name](CONTEXT, claim)) for claim in CLAIMS]
    assert len({round(value, 3) for value in expected}) == len(CLAIMS)
    found = [verdict.details["probability"] for verdict in judge_claims(name).verdicts]
    assert found == pytest.approx(expected, abs=1e-5)


def test_model_that_rates_a_false_claim_higher_is_refused(use_model: Callable[[str], Path]) -> None:
    draw_model("minicheck", use_model("minicheck"), in_order=False)
    score = judge_claims("minicheck")
    assert (score.value, score.reason.count("is not 'supported'")) == (None, 1)

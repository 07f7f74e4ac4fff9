"""Published cross-encoders by a short name: the prompt of each, the meaning of its output, and its published figure.

`PRESETS` is the table. A preset's model runs as a ``text-classification`` pipeline of ``transformers``, which is loaded at the
first question. The library's authors did not run these models.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from ctxmetrics._internal.near_names import suggest
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.judges.pair_queue import PairFailure, TextPair

# A premise with a claim that it states. The output of the preset must be higher for it than for the next pair.
STATED = ("The pump is blue and weighs 12 kg.", "The pump weighs 12 kg.")
# A premise with a claim that it does not state.
NOT_STATED = ("The pump is blue and weighs 12 kg.", "The library in Oslo opens at nine.")
# The number of outputs of a model: entailment, and no entailment.
_OUTPUTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NLIPreset:
    """A published model that says whether a text states a claim.

    Attributes:
        model: The name of the model on the Hugging Face hub.
        text: The one text that the model reads. ``{premise}`` is the retrieved text, ``{claim}`` the unit, ``{end}`` the tokenizer's
            mark for the end of a text.
        supported: The number of the output that means "supported".
        piece_tokens: The maximum number of words and punctuation marks in one piece of a context. The model's authors cut to
            about this length.
        max_tokens: The maximum number of tokens that the model reads.
        published: The published figure of the model, with its data set and setting.
        source: The address at which the figure stands.
        licence: The licence of the model, as its authors state it.
        tokenizer: The model whose tokenizer is used; empty: the model's own.
        remote_code: Whether loading the model runs code from the hub.
    """

    model: str
    text: str
    supported: int = 1
    piece_tokens: int
    max_tokens: int
    published: str
    source: str
    licence: str
    tokenizer: str = ""
    remote_code: bool = False


PRESETS: Mapping[str, NLIPreset] = MappingProxyType(
    {
        "minicheck": NLIPreset(
            model="lytang/MiniCheck-DeBERTa-v3-Large",
            text="{premise}{end}{claim}",
            piece_tokens=400,
            max_tokens=2048,
            published="73.1 on LLM-AggreFact (mean balanced accuracy, bar .5; 74.1 with a bar for each set)",
            source="https://github.com/derenlei/FactCG",
            licence="MIT",
        ),
        "factcg": NLIPreset(
            model="yaxili96/FactCG-DeBERTa-v3-Large",
            text=(
                "{premise}\n\nChoose your answer: based on the paragraph above can we conclude that "
                '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
            ),
            piece_tokens=550,
            max_tokens=2048,
            published="75.6 on LLM-AggreFact (mean balanced accuracy, bar .5; 77.2 with a bar for each set)",
            source="https://github.com/derenlei/FactCG",
            licence="MIT",
        ),
        "hhem": NLIPreset(
            model="vectara/hallucination_evaluation_model",
            text=(
                "<pad> Determine if the hypothesis is true given the premise?\n\n"
                "Premise: {premise}\n\nHypothesis: {claim}"
            ),
            piece_tokens=500,
            max_tokens=2048,
            published="74.3 on RAGTruth-QA (balanced accuracy, bar .5)",
            source="https://huggingface.co/vectara/hallucination_evaluation_model",
            licence="Apache-2.0",
            tokenizer="google/flan-t5-base",
            remote_code=True,
        ),
    }
)


def read_preset_name(name: str) -> tuple[NLIPreset, str]:
    """Read ``NAME`` or ``NAME@REVISION``.

    Returns:
        The preset, and the revision of its model; ``main`` without one.

    Raises:
        ParameterError: There is no such preset.
    """
    key, _, revision = name.partition("@")
    if key not in PRESETS:
        raise ParameterError(
            f"NLIJudge: there is no preset {key!r}.{suggest(key, PRESETS)} The presets: {', '.join(PRESETS)}. For another "
            "model give a function from a list of (premise, hypothesis) to scores, and its identity."
        )
    return PRESETS[key], revision or "main"


@dataclass(slots=True)
class PresetPredictor:
    """Scores pairs with the model of a preset, which it loads once.

    Attributes:
        preset: The preset.
        revision: The revision of the preset's model on the hub.
    """

    preset: NLIPreset
    revision: str
    _pipeline: Any = field(default=None, repr=False)
    _problem: Exception | None = field(default=None, repr=False)
    _load_lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _share_predictor, (self.preset, self.revision)

    def __call__(self, pairs: Sequence[TextPair]) -> list[float | PairFailure]:
        """Return the probability that each premise states its claim."""
        with self._load_lock:
            if self._problem is not None:
                # The traceback would grow with every batch that fails.
                raise self._problem.with_traceback(None)
            if self._pipeline is None:
                try:
                    self._pipeline = self._load()
                except Exception as problem:
                    self._problem = problem
                    raise
        return self._score(self._pipeline, pairs)

    def _load(self) -> Any:
        """Load the model, and check that its output is higher for a stated claim than for another claim.

        Raises:
            JudgeError: The output is not higher, so that the verdicts of the model would be meaningless.
        """
        transformers: Any = import_module("transformers")
        load_tokenizer = transformers.AutoTokenizer.from_pretrained
        preset = self.preset
        if preset.tokenizer:
            tokenizer = load_tokenizer(preset.tokenizer)
        else:
            tokenizer = load_tokenizer(preset.model, revision=self.revision)
        classify = transformers.pipeline(
            "text-classification",
            model=preset.model,
            tokenizer=tokenizer,
            revision=self.revision,
            trust_remote_code=preset.remote_code,
        )
        labels = classify.model.config.id2label
        if len(labels) != _OUTPUTS:
            raise JudgeError(
                f"{preset.model} has the outputs {', '.join(map(str, labels.values()))}: the preset expects two, "
                "not supported and supported."
            )
        stated, not_stated = self._score(classify, [STATED, NOT_STATED])
        if not isinstance(stated, float) or not isinstance(not_stated, float) or stated <= not_stated:
            raise JudgeError(
                f"{preset.model} gives {stated} to a claim that its text states, and {not_stated} to one that it does not: "
                f"output {preset.supported} is not 'supported' in revision {self.revision}."
            )
        return classify

    def _score(self, classify: Any, pairs: Sequence[TextPair]) -> list[float | PairFailure]:
        """Score pairs. A pair that is too long for the model gets a failure in place of a score; it is not cut."""
        tokenizer = classify.tokenizer
        label = classify.model.config.id2label[self.preset.supported]
        texts = [self._fill(tokenizer, premise, claim) for premise, claim in pairs]
        scores: list[float | PairFailure] = []
        for text in texts:
            length = len(tokenizer(text)["input_ids"])
            if length > self.preset.max_tokens:
                problem = f"the pair has {length} tokens, and {self.preset.model} reads {self.preset.max_tokens}"
                scores.append(PairFailure(problem))
            else:
                scores.append(0.0)
        readable = [index for index, score in enumerate(scores) if not isinstance(score, PairFailure)]
        if readable:
            readable_texts = [texts[index] for index in readable]
            # For each text a list of outputs, each with its label and its score.
            outputs_by_text = classify(readable_texts, top_k=None, function_to_apply="softmax")
            for index, outputs in zip(readable, outputs_by_text, strict=True):
                score_by_label = {output["label"]: output["score"] for output in outputs}
                scores[index] = float(score_by_label[label])
        return scores

    def _fill(self, tokenizer: Any, premise: str, claim: str) -> str:
        """Write the text of a pair."""
        marks = tokenizer.all_special_tokens
        return self.preset.text.format(
            premise=_remove(marks, premise), claim=_remove(marks, claim), end=tokenizer.eos_token
        )


def _remove(marks: Sequence[str], text: str) -> str:
    """Replace a tokenizer's special tokens in a text by blanks. Else a context could end the premise and add a claim."""
    for mark in marks:
        text = text.replace(mark, " ")
    return text


_predictors: dict[tuple[str, str], PresetPredictor] = {}


def _share_predictor(preset: NLIPreset, revision: str) -> PresetPredictor:
    """Return the one predictor of this process: the model is loaded once."""
    return _predictors.setdefault((preset.model, revision), PresetPredictor(preset, revision))


def get_predictor(preset: NLIPreset, revision: str, *, trust_remote_code: bool) -> PresetPredictor:
    """Get the one predictor of this process for a preset.

    Raises:
        ParameterError: ``transformers`` is not installed; or the model runs code from the hub, and the caller did not allow
            this.
    """
    if preset.remote_code and not trust_remote_code:
        name = next(name for name, other in PRESETS.items() if other is preset)
        raise ParameterError(
            f"NLIJudge: {preset.model} runs code from the hub when it is loaded. If you trust it, write "
            f'NLIJudge("{name}", trust_remote_code=True); on the command line, write that line into a module, and --judge MODULE:NAME.'
        )
    for package in ("transformers", "torch"):
        if find_spec(package) is None:
            raise ParameterError(
                f"NLIJudge: {preset.model} needs {package}, which is not installed. Install it with: "
                "pip install transformers torch"
            )
    return _share_predictor(preset, revision)

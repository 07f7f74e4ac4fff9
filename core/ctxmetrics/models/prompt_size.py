"""How many tokens a prompt has at least, and whether a server read fewer: then it cut the prompt without a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Prompt
from ctxmetrics.verdicts import Usage

DIGITS_A_TOKEN = 4.0
# Prompts with fewer tokens are not looked at: no server has so small a window.
SMALLEST_PROMPT = 256
# After so many short requests the tokenizer of a run is known.
SHORT_REQUESTS = 8
# A short request has at most so many characters.
SHORT_CHARACTERS = 8_000
# A whole prompt has at least this share of the tokens that the short requests let expect.
MARGIN = 0.8
# The share of Latin letters in a text about which short requests, whose instructions are Latin, say something.
_MOSTLY = 0.9

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
# By script, the letters that one token holds at most on average, measured over nine tokenizers and 28 kinds of text; and what
# finds its letters. Punctuation, spaces and other scripts count nothing: one token can hold a whole ruled line.
_SCRIPTS: Mapping[str, tuple[float, re.Pattern[str]]] = {
    "latin": (6.0, re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")),
    "cyrillic, greek": (4.2, re.compile("[\u0370-\u052f\u1f00-\u1fff]+")),
    "han, kana": (2.2, re.compile("[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")),
    "arabic, hebrew": (3.5, re.compile("[\u0590-\u077f]+")),
    "indic": (3.2, re.compile("[\u0900-\u0dff]+")),
    "thai and neighbours": (3.6, re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")),
    "hangul": (1.8, re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]+")),
}


def least_tokens(text: str) -> float:
    """Return the least number of tokens that a text can have, with any tokenizer of today's models."""
    return sum(_tokens_by_script(text).values())


@dataclass(slots=True)
class Tokenizer:
    """What the short requests of a run show about the tokenizer of its model."""

    # For each of the first short requests, the counted tokens for one token of `least_tokens`.
    _ratios: list[float] = field(default_factory=list)

    def check(self, prompt: Prompt, usage: Usage, cached: int) -> None:
        """Check that a server read a prompt whole.

        Args:
            prompt: The prompt. Of a long one the data alone must have been counted at least: a server may leave out the
                rest, which it has cached.
            usage: What the server counted, above 0.
            cached: Tokens of the prompt that it counted apart.

        Raises:
            JudgeError: It counted fewer tokens than the prompt has; the reason code is ``truncated_prompt``.
        """
        counted_tokens = usage.prompt_tokens + cached
        is_short = len(prompt.text) <= SHORT_CHARACTERS
        is_tokenizer_known = len(self._ratios) >= SHORT_REQUESTS
        if is_short and not is_tokenizer_known:
            fewest_tokens = sum(_tokens_by_script(prompt.text).values())
            self._ratios.append(counted_tokens / max(1.0, fewest_tokens))
        expected_tokens = sum(_tokens_by_script(prompt.user).values())
        if counted_tokens >= expected_tokens and is_tokenizer_known and not is_short:
            tokens_by_script = _tokens_by_script(prompt.text)
            fewest_tokens = sum(tokens_by_script.values())
            if tokens_by_script["latin"] >= _MOSTLY * fewest_tokens:
                expected_tokens = MARGIN * min(self._ratios) * fewest_tokens
        if expected_tokens < SMALLEST_PROMPT or counted_tokens >= expected_tokens:
            return
        raise JudgeError(
            f"the server cut the prompt: it counted {counted_tokens} tokens where the prompt has {int(expected_tokens)} at least. Let "
            "the server read more (num_ctx of Ollama, --ctx-size of llama.cpp), or send less text in one request: "
            "max_characters of LLMJudge, --max-characters",
            reason_code="truncated_prompt",
            usage=usage,
            limit=counted_tokens,
        )


def _tokens_by_script(text: str) -> dict[str, float]:
    """Estimate the fewest tokens of a text, by script."""
    letters = " ".join(_LETTERS.findall(text))
    tokens = {"digits": sum(map(len, _DIGITS.findall(text))) / DIGITS_A_TOKEN}
    for script, (letters_a_token, pattern) in _SCRIPTS.items():
        tokens[script] = sum(map(len, pattern.findall(letters))) / letters_a_token
    return tokens

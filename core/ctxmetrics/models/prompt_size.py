"""Estimates the minimum number of tokens of a prompt, to find servers that cut a prompt without an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Prompt
from ctxmetrics.verdicts import Usage

DIGITS_A_TOKEN = 4.0
_LETTERS_A_TOKEN_OF_LATIN = 6.0
# Shorter prompts are not checked: every server reads this many tokens.
SMALLEST_PROMPT = 256
# After this many short requests, it is known how many tokens the model's tokenizer makes of a text.
SHORT_REQUESTS = 8
# The maximum number of characters of a short request.
SHORT_CHARACTERS = 8_000
# The server must have counted at least this share of the tokens that the short requests let expect.
MARGIN = 0.8
# The minimum share of Latin tokens in a prompt for which tokens are expected: the short requests are mostly Latin text.
_MIN_LATIN_SHARE = 0.9

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
# For each script: the highest average of letters in one token, measured over nine tokenizers and 28 kinds of text, and the
# pattern of its letters. Punctuation, spaces and other scripts are not counted: one token can hold a long row of dashes.
_SCRIPTS: Mapping[str, tuple[float, re.Pattern[str]]] = {
    "latin": (_LETTERS_A_TOKEN_OF_LATIN, re.compile("[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+")),
    "cyrillic, greek": (4.2, re.compile("[\u0370-\u052f\u1f00-\u1fff]+")),
    "han, kana": (2.2, re.compile("[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")),
    "arabic, hebrew": (3.5, re.compile("[\u0590-\u077f]+")),
    "indic": (3.2, re.compile("[\u0900-\u0dff]+")),
    "thai and neighbours": (3.6, re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")),
    "hangul": (1.8, re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]+")),
}


def least_tokens(text: str) -> float:
    """Return the minimum number of tokens of a text, with any tokenizer of today's models."""
    return sum(_tokens_by_script(text).values())


@dataclass(slots=True)
class Tokenizer:
    """The number of tokens that a model's tokenizer makes of a text, measured on the short requests of a run."""

    # For each of the first short requests: the tokens that the server counted, divided by `least_tokens` of its text.
    _tokens_per_least_token: list[float] = field(default_factory=list)

    def check(self, prompt: Prompt, usage: Usage, cached: int) -> None:
        """Check that a server read a prompt whole.

        Args:
            prompt: The prompt. For a long prompt, the count must reach the size of its data part only, because some servers do
                not count the cached part.
            usage: The tokens that the server counted, above 0.
            cached: Cached tokens of the prompt that the server counted separately.

        Raises:
            JudgeError: The server counted fewer tokens than the prompt has. The reason code is ``truncated_prompt``.
        """
        counted_tokens = usage.prompt_tokens + cached
        is_short = len(prompt.text) <= SHORT_CHARACTERS
        is_tokenizer_known = len(self._tokens_per_least_token) >= SHORT_REQUESTS
        if is_short and not is_tokenizer_known:
            self._tokens_per_least_token.append(counted_tokens / max(1.0, least_tokens(prompt.text)))
        expected_tokens = 0.0
        # The usual case needs no exact estimate: the count is above the upper bound.
        if counted_tokens < _upper_bound(prompt.user):
            expected_tokens = least_tokens(prompt.user)
        if counted_tokens >= expected_tokens and is_tokenizer_known and not is_short:
            tokens_by_script = _tokens_by_script(prompt.text)
            prompt_tokens = sum(tokens_by_script.values())
            if tokens_by_script["latin"] >= _MIN_LATIN_SHARE * prompt_tokens:
                expected_tokens = MARGIN * min(self._tokens_per_least_token) * prompt_tokens
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


def _upper_bound(text: str) -> float:
    """Return an upper bound of `least_tokens`, from the length of the text alone."""
    characters_a_token = min(letters_a_token for letters_a_token, _ in _SCRIPTS.values())
    if text.isascii():
        characters_a_token = min(DIGITS_A_TOKEN, _LETTERS_A_TOKEN_OF_LATIN)
    return len(text) / characters_a_token


def _tokens_by_script(text: str) -> dict[str, float]:
    """Estimate the minimum number of tokens of a text, by script."""
    letters = " ".join(_LETTERS.findall(text))
    tokens = {"digits": sum(map(len, _DIGITS.findall(text))) / DIGITS_A_TOKEN}
    for script, (letters_a_token, pattern) in _SCRIPTS.items():
        tokens[script] = sum(map(len, pattern.findall(letters))) / letters_a_token
    return tokens

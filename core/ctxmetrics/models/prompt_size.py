"""How many tokens a prompt has at least, and whether a server read fewer: then it cut the prompt without a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import JudgeError
from ctxmetrics.models.base import Prompt
from ctxmetrics.verdicts import Usage

DIGITS_A_TOKEN = 4.0
# Prompts with fewer tokens are not looked at: no server has so small a window.
SMALLEST_PROMPT = 256
# Requests from which the tokenizer of a run is known, the characters that each has at most, and the share of the
# tokens expected by them that a whole prompt reaches.
SHORT_REQUESTS, SHORT_CHARACTERS, MARGIN = 8, 8_000, 0.8
# The share of Latin letters in a text about which short requests, whose instructions are Latin, say something.
_MOSTLY = 0.9

_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
# By script, the letters that one token holds at most on average, measured over nine tokenizers and 28 kinds of text; and what
# finds its letters. Punctuation, spaces and other scripts count nothing: one token can hold a whole ruled line.
_SCRIPTS: Mapping[str, tuple[float, re.Pattern[str]]] = {
    name: (letters, re.compile(f"[{ranges}]+"))
    for name, (letters, ranges) in read_data("models", "scripts.json").items()
}


def least_tokens(text: str) -> float:
    """Return the least number of tokens that a text can have, with any tokenizer of today's models."""
    return sum(_tokens_by_script(text).values())


@dataclass(slots=True)
class Tokenizer:
    """What the short requests of a run show about the tokenizer of its model."""

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
        counted, short = usage.prompt_tokens + cached, len(prompt.text) <= SHORT_CHARACTERS
        known = len(self._ratios) >= SHORT_REQUESTS
        if short and not known:
            self._ratios.append(counted / max(1.0, sum(_tokens_by_script(prompt.text).values())))
        expected = sum(_tokens_by_script(prompt.user).values())
        if counted >= expected and known and not short:
            scripts = _tokens_by_script(prompt.text)
            whole = sum(scripts.values())
            if scripts["latin"] >= _MOSTLY * whole:
                expected = MARGIN * min(self._ratios) * whole
        if expected < SMALLEST_PROMPT or counted >= expected:
            return
        raise JudgeError(
            f"the server cut the prompt: it counted {counted} tokens where the prompt has {int(expected)} at least. Let "
            "the server read more (num_ctx of Ollama, --ctx-size of llama.cpp), or send less text in one request: "
            "max_characters of LLMJudge, --max-characters",
            reason_code="truncated_prompt",
            usage=usage,
            limit=counted,
        )


def _tokens_by_script(text: str) -> dict[str, float]:
    letters = " ".join(_LETTERS.findall(text))
    tokens = {"digits": sum(map(len, _DIGITS.findall(text))) / DIGITS_A_TOKEN}
    for script, (letters_a_token, pattern) in _SCRIPTS.items():
        tokens[script] = sum(map(len, pattern.findall(letters))) / letters_a_token
    return tokens

"""How many tokens a prompt has at least, and whether a server read fewer: then it cut the prompt without a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

# Letters that one token holds at most on average, by script: measured over nine tokenizers and 28 kinds of text.
# Punctuation, spaces and other scripts count nothing: one token can hold a whole ruled line.
LETTERS_A_TOKEN: Mapping[str, float] = MappingProxyType(
    {
        "latin": 6.0,
        "cyrillic, greek": 4.2,
        "han, kana": 2.2,
        "arabic, hebrew": 3.5,
        "indic": 3.2,
        "thai and neighbours": 3.6,
        "hangul": 1.8,
    }
)
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
_SCRIPTS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "latin": re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]+"),
        "cyrillic, greek": re.compile(r"[\u0370-\u052f\u1f00-\u1fff]+"),
        "han, kana": re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"),
        "arabic, hebrew": re.compile(r"[\u0590-\u077f]+"),
        "indic": re.compile(r"[\u0900-\u0dff]+"),
        "thai and neighbours": re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"),
        "hangul": re.compile(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]+"),
    }
)


def least_tokens(text: str) -> float:
    """Return the least number of tokens that a text can have, with any tokenizer of today's models."""
    return sum(_tokens_by_script(text).values())


@dataclass(slots=True)
class Tokenizer:
    """What the short requests of a run show about the tokenizer of its model."""

    _ratios: list[float] = field(default_factory=list)

    def expected(self, data: str, text: str, counted: int) -> int | None:
        """Return how many tokens a prompt must have, if the server counted fewer; else None.

        Args:
            data: The part of the prompt that differs from sample to sample: a server may leave out the rest, which it
                has cached.
            text: The whole prompt.
            counted: Tokens of the prompt that the server counted, with cached ones; 0 says nothing.
        """
        if counted <= 0:
            return None
        if len(text) <= SHORT_CHARACTERS and len(self._ratios) < SHORT_REQUESTS:
            least = least_tokens(text)
            if least > 0:
                self._ratios.append(counted / least)
        least = least_tokens(data)
        if least >= SMALLEST_PROMPT and counted < least:
            return int(least)
        if len(self._ratios) < SHORT_REQUESTS or len(text) <= SHORT_CHARACTERS:
            return None
        scripts = _tokens_by_script(text)
        whole = sum(scripts.values())
        expected = MARGIN * min(self._ratios) * whole
        if scripts["latin"] >= _MOSTLY * whole and counted < expected:
            return int(expected)
        return None


def _tokens_by_script(text: str) -> dict[str, float]:
    letters = " ".join(_LETTERS.findall(text))
    tokens = {"digits": sum(map(len, _DIGITS.findall(text))) / DIGITS_A_TOKEN}
    for script, pattern in _SCRIPTS.items():
        tokens[script] = sum(map(len, pattern.findall(letters))) / LETTERS_A_TOKEN[script]
    return tokens

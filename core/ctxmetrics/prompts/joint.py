"""The joint judgement: which contexts state each unit, and which contexts are useful. One request for both."""

from __future__ import annotations

from ctxmetrics.prompts import attribution
from ctxmetrics.prompts.attribution import SentenceReply
from ctxmetrics.prompts.reply import ReplyModel
from ctxmetrics.prompts.usefulness import CONTEXTS, ContextReply

VERSION = 2


class JointReply(ReplyModel):
    """The reply to the joint judgement."""

    data: str = ""
    sentences: list[SentenceReply]
    contexts: list[ContextReply]


FORM = f'JSON: {{"data":"...",{attribution.SENTENCES},{CONTEXTS}}}'

EN = f"""\
{attribution.OPENING_EN}

Judge two things.
1. Each sentence: do the contexts state what it states? {attribution.RULES_EN}
2. Each context: is it useful for giving the reference answer to the question? useful is true only if it holds \
information that the answer uses; the same topic alone is not enough. A useful context that no evidence names needs \
a quote of that information; else quote is null.

{attribution.ENDING_EN}

Example data:
{attribution.EXAMPLE_EN}
Example reply:
{attribution.REPLY_EN},"contexts":[{{"id":"c1","quote":null,"useful":false}},{{"id":"c2","quote":null,"useful":true}}]}}"""

RU = f"""\
{attribution.OPENING_RU}

Оцени две вещи.
1. Каждое предложение: сказано ли в контекстах то, что в нём утверждается? {attribution.RULES_RU}
2. Каждый контекст: полезен ли он, чтобы дать эталонный ответ на вопрос? useful равно true, только если в нём есть \
сведения, которые использует ответ; одной общей темы мало. Полезному контексту, которого нет ни в одном evidence, \
нужна цитата этих сведений; иначе quote равно null.

{attribution.ENDING_RU}

Пример данных:
{attribution.EXAMPLE_RU}
Пример ответа:
{attribution.REPLY_RU},"contexts":[{{"id":"c1","quote":null,"useful":false}},{{"id":"c2","quote":null,"useful":true}}]}}"""

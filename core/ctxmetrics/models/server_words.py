"""The words and messages of servers and clients about errors: ``server_words.toml`` has the words, `PATTERNS` the messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict
from ctxmetrics._internal.patterns import compile_on_use

# Lists of words by their use: codes, names of fields and classes, and beginnings of messages.
WORDS: Mapping[str, tuple[str, ...]] = FrozenDict(
    {name: tuple(words) for name, words in read_data("models", "server_words.toml")["words"].items()}
)
# Each pattern is searched for in the text of an error, in lower case.
PATTERNS: Mapping[str, re.Pattern[str]] = FrozenDict(
    {
        # The error says that the request is too long.
        "too_long": compile_on_use(
            r"""
              (?:exceed|beyond|longer[ ]than|larger[ ]than|too[ ]large|maximum|only|not[ ]enough).{0,60}
              context.?(?:length|size|window|limit)
            | context.?(?:length|size|window|limit).{0,60}
              (?:exceed|maximum|too[ ](?:small|long|large)|is[ ]\d|of[ ]only[ ]\d|\(\d)
            | maximum[ ](?:prompt|model|input)[ ]length
            | exceed\w*[ ](?:the[ ])?(?:model'?s?[ ])?token[ ]limit
            | (?:prompt|input|request|message)s?[ ](?:is|are|was)[ ]too[ ](?:long|large)
            | too[ ]many[ ](?:input[ ])?tokens
            | input[ ]token(?:s|s?[ ]count)\b.{0,40}exceed
            | input[ ]tokens[ ].{0,40}cannot[ ]exceed
            | maximum[ ]number[ ]of[ ](?:input[ ])?tokens
            | too[ ]many[ ]questions
            | questions\b.{0,80}(?:at[ ]most|maximum|exceed|limit)
            | (?:at[ ]most|maximum|limit).{0,40}\bquestions
            | reduce[ ]the[ ]length
            | must[ ]have[ ]less[ ]than[ ]\d+[ ]tokens
            | `inputs`[ ]tokens[ ]\+
            | range[ ]of[ ]input[ ]length
            """,
            re.VERBOSE,
        ),
        # The same, in an error about too many tokens a minute.
        "too_long_for_minute": compile_on_use(
            r"""
              request[ ]too[ ]large
            | tokens[ ]must[ ]be[ ]reduced
            """,
            re.VERBOSE,
        ),
        # The error states the maximum number of tokens.
        "limit": compile_on_use(
            r"""
              (?:context|prompt|model|input)[ ]length[ ](?:is|of)(?:[ ]only)?[ ](\d+)
            | context[ ]length[ ]\((\d+)
            | >[ ]?(\d+)[ ]maximum
            | allowed[ ]\((\d+)
            | with[ ](\d+)[ ]maximum
            | limit[ ]of[ ](\d+)
            | limit:[ ]?(\d+)
            | less[ ]than[ ](\d+)[ ]tokens
            | max[ ]input[ ]tokens:[ ](\d+)
            | cannot[ ]exceed[ ](?:the[ ]total[ ]tokens[ ]limit[ ])?(\d+)
            | must[ ]be[ ]<=[ ](\d+)
            | length[ ]should[ ]be[ ]\[\d+[ ](\d+)
            | limit[ ](\d+)[ ]requested
            """,
            re.VERBOSE,
        ),
        # The error says that the prompt and the maximum length of the reply are together longer than the model's limit.
        "with_reply": compile_on_use(
            r"""
              \d[ ](?:tokens?[ ])?(?:in|for)[ ]the[ ]completion
            | prompt.{0,20}\+.{0,20}max_(?:new_)?tokens
            """,
            re.VERBOSE,
        ),
        # The error says that the maximum length of the reply (`max_tokens`) is too large.
        "bound": compile_on_use(
            r"""
              max_(?:completion_)?tokens\W.{0,40}
              (?:too[ ]large|exceed|must[ ]be|at[ ]most|less[ ]than|greater[ ]than|range)
            """,
            re.VERBOSE,
        ),
        # The error says that the server does not accept a parameter.
        "refused": compile_on_use(
            r"""
              unsupported
            | not.{0,20}support
            | unrecogni[sz]ed
            | unknown
            | unexpected
            | \bextra\b
            | extra_forbidden
            | not[ ](?:permitted|allowed|available)
            | forbidden
            | only[ ]\S+[ ]is[ ]allowed
            | only[ ]the[ ]default
            | deprecated
            | cannot[ ]be[ ]used
            """,
            re.VERBOSE,
        ),
        # The error is about the form of the reply.
        "form": compile_on_use(
            r"""
              response_?format
            | json_schema
            | json_object
            | json[ ]mode
            | structured[ ]output
            | guided
            | grammar
            """,
            re.VERBOSE,
        ),
        # The error says that the server does not accept this form, whatever schema it holds.
        "refused_form": compile_on_use(
            r"""
              (?:response_?format|json_schema|json_object|json[ ]mode|structured[ ]outputs?)\W.{0,40}
              (?:unavailable|unsupported|not[ ].{0,20}support|not[ ](?:permitted|allowed|available)|extra_forbidden|unrecogni[sz]ed)
            | (?:unsupported|unrecogni[sz]ed|unknown|unexpected|extra)\W.{0,40}response_?format
            """,
            re.VERBOSE,
        ),
        # The error is about the role of a message.
        "role": compile_on_use(
            r"""
              role.{0,40}system
            | system.{0,40}(?:role|message|prompt)
            | \.role\b
            """,
            re.VERBOSE,
        ),
        # The error says which roles the messages of the prompt may have.
        "role_rules": compile_on_use(
            r"""
              only[ ]user,?[ ]and[ ]assistant[ ]roles
            | roles[ ]must[ ]alternate
            """,
            re.VERBOSE,
        ),
    }
)

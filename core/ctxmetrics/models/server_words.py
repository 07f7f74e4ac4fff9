"""How servers and their clients say what went wrong: ``server_words.toml`` has the words, `PATTERNS` the messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.frozen import FrozenDict

# Codes, names of fields and classes, and beginnings of messages.
WORDS: Mapping[str, tuple[str, ...]] = FrozenDict(
    {name: tuple(words) for name, words in read_data("models", "server_words.toml")["words"].items()}
)
# What is searched for in texts in lower case.
PATTERNS: Mapping[str, re.Pattern[str]] = FrozenDict(
    {
        # The request is too long.
        "too_long": re.compile(
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
        # The same, in a refusal for overload.
        "too_long_for_minute": re.compile(
            r"""
              request[ ]too[ ]large
            | tokens[ ]must[ ]be[ ]reduced
            """,
            re.VERBOSE,
        ),
        # The limit, stated.
        "limit": re.compile(
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
        # Prompt and bound of the reply together are longer than the model reads.
        "with_reply": re.compile(
            r"""
              \d[ ](?:tokens?[ ])?(?:in|for)[ ]the[ ]completion
            | prompt.{0,20}\+.{0,20}max_(?:new_)?tokens
            """,
            re.VERBOSE,
        ),
        # The bound of the reply is too large.
        "bound": re.compile(
            r"""
              max_(?:completion_)?tokens\W.{0,40}
              (?:too[ ]large|exceed|must[ ]be|at[ ]most|less[ ]than|greater[ ]than|range)
            """,
            re.VERBOSE,
        ),
        # A parameter is not taken.
        "refused": re.compile(
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
        # The form of the reply.
        "form": re.compile(
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
        # The form itself is not taken, whatever schema it holds.
        "refused_form": re.compile(
            r"""
              (?:response_?format|json_schema|json_object|json[ ]mode|structured[ ]outputs?)\W.{0,40}
              (?:unavailable|unsupported|not[ ].{0,20}support|not[ ](?:permitted|allowed|available)|extra_forbidden|unrecogni[sz]ed)
            | (?:unsupported|unrecogni[sz]ed|unknown|unexpected|extra)\W.{0,40}response_?format
            """,
            re.VERBOSE,
        ),
        # The role of a message.
        "role": re.compile(
            r"""
              role.{0,40}system
            | system.{0,40}(?:role|message|prompt)
            | \.role\b
            """,
            re.VERBOSE,
        ),
        "role_rules": re.compile(
            r"""
              only[ ]user,?[ ]and[ ]assistant[ ]roles
            | roles[ ]must[ ]alternate
            """,
            re.VERBOSE,
        ),
    }
)

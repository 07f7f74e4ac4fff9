"""``ctxmetrics check-judge``."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from ctxmetrics.cli._options import BaseUrl, TimedPace
from ctxmetrics.cli._terminal import STOPPED, collected_warnings, message, print_result
from ctxmetrics.errors import JudgeError


def check_judge(
    judge: Annotated[
        str,
        typer.Argument(
            help="lexical, PROVIDER/MODEL such as openai/gpt-4o-mini (docs/providers.md has a list), or MODULE:NAME."
        ),
    ],
    pace: TimedPace,
    base_url: BaseUrl = None,
    repetitions: Annotated[int, typer.Option(help="How often each sample is judged.")] = 3,
    format: Annotated[Literal["text", "json"], typer.Option(help="text or json.")] = "text",  # noqa: A002 - the option's name
) -> None:
    """Let a judge judge labelled samples that come with the library, and compare it with their labels."""
    from ctxmetrics.agreement.check_judge import check_judge as check
    from ctxmetrics.cli._run import judge_of

    judging = judge_of(judge, base_url)
    try:
        with collected_warnings() as warnings:
            found = check(judging, repetitions=repetitions, announce=message, **vars(pace))
            warnings.clear()  # what was found says it
    except JudgeError as error:
        message(f"ctxmetrics: {error}")
        raise typer.Exit(STOPPED) from None
    print_result(
        json.dumps(found.to_dict(), ensure_ascii=False, indent=1) if format == "json" else str(found)
    )

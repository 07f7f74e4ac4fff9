"""What is sent in batches has the fields and types that the providers' own packages publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from ctxmetrics import Batch
from support import FakeOpenAIServer, answer_from
from support.batch_runs import Form, make_samples, run


def check(data: Mapping[str, Any], published: Any) -> None:
    """Check an object against a published type: all its fields are known, none is missing, and the values fit."""
    fields = published.__required_keys__ | published.__optional_keys__
    assert data.keys() <= fields
    assert published.__required_keys__ <= data.keys()
    TypeAdapter(published).validate_python(data)


def ask(form: Form, folder: Any) -> list[dict[str, Any]]:
    """Run samples in batches, and return what the provider was asked."""
    provider = form.fake()
    with FakeOpenAIServer(answer_from(), batches=provider) as server:
        results = run(server, make_samples(4), batch=Batch(poll=0.01, folder=folder / "run.batch"))
    assert results.stopped is None
    assert provider.asked
    return provider.asked


@pytest.mark.slow
def test_bodies_are_those_of_the_published_types(form: Form, tmp_path) -> None:
    asked = ask(form, tmp_path)
    if form.name == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
        from anthropic.types.messages.batch_create_params import Request

        for item in asked:
            check(item, Request)
            check(item["params"], MessageCreateParamsNonStreaming)
    else:
        openai = pytest.importorskip("openai.types", reason="the openai extra is not installed")
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

        batch, *lines = asked
        check(batch, openai.batch_create_params.BatchCreateParams)
        for line in lines:
            # The package has no type of a line; these are the fields of the provider's guide.
            assert line.keys() == {"custom_id", "method", "url", "body"}
            assert (line["method"], line["url"]) == ("POST", batch["endpoint"])
            check(line["body"], CompletionCreateParamsNonStreaming)

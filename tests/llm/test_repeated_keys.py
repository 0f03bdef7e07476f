"""A model server repeats its key where no reply passes: in lists, errors, addresses. Nothing read from it has it."""

from __future__ import annotations

from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError
from atelier_desk.llm.secrets import remember
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.openai import FakeOpenAI
from tests.helpers.servers.scripted_http_server import Failure
from tests.llm.provider_requests import ask, collect, provider

KEY = "zq-Lists-9f8e7d6c5b4a39281706fedcba"
ESCAPED = "".join(f"\\u{ord(char):04x}" for char in KEY)
UNSEEN = KEY.replace("-", "-\u200b")
"""With characters that are removed before it is shown."""


@pytest.fixture(autouse=True)
def known() -> None:
    remember(KEY)


@pytest.mark.parametrize(
    "entry",
    [
        {"id": KEY},
        {"id": f"models/{KEY}"},
        {"id": "m", "name": KEY},
        {"id": "m", "name": f"The best {KEY}", "description": KEY, "owned_by": KEY},
        {"id": "m", KEY: KEY, "architecture": {"input_modalities": [KEY]}},
    ],
)
async def test_a_list_of_models(openai_server: FakeOpenAI, clock: ManualClock, entry: dict[str, Any]) -> None:
    openai_server.models = [entry, {"id": "other"}]
    server = provider("openai", openai_server.url, clock, key=KEY)
    models = await server.list_models()
    assert KEY not in str(models)
    assert models[-1].name == "other"
    health = await server.test()
    assert (health.ok, KEY in health.model_dump_json()) == (True, False)


@pytest.mark.parametrize("written", [KEY, ESCAPED, ESCAPED.replace("\\", "\\\\"), KEY.encode().hex()])
async def test_any_other_answer(openai_server: FakeOpenAI, clock: ManualClock, written: str) -> None:
    """Such as what a service says of a job, or the results of a search."""
    openai_server.script(Failure(200, f'{{"{written}": ["{written}", {{"a": "x {written}"}}], "b": 1}}'))
    answer = await provider("openai", openai_server.url, clock, key=KEY).http.json(
        "POST", "/chat/completions", {"messages": []}
    )
    assert answer == {"[redacted]": ["[redacted]", {"a": "x [redacted]"}], "b": 1}


async def test_a_model_may_be_called_as_a_short_key(openai_server: FakeOpenAI, clock: ManualClock) -> None:
    remember("lm-studio")
    openai_server.models = [{"id": "lm-studio-community/qwen"}]
    (model,) = await provider("openai", openai_server.url, clock, key="lm-studio").list_models()
    assert model.name == "lm-studio-community/qwen"


FAILURES: dict[str, Failure] = {
    "message": Failure(400, {"error": {"message": f"wrong: {KEY}"}}),
    "invisible characters": Failure(400, {"error": {"message": f"wrong: {UNSEEN}"}}),
    "field": Failure(400, {"error": {"message": "wrong", "param": KEY, "code": KEY, "type": KEY}}),
    "detail": Failure(422, {"detail": [{"loc": ["body", KEY], "msg": KEY}]}),
    "any JSON": Failure(400, {KEY: [KEY]}),
    "no JSON": Failure(500, f"<p {KEY}"),
    "rate limit": Failure(429, {"error": {"message": f"Rate limit of {KEY}: try again in 3s"}}, {"retry-after": KEY}),
    "no credit": Failure(402, {"error": {"message": f"{KEY} has no credit"}}),
    "refused key": Failure(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}),
    "long prompt": Failure(400, {"error": {"message": f"{KEY}: maximum context length is 10 tokens"}}),
    "redirect": Failure(302, None, {"location": f"https://a.example/{KEY}/v1"}),
    "redirect to a host": Failure(307, None, {"location": f"https://{KEY}.example/v1"}),
    "redirect with a password": Failure(308, None, {"location": f"https://{KEY}:{KEY}@a.example/v1?{KEY}#{KEY}"}),
    "escaped redirect": Failure(302, None, {"location": "https://a.example/" + KEY.replace("-", "%2D")}),
    "unreadable": Failure(200, KEY),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("asked", ["reply", "models"])
async def test_an_error(openai_server: FakeOpenAI, clock: ManualClock, failure: Failure, asked: str) -> None:
    server = provider("openai", openai_server.url, clock, key=KEY)
    server.retry = server.retry.__class__(attempts=1)
    openai_server.script(failure)
    with pytest.raises(ProviderError) as caught:
        if asked == "reply":
            await collect(server.stream(ask()))
        else:
            await server.http.json("POST", "/chat/completions", {"model": "m", "messages": []})
    said = str(caught.value) + repr(caught.value.params)
    assert KEY not in said
    assert KEY.replace("-", "%2D") not in said

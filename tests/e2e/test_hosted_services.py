"""A person adds a hosted service in the settings, tests the key, and talks to it: thinking, a call, cache savings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.server_thread import serving
from tests.e2e.conftest import OpenApp
from tests.e2e.hosted_service_steps import add_service, ask_for_a_sum, picture, see_savings
from tests.e2e.scripted_model_server import calculate
from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Reply


@dataclass
class Service:
    """A service as its list and its server name it; ``usage`` has savings of its cache."""

    server: type[Any]
    words: str
    title: str
    prefix: str
    page: str
    shown: list[str]
    model: str
    usage: dict[str, Any]


SERVICES = [
    Service(
        FakeAnthropic,
        "claude",
        "Anthropic",
        "sk-ant-",
        "console.anthropic.com/settings/keys",
        ["Claude Sonnet 5", "1,000,000"],
        "claude-sonnet-5",
        {
            "input_tokens": 50,
            "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 4000,
            "output_tokens": 30,
        },
    ),
    Service(
        FakeGoogle,
        "google",
        "Google Gemini",
        "AIza-",
        "aistudio.google.com/apikey",
        ["Gemini 3.5 Flash", "1,048,576"],
        "gemini-3.5-flash",
        {
            "promptTokenCount": 4250,
            "cachedContentTokenCount": 4000,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 10,
        },
    ),
    Service(
        FakeResponses,
        "openai",
        "OpenAI",
        "sk-",
        "platform.openai.com/api-keys",
        ["gpt-5.5", "400,000"],
        "gpt-5.5",
        {
            "input_tokens": 4250,
            "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 200},
            "output_tokens": 30,
        },
    ),
]


@pytest.mark.parametrize("service", SERVICES, ids=lambda each: each.words)
def test_a_person_adds_a_service_and_asks(open_app: OpenApp, service: Service) -> None:
    server, wrong, key = service.server(), f"{service.prefix}no", f"{service.prefix}k1"
    server.api_key, server.skips = key, frozenset()
    with serving(server):
        app = open_app(None)
        settings, table = add_service(
            app, service.words, service.title, server.root, wrong=wrong, key=key, page=service.page, models=2
        )
        assert [table.model().index(0, column).data() for column in (1, 2)] == service.shown
        settings.close()
        server.script(
            Reply(reasoning="Six times seven.", calls=[calculate("toolu_1", "6*7")], usage=service.usage),
            Reply(reasoning="Easy.", text="It is 42.", usage=service.usage),
        )
        ask_for_a_sum(app, service.title, service.model)
        picture(app, app.window, f"talk-{service.words}")
        assert server.refusals == []
        if isinstance(server, FakeResponses):
            sent = [item["type"] for item in server.chats[-1]["input"]]
            assert sent[1:] == ["reasoning", "function_call", "function_call_output"]
        see_savings(app, service.words)

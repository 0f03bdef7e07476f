"""A person adds OpenAI in the settings, tests the key, and talks to GPT: encrypted reasoning, a call, cache savings."""

from __future__ import annotations

from tests.cli.server_thread import serving
from tests.e2e.conftest import OpenApp
from tests.e2e.hosted_service_steps import add_service, ask_for_a_sum, picture, see_savings
from tests.e2e.scripted_model_server import calculate
from tests.helpers.servers.openai_responses import FakeResponses
from tests.helpers.servers.scripted_http_server import Reply

KEY = "sk-k1"
USAGE = {
    "input_tokens": 4250,
    "input_tokens_details": {"cached_tokens": 4000, "cache_write_tokens": 200},
    "output_tokens": 30,
}


def test_a_person_adds_openai_and_asks(open_app: OpenApp) -> None:
    server = FakeResponses()
    server.api_key = KEY
    with serving(server):
        app = open_app(None)
        page = "platform.openai.com/api-keys"
        settings, table = add_service(app, "openai", "OpenAI", server.root, wrong="sk-no", key=KEY, page=page, models=2)
        assert [table.model().index(0, column).data() for column in (1, 2)] == ["gpt-5.5", "400,000"]
        settings.close()
        server.script(
            Reply(reasoning="Six times seven.", calls=[calculate("call_1", "6*7")], usage=USAGE),
            Reply(reasoning="Easy.", text="It is 42.", usage=USAGE),
        )
        ask_for_a_sum(app, "OpenAI", "gpt-5.5")
        picture(app, app.window, "talk-openai")
        assert server.refusals == []
        assert [item["type"] for item in server.chats[-1]["input"]][1:] == [
            "reasoning",
            "function_call",
            "function_call_output",
        ]
        see_savings(app, "openai")

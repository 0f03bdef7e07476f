"""A person adds Anthropic in the settings, tests the key, and talks to Claude: thinking, a call, cache savings."""

from __future__ import annotations

from tests.cli.server_thread import serving
from tests.e2e.conftest import OpenApp
from tests.e2e.hosted_service_steps import add_service, ask_for_a_sum, picture, see_savings
from tests.e2e.scripted_model_server import calculate
from tests.helpers.servers.anthropic import FakeAnthropic
from tests.helpers.servers.scripted_http_server import Reply

KEY = "sk-ant-k1"
USAGE = {"input_tokens": 50, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 4000, "output_tokens": 30}


def test_a_person_adds_anthropic_and_asks(open_app: OpenApp) -> None:
    server = FakeAnthropic()
    server.api_key = KEY
    with serving(server):
        app = open_app(None)
        page = "console.anthropic.com/settings/keys"
        settings, table = add_service(
            app, "claude", "Anthropic", server.root, wrong="sk-ant-no", key=KEY, page=page, models=2
        )
        assert [table.model().index(0, column).data() for column in (1, 2)] == ["Claude Sonnet 5", "1,000,000"]
        settings.close()
        server.script(
            Reply(reasoning="Six times seven.", calls=[calculate("toolu_1", "6*7")], usage=USAGE),
            Reply(reasoning="Easy.", text="It is 42.", usage=USAGE),
        )
        ask_for_a_sum(app, "Anthropic", "claude-sonnet-5")
        picture(app, app.window, "talk-claude")
        assert server.refusals == []
        see_savings(app, "claude")

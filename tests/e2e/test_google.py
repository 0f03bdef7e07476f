"""A person adds Google in the settings, tests the key, and talks to Gemini: thinking, a signed call, cache savings."""

from __future__ import annotations

from tests.cli.server_thread import serving
from tests.e2e.conftest import OpenApp
from tests.e2e.hosted_service_steps import add_service, ask_for_a_sum, picture, see_savings
from tests.e2e.scripted_model_server import calculate
from tests.helpers.servers.google import FakeGoogle
from tests.helpers.servers.scripted_http_server import Reply

KEY = "AIza-k1"
USAGE = {
    "promptTokenCount": 4250,
    "cachedContentTokenCount": 4000,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 10,
}


def test_a_person_adds_google_and_asks(open_app: OpenApp) -> None:
    server = FakeGoogle()
    server.api_key, server.skips = KEY, frozenset()
    with serving(server):
        app = open_app(None)
        page = "aistudio.google.com/apikey"
        settings, table = add_service(
            app, "google", "Google Gemini", server.root, wrong="AIza-no", key=KEY, page=page, models=2
        )
        assert [table.model().index(0, column).data() for column in (1, 2)] == ["Gemini 3.5 Flash", "1,048,576"]
        settings.close()
        server.script(
            Reply(reasoning="Six times seven.", calls=[calculate("c1", "6*7")], usage=USAGE),
            Reply(reasoning="Easy.", text="It is 42.", usage=USAGE),
        )
        ask_for_a_sum(app, "Google Gemini", "gemini-3.5-flash")
        picture(app, app.window, "talk-gemini")
        assert server.refusals == []
        see_savings(app, "gemini")

"""One monthly limit for everything that costs: a request beyond it is refused before it is sent, and works once
allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QPushButton, QWidget

from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.settings import WebSettings
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import MODEL, PROVIDER, WINDOW, ModelServer, calls, config, hire, newest_message
from tests.helpers.servers.scripted_http_server import Call, Reply
from tests.helpers.servers.threaded_http import Handler, serving

GOAL = "Look for bees"
DOLLARS = 100.0
"""Price per million tokens: a reply of up to a thousand may cost some ten cents."""


def settings(app: AppDriver, page: str) -> QWidget:
    app.window.show_settings(page)
    window = app.find("settings-window")
    window.resize(1000, 900)
    app.settle()
    return window


def enter(app: AppDriver, name: str, number: str) -> None:
    """Replace a field's number by typing."""
    field = app.find(name, QDoubleSpinBox)
    field.setFocus()
    field.selectAll()
    app.type(field, number)
    app.press(field, Qt.Key.Key_Tab)


@pytest.fixture
def searches() -> Iterator[tuple[str, list[str]]]:
    """A search service that accepts any key: its address, and the requests it received."""
    queries: list[str] = []

    class Service(Handler):
        def do_GET(self) -> None:
            queries.append(urlsplit(self.path).query)
            self.answer_json(
                200, {"web": {"results": [{"title": "Bees", "url": "https://a.org/", "description": "They fly."}]}}
            )

    with serving(Service) as address:
        yield f"http://{address}", queries


def test_a_request_over_the_monthly_limit_shows_its_cost_and_is_sent_once_the_limit_is_raised(
    open_app: OpenApp, server: ModelServer
) -> None:
    usage = {"prompt_tokens": 90_000, "completion_tokens": 1_000, "total_tokens": 91_000}
    server.script(GOAL, Reply(text="They hum.", usage=usage), "Once more.")
    priced = ModelInfo(
        provider=PROVIDER,
        name=MODEL,
        context_window=WINDOW,
        supports_tools=True,
        price_input=DOLLARS,
        price_output=DOLLARS,
    )
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=(), max_tokens=1_000)))
    app.engine(lambda a: a.models.update(priced))
    window = settings(app, "usage")
    enter(app, "usage-limit", "0.01")
    app.until(lambda: "$0.01" in rendered(app.find("usage-month", QLabel)), "the page shows the limit in force")
    window.close()
    app.send(GOAL)
    card = app.until_text("notice-card", "may cost up to")
    assert "is left" in rendered(card)
    assert "$0.01" in rendered(card)
    assert server.requests(GOAL) == [], "nothing was sent"
    assert not [each for each in app.find_all("notice-finish") if each.isVisible()], "a last answer would cost, too"
    app.click(app.find("notice-raise", within=app.window.chat))
    app.until_reply("They hum.")
    app.wait_done()
    app.until(lambda: "Change limit" in rendered(app.window), "the warning that most of it is used is shown once")
    assert app.engine(lambda a: a.usage.month()).spent > 0.8 * 0.07
    app.send("And now?")
    chat = app.window.chat  # the inbox has the same card
    again = app.until(lambda: chat.findChildren(QPushButton, "notice-raise"), "the limit is asked about again")
    assert len(again) == 1
    assert len(server.requests(GOAL)) == 1


def test_a_search_without_a_known_price_waits_until_it_is_entered(
    open_app: OpenApp, server: ModelServer, searches: tuple[str, list[str]]
) -> None:
    address, queries = searches
    call = Call("search_web", {"query": "bees"}, id="s1")
    server.script(GOAL, calls(call), "No price.", calls(call), "They fly.", calls(call), "No money.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=("search_web",))))
    app.engine(lambda a: a.models.update(_free()))
    app.engine(lambda a: a.settings.update(monthly_cost_limit=0.01, web=WebSettings(search="brave", address=address)))
    app.engine(lambda a: a.web.use(WebSettings(search="brave", address=address), "sesame-123"))
    app.settle()
    app.send(GOAL)
    app.until_reply("No price.")
    app.wait_done()
    assert "price of a web search is not known" in newest_message(server.requests(GOAL)[1])
    assert queries == []
    window = settings(app, "web")
    assert app.find("web-search", QComboBox, window).currentData() == "brave"
    assert app.find("web-price", QDoubleSpinBox).text() == "Unknown"
    enter(app, "web-price", "0.006")
    app.click("web-apply")
    app.until_text("busy-text", "Saved")
    window.close()
    app.send("Again")
    app.until_reply("They fly.")
    app.wait_done()
    assert len(queries) == 1
    [row] = [each for each in app.engine(lambda a: a.usage.rows()) if each.provider == "Brave Search"]
    assert (row.total.usage, row.total.requests) == (Usage(cost=0.006), 1)
    app.send("And again")
    app.until_reply("No money.")
    app.wait_done()
    assert "costs up to $0.0060, and only $0.0040 is left" in newest_message(server.requests(GOAL)[5])
    assert len(queries) == 1, "the second would be beyond the limit"


def test_a_run_stopped_by_an_unknown_price_says_so_when_it_is_entered(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, "They hum.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=())))
    app.engine(lambda a: a.settings.update(monthly_cost_limit=1.0))
    app.settle()
    app.send(GOAL)
    card = app.until_text("notice-card", "The price of the model is unknown")
    app.engine(lambda a: a.models.update(_free().model_copy(update={"name": "another"})))
    app.settle()
    assert "unknown" in rendered(card), "of another model"
    app.window.rail.show_pane("questions")
    app.engine(lambda a: a.models.update(_free()))
    app.until_text("notice-card", "The price of the model is now known")
    waiting = app.find(f"inbox-stopped-{app.engine(lambda a: a.workflows.active(app.workflow_id))}")
    app.until(lambda: "The price of the model is now known" in rendered(waiting), "the inbox says so, too")
    assert not [each for each in app.find_all("notice-enter-price") if each.isVisible()]
    app.click(app.find("notice-continue-priced", within=app.window.chat))
    app.until_reply("They hum.")
    app.wait_done()


def _free() -> ModelInfo:
    return ModelInfo(
        provider=PROVIDER, name=MODEL, context_window=WINDOW, supports_tools=True, price_input=0, price_output=0
    )

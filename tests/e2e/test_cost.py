"""One monthly limit for everything that costs: a request beyond it is refused before it is sent, and works once
allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QLabel, QWidget

from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.settings import WebSettings
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered
from tests.e2e.wire import MODEL, PROVIDER, WINDOW, ModelServer, calls, config, hire, told
from tests.support.servers.base import Call, Reply
from tests.support.servers.plain_http import Handler, serving

GOAL = "Look for bees"
DOLLARS = 100.0
"""Price per million tokens: a reply of up to a thousand may cost some ten cents."""


def settings(desk: Desk, page: str) -> QWidget:
    desk.window.show_settings(page)
    window = desk.find("settings-window")
    window.resize(1000, 900)
    desk.settle()
    return window


def enter(desk: Desk, name: str, number: str) -> None:
    """Replace a field's number by typing."""
    field = desk.find(name, QDoubleSpinBox)
    field.setFocus()
    field.selectAll()
    desk.type(field, number)
    desk.press(field, Qt.Key.Key_Tab)


@pytest.fixture
def searches() -> Iterator[tuple[str, list[str]]]:
    """A search service that accepts any key: its address, and the requests it received."""
    asked: list[str] = []

    class Service(Handler):
        def do_GET(self) -> None:
            asked.append(urlsplit(self.path).query)
            self.answer_json(
                200, {"web": {"results": [{"title": "Bees", "url": "https://a.org/", "description": "They fly."}]}}
            )

    with serving(Service) as place:
        yield f"http://{place}", asked


def test_a_request_beyond_the_month_says_what_it_may_cost_and_goes_when_the_limit_is_raised(
    open_desk: OpenDesk, server: ModelServer
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
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=(), max_tokens=1_000)))
    desk.engine(lambda a: a.models.update(priced))
    window = settings(desk, "usage")
    enter(desk, "usage-limit", "0.01")
    desk.until(lambda: "$0.01" in rendered(desk.find("usage-month", QLabel)), "the page says what holds")
    window.close()
    desk.send(GOAL)
    card = desk.until_shown("notice-card", "may cost up to")
    assert "is left" in rendered(card)
    assert "$0.01" in rendered(card)
    assert server.requests(GOAL) == [], "nothing was sent"
    assert not [each for each in desk.all("notice-finish") if each.isVisible()], "a last answer would cost, too"
    desk.click("notice-raise")
    desk.last_reply("They hum.")
    desk.wait_done()
    desk.until(lambda: "Change limit" in rendered(desk.window), "most of it is used: that is said once")
    assert desk.engine(lambda a: a.usage.month()).spent > 0.8 * 0.07
    desk.send("And now?")
    again = desk.until(lambda: desk.all("notice-raise"), "it is asked again")
    assert len(again) == 1
    assert len(server.requests(GOAL)) == 1


def test_a_search_without_a_known_price_waits_until_it_is_entered(
    open_desk: OpenDesk, server: ModelServer, searches: tuple[str, list[str]]
) -> None:
    address, asked = searches
    call = Call("search_web", {"query": "bees"}, id="s1")
    server.script(GOAL, calls(call), "No price.", calls(call), "They fly.", calls(call), "No money.")
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada", tools=("search_web",))))
    desk.engine(lambda a: a.models.update(_free()))
    desk.engine(lambda a: a.settings.update(monthly_cost_limit=0.01, web=WebSettings(search="brave", address=address)))
    desk.engine(lambda a: a.web.use(WebSettings(search="brave", address=address), "sesame-123"))
    desk.settle()
    desk.send(GOAL)
    desk.last_reply("No price.")
    desk.wait_done()
    assert "price of a web search is not known" in told(server.requests(GOAL)[1])
    assert asked == []
    window = settings(desk, "web")
    assert desk.find("web-search", QComboBox, window).currentData() == "brave"
    assert desk.find("web-price", QDoubleSpinBox).text() == "Unknown"
    enter(desk, "web-price", "0.006")
    desk.click("web-apply")
    desk.until_shown("busy-text", "Saved")
    window.close()
    desk.send("Again")
    desk.last_reply("They fly.")
    desk.wait_done()
    assert len(asked) == 1
    [row] = [each for each in desk.engine(lambda a: a.usage.rows()) if each.provider == "Brave Search"]
    assert (row.total.usage, row.total.requests) == (Usage(cost=0.006), 1)
    desk.send("And again")
    desk.last_reply("No money.")
    desk.wait_done()
    assert "costs up to $0.0060, $0.0040 is left" in told(server.requests(GOAL)[5])
    assert len(asked) == 1, "the second would be beyond the limit"


def _free() -> ModelInfo:
    return ModelInfo(
        provider=PROVIDER, name=MODEL, context_window=WINDOW, supports_tools=True, price_input=0, price_output=0
    )

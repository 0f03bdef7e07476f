"""The page of the web: search service, address, key, and cached pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atelier_desk.desktop.settings.pages.web import WebPage
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.errors import ToolError, UsageError
from atelier_desk.domain.settings import WebSettings
from atelier_desk.engine.services.web import WebState
from atelier_desk.web.search import WebHit
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import DelayedResult, settle

Find = Callable[[str], Any]


@pytest.fixture
async def page(window: SettingsWindow) -> Any:
    window.show_page("web")
    await settle()
    return window.page("web")


async def test_nothing_can_be_typed_before_the_stored_values_are_loaded(
    window: SettingsWindow, atelier: Engine
) -> None:
    """The stored values would be overwritten, or saved with others nobody chose."""
    delayed = DelayedResult(WebState(WebSettings(search="searxng", address="https://search.example.org"), (), 0, 0))
    atelier.set("web", "state", delayed)
    window.show_page("web")
    await settle()
    page = window.page("web")
    assert isinstance(page, WebPage)
    controls = page.form.controls
    assert not any(control.isEnabled() for control in controls.values())
    await delayed.release()
    assert all(control.isEnabled() for control in controls.values())
    assert controls["address"].text() == "https://search.example.org"


async def test_a_service_is_chosen_tested_and_used_with_its_key(page: Any, atelier: Engine) -> None:
    used: list[tuple[WebSettings, str]] = []

    def use(settings: WebSettings, key: str) -> bool:
        used.append((settings, key))
        return False

    atelier.set("web", "use", use)
    atelier.set("web", "test", [WebHit("Found", "https://a.org/")])
    assert ("12 pages" in page.stats.text(), page.apply.isEnabled(), page.form.controls["key"].isVisibleTo(page)) == (
        True,
        False,
        False,
    )
    page.form.controls["search"].setCurrentIndex(page.form.controls["search"].findData("searxng"))
    page.form.controls["address"].setText("https://not-for-the-key.org")
    page.form.controls["search"].setCurrentIndex(page.form.controls["search"].findData("tavily"))
    page.form.controls["key"].setText("secret-key")
    page.test.click()
    await settle()
    assert (page.busy.text.text(), used) == ("Works. First result: Found", [])
    page.apply.click()
    await settle()
    assert used == [(WebSettings(search="tavily"), "secret-key")]
    assert ("until Atelier closes" in page.busy.text.text(), page.form.controls["key"].text()) == (True, "")


async def test_the_price_of_a_search_is_entered_and_belongs_to_its_service(page: Any, atelier: Engine) -> None:
    used: list[WebSettings] = []

    def use(settings: WebSettings, _key: str) -> bool:
        used.append(settings)
        return False

    atelier.set("web", "use", use)
    service, price = page.form.controls["search"], page.form.controls["price"]
    assert not price.isVisibleTo(page), "public search pages cost nothing"
    service.setCurrentIndex(service.findData("brave"))
    assert (price.isVisibleTo(page), price.text()) == (True, "Unknown")
    price.setValue(0.005)
    service.setCurrentIndex(service.findData("tavily"))
    assert price.text() == "Unknown", "another service has its own price"
    service.setCurrentIndex(service.findData("brave"))
    assert price.value() == 0.005
    page.apply.click()
    await settle()
    service.setCurrentIndex(service.findData("brave"))
    price.setValue(0)
    page.apply.click()
    await settle()
    assert used == [WebSettings(search="brave", price=0.005), WebSettings(search="brave", price=0.0)], (
        "free is known, too"
    )


async def test_a_bad_address_and_a_failing_service_are_reported(page: Any, atelier: Engine) -> None:
    def fails(settings: WebSettings, key: str) -> list[WebHit]:
        raise ToolError("It is down.", code="search")

    atelier.set("web", "test", fails)
    page.form.controls["search"].setCurrentIndex(page.form.controls["search"].findData("searxng"))
    assert not page.apply.isEnabled()
    page.form.controls["address"].setText("search")
    assert ("https://" in page.busy.text.text(), page.test.isEnabled()) == (True, False)
    page.form.controls["address"].setText("https://search.example.org/")
    assert page.apply.isEnabled()
    page.test.click()
    await settle()
    assert page.busy.text.text() == "It is down."


async def test_a_stored_key_is_deleted_and_pages_are_removed(page: Any, atelier: Engine) -> None:
    forgotten: list[str] = []
    atelier.set("web", "forget_key", forgotten.append)
    atelier.set("web", "clear_cache", 12)
    page.form.controls["search"].setCurrentIndex(page.form.controls["search"].findData("brave"))
    assert page.forget_button.isVisibleTo(page)
    page.forget_button.click()
    page.clear.click()
    await settle()
    assert forgotten == ["brave"]


async def test_a_browser_for_pages_that_need_javascript_is_named_chosen_and_refused(page: Any, atelier: Engine) -> None:
    used: list[WebSettings] = []

    def use(settings: WebSettings, key: str) -> bool:
        if settings.browser == "/none":
            raise UsageError("There is no program at /none.")
        used.append(settings)
        return True

    atelier.set("web", "use", use)
    assert ("Google Chrome" in page.found.text(), page.apply.isEnabled()) == (True, False)
    page.form.controls["browser"].setText("/none")
    page.apply.click()
    await settle()
    assert (page.busy.text.text(), page.form.controls["browser"].text()) == ("There is no program at /none.", "/none")
    page.form.controls["browser"].setText("x" * 1_001)
    assert ("Browser: " in page.busy.text.text(), page.apply.isEnabled()) == (True, False)
    page.form.controls["scripts"].setCurrentIndex(page.form.controls["scripts"].findData("off"))
    page.form.controls["browser"].clear()
    assert not page.form.controls["browser"].isVisibleTo(page)
    page.apply.click()
    await settle()
    assert used == [WebSettings(scripts="off")]


@pytest.mark.parametrize(
    ("kind", "field", "text", "message"),
    [
        *(
            ("searxng", "address", text, "Address: Must start with")
            for text in ("nonsense", "https://x:0", "https://a@b", "http://x.org/?q=1")
        ),
        *(("brave", "key_env", text, "Environment variable: ") for text in ("two words", "9KEY", "clé")),
    ],
)
async def test_each_wrong_field_is_named_and_nothing_typed_is_lost(
    page: Any, kind: str, field: str, text: str, message: str
) -> None:
    page.form.controls["search"].setCurrentIndex(page.form.controls["search"].findData(kind))
    page.form.controls[field].setText(text)
    assert (page.apply.isEnabled(), message in page.busy.text.text(), page.form.controls[field].text()) == (
        False,
        True,
        text,
    ), page.busy.text.text()


async def test_fields_the_chosen_service_does_not_use_are_neither_checked_nor_stored(
    page: Any, atelier: Engine
) -> None:
    used: list[WebSettings] = []

    def use(settings: WebSettings, key: str = "") -> bool:
        used.append(settings)
        return True

    atelier.set("web", "use", use)
    search = page.form.controls["search"]
    search.setCurrentIndex(search.findData("searxng"))
    page.form.controls["address"].setText("no address")
    assert not page.apply.isEnabled()
    search.setCurrentIndex(search.findData("off"))
    assert page.busy.isHidden(), "nothing that can be seen is wrong"
    page.apply.click()
    await settle()
    assert used == [WebSettings(search="off")]


async def test_cancel_restores_the_stored_values(page: Any, find: Find) -> None:
    search, cancel = page.form.controls["search"], find("web-cancel")
    before = search.currentData()
    assert not cancel.isEnabled()
    search.setCurrentIndex(search.findData("searxng" if before != "searxng" else "tavily"))
    cancel.click()
    assert (search.currentData(), cancel.isEnabled(), page.apply.isEnabled()) == (before, False, False)

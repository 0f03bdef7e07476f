"""The models of a provider: search, limits and prices, tool-call format, the list of hosted models."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import NotFoundError, ProviderError, UsageError
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.engine.services.models import ListState
from tests.desktop.settings.conftest import Engine, Find, choose
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import DelayedResult, settle


async def test_models_are_searched_and_favourites_come_first(page: Any, find: Find, atelier: Engine) -> None:
    names = ["alpha", "beta", "gamma", "delta", "omega", "zeta", "eta"]
    offered = [ModelInfo(provider="Ollama", name=name, supports_vision=name == "zeta") for name in names]
    atelier.set("providers", "models", offered)
    await choose(page, "Ollama")
    table = find("model-table")

    def shown() -> list[str]:
        return [table.item(row, 1).text() for row in range(table.rowCount())]

    QTest.keyClicks(find("model-search"), "ETA")
    assert shown() == ["beta", "zeta", "eta"]
    find("model-search").setText("images")
    assert shown() == ["zeta"]
    table.item(0, 0).setCheckState(Qt.CheckState.Checked)
    await settle()
    assert atelier.stored.favourite_models == ("Ollama/zeta",)
    find("model-search").clear()
    assert shown() == names
    await page.load()
    await settle()
    assert shown() == ["zeta", *(name for name in names if name != "zeta")]
    table.item(0, 0).setCheckState(Qt.CheckState.Unchecked)
    await settle()
    assert list(atelier.stored.favourite_models) == []


async def test_the_list_of_hosted_models_is_refreshed_and_can_be_stopped(
    page: Any, find: Find, atelier: Engine
) -> None:
    await choose(page, "Ollama")
    assert "models.dev" in find("model-list-day").text()
    assert "2026-07-02" in find("model-list-day").text()
    assert "days old" not in find("model-list-day").text()
    page._show_list_day(ListState(date(2026, 7, 2), 531, 12, 149))
    assert "The list is 149 days old" in find("model-list-day").text()
    delayed = DelayedResult(ListState(date(2026, 11, 22), 600, 12))
    atelier.set("models", "refresh_list", delayed)
    find("model-refresh").click()
    find("model-refresh").click()
    await settle()
    assert page.refreshing.running
    page.refreshing.stop.click()
    await settle()
    assert page.refreshing.text.text() == "Stopped."
    await delayed.release()
    find("model-refresh").click()
    await settle()
    assert page.refreshing.text.text() == "600 models are up to date."
    assert "2026-11-22" in find("model-list-day").text()
    atelier.set("models", "refresh_list", UsageError("What it sent is no list."))
    find("model-refresh").click()
    await settle()
    assert page.refreshing.text.text() == "What it sent is no list."


async def test_a_double_click_changes_the_price_of_the_clicked_model_when_the_first_click_shows_an_offer(
    page: Any, find: Find, atelier: Engine, qtbot: QtBot
) -> None:
    config = AgentConfig(name="Assistant", provider="Ollama", model="m0")
    atelier.set("agents", "of_default_model", [Agent(id="a", config=config)])
    atelier.set("providers", "models", [ModelInfo(provider="Ollama", name=f"m{n}") for n in range(4)])
    await page.load()
    await choose(page, "Ollama")
    table, offer = find("model-table"), find("provider-use")
    qtbot.waitUntil(lambda: table.height() > 150)
    assert offer.isHidden(), "the model of the first row is used already"
    before = table.mapTo(page.window(), QPoint())
    table.setCurrentCell(3, 3)
    assert offer.text() == "Use m3 for Assistant"
    qtbot.waitUntil(offer.isVisible)
    QApplication.processEvents()
    assert table.mapTo(page.window(), QPoint()) == before


async def test_prices_that_were_entered_are_shown_when_the_server_refuses_the_key(
    page: Any, find: Find, atelier: Engine
) -> None:
    atelier.set("providers", "models", ProviderError("The API key was refused."))
    atelier.set("models", "stored", [ModelInfo(provider="Ollama", name="mine", price_input=1.5, source="user")])
    await choose(page, "Ollama")
    assert [info.name for info in page.models.shown] == ["mine"]
    assert "refused" in page.busy.text.text()


async def test_limits_and_prices_can_be_corrected(page: Any, find: Find, atelier: Engine) -> None:
    await choose(page, "Ollama")
    table = find("model-table")
    assert [table.item(row, 1).text() for row in range(table.rowCount())] == ["qwen3:4b", "nomic"]
    table.item(0, 2).setText("32,768")
    table.item(0, 3).setText("0.15")
    table.item(0, 5).setText("0.02")
    table.item(0, 6).setText("0.2")
    await settle()
    assert atelier.calls("models.edit") == [
        (("Ollama", "qwen3:4b"), {"context_window": 32768}),
        (("Ollama", "qwen3:4b"), {"price_input": 0.15}),
        (("Ollama", "qwen3:4b"), {"price_cache_read": 0.02}),
        (("Ollama", "qwen3:4b"), {"price_cache_write": 0.2}),
    ]
    table.item(0, 2).setText("many")
    assert table.item(0, 2).text() == "40,960"


@pytest.mark.parametrize("names", [["m1"], ["m0", "m1"]], ids=["same-list", "new-row-above"])
async def test_a_price_being_typed_survives_a_reload_of_the_page(
    page: Any, find: Find, atelier: Engine, names: list[str]
) -> None:
    atelier.set("providers", "models", [ModelInfo(provider="Ollama", name="m1")])
    await choose(page, "Ollama")
    table = find("model-table")
    table.setCurrentCell(0, 3)
    table.editItem(table.item(0, 3))
    QTest.keyClicks(child(table, QLineEdit), "2.5")
    atelier.set("providers", "models", [ModelInfo(provider="Ollama", name=name) for name in names])
    await page.load()
    await settle()
    editor = child(table, QLineEdit)
    assert editor.text() == "2.5"
    QTest.keyClicks(editor, "7")
    delayed = DelayedResult([])
    atelier.set("providers", "models", delayed)
    QTest.keyClick(editor, Qt.Key.Key_Tab)
    await settle()
    editor = next(each for each in table.findChildren(QLineEdit) if each.isVisible())
    QTest.keyClicks(editor, "3")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    await settle()
    edits = [(("Ollama", "m1"), {"price_input": 2.57}), (("Ollama", "m1"), {"price_output": 3.0})]
    assert atelier.calls("models.edit") == edits
    assert [table.item(row, 1).text() for row in range(table.rowCount())] == names
    row = len(names) - 1
    assert [table.item(row, column).text() for column in (3, 4)] == ["2.57", "3"], "while the server is asked again"
    assert (page.models.chosen.name, table.currentRow(), table.currentColumn()) == ("m1", row, 4)
    await delayed.release()


async def test_the_newest_list_is_shown_after_an_edit_is_cancelled(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("providers", "models", [ModelInfo(provider="Ollama", name="m1")])
    await choose(page, "Ollama")
    table = find("model-table")
    table.setCurrentCell(0, 3)
    table.editItem(table.item(0, 3))
    atelier.set("providers", "models", [ModelInfo(provider="Ollama", name="m1", price_input=4.0, source="user")])
    await page.load()
    await settle()
    QTest.keyClick(child(table, QLineEdit), Qt.Key.Key_Escape)
    assert table.item(0, 3).text() == "4"
    assert find("model-reset").isEnabled()
    assert atelier.calls("models.edit") == []


async def test_the_error_of_a_server_is_shown_when_its_provider_was_deleted_meanwhile(
    page: Any, atelier: Engine, window: SettingsWindow
) -> None:
    atelier.set("providers", "models", ProviderError("The API key was refused."))
    atelier.set("models", "stored", NotFoundError("There is no such provider."))
    await choose(page, "Ollama")
    assert "refused" in page.busy.text.text()
    assert toasts_of(window).current is None
    assert page.models.shown == []


async def test_the_tool_call_format_of_the_selected_model_is_chosen(
    page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    await choose(page, "Ollama")
    table, chooser = find("model-table"), find("model-tool-calls")
    assert [chooser.itemText(row) for row in range(chooser.count())] == ["Automatic", "Native", "As text (XML)"]
    assert not chooser.isEnabled()  # no model is selected
    rows = {table.item(row, 1).text(): row for row in range(table.rowCount())}
    table.selectRow(rows["qwen3:4b"])
    assert (chooser.isEnabled(), chooser.currentText()) == (True, "Automatic")
    stored = ModelInfo(provider="Ollama", name="qwen3:4b", context_window=40960, supports_tools=False, source="user")
    atelier.set("providers", "models", [stored])
    page.reveal(chooser)
    chooser.setFocus()
    for _key in range(2):
        QTest.keyClick(chooser, Qt.Key.Key_Down)
    await settle()
    edits = [(("Ollama", "qwen3:4b"), {"supports_tools": value}) for value in (True, False)]
    assert atelier.calls("models.edit") == edits
    find("model-table").selectRow(0)
    assert chooser.currentText() == "As text (XML)"
    switch_language("fr")
    assert chooser.currentText() == "En texte (XML)"


@pytest.mark.parametrize("field", ["embedding", "starter"])
async def test_a_model_without_tools_has_no_tool_call_format(
    page: Any, find: Find, atelier: Engine, field: str
) -> None:
    atelier.set(
        "providers",
        "models",
        [ModelInfo(provider="Ollama", name="m", embedding=field == "embedding", starter=field == "starter")],
    )
    await choose(page, "Ollama")
    find("model-table").selectRow(0)
    assert find("model-tool-calls").isEnabled() is False


async def test_learned_facts_about_a_model_are_shown_and_can_be_reset(page: Any, find: Find, atelier: Engine) -> None:
    learned = ModelInfo(provider="Ollama", name="gemma:2b", context_window=8192, supports_tools=False, source="learned")
    plain = ModelInfo(provider="Ollama", name="qwen3:4b", context_window=40960, source="server")
    atelier.set("providers", "models", [learned, plain])
    await choose(page, "Ollama")
    table, reset = find("model-table"), find("model-reset")
    assert [table.item(row, 1).text() for row in range(2)] == ["gemma:2b (adjusted)", "qwen3:4b"]
    assert "refused tool definitions" in table.item(0, 1).toolTip()
    assert not reset.isEnabled()
    table.setCurrentCell(1, 0)
    assert not reset.isEnabled()
    table.setCurrentCell(0, 0)
    atelier.set("providers", "models", [plain])
    reset.click()
    await settle()
    assert atelier.calls("models.reset") == [(("Ollama", "gemma:2b"), {})]
    assert table.rowCount() == 1
    assert not reset.isEnabled()


async def test_row_heights_of_list_and_table_follow_the_text_size(
    page: Any, find: Find, window: SettingsWindow
) -> None:
    await choose(page, "Ollama")

    def heights() -> tuple[int, int]:
        return find("provider-list").height(), find("model-table").height()

    before = heights()
    theme().set_scale(150)
    await settle()
    changed = heights()
    await page.load()
    await settle()
    assert changed == heights()  # as when it is filled with text of this size
    assert all(large > small * 1.3 for small, large in zip(before, changed, strict=True))
    theme().set_scale(100)
    await settle()
    assert heights() == before

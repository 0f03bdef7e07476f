"""Use of a hosted service through the settings: chosen from the list, a wrong key, the right one, its models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTableWidget, QWidget

from atelier_desk.desktop.widgets.search_list import SearchList
from atelier_desk.domain.agent import ToolDialect
from tests.e2e.harness import Desk
from tests.support.lists import titles


def picture(desk: Desk, of: QWidget, name: str) -> None:
    """Save a picture of the widget if ``ATELIER_PICTURES=FOLDER`` is set."""
    if folder := os.environ.get("ATELIER_PICTURES"):
        desk.settle()
        of.grab().save(str(Path(folder) / f"{name}.png"))


def add_service(
    desk: Desk, words: str, title: str, root: str, *, wrong: str, key: str, page: str, models: int
) -> tuple[Any, QTableWidget]:
    """Add the service ``title``, found by the search ``words``, with the server at ``root`` in place of the real one.

    ``page`` is where its keys are created. Returns the settings window and the table of the service's models.
    """
    desk.action("settings")
    settings: Any = desk.find("settings-window")
    settings.show_page("providers")
    desk.settle()
    desk.click(desk.find("provider-add", within=settings))
    listed = desk.find("preset-list", SearchList)
    desk.type(desk.find("preset-search"), words)
    assert titles(listed)[0] == title
    picture(desk, listed.window(), f"presets-{words}")
    desk.click_row(listed, title)
    desk.click(desk.find("preset-take"))
    assert desk.find("provider-get-key", QPushButton).text().endswith(page)
    desk.type(desk.find("provider-key"), wrong)
    desk.find("provider-url", QLineEdit).clear()
    desk.type(desk.find("provider-url"), root)
    desk.click(desk.find("provider-test"))
    said = desk.until(
        lambda: [each for each in settings.findChildren(QLabel) if "refused the API key" in each.text()],
        "the key is refused",
    )
    assert wrong not in said[0].text()
    desk.settle()
    assert said[0].height() >= said[0].heightForWidth(said[0].width()) - 1, "all of it can be read; a pixel is rounding"
    picture(desk, settings, f"refused-{words}")
    desk.find("provider-key", QLineEdit).clear()
    desk.type(desk.find("provider-key"), key)
    desk.click(desk.find("provider-test"))
    desk.until(
        lambda: [each for each in settings.findChildren(QLabel) if "Works: answered" in each.text()], "the key is good"
    )
    desk.click(desk.find("provider-save"))
    table = desk.find("model-table", QTableWidget, settings)
    desk.until(lambda: table.rowCount() == models, "its models are listed")
    picture(desk, settings, f"saved-{words}")
    return settings, table


def ask_for_a_sum(desk: Desk, provider: str, model: str) -> None:
    """Let the default agent use the model, at $2 per million tokens sent and $0.20 for cached ones, and ask it 6*7."""
    agent = desk.engine(lambda a: a.agents.default())
    fields = {"provider": provider, "model": model, "tools": ("CalculatorTool",), "tool_dialect": ToolDialect.NATIVE}
    desk.engine(lambda a: a.settings.update(name_by_model=False, memories_at_end="off"))
    desk.engine(lambda a: a.models.edit(provider, model, price_input=2.0, price_output=10.0, price_cache_read=0.2))
    desk.engine(lambda a: a.agents.save(agent.config.model_copy(update=fields), agent.id))
    desk.send("What is 6*7?")
    desk.last_reply("It is 42.")
    desk.wait_done()


def see_savings(desk: Desk, name: str) -> None:
    """Check that the usage page shows the savings of the cache."""
    desk.action("settings")
    settings = desk.find("settings-window")
    settings.show_page("usage")  # type: ignore[attr-defined]
    desk.until(
        lambda: "the cache saved $0.01 ·" in desk.find("usage-summary", QLabel, settings).text(),
        "what the cache saved is shown",
    )
    picture(desk, settings, f"usage-{name}")

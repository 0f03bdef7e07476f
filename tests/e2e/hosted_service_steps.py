"""Use of a hosted service through the settings: chosen from the list, a wrong key, the right one, its models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QTableWidget, QWidget

from atelier_desk.desktop.widgets.search_result_list import SearchList
from atelier_desk.domain.agent import ToolDialect
from tests.e2e.harness import AppDriver
from tests.helpers.list_texts import titles


def picture(app: AppDriver, part: QWidget, name: str) -> None:
    """Save a picture of the widget if ``ATELIER_PICTURES=FOLDER`` is set."""
    if folder := os.environ.get("ATELIER_PICTURES"):
        app.settle()
        part.grab().save(str(Path(folder) / f"{name}.png"))


def add_service(
    app: AppDriver, words: str, title: str, root: str, *, wrong: str, key: str, page: str, models: int
) -> tuple[Any, QTableWidget]:
    """Add the service ``title``, found by the search ``words``, with the server at ``root`` in place of the real one.

    ``page`` is where its keys are created. Returns the settings window and the table of the service's models.
    """
    app.action("settings")
    settings: Any = app.find("settings-window")
    settings.show_page("providers")
    app.settle()
    app.click(app.find("provider-add", within=settings))
    listed = app.find("preset-list", SearchList)
    app.type(app.find("preset-search"), words)
    assert titles(listed)[0] == title
    picture(app, listed.window(), f"presets-{words}")
    app.click_row(listed, title)
    app.click(app.find("preset-take"))
    assert app.find("provider-get-key", QPushButton).text().endswith(page)
    app.type(app.find("provider-key"), wrong)
    app.find("provider-url", QLineEdit).clear()
    app.type(app.find("provider-url"), root)
    app.click(app.find("provider-test"))
    notes = app.until(
        lambda: [each for each in settings.findChildren(QLabel) if "refused the API key" in each.text()],
        "the key is refused",
    )
    assert wrong not in notes[0].text()
    app.settle()
    assert notes[0].height() >= notes[0].heightForWidth(notes[0].width()) - 1, "it can be read; a pixel is rounding"
    picture(app, settings, f"refused-{words}")
    app.find("provider-key", QLineEdit).clear()
    app.type(app.find("provider-key"), key)
    app.click(app.find("provider-test"))
    app.until(
        lambda: [each for each in settings.findChildren(QLabel) if "Works: answered" in each.text()], "the key is good"
    )
    app.click(app.find("provider-save"))
    table = app.find("model-table", QTableWidget, settings)
    app.until(lambda: table.rowCount() == models, "its models are listed")
    picture(app, settings, f"saved-{words}")
    return settings, table


def ask_for_a_sum(app: AppDriver, provider: str, model: str) -> None:
    """Let the default agent use the model, at $2 per million tokens sent and $0.20 for cached ones, and ask it 6*7."""
    agent = app.engine(lambda a: a.agents.default())
    fields = {"provider": provider, "model": model, "tools": ("CalculatorTool",), "tool_dialect": ToolDialect.NATIVE}
    app.engine(lambda a: a.settings.update(name_by_model=False, memories_at_end="off"))
    app.engine(lambda a: a.models.edit(provider, model, price_input=2.0, price_output=10.0, price_cache_read=0.2))
    app.engine(lambda a: a.agents.save(agent.config.model_copy(update=fields), agent.id))
    app.send("What is 6*7?")
    app.until_reply("It is 42.")
    app.wait_done()


def see_savings(app: AppDriver, name: str) -> None:
    """Check that the usage page shows the savings of the cache."""
    app.action("settings")
    settings = app.find("settings-window")
    settings.show_page("usage")  # type: ignore[attr-defined]
    app.until(
        lambda: "$0.01 saved by the cache ·" in app.find("usage-summary", QLabel, settings).text(),
        "what the cache saved is shown",
    )
    picture(app, settings, f"usage-{name}")

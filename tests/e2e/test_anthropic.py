"""A person adds Anthropic in the settings, tries the key, and talks to Claude: thoughts, a call, and what the cache did."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QLabel, QLineEdit, QListWidget, QPushButton, QTableWidget, QWidget

from atelier_desk.domain.agent import ToolDialect
from tests.cli.test_provider_faults import serving
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk
from tests.e2e.wire import calculate
from tests.support.servers.anthropic import FakeAnthropic
from tests.support.servers.base import Reply

KEY = "sk-ant-k1"
USAGE = {"input_tokens": 50, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 4000, "output_tokens": 30}


def picture(desk: Desk, of: QWidget, name: str) -> None:
    """Where somebody wants to look at it: ``ATELIER_PICTURES=FOLDER``."""
    if folder := os.environ.get("ATELIER_PICTURES"):
        desk.settle()
        of.grab().save(str(Path(folder) / f"{name}.png"))


def test_a_person_adds_anthropic_and_asks(open_desk: OpenDesk) -> None:
    server = FakeAnthropic()
    server.api_key = KEY
    with serving(server):
        desk = open_desk(None)
        desk.action("settings")
        settings: Any = desk.find("settings-window")
        settings.show_page("providers")
        desk.settle()
        desk.click(desk.find("provider-add", within=settings))
        listed = desk.find("preset-list", QListWidget)
        desk.type(desk.find("preset-search"), "claude")
        titles = [listed.item(row).text() for row in range(listed.count()) if not listed.item(row).isHidden()]
        assert titles[0] == "Anthropic"
        picture(desk, listed.window(), "presets")
        desk.click_row(listed, "Anthropic")
        desk.click(desk.find("preset-take"))
        assert desk.find("provider-get-key", QPushButton).text().endswith("console.anthropic.com/settings/keys")
        desk.type(desk.find("provider-key"), "sk-ant-no")
        desk.find("provider-url", QLineEdit).clear()
        desk.type(desk.find("provider-url"), server.root)
        desk.click(desk.find("provider-test"))
        said = desk.until(
            lambda: [each for each in settings.findChildren(QLabel) if "refused the API key" in each.text()], "the key is refused"
        )
        assert "sk-ant-no" not in said[0].text()
        desk.settle()
        assert said[0].height() >= said[0].heightForWidth(said[0].width()) - 1, "all of it can be read; a pixel is rounding"
        picture(desk, settings, "refused")
        desk.find("provider-key", QLineEdit).clear()
        desk.type(desk.find("provider-key"), KEY)
        desk.click(desk.find("provider-test"))
        desk.until(lambda: [each for each in settings.findChildren(QLabel) if "Works: answered" in each.text()], "the key is good")
        desk.click(desk.find("provider-save"))
        table = desk.find("model-table", QTableWidget, settings)
        desk.until(lambda: table.rowCount() == 2, "its models are listed")
        assert [table.model().index(0, column).data() for column in (1, 2)] == ["Claude Sonnet 5", "1,000,000"]
        picture(desk, settings, "saved")
        settings.close()

        server.script(
            Reply(reasoning="Six times seven.", calls=[calculate("toolu_1", "6*7")], usage=USAGE),
            Reply(reasoning="Easy.", text="It is 42.", usage=USAGE),
        )
        agent = desk.engine(lambda a: a.agents.default())
        fields = {"provider": "Anthropic", "model": "claude-sonnet-5", "tools": ("CalculatorTool",), "tool_dialect": ToolDialect.NATIVE}
        desk.engine(lambda a: a.settings.update(name_by_model=False))
        desk.engine(lambda a: a.models.edit("Anthropic", "claude-sonnet-5", price_input=2.0, price_output=10.0, price_cache_read=0.2))
        desk.engine(lambda a: a.agents.save(agent.config.model_copy(update=fields), agent.id))
        desk.send("What is 6*7?")
        desk.last_reply("It is 42.")
        desk.wait_done()
        picture(desk, desk.window, "talk")
        assert server.refusals == []
        desk.action("settings")
        settings = desk.find("settings-window")
        settings.show_page("usage")
        desk.until(
            lambda: "the cache saved $0.01 ·" in desk.find("usage-summary", QLabel, settings).text(), "what the cache saved is shown"
        )
        picture(desk, settings, "usage")

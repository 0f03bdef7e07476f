"""Agents for a new user: a ready-made one from the start page answers at once; its model and tools are edited."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QPushButton

from tests.e2e.conftest import OpenApp


def test_a_ready_agent_answers_in_one_click_and_its_tools_are_chosen_by_groups(open_app: OpenApp) -> None:
    app = open_app(["South of the Sahara."])
    app.click("ready-agent-researcher")
    app.until(lambda: app.window.chat.choices.agent.name == "Researcher", "it answers")  # type: ignore[union-attr]
    app.send("Where do storks winter?")
    app.until_reply("South of the Sahara.")
    app.wait_done()
    assert app.model is not None
    assert app.model.requests[0].messages[0].content.startswith("You research questions.")
    app.action("settings")
    settings: Any = app.find("settings-window")
    settings.resize(1000, 800)
    settings.show_page("agents")
    app.settle()
    page = settings.page("agents")
    names = [each.name for each in page.things]
    page.list.setCurrentRow(names.index("Researcher"))
    app.settle()
    before = len(page.form.tools.enabled())
    assert page.form.name.text() == "Researcher"
    app.click("tool-group-Basics")
    app.settle()
    assert len(page.form.tools.enabled()) < before
    app.click("agent-save")
    app.until(lambda: not app.find("agent-save", QPushButton).isEnabled(), "it is stored")
    [researcher] = [each for each in app.engine(lambda a: a.agents.list()) if each.name == "Researcher"]
    assert len(researcher.config.tools) == len(page.form.tools.enabled()) < before

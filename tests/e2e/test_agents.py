"""Agents for a new user: a ready-made one from the start page answers at once; its model and tools are edited."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QPushButton

from tests.e2e.conftest import OpenDesk


def test_a_ready_agent_answers_in_one_click_and_its_tools_are_chosen_by_groups(open_desk: OpenDesk) -> None:
    desk = open_desk(["South of the Sahara."])
    desk.click("ready-agent-researcher")
    desk.until(lambda: desk.window.chat.choices.agent.name == "Researcher", "it answers")  # type: ignore[union-attr]
    desk.send("Where do storks winter?")
    desk.last_reply("South of the Sahara.")
    desk.wait_done()
    assert desk.model is not None
    assert desk.model.requests[0].messages[0].content.startswith("You research questions.")
    desk.action("settings")
    settings: Any = desk.find("settings-window")
    settings.resize(1000, 800)
    settings.show_page("agents")
    desk.settle()
    page = settings.page("agents")
    names = [each.name for each in page.things]
    page.list.setCurrentRow(names.index("Researcher"))
    desk.settle()
    before = len(page.form.tools.enabled())
    assert page.form.name.text() == "Researcher"
    desk.click("tool-group-Basics")
    desk.settle()
    assert len(page.form.tools.enabled()) < before
    desk.click("agent-save")
    desk.until(lambda: not desk.find("agent-save", QPushButton).isEnabled(), "it is stored")
    [researcher] = [each for each in desk.engine(lambda a: a.agents.list()) if each.name == "Researcher"]
    assert len(researcher.config.tools) == len(page.form.tools.enabled()) < before

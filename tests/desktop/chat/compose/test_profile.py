"""What agents may do without asking: chosen where one writes, kept with the workflow, said in the header."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.profile import ProfileChip, ProfilePicker, profile_choices
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.domain.agent import Agent, AgentConfig, ApprovalMode, Choices
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.profile_words import ALL, ASK_ALL, PROFILES, profile_of
from tests.support.fake_bridge import FakeAtelier, FakeBridge, settle

ADA = Agent(id="ada", config=AgentConfig(name="Ada", provider="p", model="m"))


class Shown:
    """A chat with one agent; ``show`` puts a workflow into view."""

    def __init__(self, qtbot: QtBot) -> None:
        self.engine = FakeAtelier(agents={"list": [ADA], "default": ADA}, models={"list": []}, settings={"get": Settings()})
        self.panel = ChatPanel(FakeBridge(self.engine))
        qtbot.addWidget(self.panel)
        self.panel.resize(900, 600)
        self.panel.show()
        self.picker: Any = self.panel.findChild(ProfilePicker, "profile-select")
        self.chip: Any = self.panel.findChild(ProfileChip, "workflow-profile")

    async def show(self, workflow: Workflow | None) -> None:
        await self.panel.choices.load()
        await settle()
        self.panel.choices.set_workflow(workflow)


@pytest.fixture
async def shown(qtbot: QtBot) -> Shown:
    return Shown(qtbot)


def looks(button: QPushButton) -> tuple[str, str]:
    return button.property("variant"), button.accessibleName()


async def test_the_agent_s_profile_holds_until_one_is_picked_and_then_that_one(shown: Shown) -> None:
    workflow = Workflow(id="w", name="W", agent_id="ada", choices=Choices(instructions="In French."))
    await shown.show(workflow)
    assert (shown.picker.whole_text, shown.chip.text()) == ("Ask", "Ask")
    assert [(each.text, bool(each.detail)) for each in shown.picker.choices] == [(each.title, True) for each in PROFILES]
    shown.picker.chosen.emit("edit")
    await settle()
    assert (shown.picker.key, shown.chip.text()) == ("edit", "Edit")
    [((_id, kept), _fields)] = shown.engine.calls("workflows.choose")
    assert kept == Choices(approval=ApprovalMode.EDIT, instructions="In French.")
    shown.panel.header.agent_chosen.emit("ada")
    assert shown.picker.key == "edit"
    assert "next message" in shown.picker.toolTip()


async def test_free_is_marked_in_the_menu_the_composer_and_the_header(shown: Shown) -> None:
    await shown.show(Workflow(id="w", name="W", agent_id="ada", choices=Choices(approval=ApprovalMode.AUTO)))
    assert looks(shown.picker) == looks(shown.chip) == ("picker-warn", "Permissions: Free")
    assert [bool(each.marks) for each in shown.picker.choices] == [False, False, False, True]
    shown.picker.chosen.emit("plan")
    assert looks(shown.chip) == ("picker", "Permissions: Plan")


async def test_before_the_first_message_it_is_kept_for_the_workflow_to_come(shown: Shown) -> None:
    await shown.show(None)
    shown.picker.chosen.emit("free")
    await settle()
    assert shown.panel.choices.chosen.approval is ApprovalMode.AUTO
    assert shown.engine.calls("workflows.choose") == []


async def test_the_header_and_the_keyboard_open_the_menu(shown: Shown, qtbot: QtBot) -> None:
    await shown.show(Workflow(id="w", name="W", agent_id="ada"))
    shown.chip.click()
    assert shown.picker.menu_open.current == "ask"
    shown.picker.menu_open.hide()


def test_every_stored_mode_is_a_profile_and_ask_always_is_listed_where_it_holds() -> None:
    assert {each.mode for each in ALL} == set(ApprovalMode)
    assert [each.key for each in profile_choices(profile_of(ApprovalMode.MANUAL))] == [*(each.name for each in PROFILES), ASK_ALL.name]

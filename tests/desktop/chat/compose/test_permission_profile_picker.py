"""The permission profile: one control in the composer, stored with the workflow."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.permission_profile_picker import ProfilePicker, profile_choices
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import list_rows, row_paint
from atelier_desk.domain.agent import Agent, AgentConfig, ApprovalMode, Choices
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.presentation.permission_profiles import ALL
from atelier_desk.support import i18n
from atelier_desk.support.i18n import _
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle

ADA = Agent(id="ada", config=AgentConfig(name="Ada", provider="p", model="m"))


class Shown:
    """A chat with one agent; ``show`` sets the workflow in view."""

    def __init__(self, qtbot: QtBot) -> None:
        self.engine = FakeAtelier(
            agents={"list": [ADA], "default": ADA}, models={"list": []}, settings={"get": Settings()}
        )
        self.panel = ChatPanel(FakeBridge(self.engine))
        qtbot.addWidget(self.panel)
        self.panel.resize(900, 600)
        self.panel.show()
        self.picker: Any = self.panel.findChild(ProfilePicker, "profile-select")

    async def show(self, workflow: Workflow | None) -> None:
        await self.panel.choices.load()
        await settle()
        self.panel.choices.set_workflow(workflow)


@pytest.fixture
async def shown(qtbot: QtBot) -> Shown:
    return Shown(qtbot)


def icon_and_text(button: QPushButton) -> tuple[str, str]:
    return button.property("variant"), button.accessibleName()


async def test_the_agents_profile_applies_until_one_is_picked(shown: Shown) -> None:
    workflow = Workflow(id="w", name="W", agent_id="ada", choices=Choices(instructions="In French."))
    await shown.show(workflow)
    assert shown.picker.full_text == "Ask"
    assert [(each.text, bool(each.detail)) for each in shown.picker.choices] == [(each.title, True) for each in ALL]
    shown.picker.chosen.emit("edit")
    await settle()
    assert (shown.picker.key, shown.picker.full_text) == ("edit", "Edit")
    [((_id, profile), _fields)] = shown.engine.calls("workflows.choose")
    assert profile == Choices(approval=ApprovalMode.EDIT, instructions="In French.")
    shown.panel.header.agent_chosen.emit("ada")
    assert shown.picker.key == "edit"
    assert "next message" in shown.picker.toolTip()


async def test_free_is_marked_in_the_menu_and_the_composer(shown: Shown) -> None:
    await shown.show(Workflow(id="w", name="W", agent_id="ada", choices=Choices(approval=ApprovalMode.AUTO)))
    assert icon_and_text(shown.picker) == ("picker-warn", "Permissions: Free")
    assert [bool(each.marks) for each in shown.picker.choices] == [False, False, False, False, True]
    shown.picker.chosen.emit("plan")
    assert icon_and_text(shown.picker) == ("picker", "Permissions: Plan")


async def test_before_the_first_message_it_is_remembered_for_the_new_workflow(shown: Shown) -> None:
    await shown.show(None)
    shown.picker.chosen.emit("free")
    await settle()
    assert shown.panel.choices.chosen.approval is ApprovalMode.AUTO
    assert shown.engine.calls("workflows.choose") == []


async def test_there_is_one_control_for_it(shown: Shown) -> None:
    await shown.show(Workflow(id="w", name="W", agent_id="ada"))
    controls = [each for each in shown.panel.findChildren(QWidget) if each.accessibleName().startswith("Permissions")]
    assert controls == [shown.picker]
    shown.panel.open_settings()
    assert not shown.panel.findChildren(QComboBox)
    shown.picker.open()
    assert shown.picker.menu_open.current == "ask"
    shown.picker.menu_open.hide()


def test_every_stored_profile_can_be_chosen() -> None:
    assert {each.mode for each in ALL} == set(ApprovalMode)
    assert [each.key for each in profile_choices()] == ["plan", "ask", "ask-all", "edit", "free"]


@pytest.mark.parametrize(("language", "scale"), [("en", 100), ("en", 150), ("fr", 100), ("fr", 150)])
async def test_what_a_profile_allows_is_shown_in_full(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, language: str, scale: int
) -> None:
    """At 1024 pixels too: the menu is at most 960 wide at 150 %."""
    drawn: list[str] = []

    def paint(painter: Any, place: QRect, text: str, shape: row_paint.Face, role: str, *rest: Any, **more: Any) -> None:
        drawn.append(shape.metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width()))

    i18n.set_language(language)
    theme().set_scale(scale)
    await shown.show(None)
    monkeypatch.setattr(list_rows, "paint_text", paint)
    shown.picker.open()
    menu = shown.picker.menu_open
    assert menu is not None
    assert menu.width() <= 1024 - 16
    menu.grab()
    menu.close()
    assert [text for text in drawn if text.endswith("…")] == []
    assert {_(each.allows) for each in ALL} <= set(drawn)

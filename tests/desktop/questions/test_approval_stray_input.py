"""A press or key meant for the previous widget at that place approves nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions import approval_controller as module
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_group import ApprovalGroup
from atelier_desk.domain.approval import ApprovalStatus
from tests.desktop.questions.approval_fixtures import ApprovalEngine, asks, emit_event
from tests.helpers.fake_bridge import DelayedResult, FakeBridge, settle


class Scene:
    """A window with cards, and a clock set by the test."""

    def __init__(self, qtbot: QtBot, *names: str, run: str = "r", **fields: Any) -> None:
        self.qtbot: Any = qtbot
        self.now = 100.0
        self.engine = ApprovalEngine(*(asks(name, run_id=run, **fields) for name in names))
        self.bridge = FakeBridge(self.engine)
        self.controller = module.approval_controller(self.bridge)
        self.controller.monotonic = lambda: self.now
        self.window = QWidget()
        self.window.resize(640, 900)
        self.column = QVBoxLayout(self.window)
        self.column.addStretch(1)
        qtbot.addWidget(self.window)
        self.window.show()
        self.window.activateWindow()

    def add(self, card: QWidget) -> Any:
        self.column.insertWidget(self.column.count() - 1, card)
        return card

    def card(self, name: str) -> ApprovalCard:
        return self.add(ApprovalCard(self.bridge, self.engine.stored[name]))  # type: ignore[no-any-return]

    def group(self) -> ApprovalGroup:
        return self.add(ApprovalGroup(self.bridge, list(self.engine.stored.values())))  # type: ignore[no-any-return]

    async def arrives(self, name: str, **fields: Any) -> None:
        self.engine.stored[name] = asks(name, **({"run_id": "r"} | fields))
        await emit_event(self.bridge, self.engine.stored[name])

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        for card in self.window.findChildren(ApprovalCard) + self.window.findChildren(ApprovalGroup):
            card._check()
        await settle()

    def allowed(self) -> list[str]:
        return [each.id for each in self.engine.stored.values() if each.status is ApprovalStatus.APPROVED]


@pytest.fixture
def scene(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scene]:
    monkeypatch.setattr(module, "SETTLE_S", 0.5)
    return lambda *names, **fields: Scene(qtbot, *names, **fields)


def find(card: QWidget, name: str) -> Any:
    found = card.findChild(QWidget, name)
    assert found is not None, name
    return found


PRESSES: dict[str, Callable[[QtBot, QWidget], None]] = {
    "a click": lambda qtbot, card: QTest.mouseClick(find(card, "approval-approve"), Qt.MouseButton.LeftButton),
    "the wider yes": lambda qtbot, card: QTest.mouseClick(find(card, "approval-run"), Qt.MouseButton.LeftButton),
    "A": lambda qtbot, card: QTest.keyClick(card, Qt.Key.Key_A),
    "Space on the button": lambda qtbot, card: QTest.keyClick(find(card, "approval-approve"), Qt.Key.Key_Space),
}


@pytest.mark.parametrize("press", PRESSES)
async def test_a_card_that_has_just_appeared_accepts_no_input(scene: Callable[..., Scene], press: str) -> None:
    s = scene("v1")
    card = s.card("v1")
    await settle(20)
    for _time in range(3):
        PRESSES[press](s.qtbot, card)
        await s.wait(0.15)
    assert s.allowed() == []
    await s.wait(0.2)
    PRESSES[press](s.qtbot, card)
    await settle(20)
    assert s.allowed() == ["v1"]


@pytest.mark.parametrize("press", PRESSES)
async def test_a_card_that_replaces_another_accepts_no_input_at_first(scene: Callable[..., Scene], press: str) -> None:
    s = scene("v1", "v2")
    first, second = s.card("v1"), s.card("v2")
    await settle(20)
    await s.wait(1)
    PRESSES[press](s.qtbot, first)
    await settle(20)
    first.hide()
    first.deleteLater()
    await settle(20)
    PRESSES[press](s.qtbot, second)  # the second half of a double click, or a repeated key
    await settle(20)
    assert s.allowed() == ["v1"]
    await s.wait(0.6)
    PRESSES[press](s.qtbot, second)
    await settle(20)
    assert s.allowed() == ["v1", "v2"]


async def test_an_r_typed_for_something_else_opens_no_reason_field(scene: Callable[..., Scene]) -> None:
    s = scene("v1")
    card = s.card("v1")
    await settle(20)
    QTest.keyClick(card, Qt.Key.Key_R)
    assert not find(card, "approval-reason").isVisible()


async def test_a_held_key_decides_nothing(scene: Callable[..., Scene]) -> None:
    s = scene("v1")
    card = s.card("v1")
    await settle(20)
    await s.wait(1)
    for key, text in ((Qt.Key.Key_A, "a"), (Qt.Key.Key_R, "r")):
        QApplication.sendEvent(card, QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier, text, True))
    await settle(20)
    assert s.allowed() == []
    assert not find(card, "approval-reason").isVisible()


async def test_a_card_that_moved_under_the_pointer_accepts_no_click(scene: Callable[..., Scene]) -> None:
    s = scene("v1")
    above = s.add(QWidget())
    above.setFixedHeight(80)
    card = s.card("v1")
    await settle(20)
    await s.wait(1)
    above.setFixedHeight(10)
    await settle(20)
    QTest.mouseClick(find(card, "approval-approve"), Qt.MouseButton.LeftButton)
    await settle(20)
    assert s.allowed() == []


async def test_calls_of_a_group_are_listed_and_allowed_with_one_click(scene: Callable[..., Scene]) -> None:
    s = scene("v1", "v2", "v3")
    group = s.group()
    await settle(20)
    await s.wait(1)
    button = find(group, "approval-allow-all")
    assert button.text() == "Allow all 3"
    assert find(group, "approval-group-title").text() == "Checker asks for 3 approvals"
    for name in ("v1", "v2", "v3"):
        assert find(group, f"approval-line-{name}").isVisible()
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    button.click()
    await settle(20)
    assert s.engine.calls("approvals.approve_together") == [((["v1", "v2", "v3"],), {})]
    assert s.allowed() == ["v1", "v2", "v3"]


async def test_calls_of_a_group_are_rejected_with_one_click(scene: Callable[..., Scene]) -> None:
    s = scene("v1", "v2", "v3")
    group = s.group()
    await settle(20)
    button = find(group, "approval-reject-all")
    button.click()
    assert s.engine.calls("approvals.reject_together") == [], "the card has just appeared"
    await s.wait(1)
    assert button.text() == "Reject all 3"
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    button.click()
    await settle(20)
    assert s.engine.calls("approvals.reject_together") == [((["v1", "v2", "v3"],), {})]
    assert s.allowed() == []
    assert s.controller.pending() == []


async def test_a_call_that_arrives_while_allow_all_is_pressed_is_not_included(scene: Callable[..., Scene]) -> None:
    s = scene("v1", "v2")
    group = s.group()
    await settle(20)
    await s.wait(1)
    delayed = DelayedResult([])
    s.engine.set("approvals", "approve_together", delayed)
    button = find(group, "approval-allow-all")
    QTest.mousePress(button, Qt.MouseButton.LeftButton)
    await s.arrives("v3")
    QTest.mouseRelease(button, Qt.MouseButton.LeftButton)
    await settle(20)
    assert s.engine.calls("approvals.approve_together") == [], (
        "what the list was when it was pressed is not what it is now"
    )
    group.show_requests(s.controller.pending())
    await s.wait(1)
    assert button.text() == "Allow all 3"
    group.show_requests(s.controller.pending())
    button.click()
    await s.arrives("v4")
    group.show_requests(s.controller.pending())
    button.click()
    await settle(20)
    assert s.engine.calls("approvals.approve_together") == [((["v1", "v2", "v3"],), {})]
    await delayed.release()


async def test_a_line_added_or_removed_restarts_the_buttons_delay(scene: Callable[..., Scene]) -> None:
    s = scene("v1", "v2")
    group = s.group()
    await settle(20)
    await s.wait(1)
    await s.arrives("v3")
    group.show_requests(s.controller.pending())
    button = find(group, "approval-allow-all")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    await settle(20)
    assert s.engine.calls("approvals.approve_together") == []


async def test_calls_of_a_group_can_be_decided_one_by_one(scene: Callable[..., Scene]) -> None:
    s = scene("v1", "v2")
    group = s.group()
    await settle(20)
    find(group, "approval-review-v2").click()
    await settle(20)
    await s.wait(1)
    card = group.findChild(ApprovalCard)
    assert card is not None
    assert card.request.id == "v2"
    find(card, "approval-approve").click()
    await settle(20)
    assert s.allowed() == ["v2"]


@pytest.mark.parametrize("typed", [{"arguments": "{}"}, {"note": "No"}])
async def test_edited_arguments_of_one_call_are_not_ignored(scene: Callable[..., Scene], typed: dict[str, str]) -> None:
    s = scene("v1", "v2")
    group = s.group()
    await settle(20)
    await s.wait(1)
    s.controller.save_draft("v1", module.Draft(**typed), group)
    button = find(group, "approval-allow-all")
    assert not button.isEnabled()
    assert not find(group, "approval-reject-all").isEnabled()
    group._allow_pressed()
    group._reject_pressed()
    await settle(20)
    assert s.allowed() == []
    assert len(s.controller.pending()) == 2
    s.controller.save_draft("v1", module.Draft(), group)
    assert button.isEnabled()


@pytest.mark.parametrize(
    ("call", "button"), [("approve_together", "approval-allow-all"), ("reject_together", "approval-reject-all")]
)
async def test_an_error_of_the_engine_is_shown_in_place(scene: Callable[..., Scene], call: str, button: str) -> None:
    s = scene("v1", "v2")
    group = s.group()
    await settle(20)
    await s.wait(1)
    s.engine.set("approvals", call, OSError("disk"))
    find(group, button).click()
    await settle(20)
    assert "disk" in find(group, "approval-group-error").text()
    assert find(group, button).isEnabled()


async def test_it_follows_the_language(scene: Callable[..., Scene]) -> None:
    from atelier_desk.desktop.settings.application_language import switch_language

    s = scene("v1", "v2")
    group = s.group()
    switch_language("fr")
    assert find(group, "approval-allow-all").text() == "Tout autoriser (2)"
    assert find(group, "approval-group-title").text() == "Checker demande 2 autorisations"
    switch_language("en")
    assert find(group, "approval-allow-all").text() == "Allow all 2"

"""The controller: pending approvals in order, and only visible time is counted."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.questions import approval_controller as module
from atelier_desk.desktop.questions.approval_card import ApprovalCard
from atelier_desk.desktop.questions.approval_controller import ApprovalController, approval_controller, seen
from atelier_desk.domain.approval import ApprovalStatus
from atelier_desk.domain.errors import NotFoundError
from tests.desktop.questions.approval_fixtures import ApprovalEngine, asks, emit_event
from tests.helpers.fake_bridge import FakeBridge, settle


class Watched:
    """A controller with a clock and card visibility set by the test."""

    def __init__(self, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, engine: ApprovalEngine) -> None:
        self.engine, self.bridge = engine, FakeBridge(engine)
        self.now = 100.0
        self.controller = ApprovalController(self.bridge, lambda: self.now)
        self.window = QWidget()
        QVBoxLayout(self.window)
        qtbot.addWidget(self.window)
        self.visible: set[QWidget] = set()
        monkeypatch.setattr(module, "seen", lambda card: card in self.visible)

    def card(self, name: str) -> ApprovalCard:
        card = ApprovalCard(self.bridge, self.engine.stored[name])
        layout = self.window.layout()
        assert layout is not None
        layout.addWidget(card)
        return card

    async def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.controller.tick()
        await settle()

    @property
    def reported(self) -> list[tuple[str, int]]:
        return [(args[0], args[1]) for args, _kwargs in self.engine.calls("approvals.seen")]


async def test_pending_items_are_loaded_at_the_start_in_order() -> None:
    engine = ApprovalEngine(
        asks("v2"), asks("v1"), asks("v3", workflow="w2"), asks("v4", status=ApprovalStatus.APPROVED)
    )
    bridge = FakeBridge(engine)
    desk = approval_controller(bridge)
    assert approval_controller(bridge) is desk
    desk.start()
    await settle()
    assert [each.id for each in desk.pending()] == ["v1", "v2", "v3"]
    assert [each.id for each in desk.pending("w2")] == ["v3"]
    new: list[str] = []
    desk.asked.connect(lambda request: new.append(request.id))
    engine.stored["v5"] = asks("v5")
    await emit_event(bridge, engine.stored["v5"])
    await emit_event(bridge, engine.stored["v5"])
    assert new == ["v5"]
    engine.stored["v6"] = asks("v6", workflow="w2")
    desk.start()  # as a change does, before its event is shown
    await settle()
    await emit_event(bridge, engine.stored["v6"])
    assert new == ["v5", "v6"]
    engine.change("v1", status=ApprovalStatus.REJECTED)
    await emit_event(bridge, engine.stored["v1"])
    assert [each.id for each in desk.pending()] == ["v2", "v3", "v5", "v6"]


async def test_a_decision_is_shown_without_reading_it_again() -> None:
    engine = ApprovalEngine(*(asks(name) for name in ("v1", "v2", "v3", "v4")))
    desk = approval_controller(FakeBridge(engine))
    desk.start()
    await settle()
    decided: list[str] = []
    desk.decided.connect(decided.append)
    await desk.approve("v1")
    await desk.reject("v2")
    await desk.approve_together(["v3", "v4"])
    assert desk.pending() == []
    assert decided == ["v1", "v2", "v3", "v4"]
    assert engine.calls("approvals.get") == []


async def test_a_request_deleted_with_its_workflow_is_dropped(qtbot: QtBot) -> None:
    engine = ApprovalEngine(asks("v1"))
    bridge = FakeBridge(engine)
    desk = approval_controller(bridge)
    desk.start()
    await settle()
    engine.stored.clear()
    engine.set("approvals", "get", NotFoundError("There is no approval request {id}.", id="v1"))
    for _ in range(3):
        bridge.changed.emit("workflow", "w1")
    qtbot.waitUntil(lambda: not desk._reload_timer.isActive())
    await settle()
    assert len(desk) == 0
    assert bridge.errors == []


async def test_only_visible_time_is_reported_once_a_second_per_request(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = Watched(qtbot, monkeypatch, ApprovalEngine(asks("v1", timeout_s=60.0), asks("v2", timeout_s=60.0), asks("v3")))
    first, second, third = w.card("v1"), w.card("v1"), w.card("v3")
    w.card("v2")
    await w.pass_time(1)
    assert w.reported == []
    w.visible = {first, second, third}
    w.controller.update_visibility()
    await w.pass_time(1)
    assert w.reported == [("v1", 1000)]
    await w.pass_time(1)
    assert w.reported == [("v1", 1000), ("v1", 1000)]
    assert w.controller.remaining(w.controller.pending()[0]) == 58.0
    w.visible = set()
    w.controller.update_visibility()
    await w.pass_time(5)
    w.visible = {second}
    w.controller.update_visibility()
    await w.pass_time(3600)
    assert w.reported[2:] == [("v1", module.LONGEST_MS)]


async def test_the_card_counts_down_and_shows_the_end_of_the_time(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = Watched(qtbot, monkeypatch, ApprovalEngine(asks("v1", timeout_s=60.0, seen_ms=58_000)))
    card = w.card("v1")
    time, state = card.findChild(QWidget, "approval-time"), card.findChild(QWidget, "approval-state")
    assert time.text() == "0:02 left"  # type: ignore[union-attr]
    w.visible = {card}
    w.controller.update_visibility()
    await w.pass_time(1)
    assert time.text() == "0:01 left"  # type: ignore[union-attr]
    w.engine.change("v1", status=ApprovalStatus.REJECTED, decided_by="timeout")
    w.engine.set("approvals", "seen", 0.0)
    await w.pass_time(1)
    assert state.text() == "rejected"  # type: ignore[union-attr]
    await w.pass_time(1)
    assert len(w.reported) == 2


async def test_a_card_under_an_overlay_is_not_visible(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Watched(qtbot, monkeypatch, ApprovalEngine(asks("v1", timeout_s=60.0)))
    card = w.card("v1")
    w.visible = {card}
    w.controller.covered = lambda widget: widget is card
    w.controller.update_visibility()
    await w.pass_time(1)
    assert w.reported == []


async def test_a_deleted_card_no_longer_counts(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    w = Watched(qtbot, monkeypatch, ApprovalEngine(asks("v1", timeout_s=60.0)))
    card = w.card("v1")
    w.visible = {card}
    w.controller.update_visibility()
    assert w.controller._clock.isActive()
    card.deleteLater()
    await settle()
    await w.pass_time(1)
    assert w.reported == []
    assert not w.controller._clock.isActive()


async def test_a_widget_is_visible_if_enough_of_it_is_in_an_active_window(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PySide6.QtWidgets import QScrollArea

    area, content, card = QScrollArea(), QWidget(), QWidget()
    content.resize(200, 2000)
    card.setParent(content)
    card.setGeometry(0, 1000, 200, 300)
    area.setWidget(content)
    area.resize(240, 400)
    qtbot.addWidget(area)
    active = [True]
    monkeypatch.setattr(area, "isActiveWindow", lambda: active[0])
    assert not seen(card)
    area.show()
    assert not seen(card)
    area.verticalScrollBar().setValue(900)
    assert seen(card)
    area.verticalScrollBar().setValue(1250)
    assert not seen(card)
    area.verticalScrollBar().setValue(900)
    active[0] = False
    assert not seen(card)

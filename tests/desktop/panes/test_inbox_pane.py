"""The inbox: all pending questions over all workflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtWidgets import QPushButton, QWidget

from app.desktop.panes.inbox_pane import InboxPane
from app.desktop.questions.presenter import QuestionPresenter
from app.domain.workflow import Workflow
from tests.desktop.questions.conftest import ask
from tests.support.fake_bridge import FakeAtelier, FakeBridge, settle


async def test_it_counts_lists_opens_and_skips(bridge: FakeBridge, atelier: FakeAtelier, shown: Callable[[QWidget], Any]) -> None:
    atelier.set("questions", "pending", [ask("q1"), ask("q2", workflow="w2")])
    atelier.set("workflows", "list", [Workflow(id="w1", name="One"), Workflow(id="w2", name="Two")])
    window = QWidget()
    presenter = QuestionPresenter(bridge, window)  # type: ignore[arg-type]
    pane = shown(InboxPane(bridge, presenter))  # type: ignore[arg-type]
    assert pane.objectName() == "question-inbox"
    assert pane.count.text() == "0"
    assert pane.empty.isVisible()
    presenter.start()
    await settle()
    assert pane.findChild(QWidget, "pending-count").text() == "2"
    card = pane.findChild(QWidget, "inbox-q2")
    assert card.accessibleName() == "Which way?"
    assert any("Two" in label.accessibleName() for label in card.findChildren(QWidget))
    wanted: list[str] = []
    presenter.workflow_wanted.connect(wanted.append)
    pane.findChild(QPushButton, "inbox-open-q2").click()
    assert wanted == ["w2"]
    atelier.set("questions", "pending", [ask("q2", workflow="w2")])
    pane.findChild(QPushButton, "inbox-skip-q1").click()
    await settle()
    assert atelier.calls("questions.skip") == [(("q1",), {})]
    assert pane.count.text() == "1"
    window.deleteLater()

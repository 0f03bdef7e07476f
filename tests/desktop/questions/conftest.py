"""Questions, a host view for their dialogs, and approval cards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.domain.question import QuestionOption, QuestionSpec, QuestionType, UserQuestion
from tests.desktop.questions.approval_fixtures import MakeScene, Scene

START = datetime(2026, 1, 1, tzinfo=UTC)


def ask(
    name: str = "q1", kind: str = "mixed", workflow: str = "w1", *, options: int = 3, **fields: Any
) -> UserQuestion:
    """A pending question ``name``; the digits of the name determine its time."""
    of_spec = {
        key: fields.pop(key) for key in ("context", "text_required", "text_placeholder", "question") if key in fields
    }
    choices = (
        () if kind == "text" else tuple(QuestionOption(id=f"o{n}", label=f"Option {n}") for n in range(1, options + 1))
    )
    spec = QuestionSpec.model_validate(
        {"question": "Which way?", "question_type": QuestionType(kind), "options": choices} | of_spec
    )
    minute = int("".join(filter(str.isdigit, name)) or 0)
    base = {
        "id": name,
        "workflow_id": workflow,
        "spec": spec,
        "run_id": "r",
        "call_id": "c",
        "agent_name": "Architect",
        "timeout_s": 0,
        "created_at": START + timedelta(minutes=minute),
    }
    return UserQuestion.model_validate(base | fields)


@pytest.fixture
def host(qtbot: QtBot) -> QWidget:
    """A shown window with a focusable widget."""
    window = QWidget()
    window.setWindowTitle("Atelier")
    window.resize(900, 700)
    QVBoxLayout(window).addWidget(QPlainTextEdit("conversation"))
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def child(host: QWidget) -> Callable[[str], Any]:
    """Find a widget of the dialog by its object name."""

    def find(name: str) -> Any:
        found = host.findChild(QWidget, name)
        assert found is not None, name
        return found

    return find


@pytest.fixture
def scene(qtbot: QtBot) -> MakeScene:
    """Show an approval card for a request, in a window of a given width in pixels."""
    return lambda request, width=640: Scene(qtbot, request, width)

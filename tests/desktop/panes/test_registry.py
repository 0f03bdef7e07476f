"""A pane is one new file: it appears in the window, menu and palette, and behaves like the others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import registrations, registry
from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.panes.registry import pane, panes
from atelier_desk.desktop.settings.application_language import switch_language
from tests.desktop.panes.started_window import started
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import settle

NOTES = """
from PySide6.QtWidgets import QPlainTextEdit
from atelier_desk.desktop.panes.pane_base import Pane
from atelier_desk.desktop.panes.registry import pane
from atelier_desk.desktop.widgets import control, bind_text
from atelier_desk.support.i18n import N_

@pane("notes", order=45, icon="pencil", title=N_("Text size"), command=N_("Copy details"), shortcut="Ctrl+9")
class NotesPane(Pane):
    def __init__(self, bridge):
        super().__init__(bridge)
        bind_text(self.heading, N_("Language and appearance"))
        self.field = control(QPlainTextEdit(self), "notes-field", name=N_("Language"))
        self.column.addWidget(self.field)

    def reload(self):
        self.field.setPlainText("notes of " + self.workflow_id)
"""


@pytest.fixture
def _a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if ``notes.py`` had been added to the folder."""
    (tmp_path / "notes.py").write_text(NOTES)
    panes()  # registers the existing ones
    monkeypatch.setattr(registrations, "__path__", [*registrations.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    yield
    sys.modules.pop(f"{registrations.__name__}.notes", None)
    vars(registrations).pop("notes", None)


@pytest.mark.usefixtures("_a_new_file")
async def test_a_pane_is_one_new_file(qtbot: QtBot) -> None:
    window = await started(qtbot)
    dock, action = window.rail.docks["notes"], window.actions_["show-notes"]
    assert window.tabifiedDockWidgets(window.rail.docks["memory"]) == [
        window.rail.docks[name] for name in ("reports", "notes", "questions")
    ]
    assert child(window, QPlainTextEdit, "notes-field").toPlainText() == "notes of w1"
    menu = QMenu(window)
    window.actions_.fill(menu)
    assert not action.icon().isNull()
    assert action.shortcut() == QKeySequence("Ctrl+9")
    view = next(sub for sub in menu.findChildren(QMenu) if action in sub.actions())
    around = [each.objectName() for each in view.actions()]
    assert around[around.index("action-show-notes") - 1] == "action-show-reports"
    assert (dock.windowTitle(), action.text()) == ("Text size", "Copy details")

    action.trigger()
    await settle()
    assert not dock.visibleRegion().isEmpty()
    child(window, QToolButton, "float-notes").click()
    assert dock.isFloating()

    switch_language("fr")
    await settle()
    heading = window.rail.panes["notes"].heading.text()
    assert (dock.windowTitle(), action.text(), heading) == (
        "Taille du texte",
        "Copier les détails",
        "Langue et apparence",
    )
    assert child(window, QWidget, "notes-field").accessibleName() == "Langue"
    assert "Taille du texte" in child(window, QWidget, "hide-notes").toolTip()
    window.command_palette()
    palette = window._palette
    assert palette is not None
    found = palette.list.model()
    assert "Copier les détails" in [found.index(row, 0).data() for row in range(found.rowCount())]
    switch_language("en")


def test_a_name_cannot_be_used_twice() -> None:
    known = [entry.name for entry in panes()]
    assert known == ["tasks", "activity", "memory", "reports", "questions", "files", "timeline", "context"]

    with pytest.raises(ValueError, match="tasks"):

        @pane("tasks", order=1, icon="x", title="", command="")
        def other(host: registry.PaneHost) -> Pane:
            raise AssertionError

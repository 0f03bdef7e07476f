"""The reports pane: list, reading, editing, export, undo."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.panes.reports_pane import ReportsPane
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain import limits
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.workflow import Report
from tests.desktop.panes.conftest import Show
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
async def pane(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> ReportsPane:
    atelier.set(
        "reports",
        "list",
        [Report(workflow_id="w", name="first", size=2000, author="Ada"), Report(workflow_id="w", name="second")],
    )
    atelier.set("reports", "read", lambda _workflow, name: f"# {name}\n\nText with <b>tags</b>.")
    made = shown(ReportsPane(bridge))
    made.set_workflow("w")
    await settle()
    return made


async def test_a_report_is_listed_and_read_as_markdown(pane: ReportsPane) -> None:
    assert pane.objectName() == "reports-pane"
    assert pane.heading.text() == "Reports · 2"
    assert pane.list.item(0).text() == "first"
    pane.list.setCurrentRow(1)
    QTest.keyClick(pane.list, Qt.Key.Key_Return)
    await settle()
    assert pane.view.isVisible()
    assert pane.view.toPlainText() == "second\nText with <b>tags</b>."
    pane.close_report()
    assert pane.list.isVisible()


async def test_ages_are_updated_while_the_list_is_visible(
    pane: ReportsPane, atelier: FakeAtelier, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = [Report(workflow_id="w", name=f"report {number}") for number in range(60)]
    atelier.set("reports", "list", reports)
    pane.reload()
    await settle()
    assert "just now" in pane.list.item(59).data(Qt.ItemDataRole.AccessibleTextRole)
    pane.list.verticalScrollBar().setValue(300)
    later = max(report.updated_at for report in reports) + timedelta(minutes=5)
    monkeypatch.setattr(time_format, "utc_now", lambda: later)
    clock = child(pane, MinuteClock)
    clock.timeout.emit()
    assert "5 minutes ago" in pane.list.item(59).data(Qt.ItemDataRole.AccessibleTextRole)
    assert pane.list.verticalScrollBar().value() == 300
    assert clock.isActive()
    pane.hide()
    assert not clock.isActive()


async def test_a_report_opens_at_its_first_line_and_stays_where_it_was_scrolled_to(
    pane: ReportsPane, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    text = "\n\n".join(f"Paragraph {number}" for number in range(200))
    atelier.set("reports", "read", lambda _workflow, name: f"# {name}\n\n{text}")
    pane.resize(300, 400)
    bar = pane.view.verticalScrollBar()
    pane.open("first")
    await settle()
    assert pane.view.hasFocus()
    qtbot.waitUntil(lambda: bar.maximum() > 500)
    assert bar.value() == 0
    bar.setValue(500)
    pane.reload()
    await settle()
    assert bar.value() == 500, "it was changed while it was read"
    pane.close_report()
    pane.open("second")
    await settle()
    assert bar.value() == 0


async def test_editing_saves_the_text(pane: ReportsPane, atelier: FakeAtelier) -> None:
    pane.open("first")
    await settle()
    pane.edit()
    assert pane.editor.toPlainText() == "# first\n\nText with <b>tags</b>."
    pane.editor.setPlainText("line of a report\n" * (limits.REPORT // 17 + 1))
    save = child(pane, QPushButton, "report-save")
    assert not save.isEnabled()
    pane.editor.setPlainText("Nouveau texte")
    QTest.keyClick(pane.editor, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    await settle()
    assert atelier.calls("reports.write") == [(("w", "first", "Nouveau texte"), {})]
    assert not pane.editing


async def test_an_edit_in_progress_survives_a_change_elsewhere(pane: ReportsPane) -> None:
    pane.open("first")
    await settle()
    pane.edit()
    pane.editor.setPlainText("half a sentence")
    pane.reload()
    await settle()
    assert pane.editing
    assert pane.editor.toPlainText() == "half a sentence"


async def test_delete_can_be_undone(pane: ReportsPane, atelier: FakeAtelier) -> None:
    atelier.set("reports", "delete", "the old text")
    pane.list.setCurrentRow(0)
    QTest.keyClick(pane.list, Qt.Key.Key_Delete)
    await settle()
    assert atelier.calls("reports.delete") == [(("w", "first"), {})]
    child(pane.window(), QPushButton, "toast-action").click()
    await settle()
    assert atelier.calls("reports.write") == [(("w", "first", "the old text"), {})]


async def test_a_report_is_exported_by_file_extension_and_copied_with_formatting(
    pane: ReportsPane, qtbot: QtBot, tmp_path: Path
) -> None:
    pane.open("first")
    await settle()
    for name in ("out.md", "out.docx"):
        child(pane, QToolButton, "report-export").click()
        (dialog,) = (each for each in pane.window().findChildren(QFileDialog) if each.isVisible())
        assert Path(dialog.selectedFiles()[0]).name == "first.docx"
        dialog.fileSelected.emit(str(tmp_path / name))
        dialog.close()
        dialog.deleteLater()
        await settle()
        qtbot.waitUntil((tmp_path / name).is_file)
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == "# first\n\nText with <b>tags</b>."
    child(pane, QToolButton, "report-copy").click()
    assert "<h1>first</h1>" in QGuiApplication.clipboard().mimeData().html()


async def test_a_report_that_changed_outside_is_shown_with_a_warning_and_can_be_accepted(
    pane: ReportsPane, atelier: FakeAtelier
) -> None:
    damaged = True

    def read(_workflow: str, name: str, *, check: bool = True) -> str:
        if damaged and check and name == "first":
            raise StorageError(
                "The report file {path} is not as Atelier wrote it.", code="damaged_file", path="first.md"
            )
        return f"{name} by hand"

    def accept(*_given: str) -> None:
        nonlocal damaged
        damaged = False

    atelier.set("reports", "read", read)
    atelier.set("reports", "accept", accept)
    warning, keep = child(pane, QWidget, "report-damaged"), child(pane, QPushButton, "report-accept")
    pane.open("first")
    await settle()
    assert pane.view.toPlainText() == "first by hand"
    assert (warning.isVisible(), keep.isVisible()) == (True, True)
    pane.open("second")
    await settle()
    assert (warning.isVisible(), keep.isVisible()) == (False, False)
    pane.open("first")
    await settle()
    keep.click()
    await settle()
    assert atelier.calls("reports.accept") == [(("w", "first"), {})]
    assert (warning.isVisible(), keep.isVisible()) == (False, False)
    assert pane.view.toPlainText() == "first by hand"


async def test_a_report_with_a_missing_file_is_deleted_without_undo(pane: ReportsPane, atelier: FakeAtelier) -> None:
    atelier.set("reports", "delete", None)
    pane.list.setCurrentRow(0)
    QTest.keyClick(pane.list, Qt.Key.Key_Delete)
    await settle()
    shown = pane.window().findChildren(QWidget, "toast")[-1]
    assert "deleted" in shown.accessibleName()
    assert not any(button.isVisible() for button in pane.window().findChildren(QPushButton, "toast-action"))

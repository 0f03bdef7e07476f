"""The list of projects and the overview of one: create, index, switch, rename, delete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QDesktopServices, QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.panes import time_format
from atelier_desk.desktop.projects.code_language_bar import parts_of, share_word
from atelier_desk.desktop.projects.create_dialog import CreateDialog
from atelier_desk.desktop.projects.rename_dialog import RenameDialog
from atelier_desk.desktop.projects.window import ProjectsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Toast
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.project import IngestStage, IngestState, ProjectStatistics
from atelier_desk.support.i18n import spoken
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.fake_project_service import ENTITIES, STATISTICS, Projects

Find = Callable[[str], Any]


async def finished(window: ProjectsWindow) -> None:
    await window.jobs.settled()
    await settle()


def test_languages_after_the_seventh_are_combined_and_no_share_is_zero() -> None:
    parts = parts_of({f"l{n}": n for n in range(1, 11)} | {"none": 0})
    assert parts[0] == ("l10", 10)
    assert parts[-1] == ("", 1 + 2 + 3)
    assert len(parts) == 8
    assert "<" in share_word(1, 1000)
    assert share_word(1, 2) == "50%"
    with spoken("fr"):
        assert share_word(1, 2) == "50\N{NO-BREAK SPACE}%"


async def test_the_ages_of_projects_are_updated(
    window: ProjectsWindow, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_format, "utc_now", lambda: utc_now() + timedelta(minutes=5))
    for clock in window.findChildren(MinuteClock):
        clock.timeout.emit()
    assert window.list.item(0).data(RowRole).facts.startswith("Indexed 5 minutes ago")
    assert find("project-figure-read").text() == "5 minutes ago"


async def test_the_selected_project_shows_its_contents(window: ProjectsWindow, find: Find) -> None:
    assert window.list.count() == 2
    assert find("project-title").text() == "notes"
    assert find("project-root").text() == "/home/me/notes"
    assert find("project-figure-files").text() == "3"
    assert find("project-figure-entities").text() == "9"
    assert find("project-figure-vectors").text() == "6 / 6"
    assert find("language-bar").accessibleName().startswith("Languages: Python 67")
    window.list.choose("p2")
    await finished(window)
    assert find("project-root").text() == "No folder: web pages only"
    assert not find("project-read").isEnabled()
    assert not find("project-problems").isVisible()


async def test_skipped_files_are_listed_with_reasons_and_copied(window: ProjectsWindow, find: Find) -> None:
    assert find("project-problems").isVisible()
    assert window.overview.problems.words.text() == "1 file could not be read completely · 1 file left out on purpose"
    find("project-problems-copy").click()
    assert (
        QGuiApplication.clipboard().text() == ".env\tSkipped: it seems to contain a secret.\nbroken.pdf\tIt is no PDF."
    )


async def test_a_file_skipped_as_a_secret_can_be_included_and_excluded_again(
    window: ProjectsWindow, find: Find, projects: Projects
) -> None:
    rows, button = find("project-problem-list"), find("project-problems-allow")
    assert not button.isVisible()
    rows.setCurrentRow(1)
    assert not button.isVisible(), "a damaged file is no secret"
    rows.setCurrentRow(0)
    assert button.text() == "Index"
    button.click()
    await finished(window)
    assert projects.stored[0].readable == (".env",)
    assert [rows.item(row).text() for row in range(rows.count())] == ["broken.pdf", ".env"]
    window.toasts.undo.undo()  # type: ignore[attr-defined]
    await finished(window)
    assert list(projects.stored[0].readable) == []
    await window.bridge.engine.projects.allow("p1", ".env")
    await window.load()
    rows.setCurrentRow(1)
    assert button.text() == "Exclude again"
    button.click()
    await finished(window)
    assert list(projects.stored[0].readable) == []


async def test_skipped_files_of_a_folder_are_listed(window: ProjectsWindow, find: Find, projects: Projects) -> None:
    assert not find("project-cut").isVisible()
    projects.change("p1", cut="files")
    await window.load()
    assert find("project-cut").text().startswith("Not all files were read: the folder has more than 50,000.")


async def test_indexing_is_shown_paused_and_continued(
    window: ProjectsWindow, find: Find, atelier: FakeAtelier, projects: Projects
) -> None:
    assert not find("ingest-progress").isVisible()
    projects.states["p1"] = IngestState(project_id="p1", stage=IngestStage.READING, done=3, total=9, path="src/a.py")
    find("project-read").click()
    await finished(window)
    assert atelier.calls("projects.ingest") == [(("p1",), {"force": False, "emptied": False})]
    assert find("ingest-words").text() == "Reading files: 3 of 9"
    assert (find("ingest-bar").value(), find("ingest-bar").maximum()) == (3, 9)
    assert find("ingest-path").text() == "src/a.py"
    assert not find("project-read").isEnabled()
    assert window.list.item(0).data(RowRole).facts == "Reading files: 3 of 9"
    projects.states["p1"] = IngestState(project_id="p1", stage=IngestStage.PAUSED, done=4, total=9)
    find("ingest-pause").click()
    await finished(window)
    assert atelier.calls("projects.stop") == [(("p1",), {})]
    assert find("ingest-pause").text() == "Continue"
    find("ingest-pause").click()
    await finished(window)
    assert len(atelier.calls("projects.ingest")) == 2
    projects.states["p1"] = IngestState(project_id="p1", stage=IngestStage.FAILED, error="The folder is gone.")
    await window.load()
    assert find("ingest-words").text() == "Failed: The folder is gone."
    assert find("ingest-pause").text() == "Try again"
    find("ingest-pause").click()
    await finished(window)
    assert atelier.calls("projects.ingest")[-1] == (("p1",), {"force": False, "emptied": False}), (
        "nothing is forgotten by trying again"
    )
    find("project-read-anew").click()
    await finished(window)
    assert atelier.calls("projects.ingest")[-1] == (("p1",), {"force": True, "emptied": True})


async def test_a_new_project_gets_the_name_of_its_folder_and_is_indexed(
    window: ProjectsWindow, find: Find, atelier: FakeAtelier, tmp_path: Path
) -> None:
    find("project-new").click()
    form = find("project-create")
    assert isinstance(form, CreateDialog)
    form.folder.setText(str(tmp_path / "missing"))
    find("form-submit").click()
    assert "does not exist" in find("form-error").text()
    (tmp_path / "tool").mkdir()
    form.folder.setText(str(tmp_path / "tool"))
    assert form.name.text() == "tool"
    form.name.setText("notes")
    find("form-submit").click()
    await finished(window)
    assert find("form-error").text() == "There is a project notes already."
    form.name.setText("tool")
    form.embedded.setChecked(False)
    find("form-submit").click()
    await finished(window)
    assert atelier.calls("projects.create")[-1] == (
        ("tool", str(tmp_path / "tool")),
        {"embedded": False, "watched": True},
    )
    assert atelier.calls("projects.ingest") == [(("p3",), {})]
    assert window.list.chosen == "p3"


async def test_another_folder_of_the_same_name_is_suggested_a_name_of_its_own(
    window: ProjectsWindow, projects: Projects
) -> None:
    form = window.new_project()
    form.folder.setText("/home/you/notes")
    assert form.name.text() == "notes 2"
    form.folder.setText(projects.stored[0].root)
    assert form.name.text() == "notes", "the folder of that project: creating it again keeps its name"


async def test_switches_are_saved_at_once_and_a_name_is_changed(
    window: ProjectsWindow, find: Find, projects: Projects
) -> None:
    find("project-loaded").click()
    find("project-embedded").click()
    await finished(window)
    assert (projects.stored[0].loaded, projects.stored[0].watched, projects.stored[0].embedded) == (False, True, False)
    assert "not searched" in window.list.item(0).data(RowRole).facts
    find("project-rename").click()
    form = find("project-rename-dialog")
    assert isinstance(form, RenameDialog)
    form.name.setText("papers")
    find("form-submit").click()
    await finished(window)
    assert find("project-title").text() == "papers"


async def test_deleting_names_what_is_deleted_and_asks(window: ProjectsWindow, find: Find, projects: Projects) -> None:
    find("project-delete").click()
    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert box.text() == "Delete the project notes?"
    assert "9 entities, 9 relations, 6 embeddings" in box.informativeText()
    assert "/home/me/notes and its files will not be touched" in box.informativeText()
    yes = box.findChild(QPushButton, "confirm-yes")
    assert yes is not None
    yes.click()
    await finished(window)
    assert [each.id for each in projects.stored] == ["p2"]
    assert window.list.chosen == "p2"


async def test_a_deleted_project_is_removed_from_search_and_source(
    window: ProjectsWindow, find: Find, atelier: FakeAtelier, projects: Projects
) -> None:
    find("project-search-where").setCurrentIndex(0)
    window.search.enter("disk")
    window.search.search()
    await window.search.jobs.settled()
    window.open_source(window.search.found[0].entity)
    await window.code.jobs.settled()
    assert find("code-text").isVisible()
    projects.stored = [each for each in projects.stored if each.id != "p1"]
    atelier.set("projects", "find", [])
    await window.load()
    await window.search.jobs.settled()
    assert not window.search.found
    assert window.code.entity is None
    assert not find("code-text").isVisible()


async def test_without_projects_the_window_explains_them(
    window: ProjectsWindow, find: Find, projects: Projects
) -> None:
    projects.stored.clear()
    await window.load()
    assert window.empty.isVisible()
    assert not window.tabs.isVisible()
    find("project-create-first").click()
    assert find("project-create").isVisible()


async def test_esc_deselects_a_node_and_clears_a_search_before_it_closes(window: ProjectsWindow) -> None:
    window.activateWindow()
    window.open_graph(ENTITIES[3])
    await window.graph.jobs.settled()
    escape = next(key for key in window.findChildren(QShortcut) if key.key() == QKeySequence("Esc"))
    assert window.graph.view.chosen >= 0
    window.graph.view.setFocus()
    escape.activated.emit()
    assert window.graph.view.chosen == -1
    window.open_search("note")
    escape.activated.emit()
    assert window.search.field.text() == ""
    assert window.isVisible()
    escape.activated.emit()
    assert not window.isVisible()


async def test_while_a_project_is_indexed_its_statistics_are_not_computed_per_file(
    window: ProjectsWindow, atelier: FakeAtelier, projects: Projects
) -> None:
    before = len(atelier.calls("projects.statistics"))
    for done in (1, 2, 3):
        projects.states["p1"] = IngestState(project_id="p1", stage=IngestStage.READING, done=done, total=9)
        await window.load()
    assert len(atelier.calls("projects.statistics")) <= before + 1
    assert window.overview.progress.bar.value() == 3
    projects.states["p1"] = IngestState(project_id="p1", stage=IngestStage.DONE)
    now = len(atelier.calls("projects.statistics"))
    await window.load()
    assert len(atelier.calls("projects.statistics")) == now + 1


async def test_a_project_is_shown_before_its_statistics(atelier: FakeAtelier, qtbot: QtBot) -> None:
    counted = asyncio.Event()

    async def statistics(project_id: str) -> ProjectStatistics:
        await counted.wait()
        return STATISTICS

    atelier.set("projects", "statistics", statistics)
    window = ProjectsWindow(FakeBridge(atelier))
    qtbot.addWidget(window)
    window.show()
    await settle()
    await settle()
    page = window.overview
    assert (page.name.text(), page.switches["loaded"].isChecked(), page.figures["files"].text()) == ("notes", True, "…")
    window.delete()
    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    assert box.informativeText().startswith("Its index will be deleted. The folder"), "no figures before they are known"
    box.reject()
    counted.set()
    await window.jobs.settled()
    assert page.figures["files"].text() == "3"


async def test_a_search_requested_before_the_projects_are_loaded_opens_with_them(
    atelier: FakeAtelier, qtbot: QtBot
) -> None:
    opening = ProjectsWindow(FakeBridge(atelier))
    qtbot.addWidget(opening)
    opening.open_search("disk")
    assert opening.tabs.currentIndex() == 0
    await opening.load()
    assert opening.tabs.currentIndex() == 1
    assert opening.search.field.text() == "disk"
    await opening.search.jobs.settled()


async def test_the_list_grows_with_the_text_and_keeps_a_width_set_by_the_user(window: ProjectsWindow) -> None:
    window.resize(1024, 700)
    await settle()
    small = window.body.sizes()[0]
    theme().set_scale(150)
    await settle()
    assert window.body.sizes()[0] == round(small * 1.5)
    window.body.setSizes([400, 624])
    theme().set_mode("dark")
    await settle()
    assert window.body.sizes()[0] == 400
    theme().set_scale(100)
    await settle()
    assert window.body.sizes()[0] == small


async def test_a_project_folder_that_no_program_opens_is_named(
    window: ProjectsWindow, find: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda _url: False)
    await finished(window)
    find("project-show-folder").click()
    toast = window.findChild(Toast)
    assert isinstance(toast, Toast)
    assert toast.accessibleName() == "Could not open /home/me/notes"

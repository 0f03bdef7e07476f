"""The source of an entity: lines, outline, callers and callees."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from atelier_desk.desktop.projects.code import page as code_page
from atelier_desk.desktop.projects.window import ProjectsWindow
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.domain.errors import NotFoundError, UsageError
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, settle
from tests.helpers.fake_project_service import ENTITIES, STORE, TEXTS, Projects

SAVE = ENTITIES[3]


async def opened(window: ProjectsWindow, entity: Any = SAVE) -> None:
    window.open_source(entity)
    await window.code.jobs.settled()
    await settle()


async def test_the_source_opens_at_the_line_with_outline_and_calls(window: ProjectsWindow) -> None:
    await opened(window)
    code = window.code
    assert (code.text.first, code.text.last, code.text.line) == (9, 11, 9)
    assert code.text.accessibleDescription() == "Store.save, method, store.py:9"
    outline = code.outline
    top = outline.model().index(0, 0)
    assert [top.data(), outline.model().index(0, 0, top).data()] == ["Store", "save"]
    assert outline.currentIndex().data() == "save"
    assert code.callers.list.item(0).text() == "main"
    assert code.callers.list.item(0).data(RowRole).facts == "app.py:4 · uncertain"
    assert code.callees.list.item(0).text() == "Store._write"


async def test_a_caller_is_opened_and_back_returns(window: ProjectsWindow) -> None:
    await opened(window)
    code = window.code
    code.callers.list.itemClicked.emit(code.callers.list.item(0))
    await code.jobs.settled()
    assert code.place.text() == "app.py:4"
    assert code.back.isEnabled()
    code.back.click()
    await code.jobs.settled()
    assert code.place.text() == "store.py:9"
    assert not code.back.isEnabled()


async def test_the_cursor_chooses_the_part_it_is_in(window: ProjectsWindow) -> None:
    await opened(window)
    code = window.code
    cursor = code.text.textCursor()
    cursor.setPosition(code.text.document().findBlockByNumber(13).position())
    code.text.setTextCursor(cursor)
    await code.jobs.settled()
    assert code.outline.currentIndex().data() == "_write"
    assert code.place.text() == "store.py:13"
    assert code.callers.list.item(0).text() == "Store.save"


async def test_the_editor_gets_the_file_and_the_clipboard_its_line(
    window: ProjectsWindow, monkeypatch: pytest.MonkeyPatch, projects: Projects
) -> None:
    urls: list[str] = []

    def open_text(path: PurePath) -> bool:
        urls.append(path.as_posix())
        return True

    monkeypatch.setattr(code_page, "open_text", open_text)
    await opened(window)
    window.code.editor.click()
    assert urls == ["/home/me/notes/store.py"]
    child(window, type(window.code.back), "code-copy-place").click()
    assert QGuiApplication.clipboard().text() == "store.py:9"


async def test_documents_without_a_text_file_show_their_extracted_text(
    window: ProjectsWindow, atelier: FakeAtelier
) -> None:
    atelier.set("projects", "source", UsageError("It is no text."))
    atelier.set("projects", "entity", SAVE.model_copy(update={"text": "words of the page"}))
    await opened(window)
    assert window.code.text.toPlainText() == "words of the page"
    assert window.code.text.first == 0


async def test_find_works_in_the_source(window: ProjectsWindow) -> None:
    await opened(window)
    code, find = window.code, window.code.finder
    window.find_here()
    assert find.isVisible()
    find.field.setText("NOTE")
    assert (find.count.text(), len(code.text.found)) == ("1 / 6", 6)
    QTest.keyClick(find.field, Qt.Key.Key_Return)
    assert (find.count.text(), code.text.line) == ("2 / 6", 7)
    QTest.keyClick(find.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    find.up.click()
    assert find.count.text() == "6 / 6"
    assert code.text.line == code.text.found[5].blockNumber() + 1
    assert code.outline.currentIndex().data() == "save", "finding does not choose"
    marked = [each for each in code.text.extraSelections() if each.cursor.selectedText().casefold() == "note"]
    assert len(marked) == 6
    find.field.setText("nowhere")
    assert (find.count.text(), find.up.isEnabled()) == ("No results", False)
    window._escape()
    assert (find.isVisible(), window.isVisible(), code.text.found) == (False, True, [])
    window.tabs.setCurrentIndex(0)
    window.find_here()
    assert window.tabs.currentIndex() == 1, "elsewhere it is the search of the project"


async def test_the_source_follows_changes_of_the_file(
    window: ProjectsWindow, projects: Projects, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened(window)
    code = window.code
    window.find_here()
    code.finder.field.setText("save")
    text = f"# A new first line.\n{STORE}"
    monkeypatch.setitem(TEXTS, "store.py", text)
    projects.entities["m1"] = SAVE.model_copy(update={"start_line": 10, "end_line": 12})
    await window.load()
    await code.jobs.settled()
    assert (code.text.toPlainText(), code.text.first, code.text.last) == (text, 10, 12)
    assert (len(code.text.found), code.finder.count.text(), code.text._found_at) == (1, "1 / 1", 0)
    assert code.place.text() == "store.py:10"
    assert code.outline.currentIndex().data() == "save"
    line = code.text.line
    await window.load()
    await code.jobs.settled()
    assert code.text.line == line


async def test_a_deleted_entity_leaves_its_file_open(
    window: ProjectsWindow, projects: Projects, atelier: FakeAtelier
) -> None:
    await opened(window)

    def source(id: str) -> tuple[str, int, int]:
        if id == SAVE.id:
            raise NotFoundError("There is no entity {id}.", id=id)
        return "# Nothing is left.\n", 1, 1

    atelier.set("projects", "source", source)
    atelier.set("projects", "entity", NotFoundError("There is no entity."))
    await window.load()
    await window.code.jobs.settled()
    assert (window.code.text.toPlainText(), window.code.text.first) == ("# Nothing is left.\n", 0)

"""The source of a place: its lines, its outline, who calls it and what it calls."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication

from atelier_desk.desktop.projects.code import page as code_page
from atelier_desk.desktop.projects.window import ProjectsWindow
from atelier_desk.domain.errors import UsageError
from tests.support.fake_bridge import FakeAtelier, settle
from tests.support.projects import ENTITIES, Projects

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
    assert [outline.topLevelItem(0).text(0), outline.topLevelItem(0).child(0).text(0)] == ["Store", "save"]
    assert outline.currentItem().text(0) == "save"
    assert code.callers.list.item(0).text() == "main"
    assert code.callers.list.item(0).data(0x101) == "app.py:4 · probably"
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
    assert code.outline.currentItem().text(0) == "_write"
    assert code.place.text() == "store.py:13"
    assert code.callers.list.item(0).text() == "Store.save"


async def test_the_editor_gets_the_file_and_the_clipboard_its_line(
    window: ProjectsWindow, monkeypatch: pytest.MonkeyPatch, projects: Projects
) -> None:
    given: list[str] = []
    monkeypatch.setattr(code_page, "open_text", lambda path: given.append(path.as_posix()) or True)
    await opened(window)
    window.code.editor.click()
    assert given == ["/home/me/notes/store.py"]
    window.findChild(type(window.code.back), "code-copy-place").click()  # type: ignore[union-attr]
    assert QGuiApplication.clipboard().text() == "store.py:9"


async def test_what_has_no_text_file_shows_what_was_read_of_it(window: ProjectsWindow, atelier: FakeAtelier) -> None:
    atelier.set("projects", "source", UsageError("It is no text."))
    atelier.set("projects", "entity", SAVE.model_copy(update={"text": "words of the page"}))
    await opened(window)
    assert window.code.text.toPlainText() == "words of the page"
    assert window.code.text.first == 0

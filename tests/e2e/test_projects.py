"""A person makes a project of a folder and finds what is in it: a function by what it does, documents by their text."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from atelier_desk.desktop.projects.window import ProjectsWindow
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.helpers.sample_documents import (
    book,
    mail,
    open_sheets,
    open_slides,
    open_text,
    rich_text,
    sheets,
    slides,
    word,
)

STORE = '''"""Keeps notes."""


class Store:
    def save(self, note):
        """Write one note to the disk."""
        return self.check(note)

    def check(self, note):
        return bool(note)
'''
APP = """from store import Store


def main():
    Store().save("hello")
"""


READING_MS = 60_000
"""Each document is read in a process of its own."""


def opened(app: AppDriver) -> ProjectsWindow:
    app.action("projects")
    window = app.window.findChild(ProjectsWindow)
    assert isinstance(window, ProjectsWindow)
    return window


def indexed(app: AppDriver, folder: Path, files: int) -> ProjectsWindow:
    """Make a project of the folder, without search by meaning, and wait until its files are read."""
    window = opened(app)
    app.until(window.empty.button.isVisible, "the empty state")
    app.click(window.empty.button)
    app.find("project-folder", QLineEdit).setText(str(folder))
    assert app.find("project-name", QLineEdit).text() == folder.name
    app.find("project-embedded").click()  # type: ignore[attr-defined]
    app.click("form-submit")
    progress = window.overview.progress.words
    app.until(lambda: "Up to date" in progress.text(), "the reading is over", READING_MS)
    app.until(lambda: window.overview.figures["files"].text() == str(files), "all files are read")
    return window


def test_a_folder_is_indexed_searched_and_explored(open_app: OpenApp, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "store.py").write_text(STORE)
    (folder / "app.py").write_text(APP)
    (folder / "server.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    app = open_app(())
    window = indexed(app, folder, 2)
    app.until(
        lambda: any(each.path == "server.pem" for each in window.overview.problems.problems), "the secret is named"
    )

    window.open_search()
    window.search.field.setText("write note disk")
    app.until(
        lambda: bool(window.search.found) and window.search.chosen and window.search.chosen.name == "save",
        "the method is found",
    )
    app.press(window.search.field, Qt.Key.Key_Return)
    code = window.code
    app.until(lambda: code.entity is not None and code.text.first == 5, "its source, at its line")
    app.until(lambda: code.callers.list.count() and code.callees.list.count(), "its calls")
    assert code.callers.list.item(0).text() == "main"
    assert code.callees.list.item(0).text() == "Store.check"

    app.click(code.graph)
    graph = window.graph
    app.until(
        lambda: graph.view.chosen >= 0 and graph.model.entities[graph.view.chosen].name == "save",
        "the node in the graph",
    )
    names = {each.name for each in graph.model.entities}
    assert {"save", "Store", "check", "main"} <= names
    main = next(number for number, each in enumerate(graph.model.entities) if each.name == "main")
    graph.view.choose(main)
    app.press(graph.view, Qt.Key.Key_Return)
    app.until(lambda: "app.py" in {each.name for each in graph.model.entities}, "it is expanded")
    app.until(lambda: not graph.busy.running, "and laid out")
    window.close()


DOCUMENTS = {
    "letter.docx": (word("Le héron attend"), "héron"),
    "sales.xlsx": (sheets(), "somme"),
    "talk.pptx": (slides(), "premier"),
    "note.odt": (open_text(), "titre"),
    "figures.ods": (open_sheets(), "mai"),
    "show.odp": (open_slides(), "lentement"),
    "memo.rtf": (rich_text(), "prêt"),
    "book.epub": (book(), "livre"),
    "mail.eml": (bytes(mail("Le pélican arrive")), "pélican"),
}
"""Content of each file, and a word that only its text contains."""


def test_documents_of_every_kind_are_found_by_their_text_and_shown(open_app: OpenApp, tmp_path: Path) -> None:
    folder = tmp_path / "dossier"
    folder.mkdir()
    for name, (content, _word) in DOCUMENTS.items():
        (folder / name).write_bytes(content)
    app = open_app(())
    window = indexed(app, folder, len(DOCUMENTS))
    assert not window.overview.problems.problems
    window.open_search()
    for name, (_content, found) in DOCUMENTS.items():
        window.search.field.setText(found)
        app.until(lambda name=name: name in {each.entity.path for each in window.search.found}, f"{name} is found")  # type: ignore[misc]
    app.press(window.search.field, Qt.Key.Key_Return)
    app.until(lambda: "pélican" in window.code.text.toPlainText(), "its text is shown")
    window.close()

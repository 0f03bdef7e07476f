"""A person makes a project of a folder, finds a function by what it does, reads its source, and explores its
neighbours.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit

from atelier_desk.desktop.projects.window import ProjectsWindow
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver

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


def opened(app: AppDriver) -> ProjectsWindow:
    app.action("projects")
    window = app.window.findChild(ProjectsWindow)
    assert isinstance(window, ProjectsWindow)
    return window


def test_a_folder_is_indexed_searched_and_explored(open_app: OpenApp, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "store.py").write_text(STORE)
    (folder / "app.py").write_text(APP)
    (folder / "server.pem").write_text("-----BEGIN PRIVATE KEY-----\n")
    app = open_app(())
    window = opened(app)
    app.until(window.empty.button.isVisible, "the empty state")
    app.click(window.empty.button)
    app.find("project-folder", QLineEdit).setText(str(folder))
    assert app.find("project-name", QLineEdit).text() == "notes"
    app.find("project-embedded").click()  # type: ignore[attr-defined]
    app.click("form-submit")
    app.until(lambda: window.overview.figures["files"].text() == "2", "both files are read")
    app.until(lambda: "Up to date" in window.overview.progress.words.text(), "the reading is over")
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

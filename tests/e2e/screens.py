"""Every screen of the program, and the steps to open it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QAbstractButton, QApplication, QMessageBox, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted_model import Step
from atelier_desk.support import i18n
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_tool_calls import ask_user, calculate, remember, report, task
from tests.helpers.tool_calls import tool_call

PANES = ("tasks", "activity", "memory", "reports", "questions", "files", "context", "timeline")
_EDIT = {"path": "shelf.py", "old_string": "return width // 30", "new_string": "return max(2, width // 30)"}
_NOTE = {"path": "a/rather/long/path/of/folders/measures.md", "content": "# Measures\n\n84 cm\n"}
WOODS = [{"id": "oak", "label": "Oak"}, {"id": "pine", "label": "Pine"}]
STEPS: list[Step] = [
    ChatReply(
        content="I will plan this first.",
        tool_calls=(
            task("t1", "Measure the wall beside the window, twice, and write both figures down", priority=1),
            task("t2", "Cut the boards", priority=2),
            calculate("c1", "12*7"),
            remember("m1", "The wall beside the window is 84 cm wide."),
            report("r1", "shelf", "# Shelf\n\nThree boards of 84 cm."),
        ),
    ),
    "Here is the plan:\n\n1. **Measure**, twice.\n2. Cut.\n\n```python\ndef boards(width):\n    return max(2, width "
    "// 30)\n```\n\n"
    "| part | length | pieces |\n|---|---:|---:|\n| board | 84 cm | 3 |\n",
    [ask_user("q1", "Which wood shall I plan with?", "mixed", options=WOODS, context="Oak is **dearer**.",
    textPlaceholder="Another wood")],
    "Oak it is.",
    ChatReply(
        content="I change two files.",
        tool_calls=(tool_call("edit_file", "e1", **_EDIT),
        tool_call("write_file", "e2", **_NOTE)),
    ),
]  # fmt: skip
"""A turn with tasks, a memory, a report, code and a table; a question; two changes of files that wait for an approval.
"""
Opener = Callable[[AppDriver], object]


def windows() -> list[QWidget]:
    return [each for each in QApplication.topLevelWidgets() if each.isVisible() and each.width() > 1]


def set_style(app: AppDriver, language: str, scale: int) -> None:
    """Set language and text size as the settings do."""
    app.engine(lambda a: a.settings.update(language=language, font_scale=scale))
    app.until(lambda: i18n.language() == language and theme().scale == scale / 100, "the window follows")
    app.settle()


def resize(app: AppDriver, size: QSize, *, dialogs: bool = True) -> None:
    """Resize the windows.

    Dialogs keep their own size if there is room; without ``dialogs``, always.
    """
    for _once_more in range(3):  # a narrow window hides its panes, which lets it become narrower still
        for each in windows():
            window = each is app.window or each.objectName() in ("settings-window", "projects-window")
            if window or dialogs:
                each.resize(size if window else each.size().boundedTo(size * 0.95))
        QApplication.processEvents()
        app.settle()


def close(app: AppDriver) -> None:
    """Close everything but the main window without panes."""
    while others := [each for each in windows() if each is not app.window]:
        others[-1].close()
        app.settle()
    for box in app.window.findChildren(QMessageBox):
        box.reject()
    app.window.rail.set_visible(False)
    for name in ("files", "context", "timeline"):
        app.window.rail.docks[name].hide()
    app.settle()


def parts(app: AppDriver) -> list[QWidget]:
    """The parts to measure: of the main window only the panes while they cover it, otherwise all windows."""
    docks: list[QWidget] = [each for each in app.window.rail.docks.values() if not each.visibleRegion().isEmpty()]
    others = [each for each in windows() if each is not app.window]
    main: list[QWidget] = [app.window]
    return others or docks or main


def save_picture(part: QWidget, name: str) -> None:
    """Save a picture if ``ATELIER_SCREENSHOTS`` names a folder."""
    if folder := os.environ.get("ATELIER_SCREENSHOTS"):
        part.grab().save(str(Path(folder) / f"{name}-{part.objectName() or type(part).__name__}.png"))


def _action(name: str) -> Opener:
    return lambda app: app.action(name)


def _settings(name: str, button: str = "") -> Opener:
    def go(app: AppDriver) -> None:
        app.window.show_settings(name)
        app.settle()
        page = app.window._open_settings()
        for fold in page.findChildren(QAbstractButton):
            if fold.isVisible() and (isinstance(fold, Fold) or "advanced" in fold.objectName()):
                fold.setChecked(True)
        if button:
            app.settle()
            next(each for each in page.findChildren(QAbstractButton, button) if each.isVisible()).click()

    return go


def _confirm(app: AppDriver) -> None:
    confirm(
        app.window,
        "Undo changes to 3 files?",
        "What was changed since then is kept beside them.",
        "Undo changes",
        lambda: None,
    )


def _first_steps(step: int, app: AppDriver) -> None:
    app.window.show_first_steps(step)


def plain() -> Iterator[tuple[str, Opener]]:
    """The screens of an empty program."""
    yield "start", _action("new-workflow")
    yield "gallery", lambda app: app.window.chat.empty._open_gallery()
    for name in (
        "command-palette",
        "search-everywhere",
        "recently-deleted",
        "quick-ask",
        "user-guide",
        "projects",
        "choose-profile",
    ):
        yield name, _action(name)
    for step in range(3):
        yield f"first-steps-{step + 1}", partial(_first_steps, step)
    for entry in sections():
        yield f"settings-{entry.name}", _settings(entry.name)
    for page, button in (
        ("agents", "agent-gallery"),
        ("providers", "provider-add"),
        ("mcp", "mcp-add"),
        ("approvals", "rule-add"),
    ):
        yield f"settings-{button}", _settings(page, button)
    yield "confirm", _confirm


def begin_work(app: AppDriver) -> None:
    app.action("new-workflow")
    app.settle()
    app.send("Plan a shelf for the wall beside the window")
    app.find("user-question-modal")
    app.settle()


def at_work(app: AppDriver, folder: Path) -> Iterator[tuple[str, Opener]]:
    """The screens of a workflow, one after another, while it continues."""
    begin_work(app)
    yield "question", lambda app: None
    app.click("question-option-oak")
    app.click("question-submit")
    app.until_reply("Oak it is.")
    app.wait_done()
    for name in ("find", "workflow-settings"):
        yield name, _action(name)
    for pane in PANES:
        yield f"pane-{pane}", _action(f"show-{pane}")
    panes: Any = app.window.rail.panes
    yield "task-form", lambda app: panes["tasks"].add()
    yield "memory-form", lambda app: panes["memory"].add()
    yield "memory-tidy", lambda app: panes["memory"].tidy()
    project = folder / "project"
    project.mkdir()
    (project / "shelf.py").write_text("def boards(width):\n    return width // 30\n")
    app.window.chat.folders.grant([str(project)])
    app.settle()
    app.send("Mend the shelf")
    app.until(
        lambda: any(app.find_all(name) for name in ("approval-card", "approval-group")), "a confirmation is requested"
    )
    app.settle()
    yield "approval", lambda app: None
    yield "inbox", _action("show-questions")
    yield "replay", _action("replay-run")  # no pane covers it

"""The layout of an empty program, and when the right column opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QAbstractButton, QToolButton

from atelier_desk.desktop.theme import theme
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted_model import Step
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver
from tests.e2e.scripted_tool_calls import task

PANES = ("tasks", "activity", "memory", "reports", "questions")
PLAIN: Sequence[Step] = ["Hello."]
TASKS: Sequence[Step] = [
    ChatReply(content="", tool_calls=(task("t1", "Measure the wall"), task("t2", "Saw"))),
    "Planned.",
    "Later.",
]


def begin(open_app: OpenApp, steps: Sequence[Step], width: int = 1360) -> AppDriver:
    app = open_app(steps)
    app.window.resize(width, 760)
    app.settle()
    return app


def opened(app: AppDriver) -> list[str]:
    return [name for name in PANES if not app.window.rail.docks[name].visibleRegion().isEmpty()]


def count(app: AppDriver, pane: str) -> str:
    return app.find(f"open-{pane}", QToolButton).text()


def test_an_empty_program_shows_start_page_composer_and_pane_strip(open_app: OpenApp) -> None:
    app = begin(open_app, PLAIN)
    assert all(app.find(name).isVisible() for name in ("new-workflow", "start-page", "chat-input", "pane-strip"))
    assert opened(app) == []
    app.send("Good morning")
    app.until_reply("Hello.")
    app.wait_done()
    app.settle()
    assert opened(app) == [], "a lone answer is in the conversation already"
    app.click("open-memory")
    app.settle()
    assert "memory" in opened(app)
    assert not app.find_all("pane-strip")


def test_the_right_column_opens_by_itself_only_once(open_app: OpenApp) -> None:
    app = begin(open_app, [*TASKS, *TASKS])
    app.send("Plan a shelf")
    app.until(lambda: "tasks" in opened(app), "the panes opened")
    app.wait_done()
    app.action("toggle-panes")
    app.settle()
    assert opened(app) == []
    assert count(app, "tasks") == "2"
    app.action("new-workflow")
    app.send("Plan a table")
    app.until(lambda: app.find_all("pane-strip") and count(app, "tasks") == "2", "the tasks are counted")
    app.wait_done()
    app.settle()
    assert opened(app) == []
    app.close()
    again = open_app([])
    again.settle()
    assert opened(again) == []


def test_the_right_column_can_stay_closed_also_after_a_restart(open_app: OpenApp) -> None:
    app = begin(open_app, [])
    app.action("keep-panes-closed")
    app.settle()
    app.close()
    again = begin(open_app, TASKS)
    assert again.window.actions_["keep-panes-closed"].isChecked()
    again.send("Plan a shelf")
    again.until(lambda: count(again, "tasks") == "2", "the tasks are counted")
    again.wait_done()
    again.settle()
    assert opened(again) == []
    again.action("keep-panes-closed")
    again.until(lambda: "tasks" in opened(again), "it opens by itself again")


def test_in_a_narrow_window_no_pane_opens_by_itself(open_app: OpenApp) -> None:
    app = begin(open_app, TASKS, width=1024)
    app.send("Plan a shelf")
    app.until(lambda: count(app, "tasks") == "2", "the tasks are counted")
    app.wait_done()
    app.settle()
    assert opened(app) == []
    app.click("open-tasks")
    app.until(lambda: "tasks" in opened(app), "the drawer is open")


def test_agent_and_model_are_readable_in_a_small_window_with_large_text(open_app: OpenApp, tmp_path: Path) -> None:
    app = begin(open_app, PLAIN, width=1024)
    agent = app.engine(lambda a: a.agents.default())
    app.engine(lambda a: a.agents.save(agent.config.model_copy(update={"name": "Relectrice"}), agent.id))
    (tmp_path / "Dossier Martin").mkdir()
    app.window.chat.folders.grant([str(tmp_path / "Dossier Martin")])
    app.engine(lambda a: a.settings.update(language="fr", font_scale=150))
    header = app.window.chat.header
    app.until(lambda: theme().scale == 1.5, "the text is large")
    app.until(
        lambda: header.agents.text() == "Relectrice ·" and header.models.text().startswith("Modèle intégré"),
        "the names are complete",
    )
    app.until(lambda: header.width() < 660, "the list has grown with its text")
    assert header.models.text() == f"{header.models.full_text} ▾"
    assert {each.objectName() for each in header.findChildren(QAbstractButton) if each.isVisible()} == {
        "toggle-sidebar", "agent-select", "model-select", "workflow-folders", "workflow-menu", "toggle-rail",
    }  # fmt: skip

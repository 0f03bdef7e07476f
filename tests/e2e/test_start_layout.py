"""The layout of an empty program, and when the right column opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QAbstractButton, QToolButton

from atelier_desk.desktop.theme import theme
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.llm.scripted import Step
from tests.e2e.asking import task
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk

PANES = ("tasks", "activity", "memory", "reports", "questions")
PLAIN: Sequence[Step] = ["Hello."]
TASKS: Sequence[Step] = [
    ChatReply(content="", tool_calls=(task("t1", "Measure the wall"), task("t2", "Saw"))),
    "Planned.",
    "Later.",
]


def begin(open_desk: OpenDesk, steps: Sequence[Step], width: int = 1360) -> Desk:
    desk = open_desk(steps)
    desk.window.resize(width, 760)
    desk.settle()
    return desk


def opened(desk: Desk) -> list[str]:
    return [name for name in PANES if not desk.window.rail.docks[name].visibleRegion().isEmpty()]


def count(desk: Desk, pane: str) -> str:
    return desk.find(f"open-{pane}", QToolButton).text()


def test_an_empty_program_shows_list_page_and_composer_and_a_strip(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, PLAIN)
    assert all(desk.find(name).isVisible() for name in ("new-workflow", "start-page", "chat-input", "pane-strip"))
    assert opened(desk) == []
    desk.send("Good morning")
    desk.last_reply("Hello.")
    desk.wait_done()
    desk.settle()
    assert opened(desk) == [], "a lone answer is in the conversation already"
    desk.click("open-memory")
    desk.settle()
    assert "memory" in opened(desk)
    assert not desk.all("pane-strip")


def test_it_opens_by_itself_once_and_stays_as_it_was_left(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, [*TASKS, *TASKS])
    desk.send("Plan a shelf")
    desk.until(lambda: "tasks" in opened(desk), "the panes opened")
    desk.wait_done()
    desk.action("toggle-panes")
    desk.settle()
    assert opened(desk) == []
    assert count(desk, "tasks") == "2"
    desk.action("new-workflow")
    desk.send("Plan a table")
    desk.until(lambda: desk.all("pane-strip") and count(desk, "tasks") == "2", "the tasks are counted")
    desk.wait_done()
    desk.settle()
    assert opened(desk) == []
    desk.close()
    again = open_desk([])
    again.settle()
    assert opened(again) == []


def test_it_can_be_kept_closed_and_that_is_remembered(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, [])
    desk.action("keep-panes-closed")
    desk.settle()
    desk.close()
    again = begin(open_desk, TASKS)
    assert again.window.actions_["keep-panes-closed"].isChecked()
    again.send("Plan a shelf")
    again.until(lambda: count(again, "tasks") == "2", "the tasks are counted")
    again.wait_done()
    again.settle()
    assert opened(again) == []
    again.action("keep-panes-closed")
    again.until(lambda: "tasks" in opened(again), "it opens by itself again")


def test_over_the_conversation_of_a_narrow_window_nothing_opens_unasked(open_desk: OpenDesk) -> None:
    desk = begin(open_desk, TASKS, width=1024)
    desk.send("Plan a shelf")
    desk.until(lambda: count(desk, "tasks") == "2", "the tasks are counted")
    desk.wait_done()
    desk.settle()
    assert opened(desk) == []
    desk.click("open-tasks")
    desk.until(lambda: "tasks" in opened(desk), "the drawer is open")


def test_who_answers_can_be_read_in_a_small_window_with_large_text(open_desk: OpenDesk, tmp_path: Path) -> None:
    desk = begin(open_desk, PLAIN, width=1024)
    agent = desk.engine(lambda a: a.agents.default())
    desk.engine(lambda a: a.agents.save(agent.config.model_copy(update={"name": "Relectrice"}), agent.id))
    (tmp_path / "Dossier Martin").mkdir()
    desk.window.chat.folders.grant([str(tmp_path / "Dossier Martin")])
    desk.engine(lambda a: a.settings.update(language="fr", font_scale=150))
    header = desk.window.chat.header
    desk.until(lambda: theme().scale == 1.5, "the text is large")
    desk.until(
        lambda: header.agents.text() == "Relectrice ·" and header.models.text().startswith("SmolLM2"),
        "the names are whole",
    )
    assert header.width() < 660
    assert header.models.text() == f"{header.models.full_text} ▾"
    assert {each.objectName() for each in header.findChildren(QAbstractButton) if each.isVisible()} == {
        "toggle-sidebar", "agent-select", "model-select", "workflow-folders", "workflow-menu", "toggle-rail",
    }  # fmt: skip

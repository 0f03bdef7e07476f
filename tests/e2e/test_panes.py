"""The panes show what an agent does."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QListWidget

from tests.e2e.asking import calculate, remember, report, task
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rendered


def test_a_task_appears_in_the_task_pane(open_desk: OpenDesk) -> None:
    desk = open_desk(
        [[task("t1", "Buy the paint", priority=1), task("t2", "Paint the door")], "Planned.", "Nothing else."]
    )
    desk.send("Plan it")
    desk.until_row("task-list", "Buy the paint")
    desk.until_row("task-list", "Paint the door")
    desk.last_reply("Nothing else.")
    desk.wait_done()
    assert "0 / 2" in rendered(desk.find("task-pane"))


def test_a_memory_appears_in_the_memory_pane_and_is_found(open_desk: OpenDesk) -> None:
    desk = open_desk([[remember("m1", "The boat is called Marguerite."), remember("m2", "Tea is at four.")], "Noted."])
    desk.send("Remember it")
    desk.until_row("memory-list", "Marguerite")
    desk.last_reply("Noted.")
    desk.wait_done()
    desk.action("show-memory")
    desk.until_row("memory-list", "Tea is at four")
    field = desk.find("memory-search", QLineEdit)
    desk.type(field, "Marguerite")
    desk.until(lambda: "found" in rendered(desk.find("memory-pane")), "the search says how it found")
    desk.until_row("memory-list", "The boat is called Marguerite.")


def test_a_report_appears_and_opens(open_desk: OpenDesk) -> None:
    desk = open_desk([[report("r1", "audit", "# Audit\n\nAll is **well**.")], "Written."])
    desk.send("Write it")
    desk.last_reply("Written.")
    desk.wait_done()
    desk.action("show-reports")
    desk.click_row(desk.find("report-list", QListWidget), "audit")
    view = desk.until_shown("report-view", "All is well.")
    assert "**" not in rendered(view)


def test_the_activity_pane_lists_the_calls(open_desk: OpenDesk) -> None:
    desk = open_desk([[calculate("c1", "6*7")], "Done."])
    desk.send("Count")
    desk.last_reply("Done.")
    desk.wait_done()
    desk.until_row("activity-list", "Calculat")
    desk.close()
    desk = open_desk()
    desk.until_row("activity-list", "Calculat")
    assert desk.all("toast") == []

"""The panes show what an agent does."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QListView, QListWidget

from tests.e2e import scripted_model_server
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered, rows
from tests.e2e.scripted_model_server import ModelServer, calls, config, hire, spawn
from tests.e2e.scripted_tool_calls import calculate, remember, report, task


def test_a_task_appears_in_the_task_pane(open_app: OpenApp) -> None:
    app = open_app(
        [[task("t1", "Buy the paint", priority=1), task("t2", "Paint the door")], "Planned.", "Nothing else."]
    )
    app.send("Plan it")
    app.until_row("task-list", "Buy the paint")
    app.until_row("task-list", "Paint the door")
    app.until_reply("Nothing else.")
    app.wait_done()
    assert "0 / 2" in rendered(app.find("task-pane"))


def test_a_memory_appears_in_the_memory_pane_and_is_found(open_app: OpenApp) -> None:
    app = open_app([[remember("m1", "The boat is called Marguerite."), remember("m2", "Tea is at four.")], "Noted."])
    app.send("Remember it")
    app.until_row("memory-list", "Marguerite")
    app.until_reply("Noted.")
    app.wait_done()
    app.action("show-memory")
    app.until_row("memory-list", "Tea is at four")
    field = app.find("memory-search", QLineEdit)
    app.type(field, "Marguerite")
    app.until(lambda: "found" in rendered(app.find("memory-pane")), "the search shows how it matched")
    app.until_row("memory-list", "The boat is called Marguerite.")


def test_a_report_appears_and_opens(open_app: OpenApp) -> None:
    app = open_app([[report("r1", "audit", "# Audit\n\nAll is **well**.")], "Written."])
    app.send("Write it")
    app.until_reply("Written.")
    app.wait_done()
    app.action("show-reports")
    app.click_row(app.find("report-list", QListWidget), "audit")
    view = app.until_text("report-view", "All is well.")
    assert "**" not in rendered(view)


def test_the_activity_pane_lists_the_calls(open_app: OpenApp) -> None:
    app = open_app([[calculate("c1", "6*7")], "Done."])
    app.send("Count")
    app.until_reply("Done.")
    app.wait_done()
    app.until_row("activity-list", "Calculat")
    app.close()
    app = open_app()
    app.until_row("activity-list", "Calculat")
    assert app.find_all("toast") == []


def test_each_step_of_a_team_is_one_row_of_the_activity(open_app: OpenApp, server: ModelServer) -> None:
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada"), config("Bea")))
    app.settle()
    figures = [scripted_model_server.calculate(f"c{number}", f"{number}*7") for number in (1, 2, 3)]
    server.script("Build", calls(*figures, text="I calculate."), calls(spawn("s1", "Bea", "Check")), "It stands.")
    server.script("Check", "Right.")
    app.send("Build")
    app.until_reply("It stands.")
    app.wait_done()
    app.action("show-activity")
    told = [
        "Your message, Build",
        "Reply, I calculate.",
        *(f"Calculated, done, {number} × 7" for number in (1, 2, 3)),
        "Started the agent, done, Bea",
        "Reply, Bea, Right.",
        "Reply, It stands.",
    ]
    shown = app.find("activity-list", QListView)
    app.until(lambda: [each.rpartition(", ")[0] for each in rows(shown)] == told, "one row for each step")

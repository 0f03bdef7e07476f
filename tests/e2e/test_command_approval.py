"""An agent runs commands: reading ones run at once, others wait for approval, and the card shows their output live."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.cards.tool_result_parts import PartView
from atelier_desk.domain.agent import ApprovalMode
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered
from tests.e2e.scripted_model_server import ModelServer, calls, config, hire, newest_message
from tests.helpers.child_widgets import child
from tests.helpers.servers.scripted_http_server import Call

GOAL = "Run the tests"
SLOW = "for n in 1 2 3; do echo step $n; done; while [ -e gate ]; do sleep 0.05; done; echo all passed; touch done.txt"


def command(id: str, text: str) -> Call:
    return Call("run_command", {"command": text, "description": "", "modifies_files": False}, id=id)


def test_a_command_is_approved_watched_and_finished(open_app: OpenApp, server: ModelServer, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name, text in (("app.py", "print(1)\n"), ("slow.sh", SLOW), ("gate", "")):
        (work / name).write_text(text)
    server.script(
        GOAL, calls(command("c1", "ls && cat app.py")), calls(command("c2", "bash slow.sh")), "All tests pass."
    )
    app = open_app(None)
    agent = config("Ada", tools=("run_command",), sections=(), approval=ApprovalMode.SELECTIVE)
    app.engine(lambda a: hire(a, server.provider, agent))

    app.engine(lambda a: a.workflows.create("Tests", workspace=(str(work),)))
    app.settle()
    app.until_row("workflow-list", "Tests")
    app.click_row(app.window.sidebar.list, "Tests")
    app.settle()
    app.send(GOAL)

    # The first command ran without a question; the second, a program, waits for one.
    card = app.until(lambda: [each for each in app.find_all("approval-card") if each.isVisible()], "the approval card")[
        0
    ]
    assert "bash slow.sh" in rendered(card)
    offered = [tool["function"]["name"] for tool in server.requests(GOAL)[0]["tools"]]
    assert "run_command" in offered
    assert "print(1)" in newest_message(server.requests(GOAL)[1])
    assert not (work / "done.txt").exists()
    app.click(child(card, QAbstractButton, "approval-approve"))

    live = app.until(
        lambda: [each for each in app.find_all("tool-live", QLabel) if each.isVisible() and "step 3" in each.text()],
        "its output",
    )[0]
    assert live.text().split("\n") == ["step 1", "step 2", "step 3"]
    picture(app.window, "running")
    (work / "gate").unlink()
    app.until_reply("All tests pass.")
    assert (work / "done.txt").exists()
    assert not live.isVisible()
    tool_card = next(each for each in app.find_all("tool-card", ToolCard) if each.call.call_id == "c2")
    assert tool_card.words()[0].startswith("Ran")
    part = tool_card.findChild(PartView)
    assert part is not None
    assert part.button.text() == "Output · sandboxed"
    app.click(part.button)
    app.settle()
    assert "all passed" in newest_message(server.requests(GOAL)[2])
    picture(app.window, "over")


def picture(widget: QWidget, name: str) -> None:
    """Save a picture if a folder for it is set."""
    folder = os.environ.get("ATELIER_TEST_PICTURES")
    if folder:
        widget.grab().save(f"{folder}/commands-{name}.png")

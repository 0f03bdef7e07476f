"""An agent runs commands: reading ones run at once, others wait for approval, and the card shows their output live."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from atelier_desk.desktop.chat.cards.result_parts import PartView
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.domain.agent import ApprovalMode
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import child, rendered
from tests.e2e.wire import ModelServer, calls, config, hire, told
from tests.support.servers.base import Call

GOAL = "Run the tests"
SLOW = "for n in 1 2 3; do echo step $n; done; while [ -e gate ]; do sleep 0.05; done; echo all passed; touch done.txt"


def command(id: str, text: str) -> Call:
    return Call("run_command", {"command": text, "description": "", "modifies_files": False}, id=id)


def test_a_command_is_allowed_seen_and_over(open_desk: OpenDesk, server: ModelServer, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name, text in (("app.py", "print(1)\n"), ("slow.sh", SLOW), ("gate", "")):
        (work / name).write_text(text)
    server.script(
        GOAL, calls(command("c1", "ls && cat app.py")), calls(command("c2", "bash slow.sh")), "All tests pass."
    )
    desk = open_desk(None)
    agent = config("Ada", tools=("run_command",), sections=(), approval=ApprovalMode.SELECTIVE)
    desk.engine(lambda a: hire(a, server.provider, agent))

    desk.engine(lambda a: a.workflows.create("Tests", workspace=(str(work),)))
    desk.settle()
    desk.until_row("workflow-list", "Tests")
    desk.click_row(desk.window.sidebar.list, "Tests")
    desk.settle()
    desk.send(GOAL)

    # The first command ran without a question; the second, a program, waits for one.
    card = desk.until(lambda: [each for each in desk.all("approval-card") if each.isVisible()], "the approval card")[0]
    assert "bash slow.sh" in rendered(card)
    offered = [tool["function"]["name"] for tool in server.requests(GOAL)[0]["tools"]]
    assert "run_command" in offered
    assert "print(1)" in told(server.requests(GOAL)[1])
    assert not (work / "done.txt").exists()
    desk.click(child(card, QAbstractButton, "approval-approve"))

    live = desk.until(
        lambda: [each for each in desk.all("tool-live", QLabel) if each.isVisible() and "step 3" in each.text()],
        "its output",
    )[0]
    assert live.text().split("\n") == ["step 1", "step 2", "step 3"]
    picture(desk.window, "running")
    (work / "gate").unlink()
    desk.last_reply("All tests pass.")
    assert (work / "done.txt").exists()
    assert not live.isVisible()
    done = next(each for each in desk.all("tool-card", ToolCard) if each.call.call_id == "c2")
    assert done.words()[0].startswith("Ran")
    part = done.findChild(PartView)
    assert part is not None
    assert part.button.text() == "Output · sandboxed"
    desk.click(part.button)
    desk.settle()
    assert "all passed" in told(server.requests(GOAL)[2])
    picture(desk.window, "over")


def picture(widget: QWidget, name: str) -> None:
    """Save a picture if a folder for it is set."""
    folder = os.environ.get("ATELIER_TEST_PICTURES")
    if folder:
        widget.grab().save(f"{folder}/commands-{name}.png")

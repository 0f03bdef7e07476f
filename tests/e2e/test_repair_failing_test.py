"""The main job: in a small repository an agent repairs a failing test with approvals, and all changes can be undone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QWidget

from atelier_desk.desktop.panes.files.change_tree import ChangeTree
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.engine.atelier import Atelier
from atelier_desk.workspace.processes import sandbox_contents
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered, rows
from tests.e2e.scripted_model_server import ModelServer, calls, config, hire, newest_message
from tests.helpers.child_widgets import child
from tests.helpers.servers.scripted_http_server import Call

GOAL = "The tests of the shelf fail. Mend it."
TOOLS = ("read_file", "edit_file", "run_command", "git_status", "git_diff")
BEFORE = "def boards(width):\n    return width // 30\n"
AFTER = "def boards(width):\n    return max(2, width // 30)\n"
# It also tries what malicious code would: to write outside its folder, and to read the program's own data.
CHECKS = """import os, pathlib, unittest
from shelf import boards

attempts = [lambda: pathlib.Path("../escaped").write_text("out"), lambda: print("LEAKED", os.listdir("../../data"))]
for attempt in attempts:
    try:
        attempt()
    except OSError:
        pass

pathlib.Path("report.txt").write_text("tested")

class Shelf(unittest.TestCase):
    def test_a_narrow_one_has_two_boards(self):
        self.assertEqual(boards(20), 2)
"""
TESTS = "python3 -m unittest -q test_shelf"


def command(id: str, line: str, *, modifies: bool = False) -> Call:
    return Call("run_command", {"command": line, "modifies_files": modifies}, id=id)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit, whose test fails."""
    root = tmp_path / "parent" / "project"
    root.mkdir(parents=True)
    (root / "shelf.py").write_text(BEFORE)
    (root / "test_shelf.py").write_text(CHECKS)
    (root / ".gitignore").write_text("__pycache__/\n")
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
    for arguments in (("init",), ("add", "."), ("commit", "-m", "A shelf")):
        git(root, *identity, *arguments)
    return root


def git(root: Path, *arguments: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environ, check=True, capture_output=True, text=True, timeout=20
    )
    return done.stdout


def cards(app: AppDriver) -> list[QWidget]:
    return [each for each in app.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()]


def allow(app: AppDriver, expected: str) -> None:
    """Wait for the card about ``expected`` and approve it."""
    card = app.until(lambda: [each for each in cards(app) if expected in rendered(each)], f"a card about {expected}")[0]
    save_picture(app, "asks")
    app.click(child(card, QAbstractButton, "approval-approve"))
    app.until(lambda: not cards(app), "the card is answered")


def save_picture(app: AppDriver, name: str) -> None:
    """Save pictures of the window, light, dark and in French, if a folder for them is set."""
    folder = os.environ.get("ATELIER_SCREENSHOTS")
    if not folder:
        return
    for theme, language, suffix in (("dark", "french", "dark-fr"), ("light", "english", "light")):
        app.action(f"theme-{theme}")
        app.action(f"language-{language}")
        app.settle()
        app.window.grab().save(str(Path(folder) / f"main-job-{name}-{suffix}.png"))


def ended(app: AppDriver) -> list[str]:
    """How each command of the workflow ended."""

    async def load(atelier: Atelier) -> list[str]:
        commands = atelier.tool_services.commands
        assert commands is not None
        return [each.process.ended_by for each in commands.of(app.workflow_id)]

    return app.engine(load)


def grant(app: AppDriver, folder: Path) -> FilesPane:
    """Grant the folder in the files pane, without trusting it."""
    app.action("show-files")
    pane = app.find("files-pane", FilesPane)
    app.until(lambda: pane.folders.workflow_id, "the pane knows the workflow")
    pane.folders.grant([str(folder)])
    app.until(lambda: "No changes yet" in rendered(pane), "the folder is granted")
    return pane


def test_a_failing_test_is_repaired_and_undone(open_app: OpenApp, server: ModelServer, project: Path) -> None:
    server.script(
        GOAL,
        "Grant me the folder first.",
        calls(
            Call("read_file", {"path": "shelf.py"}, id="r1"),
            Call("git_status", {}, id="g1"),
            command("c0", "cat test_shelf.py | head -5"),
        ),
        calls(command("c1", TESTS), text="I run the tests."),
        calls(
            Call(
                "edit_file",
                {"path": "shelf.py", "old_string": "width // 30", "new_string": "max(2, width // 30)"},
                id="e1",
            )
        ),
        calls(command("c2", TESTS), text="Once more."),
        calls(Call("git_diff", {}, id="g2")),
        "A narrow shelf has two boards now, and the test passes.",
    )
    app = open_app(None)
    app.window.resize(1360, 860)
    app.engine(lambda a: hire(a, server.provider, config("Ada", approval=ApprovalMode.EDIT, tools=TOOLS)))
    app.settle()
    app.send(GOAL)
    app.until_reply("Grant me")
    app.wait_done()
    pane = grant(app, project)
    app.send("Continue")

    # Reading, the state of the repository and a line of safe commands ran without a question; running the project's
    # code did not.
    allow(app, TESTS)
    results = " ".join(
        str(message["content"]) for message in server.requests(GOAL)[2]["messages"] if message["role"] == "tool"
    )
    assert "width // 30" in results
    assert "import os" in results
    assert '"clean": true' in results.lower()
    # The edit is inside the folder and can be undone, so the Edit profile asks only about the tests.
    allow(app, TESTS)
    app.until_reply("two boards now")
    app.wait_done()

    failed, edited, passed, diff = (newest_message(body) for body in server.requests(GOAL)[3:])
    assert "FAILED" in failed
    assert '"exit_status": 1' in failed
    assert "max(2, width // 30)" in edited
    assert "OK" in passed
    assert '"exit_status": 0' in passed
    assert "+    return max(2, width // 30)" in diff
    assert (project / "shelf.py").read_text() == AFTER
    if sandbox_contents.available():
        assert not (project.parent / "escaped").exists()
        assert "LEAKED" not in failed + passed

    changes = app.find("file-changes", ChangeTree)
    app.click_row(changes, "shelf.py")
    app.until(lambda: pane.diff.isVisible() and "return max(2" in pane.diff.text, "the diff is shown")
    save_picture(app, "diff")
    # Files written by the tests themselves are among the changes, and are undone with them.
    app.until(lambda: any("report.txt" in row for row in rows(changes)), "a command's file is listed")
    app.click("files-undo-all")
    app.until(lambda: (project / "shelf.py").read_text() == BEFORE, "the change is undone")
    app.until(lambda: not (project / "report.txt").exists(), "the command's file is removed")
    app.until(lambda: not pane._undo_all.isEnabled(), "nothing is left to undo")
    assert git(project, "status", "--porcelain") == ""


def test_a_command_in_the_background_is_seen_and_stopped(open_app: OpenApp, server: ModelServer, project: Path) -> None:
    (project / "serve.sh").write_text("echo listening; sleep 300; echo over > late.txt\n")
    serve = Call("run_command", {"command": "bash serve.sh", "modifies_files": False, "background": True}, id="b1")
    server.script(GOAL, "Grant me the folder first.", calls(serve), "It runs.")
    app = open_app(None)
    app.window.resize(1360, 860)
    app.engine(lambda a: hire(a, server.provider, config("Ada", tools=TOOLS, approval=ApprovalMode.EDIT)))
    app.settle()
    app.send(GOAL)
    app.until_reply("Grant me")
    app.wait_done()
    grant(app, project)
    app.send("Continue")
    allow(app, "bash serve.sh")
    app.until_reply("It runs")
    app.wait_done()
    shown = app.until_text("command-rows", "listening")
    assert "bash serve.sh" in rendered(shown)
    save_picture(app, "background")
    app.click("command-stop")
    app.until_hidden("command-rows")
    assert ended(app) == ["user"]

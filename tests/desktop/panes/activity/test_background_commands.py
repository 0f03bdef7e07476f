"""Background commands: a line each above the activity, with output and Stop."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPushButton

from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.desktop.widgets.language_theme_bindings import refresh_texts
from atelier_desk.domain.background_command import RunningCommand
from atelier_desk.domain.errors import NotFoundError
from tests.desktop.panes.activity.sample_run_events import one_run
from tests.desktop.panes.conftest import Show
from tests.e2e.harness import rendered
from tests.helpers.child_widgets import child
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


def running(output: str = "") -> RunningCommand:
    return RunningCommand(id="cmd_1", workflow_id="w", line="npm run dev", output=output, sandbox="none")


async def test_a_background_command_is_shown_and_stopped(bridge: FakeBridge, atelier: FakeAtelier, shown: Show) -> None:
    atelier.set("teams", "replay", ("r1", one_run()[:5]))
    pane = shown(ActivityPane(bridge))
    pane.set_workflow("w")
    await settle()
    assert not pane.commands.isVisible()
    atelier.set("commands", "list", [running()])
    bridge.changed.emit("command", "w")
    await settle()
    assert pane.commands.isVisible()
    assert "npm run dev · Not sandboxed" in rendered(pane.commands)
    stop = child(pane.commands, QPushButton, "command-stop")
    assert stop.accessibleName() == "Stop: npm run dev"
    atelier.set("commands", "list", [running("one\ntwo")])
    pane.commands.reload()
    await settle()
    assert "two" in rendered(pane.commands)
    assert pane.commands.findChild(QPushButton, "command-stop") is stop  # a pressed button is not replaced
    atelier.set("commands", "stop", running())
    QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    await settle()
    assert ("commands.stop", ("w", "cmd_1")) in [(key, args) for key, args, _fields in atelier.log]
    atelier.set("commands", "list", [])
    bridge.changed.emit("command", "w")
    await settle()
    assert not pane.commands.isVisible()
    assert not pane.commands._again.isActive()


async def test_a_line_is_sent_to_a_command_and_typed_text_is_not_lost(
    bridge: FakeBridge, atelier: FakeAtelier, shown: Show
) -> None:
    atelier.set("teams", "replay", ("r1", []))
    pane = shown(ActivityPane(bridge))
    pane.set_workflow("w")
    atelier.set("commands", "list", [running("Continue?")])
    bridge.changed.emit("command", "w")
    await settle()
    field = child(pane.commands, QLineEdit, "command-input")
    assert field.accessibleName() == "Input for npm run dev"
    atelier.set("commands", "input", NotFoundError("This command no longer accepts input."))
    QTest.keyClicks(field, "yes")
    QTest.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert field.text() == "yes"
    refresh_texts()
    field = pane.commands._fields["cmd_1"]
    assert field.text() == "yes"
    atelier.set("commands", "input", None)
    QTest.keyClick(field, Qt.Key.Key_Return)
    await settle()
    assert field.text() == ""
    assert [args for key, args, _fields in atelier.log if key == "commands.input"] == [("w", "cmd_1", "yes\n")] * 2

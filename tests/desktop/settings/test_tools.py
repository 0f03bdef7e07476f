"""The page of tools: a file is reviewed in full before it is confirmed, and every tool is documented."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.pages.tools import EXAMPLE
from atelier_desk.desktop.settings.user_tool_files import ReviewDialog
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.errors import ConflictError
from atelier_desk.engine.services.own_tools import OwnToolFile, OwnToolSource, OwnToolState
from atelier_desk.tools.user_tools.tool_files import FileStatus, ToolFile, run
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import FakeBridge, settle
from tests.helpers.focused_widget import focused

Find = Callable[[str], Any]
DIGEST = "ab" * 32
NEW = OwnToolFile("count.py", DIGEST, OwnToolState.NEW)
CONFIRMED = OwnToolFile("count.py", DIGEST, OwnToolState.CONFIRMED, ("word_count",))


@pytest.fixture
async def page(window: SettingsWindow, atelier: Engine) -> Any:
    atelier.set("own_tools", "list", [NEW])
    atelier.set("own_tools", "read", lambda name: OwnToolSource(name, DIGEST, EXAMPLE))
    window.show_page("tools")
    await settle()
    return window.page("tools")


def texts(widget: Any) -> str:
    return "\n".join(each.text() for each in widget.findChildren(QLabel) if not each.isHidden())


async def test_a_file_is_shown_in_full_and_confirmed_by_the_hash_of_the_shown_text(
    page: Any, find: Find, atelier: Engine
) -> None:
    row = find("own-tool-count.py")
    assert "new" in texts(row)
    assert any(each.toolTip() == f"SHA-256 {DIGEST}" for each in row.findChildren(QLabel))
    assert not find("own-tool-revoke-count.py").isVisible()
    find("own-tool-review-count.py").click()
    await settle()
    dialog = page.dialog
    assert isinstance(dialog, ReviewDialog)
    assert "your rights" in texts(dialog)
    assert DIGEST in texts(dialog)
    text = dialog.findChild(QPlainTextEdit)
    assert text is not None
    assert (text.toPlainText(), text.isReadOnly(), text.lineWrapMode()) == (
        EXAMPLE,
        True,
        QPlainTextEdit.LineWrapMode.WidgetWidth,
    )
    assert not find("own-tool-revoke").isVisible()
    atelier.set("own_tools", "list", [CONFIRMED])
    find("own-tool-confirm").click()
    await settle()
    assert atelier.calls("own_tools.confirm") == [(("count.py", DIGEST), {})]
    assert page.dialog is None
    assert "Tools: word_count" in texts(find("own-tool-count.py"))
    find("own-tool-revoke-count.py").click()
    await settle()
    assert atelier.calls("own_tools.revoke") == [(("count.py",), {})]


async def test_return_closes_the_dialog_and_confirms_nothing(page: Any, find: Find, atelier: Engine) -> None:
    find("own-tool-review-count.py").click()
    await settle()
    QTest.keyClick(page.dialog, Qt.Key.Key_Return)
    await settle()
    assert page.dialog is None
    assert atelier.calls("own_tools.confirm") == []


async def test_return_on_confirm_confirms(page: Any, find: Find, atelier: Engine) -> None:
    find("own-tool-review-count.py").click()
    await settle()
    find("own-tool-confirm").setFocus()
    QTest.keyClick(find("own-tool-confirm"), Qt.Key.Key_Return)
    await settle()
    assert atelier.calls("own_tools.confirm") == [(("count.py", DIGEST), {})]


async def test_a_file_that_changed_meanwhile_is_refused_in_the_dialog(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("own_tools", "confirm", ConflictError("It changed. Review it again."))
    find("own-tool-review-count.py").click()
    await settle()
    find("own-tool-confirm").click()
    await settle()
    assert page.dialog is not None
    assert find("own-tool-error").text() == "It changed. Review it again."
    assert not find("own-tool-confirm").isEnabled()


async def test_characters_that_could_hide_code_are_made_visible(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("own_tools", "read", lambda name: OwnToolSource(name, DIGEST, "x = 1 # \u202e"))
    find("own-tool-review-count.py").click()
    await settle()
    assert find("own-tool-text").toPlainText() == "x = 1 # ⟨U+202E⟩"
    assert find("own-tool-error").text() == "1 invisible character is shown as ⟨U+…⟩."


async def test_states_explain_the_problem(page: Any, find: Find, atelier: Engine, bridge: FakeBridge) -> None:
    files = [
        OwnToolFile("a.py", DIGEST, OwnToolState.CHANGED, ("old",)),
        OwnToolFile("b.py", DIGEST, OwnToolState.CHANGED),
        OwnToolFile("c.py", DIGEST, OwnToolState.BROKEN, reason="No module named x."),
    ]
    atelier.set("own_tools", "list", files)
    bridge.changed.emit("tool", "a.py")
    await settle()
    assert "these tools of the confirmed version keep working: old" in texts(find("own-tool-a.py"))
    assert "Review it again" in texts(find("own-tool-b.py"))
    assert "No module named x." in texts(find("own-tool-c.py"))
    find("own-tool-review-c.py").click()
    await settle()
    assert (find("own-tool-confirm").isVisible(), find("own-tool-revoke").isVisible()) == (False, True)
    find("own-tools-reload").click()
    await settle()
    assert atelier.calls("own_tools.reload") == [((), {})]


async def test_tab_goes_from_the_folder_to_the_files(
    page: Any, window: SettingsWindow, find: Find, atelier: Engine, bridge: FakeBridge
) -> None:
    window.activateWindow()
    atelier.set("own_tools", "list", [CONFIRMED])
    find("own-tool-review-count.py").setFocus()
    bridge.changed.emit("tool", "count.py")
    await settle()
    passed = []
    for _each in range(3):
        passed.append(focused().objectName())
        QTest.keyClick(focused(), Qt.Key.Key_Tab)
    assert passed == ["own-tool-review-count.py", "own-tool-revoke-count.py", "own-tools-reload"]


async def test_the_folder_is_opened_and_the_example_copied(
    page: Any, find: Find, atelier: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    atelier.folders.tools.mkdir()
    find("own-tools-open").click()
    assert opened == [str(atelier.folders.tools)]
    find("own-tools-copy").click()
    assert QGuiApplication.clipboard().text() == EXAMPLE
    data = EXAMPLE.encode()
    (tool,) = run(ToolFile("example.py", atelier.folders.tools / "example.py", DIGEST, data, FileStatus.CONFIRMED))
    assert tool.name == "word_count"


async def test_every_tool_expands_to_its_description_and_parameters(page: Any, find: Find, atelier: Engine) -> None:
    registered = set(atelier.registry.get_all_tool_names())
    folds = {each.objectName().removeprefix("tool-fold-") for each in page.tools.findChildren(QPushButton)}
    assert folds == registered
    head = find("tool-fold-CalculatorTool")
    assert head.accessibleName() == "Calculator · CalculatorTool, collapsed"
    head.click()
    assert head.accessibleName() == "Calculator · CalculatorTool, expanded"
    shown = texts(head.parentWidget())
    tool = atelier.registry.get_tool("CalculatorTool")
    assert tool is not None
    assert tool.description.strip() in shown
    assert "operation *" in shown
    switch_language("fr")
    switch_language("en")
    await settle()
    assert find("tool-fold-CalculatorTool").accessibleName() == "Calculator · CalculatorTool, expanded"
    find("tool-fold-CalculatorTool").click()
    assert find("tool-fold-CalculatorTool").accessibleName() == "Calculator · CalculatorTool, collapsed"

"""The page of MCP servers: list, form and test, what is pasted, tools with what is allowed of each, agents and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.mcp import McpKnown, McpServer, McpState
from atelier_desk.domain.permission import Action
from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus, McpToolStatus
from atelier_desk.mcp.definitions import Difference
from atelier_desk.mcp.reading import documents
from tests.desktop.settings.conftest import Engine
from tests.support.fake_bridge import settle

Find = Callable[[str], Any]
FILES = McpServer(name="files", command="npx", args=("-y", "my files"), env={"API_KEY": "", "MODE": "quick"})
WEB = McpServer(name="web", transport="http", url="https://a.example/mcp")
ROWS = [
    McpStatus(FILES, McpKnown(), McpState.READY, latency_ms=340, tools=2, waiting=Difference(changed=("read",))),
    McpStatus(WEB, McpKnown(), McpState.FAILED, "The MCP server web cannot be reached: refused"),
]
TOOLS = [
    McpToolStatus("read", "mcp__files__read", "Read", "Reads it.\u202e", "changed", approved_told="Read it.", hints=("readOnlyHint",)),
    McpToolStatus("odd", "", "odd", "Odd.", "unusable", problem="its parameters are no JSON Schema"),
]


@pytest.fixture
async def page(window: SettingsWindow, atelier: Engine) -> Any:
    atelier.set("mcp", "list", ROWS)
    atelier.set("mcp", "tools", TOOLS)
    atelier.set("mcp", "calls", [])
    atelier.set("mcp", "keeps_secrets", True)
    atelier.set("mcp", "save", ROWS[0])
    window.show_page("mcp")
    await settle()
    return window.page("mcp")


def texts(widget: Any) -> str:
    return "\n".join(each.text() for each in widget.findChildren(QLabel) if not each.isHidden())


async def test_servers_are_listed_as_they_stand(page: Any, find: Find) -> None:
    items = find("mcp-list")
    first, second = (items.item(row).toolTip() for row in range(2))
    for word in ("files", "running", "2 tools", "0.3\u202fs", "not as you approved it"):
        assert word in first, first
    assert "failed" in second
    assert "The MCP server web cannot be reached" in second
    assert find("mcp-command").text() == "npx -y 'my files'"
    assert find("mcp-value-text-0").text() == "", "a secret is not shown"
    assert find("mcp-value-text-1").text() == "quick"
    switch_language("fr")
    await settle()
    assert "en cours" in items.item(0).toolTip()


async def test_tools_are_shown_switched_ruled_and_approved(page: Any, find: Find, atelier: Engine) -> None:
    read = texts(find("mcp-tool-read"))
    for word in ("changed: asks at every call", "Reads it.⟨U+202E⟩", "You approved: Read it.", "says that it only reads"):
        assert word in read, read
    assert "no JSON Schema" in texts(find("mcp-tool-odd"))
    find("mcp-tool-on-read").click()
    box = find("mcp-tool-rule-read")
    box.setCurrentIndex(box.findData("deny"))
    box.activated.emit(box.currentIndex())
    find("mcp-tool-approve-read").click()
    find("mcp-approve").click()
    find("mcp-agent-Researcher").click()
    await settle()
    assert atelier.calls("mcp.switch_tool") == [(("files", "read", False), {})]
    assert atelier.calls("mcp.permit") == [(("files", "read", Action.DENY), {})]
    assert atelier.calls("mcp.approve") == [(("files", ("read",)), {}), (("files",), {})]
    assert atelier.calls("mcp.give") == [(("files", "a2", True), {})]


async def test_a_changed_form_is_tried_as_it_is_and_saved(page: Any, find: Find, atelier: Engine, qtbot: QtBot) -> None:
    atelier.set("mcp", "test_draft", McpHealth(ok=False, message="The MCP server files cannot be started with npx: no such program"))
    assert not find("mcp-save").isEnabled()
    qtbot.keyClicks(find("mcp-value-text-0"), "sentinel-key")
    assert find("mcp-value-text-0").echoMode() is find("mcp-value-text-0").EchoMode.Password
    find("mcp-test").click()
    await settle()
    ((config, secrets), _fields) = atelier.calls("mcp.test_draft")[0]
    assert (config, secrets) == (FILES, {"env:API_KEY": "sentinel-key"})
    assert "cannot be started" in texts(page)
    find("mcp-save").click()
    await settle()
    assert atelier.calls("mcp.save") == [((FILES, {"env:API_KEY": "sentinel-key"}), {"new": False})]


async def test_what_is_wrong_with_the_form_is_said(page: Any, find: Find, atelier: Engine) -> None:
    find("mcp-command").setText("npx 'open")
    find("mcp-command").textEdited.emit("")
    find("mcp-save").click()
    await settle()
    assert "not closed" in texts(page)
    assert atelier.calls("mcp.save") == []
    find("mcp-cancel").click()
    await settle()
    assert find("mcp-command").text() == "npx -y 'my files'"


async def test_pasted_text_is_shown_then_taken_into_the_form(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("mcp_import", "read_text", documents.servers)
    find("mcp-add").click()
    dialog = page.dialog
    dialog.text.setPlainText("nonsense")
    await settle()
    assert "No MCP server was found" in dialog.problem.text()
    dialog.text.setPlainText('{"mcpServers": {"new one": {"command": "uvx", "args": ["x"], "env": {"TOKEN": "sentinel"}}}}')
    await settle()
    assert dialog.preview.text() == "uvx x\nTOKEN = (secret)"
    find("mcp-import-take").click()
    await settle()
    assert page.dialog is None
    assert (find("mcp-name").text(), find("mcp-command").text()) == ("new-one", "uvx x")
    assert atelier.calls("mcp.save") == [], "nothing is stored before it is saved"
    atelier.set("mcp", "save", ConflictError("There is an MCP server new-one already."))
    find("mcp-save").click()
    await settle()
    (((config, secrets), fields),) = atelier.calls("mcp.save")
    assert (config.name, config.env, secrets, fields) == ("new-one", {"TOKEN": ""}, {"env:TOKEN": "sentinel"}, {"new": True})
    assert "already" in texts(page)


async def test_a_server_is_restarted_and_removed(page: Any, find: Find, atelier: Engine, window: SettingsWindow) -> None:
    atelier.set("mcp", "restart", McpHealth(ok=True, latency_ms=20, tools=1, protocol="2026-07-28"))
    find("mcp-restart").click()
    await settle()
    assert "protocol 2026-07-28" in texts(page)
    find("mcp-remove").click()
    await settle()
    from PySide6.QtWidgets import QMessageBox, QPushButton

    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    next(each for each in box.findChildren(QPushButton) if each.text() == "Remove").click()
    await settle()
    assert atelier.calls("mcp.remove") == [(("files",), {})]


async def test_signing_in_and_out_of_a_server_with_an_address(page: Any, find: Find, atelier: Engine) -> None:
    assert not find("mcp-sign-in").isVisibleTo(page), "a program is not signed in to"
    find("mcp-list").setCurrentRow(1)
    await settle()
    assert find("mcp-url").text() == "https://a.example/mcp"
    atelier.set("mcp", "sign_in", McpHealth(ok=False, message="Signing in to the MCP server web was refused: access_denied"))
    find("mcp-sign-in").click()
    await settle()
    assert "access_denied" in texts(page)
    find("mcp-sign-out").click()
    await settle()
    assert (atelier.calls("mcp.sign_in"), atelier.calls("mcp.sign_out")) == ([(("web",), {})], [(("web",), {})])

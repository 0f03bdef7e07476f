"""The page of MCP servers: list, form and test, import, tools with permissions, agents and calls."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.window import SIZE, SettingsWindow
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.date_format import moment
from atelier_desk.desktop.widgets.list_rows import RowRole
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.mcp import McpKnown, McpRejected, McpServer, McpState
from atelier_desk.domain.permission import Action
from atelier_desk.domain.workflow import ToolExecution
from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus, McpToolStatus
from atelier_desk.mcp.config_import import bundle, config_parsing
from atelier_desk.mcp.server_requests import LogLine
from atelier_desk.mcp.tool_definitions import Difference
from tests.desktop.settings.conftest import Engine
from tests.helpers.fake_bridge import settle
from tests.helpers.sample_images import png
from tests.mcp.conftest import bundle_of

Find = Callable[[str], Any]
FILES = McpServer(name="files", command="npx", args=("-y", "my files"), env={"API_KEY": "", "MODE": "quick"})
WEB = McpServer(name="web", transport="http", url="https://a.example/mcp")
ROWS = [
    McpStatus(FILES, McpKnown(), McpState.READY, latency_ms=340, tools=2, waiting=Difference(changed=("read",))),
    McpStatus(WEB, McpKnown(), McpState.FAILED, "The MCP server web cannot be reached: refused"),
]
TOOLS = [
    McpToolStatus(
        "read",
        "mcp__files__read",
        "Read",
        "Reads it.\u202e",
        "changed",
        approved_told="Read it.",
        hints=("readOnlyHint",),
    ),
    McpToolStatus("odd", "", "odd", "Odd.", "unusable", problem="its parameters are not a valid JSON Schema"),
]


@pytest.fixture
async def page(window: SettingsWindow, atelier: Engine) -> Any:
    atelier.set("mcp", "list", ROWS)
    atelier.set("mcp", "tools", TOOLS)
    atelier.set("mcp", "calls", [])
    atelier.set("mcp", "save", ROWS[0])
    window.show_page("mcp")
    await settle()
    return window.page("mcp")


def texts(widget: Any) -> str:
    return "\n".join(each.text() for each in widget.findChildren(QLabel) if not each.isHidden())


async def test_servers_are_listed_with_their_state(page: Any, find: Find) -> None:
    items = find("mcp-list")
    first, second = (items.item(row).toolTip() for row in range(2))
    for word in ("files", "running", "2 tools", "0.3\u202fs", "changed since approval"):
        assert word in first, first
    assert "failed" in second
    assert "The MCP server web cannot be reached" in second
    assert find("mcp-command").text() == "npx -y 'my files'"
    assert find("mcp-value-text-0").text() == "", "a secret is not shown"
    assert find("mcp-value-text-1").text() == "quick"
    switch_language("fr")
    await settle()
    assert "en cours" in items.item(0).toolTip()


async def test_a_server_with_tools_is_no_wider_than_the_window_in_large_french_text(
    page: Any, window: SettingsWindow
) -> None:
    theme().set_scale(150)
    switch_language("fr")
    window.resize(SIZE)
    await settle()
    assert page.area.widget().width() <= page.area.viewport().width()
    switch_language("en")
    await settle()


async def test_the_icon_of_a_server_is_drawn_in_the_list(page: Any, find: Find, atelier: Engine) -> None:
    icon = base64.b64encode(png(16, 16)).decode()
    atelier.set("mcp", "list", [dataclasses.replace(ROWS[0], known=McpKnown(icon=icon)), dataclasses.replace(ROWS[1])])
    await page.load()
    first, second = (find("mcp-list").item(row).data(RowRole).picture for row in range(2))
    assert (first.width(), second) == (16, None)
    assert find("mcp-list").grab().toImage().pixelColor(0, 0).isValid()
    assert any(
        find("mcp-list").grab().toImage().pixelColor(x, y).getRgb()[:3] == (0x20, 0x80, 0xC0)
        for x in range(40)
        for y in range(40)
    ), "it is painted"


async def test_running_servers_are_queried_again_while_the_page_is_visible(
    page: Any, find: Find, atelier: Engine
) -> None:
    atelier.set("mcp", "check", [dataclasses.replace(ROWS[0], ping_ms=4), ROWS[1]])
    page._timer.timeout.emit()
    await settle()
    assert "answers in 4\u202fms" in find("mcp-list").item(0).toolTip()
    asked = len(atelier.calls("mcp.check"))
    page.window().hide()
    page._timer.timeout.emit()
    await settle()
    assert len(atelier.calls("mcp.check")) == asked == 1


async def test_tools_are_listed_switched_and_given_rules_and_approval(page: Any, find: Find, atelier: Engine) -> None:
    read = texts(find("mcp-tool-read"))
    for word in (
        "changed: every call needs approval",
        "Reads it.⟨U+202E⟩",
        "You approved: Read it.",
        "declared read-only",
    ):
        assert word in read, read
    assert "not a valid JSON Schema" in texts(find("mcp-tool-odd"))
    used, odd = find("mcp-tool-on-read"), find("mcp-tool-on-odd")
    assert ((used.isChecked(), used.isEnabled()), (odd.isChecked(), odd.isEnabled())) == ((True, True), (False, False))
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


async def test_an_edited_form_is_tested_unsaved_and_then_saved(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set(
        "mcp",
        "test_draft",
        McpHealth(ok=False, message="The MCP server files cannot be started with npx: no such program"),
    )
    assert not find("mcp-save").isEnabled()
    QTest.keyClicks(find("mcp-value-text-0"), "sentinel-key")
    assert find("mcp-value-text-0").echoMode() is find("mcp-value-text-0").EchoMode.Password
    find("mcp-test").click()
    await settle()
    ((config, secrets), _fields) = atelier.calls("mcp.test_draft")[0]
    assert (config, secrets) == (FILES, {"env:API_KEY": "sentinel-key"})
    assert "cannot be started" in texts(page)
    find("mcp-save").click()
    await settle()
    assert atelier.calls("mcp.save") == [((FILES, {"env:API_KEY": "sentinel-key"}), {"new": False})]


async def test_errors_in_the_form_are_shown(page: Any, find: Find, atelier: Engine) -> None:
    find("mcp-command").setText("npx 'open")
    find("mcp-command").textEdited.emit("")
    find("mcp-save").click()
    await settle()
    assert "unclosed" in texts(page)
    assert atelier.calls("mcp.save") == []
    find("mcp-cancel").click()
    await settle()
    assert find("mcp-command").text() == "npx -y 'my files'"


async def test_pasted_text_is_previewed_then_put_into_the_form(page: Any, find: Find, atelier: Engine) -> None:
    atelier.set("mcp_import", "read_text", config_parsing.servers)
    find("mcp-add").click()
    dialog = page.dialog
    dialog.text.setPlainText("nonsense")
    await settle()
    assert "No MCP server was found" in dialog.problem.text()
    dialog.text.setPlainText(
        '{"mcpServers": {"new one": {"command": "uvx", "args": ["x"], "env": {"TOKEN": "sentinel"}}}}'
    )
    await settle()
    assert dialog.preview.text() == "uvx x\nTOKEN = (secret)"
    assert dialog.text.geometry().top() - dialog.layout().itemAt(0).geometry().bottom() < 20, (
        "the field is next to its label"
    )
    find("mcp-import-take").click()
    await settle()
    assert page.dialog is None
    assert (find("mcp-name").text(), find("mcp-command").text()) == ("new-one", "uvx x")
    assert atelier.calls("mcp.save") == [], "nothing is stored before it is saved"
    atelier.set("mcp", "save", ConflictError("An MCP server named new-one already exists."))
    find("mcp-save").click()
    await settle()
    (((config, secrets), fields),) = atelier.calls("mcp.save")
    assert (config.name, config.env, secrets, fields) == (
        "new-one",
        {"TOKEN": ""},
        {"env:TOKEN": "sentinel"},
        {"new": True},
    )
    assert "already" in texts(page)


async def test_a_new_server_is_offered_to_the_default_agent_before_it_is_saved(
    page: Any, find: Find, atelier: Engine
) -> None:
    atelier.set("mcp_import", "read_text", config_parsing.servers)
    find("mcp-add").click()
    page.dialog.text.setPlainText("uvx some-server")
    await settle()
    find("mcp-import-take").click()
    await settle()
    boxes = {row.caption.text(): row.control for row in page._agent_list.rows if row.isVisible()}
    assert {name: box.isChecked() for name, box in boxes.items()} == {"Assistant": True, "Researcher": False}
    assert page._agents_card.y() < page._tools_card.y() or page._tools_card.isHidden()
    boxes["Researcher"].click()
    assert atelier.calls("mcp.give") == [], "nothing is given before it is saved"
    find("mcp-save").click()
    await settle()
    assert atelier.calls("mcp.give") == [(("some-server", "a1", True), {}), (("some-server", "a2", True), {})]


@pytest.mark.parametrize(("in_view", "ticked"), [("a2", "Researcher"), ("", "Assistant"), ("deleted", "Assistant")])
async def test_a_new_server_is_offered_to_the_agent_of_the_workflow_in_view(
    page: Any, find: Find, in_view: str, ticked: str
) -> None:
    page.agent_in_view = lambda: in_view
    find("mcp-add").click()
    find("mcp-import-by-hand").click()
    await settle()
    rows = [row for row in page._agent_list.rows if row.isVisible()]
    assert [row.caption.text() for row in rows if row.control.isChecked()] == [ticked]
    assert rows[0].caption.text() == ticked, "it is the first of the list"


async def test_a_bundle_is_previewed_and_unpacked_only_on_save(
    page: Any, find: Find, atelier: Engine, tmp_path: Path
) -> None:
    file = bundle_of(tmp_path)
    atelier.set("mcp_import", "read_file", lambda path: [bundle.read(Path(path), tmp_path / "packed")])
    atelier.set("mcp_import", "add", ROWS[0])
    find("mcp-add").click()
    dialog = page.dialog
    dialog.file_requested.emit(str(file))
    await settle()
    assert "needs CONFIG_TOKEN: Token" in dialog.preview.text()
    find("mcp-import-take").click()
    await settle()
    assert find("mcp-name").text() == "packed"
    find("mcp-save").click()
    await settle()
    assert "CONFIG_TOKEN needs a value" in texts(page)
    assert atelier.calls("mcp_import.add") == []
    row = next(each for each in page.form.controls["env"]._rows if each.name.text() == "CONFIG_TOKEN")
    row.value.setText("of-this-person")
    row.value.textEdited.emit("of-this-person")
    find("mcp-save").click()
    await settle()
    (((found, answers), fields),) = atelier.calls("mcp_import.add")
    assert (found.name, answers["env:CONFIG_TOKEN"]) == ("packed", "of-this-person")
    assert fields == {"name": "packed", "bundle_file": str(file)}


async def test_a_client_id_is_entered_for_a_server_with_an_address(page: Any, find: Find, atelier: Engine) -> None:
    assert not find("mcp-client-id").isVisibleTo(page)
    atelier.set("mcp", "has_client_secret", True)
    find("mcp-list").setCurrentRow(1)
    await settle()
    for name, text in (("mcp-client-secret", "secret-of-mine"), ("mcp-scopes", "read")):
        find(name).setText(text)
        find(name).textEdited.emit(text)
    find("mcp-save").click()
    await settle()
    assert "A client secret needs a client ID." in texts(page)
    find("mcp-client-id").setText("mine")
    atelier.set(
        "mcp", "list", [ROWS[0], dataclasses.replace(ROWS[1], config=WEB.model_copy(update={"client_id": "mine"}))]
    )
    find("mcp-save").click()
    await settle()
    (((config, secrets), _fields),) = atelier.calls("mcp.save")
    assert (config.client_id, config.scopes, secrets) == ("mine", "read", {"client:secret": "secret-of-mine"})
    assert find("mcp-client-secret").text() == ""
    assert "saved" in find("mcp-client-secret").placeholderText()


async def test_a_server_is_restarted_and_removed(
    page: Any, find: Find, atelier: Engine, window: SettingsWindow
) -> None:
    atelier.set("mcp", "restart", McpHealth(ok=True, latency_ms=20, tools=1, protocol="2026-07-28"))
    find("mcp-restart").click()
    await settle()
    assert "protocol 2026-07-28" in texts(page)
    find("mcp-remove").click()
    await settle()
    from PySide6.QtWidgets import QMessageBox, QPushButton

    box = window.findChild(QMessageBox)
    assert isinstance(box, QMessageBox)
    next(each for each in box.findChildren(QPushButton) if each.text() == "Delete").click()
    await settle()
    assert atelier.calls("mcp.remove") == [(("files",), {})]


async def test_signing_in_and_out_of_a_server_with_an_address(page: Any, find: Find, atelier: Engine) -> None:
    assert not find("mcp-sign-in").isVisibleTo(page), "a program is not signed in to"
    find("mcp-list").setCurrentRow(1)
    await settle()
    assert find("mcp-url").text() == "https://a.example/mcp"
    atelier.set(
        "mcp", "sign_in", McpHealth(ok=False, message="Signing in to the MCP server web was refused: access_denied")
    )
    find("mcp-sign-in").click()
    await settle()
    assert "access_denied" in texts(page)
    find("mcp-sign-out").click()
    await settle()
    assert (atelier.calls("mcp.sign_in"), atelier.calls("mcp.sign_out")) == ([(("web",), {})], [(("web",), {})])


async def test_shared_folders_and_log_of_a_server(page: Any, find: Find, atelier: Engine) -> None:
    known = McpStatus(FILES.model_copy(update={"roots": ("/home/ada/site",)}), McpKnown(), McpState.READY)
    line = LogLine(datetime(2026, 11, 23, tzinfo=UTC), "error", "store", "the disk is full")
    atelier.set("mcp", "list", [known])
    atelier.set("mcp", "log", [line])
    atelier.set("mcp", "let_know", known)
    await page.load()
    assert find("mcp-roots").item(0).toolTip().startswith("site")
    assert "the disk is full" in find("mcp-log").item(0).toolTip()
    page.roots.add_folder("/home/ada/other")
    await settle()
    assert atelier.calls("mcp.let_know") == [(("files", ("/home/ada/site", "/home/ada/other")), {})]
    assert page.form.made().roots == ("/home/ada/site",), "the form preserves them"
    atelier.set("mcp", "log", [])
    await page.load()
    assert find("mcp-log").isHidden()


async def test_the_newest_calls_have_dates_in_the_readers_format(page: Any, find: Find, atelier: Engine) -> None:
    called_at = datetime(2026, 11, 23, 12, 5, tzinfo=UTC)
    call = ToolExecution(
        id="r:c", workflow_id="w", run_id="r", call_id="c", tool="mcp__files__read", status="ok", started_at=called_at
    )
    atelier.set("mcp", "calls", [call])
    await page.load()
    assert find("mcp-calls").item(0).toolTip().startswith(f"read · {moment(called_at)}")


async def test_unusable_tools_of_a_server_are_named(page: Any, atelier: Engine) -> None:
    assert page.left_out.isHidden()
    rejected = McpRejected(kind="tool", name="odd\u202e", why="inputSchema is missing")
    atelier.set("mcp", "list", [dataclasses.replace(ROWS[0], known=McpKnown(rejected=(rejected,)))])
    await page.load()
    await settle()
    assert not page.left_out.isHidden()
    assert "tool odd" in page.left_out.text()
    assert "inputSchema is missing" in page.left_out.text()
    assert "\u202e" not in page.left_out.text(), "signs that are not seen are shown"


async def test_the_older_protocol_is_chosen_in_the_form(page: Any) -> None:
    assert page.form.made().older_protocol is False
    page.form.controls["older_protocol"].click()
    assert page.form.made().older_protocol is True
    page.form.show_server(FILES.model_copy(update={"older_protocol": True}))
    assert page.form.controls["older_protocol"].isChecked()


async def test_a_server_is_not_added_over_changes_that_are_not_saved(page: Any, find: Find) -> None:
    find("mcp-command").setText("uvx other")
    find("mcp-add").click()
    await settle()
    assert (page.dialog, page.adding, find("mcp-command").text()) == (None, False, "uvx other")
    assert page.busy.text.text() == "Save your changes or cancel them first."
    switch_language("fr")
    await settle()
    assert page.busy.text.text().startswith("Enregistrez"), page.busy.text.text()
    assert find("mcp-command").text() == "uvx other"
    switch_language("en")

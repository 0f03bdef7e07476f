"""MCP servers: list with status, form, tools with permissions, and recent calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.settings import mcp_icon
from atelier_desk.desktop.settings.api_key_note import KeyNote
from atelier_desk.desktop.settings.focus_keeping_rows import RowList
from atelier_desk.desktop.settings.list_form_page import ListFormPage, ListLine, Saved, list_of_lines, show_lines
from atelier_desk.desktop.settings.mcp_form import McpForm
from atelier_desk.desktop.settings.mcp_import import McpImportDialog
from atelier_desk.desktop.settings.mcp_roots import McpRoots
from atelier_desk.desktop.settings.mcp_tool_rows import McpToolRow
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.setting_rows_and_footer import Row, switch_row
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.date_format import moment
from atelier_desk.domain.mcp import McpState
from atelier_desk.domain.permission import Action
from atelier_desk.presentation.mcp_server_text import STATES, rejected_text
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.workflow import ToolExecution
    from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus, McpToolStatus
    from atelier_desk.mcp.config_import.found_server import FoundServer
    from atelier_desk.mcp.server_requests import LogLine

ROLES: dict[McpState, Role] = {
    McpState.OFF: "muted",
    McpState.IDLE: "accent",
    McpState.STARTING: "warn",
    McpState.READY: "ok",
    McpState.FAILED: "err",
    McpState.SIGN_IN: "warn",
}
CALLS = 20
LOG_LINES = 50
"""Lines of a log that are shown, newest first."""
_BAD: dict[str, Role] = {"warning": "warn", "error": "err", "critical": "err", "alert": "err", "emergency": "err"}
LEFT_OUT = 5
"""Maximum number of a server's skipped entries named by a test; its list of tools names all."""
CHECK_MS = 15_000


def facts(row: McpStatus) -> str:
    """A server's status in one line."""
    found = [_(STATES[row.state])]
    if row.reason:
        found.append(row.reason)  # there is room for little more, and this is what the user can act on
    found.append(ngettext("{n} tool", "{n} tools", row.tools))
    if row.ping_ms:
        found.append(_("answers in {time}", time=locale_format.duration(row.ping_ms)))
    elif row.latency_ms:
        found.append(_("started in {time}", time=locale_format.duration(row.latency_ms)))
    if row.waiting:
        found.append(_("changed since approval"))
    if row.missing:
        found.append(_("needs {names}", names=", ".join(row.missing)))
    return " · ".join([*found, row.config.place])


def health_text(health: McpHealth) -> str:
    """The result of a test as a sentence in the current language."""
    if not health.ok:
        return health.message if health.error is None else error_text(health.error)
    tools = ngettext("{n} tool", "{n} tools", health.tools)
    text = _(
        "Works: answered in {time}, {tools}, protocol {protocol}",
        time=locale_format.duration(health.latency_ms),
        tools=tools,
        protocol=health.protocol,
    )
    return "\n".join((text, *(_("Left out: {what}", what=each) for each in health.left_out[:LEFT_OUT])))


@settings_page("mcp", order=50, icon="plug", title=N_("MCP"))
class McpPage(ListFormPage["McpStatus"]):
    """List, form with test, tools, agents with access, recent calls."""

    topics = ("mcp", "agent")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._bundle = ""
        self._found: list[tuple[str, FoundServer]] = []
        self._asked: FoundServer | None = None
        """What was found and is in the form of a new server."""
        self._agents: list[Agent] = []
        self._default = ""
        self.dialog: McpImportDialog | None = None
        about = N_(
            "MCP servers give agents tools from other programs. Calls to these tools are treated as external "
            "access, whatever the server declares."
        )
        card = self.section(N_("Servers"), about=about)
        self.build_list(
            card,
            "mcp",
            N_("MCP servers"),
            ("add", N_("Add…"), self.ask_what),
            ("restart", N_("Restart"), lambda: self._start(self.bridge.engine.mcp.restart, N_("Starting the server…"))),
            (
                "sign-in",
                N_("Sign in…"),
                lambda: self._start(self.bridge.engine.mcp.sign_in, N_("Sign in using your browser…")),
            ),
            ("sign-out", N_("Sign out"), lambda: self._change(lambda name: self.bridge.engine.mcp.sign_out(name))),
            ("remove", N_("Delete"), self._ask_remove),
        )
        self.form = McpForm(self)
        self.key_note = KeyNote(bridge, "mcp", self, variable=False)
        self.form_card = self.section("", self.form, self.key_note)
        self._agents_card = self.section(N_("Agents that can use this server"))
        self._agent_list = RowList(self._agents_card, spacing=6)
        self._agents_card.body.addWidget(self._agent_list)
        self._tools_card = self.section(N_("Tools"))
        self.approve = self.button("mcp-approve", N_("Approve all current versions"), self._approve)
        self.button_row(self._tools_card, self.approve)
        self._none = self.add_text(self._tools_card, N_("Not started yet. Test it to see its tools."), "mcp-no-tools")
        self.left_out = self.add_text(self._tools_card, self._left_out, "mcp-left-out", look="warn")
        self._tool_list = RowList(self._tools_card)
        self._tools_card.body.addWidget(self._tool_list)
        self.calls = list_of_lines(self, "mcp-calls", N_("Recent calls"))
        self._calls_card = self.section(N_("Recent calls"), self.calls)
        self.roots = McpRoots(self)
        self._roots_card = self.section(N_("Shared folders (roots)"), self.roots)
        self.roots.changed.connect(
            lambda folders: self._change(lambda name: self.bridge.engine.mcp.let_know(name, folders))
        )
        self.log = list_of_lines(self, "mcp-log", N_("Log"))
        self._log_card = self.section(N_("Log"), self.log)
        self.test = self.button("mcp-test", N_("Test"), self.run_test)
        self.build_foot("mcp", self.test)
        self.end()
        self._timer = QTimer(self, interval=CHECK_MS)
        self._timer.timeout.connect(self._check_servers)
        self._timer.start()
        self.form.changed.connect(self.changed)
        self.show_list()
        self.show_chosen()

    def _check_servers(self) -> None:
        """Ping running servers while the page is visible."""

        async def job() -> None:
            self.things = await self.bridge.engine.mcp.check()
            self.show_list()

        if self.isVisible() and any(row.state is McpState.READY for row in self.things):
            self.jobs.once("check", job)

    async def read(self) -> list[McpStatus]:
        self._agents = await self.bridge.engine.agents.list()
        self._default = (await self.bridge.engine.agents.default()).id if self._agents else ""
        return await self.bridge.engine.mcp.list()

    def line(self, row: McpStatus) -> ListLine:
        return ListLine(row.name, row.name, facts(row), "plug", ROLES[row.state], mcp_icon.image(row.known.icon))

    def heading(self, row: McpStatus | None) -> str:
        return row.name if row is not None else _("New server")

    def complete(self) -> bool:
        return bool(self.form.complete())

    def show_form(self, row: McpStatus | None) -> None:
        if row is not None or self._asked is None:
            self.form.show_server(row.config if row is not None else None)
        else:
            self.form.show_server(self._asked.config, stored=False, secrets=self._asked.secrets)
        self._show_agents(row)
        self._agents_card.set_shown(row is not None or self.adding)
        for card in (self._tools_card, self._calls_card, self._roots_card, self._log_card):
            card.set_shown(row is not None)

    async def load_more(self) -> None:
        row = self.current()
        if row is None:
            return
        tools = tuple(await self.bridge.engine.mcp.tools(row.name))
        calls = await self.bridge.engine.mcp.calls(row.name, CALLS)
        secret = bool(row.config.client_id) and await self.bridge.engine.mcp.has_client_secret(row.name)
        lines = await self.bridge.engine.mcp.log(row.name)
        if row.name != self.chosen or self.adding:
            return
        self.form.show_client_secret(stored=secret)
        self._show_tools(tools)
        bind_text(self.left_out)
        self.left_out.setVisible(bool(row.known.rejected))
        self._show_agents(row)
        show_lines(self.calls, [_call_line(call) for call in calls])
        self._calls_card.set_shown(bool(calls))
        self.roots.show_folders(row.config.roots)
        show_lines(self.log, [log_line(number, line) for number, line in enumerate(reversed(lines[-LOG_LINES:]))])
        self._log_card.set_shown(bool(lines))

    def _show_tools(self, tools: tuple[McpToolStatus, ...]) -> None:
        self.approve.setVisible(any(each.state in ("new", "changed", "gone") for each in tools))
        self._none.setVisible(not tools)
        self._tool_list.show_rows(tools, lambda: map(self._tool_row, tools))

    def _tool_row(self, tool: McpToolStatus) -> McpToolRow:
        made = McpToolRow(tool, self._tool_list)
        made.switched.connect(
            lambda tool, on: self._change(lambda name: self.bridge.engine.mcp.switch_tool(name, tool, on))
        )
        made.ruled.connect(self._rule)
        made.approved.connect(lambda tool: self._change(lambda name: self.bridge.engine.mcp.approve(name, (tool,))))
        return made

    def _left_out(self) -> str:
        row = self.current()
        lines = [
            rejected_text(each.kind, each.name, each.why) for each in (row.known.rejected if row is not None else ())
        ]
        return "\n".join(_("Left out: {what}", what=visible(each)) for each in lines)

    def _show_agents(self, row: McpStatus | None) -> None:
        """Show which agents have its tools; for a new server those that will get them.

        By default the agent of the workflow in view, which is where the server is wanted, else the default agent.
        """
        view = self.agent_in_view()
        first = view if any(each.id == view for each in self._agents) else self._default
        agents = sorted(self._agents, key=lambda each: (each.id != first, each.id != self._default))
        given = {
            each.id: (each.name, each.id == first if row is None else row.name in each.config.mcp_servers)
            for each in agents
        }
        self._agent_list.show_rows((row is None, given), lambda: [self._agent_row(*agent) for agent in given.items()])

    def _agent_row(self, agent_id: str, state: tuple[str, bool]) -> Row:
        agent, has_it = state
        row = switch_row(
            self._agent_list, f"mcp-agent-{agent}", lambda: agent, "", has_it, lambda on: self._give(agent_id, on)
        )
        row.setProperty("agent", agent_id)
        return row

    def _give(self, agent_id: str, on: bool) -> None:
        if not self.adding:
            self._change(lambda name: self.bridge.engine.mcp.give(name, agent_id, on))

    def check(self) -> None:
        super().check()
        row = self.current()
        self.test.setEnabled((row is not None or self.adding) and self.complete())
        for name in ("restart", "remove"):
            self.buttons[name].setEnabled(row is not None)
        for name in ("sign-in", "sign-out"):
            self.buttons[name].setVisible(row is not None and row.config.transport == "http")

    def ask_what(self) -> None:
        """Ask how to add a server: paste, file, other programs, or by hand."""
        if self.busy_with_another():
            return
        dialog = McpImportDialog(self)
        self.dialog = dialog
        dialog.pasted.connect(self._read_text)
        dialog.file_requested.connect(self._read_file)
        dialog.search_requested.connect(self._search)
        dialog.chosen.connect(self._fill_form)
        dialog.finished.connect(self._dialog_closed)
        dialog.open()

    def _dialog_closed(self) -> None:
        self.dialog = None

    def _read_text(self, text: str) -> None:
        async def job() -> None:
            if text.strip():
                await self._show_read(lambda: self.bridge.engine.mcp_import.read_text(text), "")
            elif self.dialog is not None:
                self.dialog.show_found([])

        self.jobs.start(job(), "read")

    def _read_file(self, path: str) -> None:
        self.jobs.start(self._show_read(lambda: self.bridge.engine.mcp_import.read_file(path), path), "read")

    async def _show_read(self, read: Any, where: str) -> None:
        """Show the servers found, or why none could be read."""
        try:
            servers = await read()
        except Exception as error:
            servers, problem = [], str(error_text(error))
        else:
            problem = ""
        self._found = [(where, each) for each in servers]
        self._bundle = where if where.lower().endswith((".mcpb", ".dxt")) else ""
        if self.dialog is not None:
            self.dialog.show_found(self._found, problem)

    def _search(self) -> None:
        async def job() -> None:
            files = await self.bridge.engine.mcp_import.find_files()
            self._bundle = ""
            self._found = [
                (_("{name}: {text}", name=file.program, text=str(file.path)), each)
                for file in files
                for each in file.servers
            ]
            if self.dialog is not None:
                self.dialog.show_found(self._found, "" if self._found else _("No MCP servers were found."))

        self.jobs.start(job(), "read")

    def _fill_form(self, number: int) -> None:
        """Fill the form: nothing is stored before it is saved there."""
        found = self._found[number][1] if 0 <= number < len(self._found) else None
        if self.dialog is not None:
            self.dialog.accept()
        self._asked = found
        self.begin_new()
        self.reveal(self.form)
        (
            self.form.name
            if found is None
            else self.form.command
            if found.config and found.config.transport == "stdio"
            else self.form.url
        ).setFocus()

    def run_test(self) -> None:
        """Start the server as configured in the form.

        A stored server without changes stays running, and its tools are compared.
        """

        async def work() -> Outcome:
            if self.editing():
                return _outcome(await self.bridge.engine.mcp.test_draft(self.form.made(), self.form.secrets()))
            health = await self.bridge.engine.mcp.test(self.chosen)
            await self.load()
            return _outcome(health)

        self.try_form(N_("Starting the server…"), work)

    def _start(self, start: Callable[[str], Coroutine[object, None, McpHealth]], what: str) -> None:
        """Start the selected server in one of several ways; Stop cancels it."""
        name = self.chosen

        async def work() -> Outcome:
            health = await start(name)
            await self.load()
            return _outcome(health)

        self.try_form(what, work)

    async def save_form(self) -> Saved:
        config, secrets = self.form.made(), self.form.secrets()
        if self.adding and self._bundle and self._asked is not None and self._asked.config is not None:
            answers = {**secrets, **{f"env:{name}": text for name, text in config.env.items() if text}}
            await self.bridge.engine.mcp_import.add(self._asked, answers, name=config.name, bundle_file=self._bundle)
        else:
            await self.bridge.engine.mcp.save(config, secrets, new=self.adding)
        for row in cast("list[Any]", self._agent_list.rows if self.adding else []):
            if row.control.isChecked():
                await self.bridge.engine.mcp.give(config.name, str(row.property("agent")), True)
        persistent = not secrets or (await self.bridge.engine.keys.store()).persistent
        return config.name, lambda: self.note_saved(persistent)

    def _ask_remove(self) -> None:
        row = self.current()
        if row is None:
            return
        name = row.name

        async def job() -> None:
            await self.bridge.engine.mcp.remove(name)
            toast(self, _("{name} deleted", name=name))
            await self.load()

        text = _("Delete the MCP server {name}?", name=name)
        confirm(
            self,
            text,
            _("It will be stopped and its secrets will be deleted."),
            _("Delete"),
            lambda: self.jobs.once("remove", job),
        )

    def _approve(self) -> None:
        self._change(lambda name: self.bridge.engine.mcp.approve(name))

    def _rule(self, tool: str, rule: str) -> None:
        self._change(lambda name: self.bridge.engine.mcp.permit(name, tool, Action(rule) if rule else None))

    def _change(self, change: Any) -> None:
        self.call(change(self.chosen))


def _outcome(health: McpHealth) -> Outcome:
    return lambda: health_text(health), "ok" if health.ok else "error"


def _call_line(call: ToolExecution) -> ListLine:
    title = f"{call.tool.partition('__')[2].partition('__')[2] or call.tool} · {moment(call.started_at)}"
    about = " · ".join(
        filter(None, (call.agent_name, locale_format.duration(call.duration_ms), call.error or call.status))
    )
    return ListLine(call.call_id, title, about, *(("circle-x", "err") if call.error else ("circle-check", "ok")))


def log_line(number: int, line: LogLine) -> ListLine:
    """A line of a server's log, ``number`` counted from the newest."""
    about = " · ".join(filter(None, (f"{line.time.astimezone():%H:%M:%S}", line.level, line.logger)))
    return ListLine(
        str(number), line.text, about, "circle-alert" if line.level in _BAD else "info", _BAD.get(line.level, "muted")
    )

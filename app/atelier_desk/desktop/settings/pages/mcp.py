"""MCP servers: which there are and how they stand, the form of one, its tools with what is allowed of each, and its newest calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QListWidget, QPushButton, QVBoxLayout, QWidget

from atelier_desk import figures
from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.two_line import KeyRole, PictureRole, dress_list, two_line_item
from atelier_desk.desktop.settings import mcp_icon
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.files import confirm
from atelier_desk.desktop.settings.mcp_form import McpForm
from atelier_desk.desktop.settings.mcp_import import McpImportDialog
from atelier_desk.desktop.settings.mcp_more import McpLog, McpRoots
from atelier_desk.desktop.settings.mcp_tool_rows import McpToolRow
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import control, fill, label, say
from atelier_desk.desktop.widgets.format import moment
from atelier_desk.desktop.widgets.words import Sentence
from atelier_desk.domain.mcp import McpState
from atelier_desk.domain.permission import Action
from atelier_desk.domain.text import visible
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.mcp_words import STATES, rejected_words

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.workflow import ToolExecution
    from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus, McpToolStatus
    from atelier_desk.mcp.reading.found import FoundServer

ROLES: dict[McpState, Role] = {
    McpState.OFF: "muted",
    McpState.IDLE: "accent",
    McpState.STARTING: "warn",
    McpState.READY: "ok",
    McpState.FAILED: "err",
    McpState.SIGN_IN: "warn",
}
CALLS = 20
LEFT_OUT = 5
"""Entries of a server that the result of a test names; the list of its tools names all."""
CHECK_MS = 15_000


def facts(row: McpStatus) -> str:
    """How a server stands, in a line."""
    found = [_(STATES[row.state])]
    if row.reason:
        found.append(row.reason)  # there is room for little more, and this is what there is something to do about
    found.append(ngettext("{n} tool", "{n} tools", row.tools))
    if row.ping_ms:
        found.append(_("answers in {time}", time=figures.duration(row.ping_ms)))
    elif row.latency_ms:
        found.append(_("started in {time}", time=figures.duration(row.latency_ms)))
    if row.waiting:
        found.append(_("changed since approval"))
    if row.missing:
        found.append(_("needs {names}", names=", ".join(row.missing)))
    return " · ".join([*found, row.config.place])


def health_text(health: McpHealth) -> str:
    """The result of a test in one sentence, in the language of the moment."""
    if not health.ok:
        return health.message if health.error is None else error_text(health.error)
    tools = ngettext("{n} tool", "{n} tools", health.tools)
    text = _(
        "Works: answered in {time}, {tools}, protocol {protocol}",
        time=figures.duration(health.latency_ms),
        tools=tools,
        protocol=health.protocol,
    )
    return "\n".join((text, *(_("Left out: {what}", what=each) for each in health.left_out[:LEFT_OUT])))


@settings_page("mcp", order=34, icon="plug", title=N_("MCP servers"))
class McpPage(SettingsPage):
    """List, form with test, tools, the agents that have them, newest calls."""

    topics = ("mcp", "agent")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._rows: list[McpStatus] = []
        self._chosen = ""
        self._adding = False
        self._bundle = ""
        self._form_of = ""
        self._found: list[tuple[str, FoundServer]] = []
        self._asked: FoundServer | None = None
        self._tool_rows: list[McpToolRow] = []
        self._tools: tuple[McpToolStatus, ...] = ()
        self._agents: list[Agent] = []
        self._boxes: list[QCheckBox] = []
        self.dialog: McpImportDialog | None = None
        card = self.section(N_("SERVERS"))
        self._about = control(
            label("", "muted", self, wrap=True), "",
            N_("MCP servers give agents tools of other programs. Calls to them are treated as external access, "
"whatever the server declares."),
        )  # fmt: skip
        self.list = control(QListWidget(self), "mcp-list", look="plain", name=N_("MCP servers"))
        dress_list(self.list)
        fill(card.body, self._about, self.list)
        self.add = control(QPushButton(self), "mcp-add", N_("Add…"), on=self.ask_what)
        self.restart = control(QPushButton(self), "mcp-restart", N_("Restart"), on=self._restart)
        self.remove = control(QPushButton(self), "mcp-remove", N_("Delete"), on=self._ask_remove)
        self.sign = control(QPushButton(self), "mcp-sign-in", N_("Sign in…"), on=self._sign_in)
        self.sign_out = control(QPushButton(self), "mcp-sign-out", N_("Sign out"), on=self._sign_out)
        self.deeds(card, self.add, self.restart, self.sign, self.sign_out, self.remove)
        self._form_card = self.section()
        self.form = McpForm(self)
        self._form_card.body.addWidget(self.form)
        self._tools_card = self.section(N_("TOOLS"))
        self.approve = control(QPushButton(self), "mcp-approve", N_("Approve all current versions"), on=self._approve)
        self._tool_list = QVBoxLayout()
        self.left_out = control(label("", "warn", self, wrap=True), "mcp-left-out")
        self._none = control(label("", "muted", self, wrap=True), "mcp-no-tools", N_("Not started yet. Test it to see its tools."))
        fill(self._tools_card.body, fill(QHBoxLayout(), self.approve, 1), self._none, self.left_out, self._tool_list)
        self._agents_card = self.section(N_("AGENTS WITH ITS TOOLS"))
        self._agent_list = QVBoxLayout()
        self._agents_card.body.addLayout(self._agent_list)
        self._calls_card = self.section(N_("RECENT CALLS"))
        self.calls = control(QListWidget(self), "mcp-calls", look="plain", name=N_("Recent calls"))
        dress_list(self.calls)
        self._calls_card.body.addWidget(self.calls)
        self._roots_card = self.section(N_("SHARED FOLDERS (ROOTS)"))
        self.roots = McpRoots(self)
        self.roots.changed.connect(lambda folders: self._change(lambda name: self.bridge.engine.mcp.let_know(name, folders)))
        self._roots_card.body.addWidget(self.roots)
        self._log_card = self.section(N_("LOG"))
        self.log = McpLog(self)
        self._log_card.body.addWidget(self.log)
        self.busy = Busy(self)
        note = QWidget(self)
        fill(QVBoxLayout(note), self.busy, margins=(0, 0, 0, 0))
        self.test = control(QPushButton(self), "mcp-test", N_("Test"), on=self.run_test)
        self.cancel = control(QPushButton(self), "mcp-cancel", N_("Cancel"), on=self._revert)
        self.save = control(QPushButton(self), "mcp-save", N_("Save"), look="primary", on=self.store)
        self.foot(note, self.test, self.cancel, self.save)
        self.end()
        self._timer = QTimer(self, interval=CHECK_MS)
        self._timer.timeout.connect(self._check_servers)
        self._timer.start()
        self.form.changed.connect(self._edited)
        self.list.currentItemChanged.connect(lambda *_: self._select())
        self._show_form()
        self.retranslate()

    # showing ------------------------------------------------------------------------------------------------------------------------

    def _check_servers(self) -> None:
        """While the page is looked at, servers that run are asked whether they still answer."""

        async def job() -> None:
            self._rows = await self.bridge.engine.mcp.check()
            self._fill_list()

        if self.isVisible() and any(row.state is McpState.READY for row in self._rows):
            self.jobs.once("check", job)

    async def load(self) -> None:
        self._rows = await self.bridge.engine.mcp.list()
        self._agents = await self.bridge.engine.agents.list()
        names = [row.name for row in self._rows]
        if self._chosen not in names:
            self._chosen = names[0] if names else ""
        self._fill_list()
        kept = self._adding or (self._form_of == self._chosen and bool(self._chosen) and self.form.edited())
        if not kept:
            self._show_form()
        await self._load_more()

    def current(self) -> McpStatus | None:
        """The server that is shown; None while one is added."""
        return None if self._adding else next((row for row in self._rows if row.name == self._chosen), None)

    def _fill_list(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for row in self._rows:
            item = two_line_item(self.list, row.name, row.name, facts(row), "plug", ROLES[row.state])
            picture = mcp_icon.image(row.known.icon)
            if picture is not None:
                item.setData(PictureRole, picture)
        self._choose_row()
        self.list.blockSignals(False)
        count = min(max(self.list.count(), 1), 6)
        self.list.setFixedHeight(count * max(self.list.sizeHintForRow(0), theme().px(40)) + 8)
        self.list.setVisible(bool(self._rows))

    def _choose_row(self) -> None:
        names = [row.name for row in self._rows]
        self.list.blockSignals(True)
        self.list.setCurrentRow(-1 if self._adding or self._chosen not in names else names.index(self._chosen))
        self.list.blockSignals(False)

    def _select(self) -> None:
        item = self.list.currentItem()
        if item is None:
            return
        name = str(item.data(KeyRole))
        if (name != self._chosen or self._adding) and (self._adding or (self.current() is not None and self.form.edited())):
            self.busy.note(_("Save your changes or cancel them first."), "error")
            self._choose_row()
            return
        self._chosen = name
        self.busy.drop()
        self._show_form()
        self.jobs.start(self._load_more(), "more")

    def _show_form(self) -> None:
        row = self.current()
        shown = row is not None or self._adding
        if not self._adding:
            self.form.show_config(row.config if row is not None else None)
            self._form_of = row.name if row is not None else ""
        say(self._form_card.heading, lambda: _("NEW SERVER") if self._adding else row.name.upper() if row is not None else "")
        for card in (self._form_card, self._tools_card, self._agents_card, self._calls_card, self._roots_card, self._log_card):
            visible = shown if card is self._form_card else row is not None
            card.setVisible(visible)
            card.heading.setVisible(visible)
        self._check()

    async def _load_more(self) -> None:
        row = self.current()
        if row is None:
            return
        tools = tuple(await self.bridge.engine.mcp.tools(row.name))
        calls = await self.bridge.engine.mcp.calls(row.name, CALLS)
        secret = bool(row.config.client_id) and await self.bridge.engine.mcp.has_client_secret(row.name)
        lines = await self.bridge.engine.mcp.log(row.name)
        if row.name != self._chosen or self._adding:
            return
        self.form.show_client_secret(stored=secret)
        self._show_tools(tools)
        self._show_left_out()
        self._show_agents(row.name)
        self._show_calls(calls)
        self.roots.show_folders(row.config.roots)
        self.log.show_lines(lines)
        for widget in (self._log_card, self._log_card.heading):
            widget.setVisible(bool(lines))

    def _show_tools(self, tools: tuple[McpToolStatus, ...]) -> None:
        self.approve.setVisible(any(each.state in ("new", "changed", "gone") for each in tools))
        self._none.setVisible(not tools)
        if tools == self._tools and self._tool_rows:
            return
        self._tools = tools
        _empty(self._tool_list)
        self._tool_rows = [McpToolRow(each, self._tools_card) for each in tools]
        for made in self._tool_rows:
            made.switched.connect(lambda tool, on: self._change(lambda name: self.bridge.engine.mcp.switch_tool(name, tool, on)))
            made.ruled.connect(self._rule)
            made.approved.connect(lambda tool: self._change(lambda name: self.bridge.engine.mcp.approve(name, (tool,))))
            self._tool_list.addWidget(made)

    def _show_left_out(self) -> None:
        row = self.current()
        rejected = row.known.rejected if row is not None else ()
        lines = [rejected_words(each.kind, each.name, each.why) for each in rejected]
        self.left_out.setText("\n".join(_("Left out: {what}", what=visible(each)) for each in lines))
        self.left_out.setVisible(bool(rejected))

    def _show_agents(self, name: str) -> None:
        _empty(self._agent_list)
        self._boxes = []
        for agent in self._agents:
            box = control(QCheckBox(visible(agent.name).replace("&", "&&"), self), f"mcp-agent-{agent.name}")
            box.setChecked(name in agent.config.mcp_servers)
            box.clicked.connect(lambda on, agent_id=agent.id: self._change(lambda name: self.bridge.engine.mcp.give(name, agent_id, on)))
            self._agent_list.addWidget(box)
            self._boxes.append(box)

    def _show_calls(self, calls: list[ToolExecution]) -> None:
        self.calls.clear()
        for call in calls:
            title = f"{call.tool.partition('__')[2].partition('__')[2] or call.tool} · {moment(call.started_at)}"
            about = " · ".join(filter(None, (call.agent_name, figures.duration(call.duration_ms), call.error or call.status)))
            two_line_item(
                self.calls, call.call_id, title, about, "circle-x" if call.error else "circle-check", "err" if call.error else "ok"
            )
        for widget in (self._calls_card, self._calls_card.heading):
            widget.setVisible(bool(calls))
        rows = min(max(self.calls.count(), 1), 6)
        self.calls.setFixedHeight(rows * max(self.calls.sizeHintForRow(0), theme().px(40)) + 8)

    def _edited(self) -> None:
        self.busy.drop()
        self._check()

    def _check(self) -> None:
        edited = self._adding or (self.current() is not None and self.form.edited())
        complete = (self.current() is not None or self._adding) and self.form.complete()
        self.save.setEnabled(edited and complete)
        self.test.setEnabled(complete)
        self.cancel.setEnabled(edited)
        self.restart.setEnabled(self.current() is not None)
        self.remove.setEnabled(self.current() is not None)
        row = self.current()
        for button in (self.sign, self.sign_out):
            button.setVisible(row is not None and row.config.transport == "http")

    # adding -------------------------------------------------------------------------------------------------------------------------

    def ask_what(self) -> None:
        """Paste, file, this machine's programs, or by hand."""
        dialog = McpImportDialog(self)
        self.dialog = dialog
        dialog.pasted.connect(self._read_text)
        dialog.file_wanted.connect(self._read_file)
        dialog.search_wanted.connect(self._search)
        dialog.chosen.connect(self._take)
        dialog.finished.connect(self._dialog_closed)
        dialog.open()

    def _dialog_closed(self) -> None:
        self.dialog = None

    def _read_text(self, text: str) -> None:
        async def job() -> None:
            if text.strip():
                await self._tell(lambda: self.bridge.engine.mcp_import.read_text(text), "")
            elif self.dialog is not None:
                self.dialog.show_found([])

        self.jobs.start(job(), "read")

    def _read_file(self, path: str) -> None:
        self.jobs.start(self._tell(lambda: self.bridge.engine.mcp_import.read_file(path), path), "read")

    async def _tell(self, read: Any, where: str) -> None:
        """Show what was read, or why nothing could be."""
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
            files = await self.bridge.engine.mcp_import.look()
            self._bundle = ""
            self._found = [(f"{file.program}: {file.path}", each) for file in files for each in file.servers]
            if self.dialog is not None:
                self.dialog.show_found(self._found, "" if self._found else _("No MCP servers were found."))

        self.jobs.start(job(), "read")

    def _take(self, number: int) -> None:
        """Into the form: nothing is stored before it is saved there."""
        found = self._found[number][1] if 0 <= number < len(self._found) else None
        if self.dialog is not None:
            self.dialog.accept()
        self._adding, self._asked = True, found
        self._choose_row()
        self.busy.drop()
        self.form.show_config(
            found.config if found is not None else None, stored=False, secrets=found.secrets if found is not None else None
        )
        self._show_form()
        self.reveal(self.form)
        (
            self.form.name if found is None else self.form.line if found.config and found.config.transport == "stdio" else self.form.url
        ).setFocus()

    # doing --------------------------------------------------------------------------------------------------------------------------

    def run_test(self) -> None:
        """Start the server as the form has it; a stored one that was not changed stays up, and its tools are compared."""

        async def job() -> None:
            changed = self._adding or self.form.edited()
            try:
                if changed:
                    health = await self.bridge.engine.mcp.test_draft(self.form.config(), self.form.secrets())
                else:
                    health = await self.bridge.engine.mcp.test(self._chosen)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self.busy.note(Sentence(lambda: health_text(health)), "ok" if health.ok else "error")
            if not changed:
                await self.load()

        testing = self.jobs.once("test", job)
        if testing is not None:
            self.busy.watch(testing, N_("Starting the server…"))

    def store(self) -> None:
        """Save the form."""
        self.jobs.once("store", self._store)

    async def _store(self) -> None:
        try:
            config, secrets, new = self.form.config(), self.form.secrets(), self._adding
            if new and self._bundle and self._asked is not None and self._asked.config is not None:
                answers = {**secrets, **{f"env:{name}": text for name, text in config.env.items() if text}}
                await self.bridge.engine.mcp_import.add(self._asked, answers, name=config.name, bundle_file=self._bundle)
            else:
                await self.bridge.engine.mcp.save(config, secrets, new=new)
            kept = not secrets or await self.bridge.engine.mcp.keeps_secrets()
        except Exception as error:
            self.busy.note(error_text(error), "error")
            return
        self._adding, self._chosen, self._asked, self._bundle = False, config.name, None, ""
        self._form_of = ""
        await self.load()
        if kept:
            self.busy.note(_("Saved."), "ok")
        else:
            self.busy.note(_("Saved. No system keyring found: the secrets are lost when Atelier closes."), "warn")

    def _revert(self) -> None:
        self._adding, self._asked, self._bundle = False, None, ""
        self.busy.drop()
        self._choose_row()
        self._show_form()
        self.jobs.start(self._load_more(), "more")

    def _restart(self) -> None:
        name = self._chosen

        async def job() -> None:
            health = await self.bridge.engine.mcp.restart(name)
            self.busy.note(Sentence(lambda: health_text(health)), "ok" if health.ok else "error")
            await self.load()

        starting = self.jobs.once("test", job)
        if starting is not None:
            self.busy.watch(starting, N_("Starting the server…"))

    def _sign_in(self) -> None:
        """In the browser; Stop gives it up."""
        name = self._chosen

        async def job() -> None:
            try:
                health = await self.bridge.engine.mcp.sign_in(name)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self.busy.note(Sentence(lambda: health_text(health)), "ok" if health.ok else "error")
            await self.load()

        signing = self.jobs.once("test", job)
        if signing is not None:
            self.busy.watch(signing, N_("Sign in using your browser…"))

    def _sign_out(self) -> None:
        self._change(lambda name: self.bridge.engine.mcp.sign_out(name))

    def _ask_remove(self) -> None:
        row = self.current()
        if row is None:
            return
        name = row.name

        async def job() -> None:
            await self.bridge.engine.mcp.remove(name)
            self._form_of = ""
            toast(self, _("{name} removed", name=name))
            await self.load()

        text = _("Remove the MCP server {name}?", name=name)
        confirm(
            self, text, _("It is stopped and its secrets are removed from the keyring."), _("Remove"), lambda: self.jobs.once("remove", job)
        )

    def _approve(self) -> None:
        self._change(lambda name: self.bridge.engine.mcp.approve(name))

    def _rule(self, tool: str, rule: str) -> None:
        self._change(lambda name: self.bridge.engine.mcp.permit(name, tool, Action(rule) if rule else None))

    def _change(self, change: Any) -> None:
        self.call(change(self._chosen))

    def retranslate(self) -> None:
        for row in self._tool_rows:
            row.retranslate()
        self._show_left_out()
        self._fill_list()
        if self.isVisible():
            self.reload()  # why a server failed is said by the engine, in the language of the moment


def _empty(layout: QVBoxLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.setParent(None)
            widget.deleteLater()

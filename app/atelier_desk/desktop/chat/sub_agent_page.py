"""A sub-agent's transcript as a page of the chat panel: its place in the team, prompt, work, report, and a composer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QWidget

from atelier_desk.desktop.chat.breadcrumb import Breadcrumb
from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.team.agent_state_labels import figures, state_icon, state_text, task
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.theme.design_tokens import CHAT_COLUMN
from atelier_desk.desktop.widgets import IconButton, Line, Pill, bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.presentation.rows.team_state import Member
from atelier_desk.presentation.rows.transcript_entries import Change, Entry
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.run_controls import RunControls
    from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
    from atelier_desk.desktop.team.model import TeamModel

FIGURES_FROM = 560
"""Width, in pixels at 100 %, from which usage is shown beside the names; the team pane shows it too."""


class AgentPage(QWidget):
    """``agent-page``: shows one sub-agent at any depth.

    Signals:
        left: the user returns to the workflow's transcript.
    """

    left = Signal()

    def __init__(
        self,
        bridge: Bridge,
        team: TeamModel,
        pages: TranscriptPages,
        steering: RunControls,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("agent-page")
        self._bridge, self._team, self._pages, self._steering = bridge, team, pages, steering
        self.run_id = ""
        self._holding = ""
        """The run that was asked to pause and has not yet."""
        self.host = TranscriptHost(self, team)
        self.host.versions = False
        steering.attach(self.host)
        self._build()
        self.host.agent_requested.connect(self.open)
        self.host.quote_requested.connect(self.composer.quote)
        self.crumbs.chosen.connect(self._on_crumb)
        self.composer.sent.connect(self._on_sent)
        self.composer.stopped.connect(lambda: self._steering.stop(self.run_id))
        pages.agent_changed.connect(self._on_changes)
        team.changed.connect(self._on_team)
        team.ticked.connect(self._tick)
        bind(self._resize_column)
        for key in ("Alt+Left", "Esc"):
            shortcut = QShortcut(QKeySequence(key), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(self.crumbs.open_parent)
        bind_text(self, name=N_("Sub-agent"))
        bind(self._show, on="language")

    def _build(self) -> None:
        self.crumbs = Breadcrumb(self)
        self._pill = Pill("", "", self)
        self._figures = label("", "small", self)
        self.pause = control(IconButton("pause", parent=self), "agent-page-pause", on=self._toggle_pause)
        top = hbox(None, (self.crumbs, 1), self._figures, self._pill, self.pause, margins=(16, 2, 12, 8), spacing=8)
        self.view = ChatView(lambda entry, parent: make_widget(entry, self.host, parent), self)
        self.host.unfolded.connect(self.view.stay)
        self.view.view_resized.connect(self.host.set_view_height)
        self.view.setObjectName("agent-chat-view")
        self.composer = Composer(self, pictures=False)
        self.composer.field.setObjectName("agent-input")
        self.composer.send.setObjectName("agent-send")
        self.composer.stop.setObjectName("agent-page-stop")
        bottom = hbox(None, 1, (self.composer, 100), 1, margins=(24, 4, 24, 16))
        vbox(self, top, Line(self), (self.view, 1), bottom, spacing=0)
        self._resize_column()

    @property
    def member(self) -> Member:
        return self._team.get(self.run_id) or Member(self.run_id)

    def open(self, run_id: str, message_id: str = "") -> None:
        """Show this sub-agent, scrolled to the end or to one of its messages."""
        if run_id == self.run_id:
            self._reveal(message_id)
            return
        self.run_id = run_id
        self.view.set_entries([])
        self.composer.set_draft("")
        self._show()
        self._bridge.jobs.start(self._load(run_id, message_id))

    def _reveal(self, message_id: str) -> None:
        found = next((entry for entry in self.view.entries if message_id and entry.id == message_id), None)
        if found is not None:
            self.view.reveal(found)

    def leave(self) -> None:
        """Close the page and discard its transcript."""
        self.run_id = ""
        self._pages.close_agent()
        self.view.set_entries([])

    async def _load(self, run_id: str, message_id: str) -> None:
        transcript = await self._pages.open_agent(run_id)
        if transcript is None or run_id != self.run_id:
            return
        above = self._above()
        for entry in transcript.entries:
            entry.details.setdefault("parent", above)
        member = self.member
        transcript.settle("paused" if member.at_limit or member.pause == "loop" else member.status)
        self.view.set_entries([*transcript.entries, *self._report(transcript.entries)])
        self._show()
        (self.view if member.over else self.composer.field).setFocus()
        self._reveal(message_id)

    def _above(self) -> str:
        path = self._team.state.path(self.run_id)
        return path[-2].name if len(path) > 1 else ""

    def _report(self, entries: list[Entry]) -> list[Entry]:
        """Its report, unless it equals the last answer, which is then styled as the report."""
        report = self.member.report
        if not report:
            return []
        last = next((entry for entry in reversed(entries) if entry.kind == "assistant" and entry.content), None)
        if last is not None and last.content.strip() == report.strip() and not last.calls:
            last.topic = "agent_report"
            return []
        details = {"parent": self._above()}
        return [
            Entry(
                f"report-{self.run_id}",
                "notice",
                run_id=self.run_id,
                topic="agent_report",
                content=report,
                details=details,
            )
        ]

    def _on_changes(self, run_id: str, changes: list[Change]) -> None:
        if run_id != self.run_id:
            return
        for kind, entry in changes:
            if kind == "append":
                entry.details.setdefault("parent", self._above())
                self.view.append(entry)
            elif kind == "remove":
                self.view.remove(entry)
            else:
                self.view.update_entry(entry, streamed=kind == "stream")
        self._show_thinking()

    def _show_thinking(self) -> None:
        self.view.show_thinking(self._pages.agent_transcript, self.host)

    def _on_team(self, runs: frozenset[str]) -> None:
        if not self.run_id or not self.isVisible():
            return
        path = self._team.state.path(self.run_id)
        if self.run_id in runs or any(member.run_id in runs for member in path):
            self._show()
            self._append_report()

    def showEvent(self, event: QShowEvent) -> None:
        """The page was covered, for example by a replay: show what happened meanwhile."""
        super().showEvent(event)
        if self.run_id:
            self._show()
            self._append_report()

    def _append_report(self) -> None:
        """The agent ended while the page was open: append its report."""
        shown = list(self.view.entries)
        if self.member.over and shown and all(entry.topic != "agent_report" for entry in shown):
            last = next((entry for entry in reversed(shown) if entry.kind == "assistant" and entry.content), None)
            if last is None or last.content.strip() != self.member.report.strip():
                for entry in self._report(shown):
                    self.view.append(entry)

    def _show(self) -> None:
        member = self.member
        self.crumbs.show_path(self._team.state.path(self.run_id) or [member])
        _icon, _role, kind = state_icon(member)
        if self._holding and (self._holding != self.run_id or member.held or member.over):
            self._holding = ""
        self._pill.show_state(_("pausing…") if self._holding else state_text(member), "warn" if self._holding else kind)
        self.pause.setEnabled(not self._holding)
        self.crumbs.setToolTip(plain_tip(task(member)))
        paused = member.held
        self.pause.setVisible(not member.over)
        self.pause.set_icon("play" if paused else "pause")
        self._show_thinking()
        name = member.name or _("Agent")
        self.pause.describe(_("Continue: {agent}", agent=name) if paused else _("Pause: {agent}", agent=name))
        self.composer.set_agent(name)
        self.composer.set_running(not member.over)
        self.composer.set_enabled(not member.over)
        shown = not member.over or bool(self.composer.field.toPlainText().strip())  # unsent text is not lost
        if not shown and self.composer.isAncestorOf(QApplication.focusWidget() or self):
            self.view.setFocus()  # otherwise Qt focuses the back button, and the next space leaves the page
        self.composer.setVisible(shown)
        self._tick()

    def _tick(self) -> None:
        if self.run_id and self.isVisible():
            now = self._team.now()
            self._figures.setText(figures(self._team.state.shown(self.run_id, now)))

    def _on_crumb(self, run_id: str) -> None:
        path = self._team.state.path(run_id)
        if not path or path[0].run_id == run_id:
            self.left.emit()
        else:
            self.open(run_id)

    def _on_sent(self, text: str, _images: object, strategy: str) -> None:
        """Send an answer if the agent waits for its parent's, else a message."""
        if self.member.status == "awaiting_parent":
            self._steering.answer(self.run_id, text)
        else:
            self._steering.send_to_agent(self.run_id, text, strategy)

    def _toggle_pause(self) -> None:
        if self.member.held:
            self._steering.resume(self.run_id)
        else:
            # Shown at once: the agent stops at its next safe point, possibly later.
            self._holding = self.run_id
            self._steering.pause(self.run_id)
            self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._figures.setVisible(self.width() >= theme().px(FIGURES_FROM))

    def _resize_column(self) -> None:
        self.composer.setMaximumWidth(theme().px(CHAT_COLUMN))

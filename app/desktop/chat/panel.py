"""The middle column: header, transcript and composer of one workflow, wired to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from app.desktop.chat.composer import Composer
from app.desktop.chat.entries import Change, Entry
from app.desktop.chat.find_bar import FindBar
from app.desktop.chat.header import ChatHeader
from app.desktop.chat.host import TranscriptHost
from app.desktop.chat.image_gate import ImageGate
from app.desktop.chat.pages import TranscriptPages
from app.desktop.chat.view import ChatView, EntryWidget
from app.desktop.theme import mark, theme
from app.desktop.theme.tokens import CHAT_COLUMN
from app.desktop.widgets import EmptyState, Translated
from app.i18n import _

if TYPE_CHECKING:
    from pathlib import Path

    from app.desktop.bridge import Bridge
    from app.domain.agent import Agent, AgentConfig
    from app.domain.provider import ModelInfo
    from app.domain.stream import StreamEvent
    from app.domain.workflow import Workflow

DRAFT_MS = 600
"""Milliseconds after the last key before a draft is kept."""


class ChatPanel(Translated, QWidget):
    """Shows one workflow and talks to its agent.

    Signals:
        workflow_made: a first message was sent with no workflow open; the new one's id.
        workflow_shown: the id of the workflow in view, after it was loaded.
        question_requested: open the dialog of this question.
        run_changed: the workflow in view started or stopped working.
        better_models_wanted: the person wants more than the starter model.
    """

    workflow_made = Signal(str)
    workflow_shown = Signal(str)
    question_requested = Signal(str)
    run_changed = Signal(bool)
    better_models_wanted = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        mark(self, "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.host = TranscriptHost(self)
        self.pages = TranscriptPages(bridge, self)
        self.header = ChatHeader(self)
        self.find_bar = FindBar(self)
        self.view = ChatView(self._make_widget, self)
        self.empty = EmptyState("sparkles", parent=self)
        self.composer = Composer(self)
        self.agents: list[Agent] = []
        self.models: list[ModelInfo] = []
        self._agent_id = ""
        self._default_agent_id = ""
        self._model: tuple[str, str] | None = None
        self._running = False
        self._sent = 0
        self.stepping = False
        """The next message starts a run that waits before each step."""
        self._draft_of = ""
        self._starter: Any = None
        self._draft_timer = QTimer(self)
        self._draft_timer.setSingleShot(True)
        self._draft_timer.setInterval(DRAFT_MS)
        self._draft_timer.timeout.connect(self.keep_draft)
        self._lay_out()
        self._connect()
        self.retranslate()
        self._show_empty(True)
        self.composer.set_enabled(False)

    def _make_widget(self, entry: Entry, parent: QWidget) -> EntryWidget:
        from app.desktop.chat.messages import make_widget

        return make_widget(entry, self.host, parent)

    def _lay_out(self) -> None:
        middle = QWidget(self)
        self._stack = QStackedLayout(middle)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.view)
        holder = QWidget(middle)
        box = QVBoxLayout(holder)
        box.addStretch(1)
        box.addWidget(self.empty)
        box.addStretch(1)
        self._stack.addWidget(holder)
        bottom = QHBoxLayout()
        bottom.setContentsMargins(24, 4, 24, 16)
        bottom.addStretch(1)
        self._above_composer = QVBoxLayout()
        self._above_composer.setSpacing(4)
        below = QVBoxLayout()
        below.setSpacing(4)
        below.addLayout(self._above_composer)
        below.addWidget(self.composer)
        bottom.addLayout(below, 100)
        bottom.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.find_bar)
        column.addWidget(middle, 1)
        column.addLayout(bottom)
        self._resize_column()

    def _connect(self) -> None:
        self.pages.opened.connect(self._on_opened)
        self.pages.changed.connect(self._on_changes)
        self.pages.prepended.connect(self.view.prepend)
        self.view.older_wanted.connect(self._on_older)
        self.composer.sent.connect(self._on_sent)
        self.composer.stopped.connect(self.stop)
        self.composer.draft_changed.connect(lambda *_: self._draft_timer.start())
        self.header.agent_chosen.connect(self._on_agent)
        self.header.model_chosen.connect(self._on_model)
        self.find_bar.needle_changed.connect(self._on_needle)
        self.find_bar.revealed.connect(self.view.reveal)
        self.find_bar.closed.connect(self.view.setFocus)
        self.host.question_requested.connect(self.question_requested)
        self.host.quote_requested.connect(self.composer.quote)
        self.host.regenerate_requested.connect(self._on_regenerate)
        self.host.resend_requested.connect(self._on_resend)
        self.host.branch_requested.connect(self._on_branch)
        self.host.resume_requested.connect(self._on_resume)
        self.host.stop_requested.connect(lambda run_id: self.bridge.do(lambda a: a.runs.cancel(run_id)))
        self.bridge.stream_event.connect(self._on_stream)
        self.bridge.changed.connect(self._on_changed)
        theme().changed.connect(self._resize_column)

    # -- which workflow -------------------------------------------------------------------------------------------------------
    @property
    def workflow_id(self) -> str:
        return self.pages.workflow_id

    def open_workflow(self, workflow_id: str) -> None:
        """Show a workflow from its end; its draft, agent and model with it."""
        if workflow_id == self.pages.workflow_id and self.pages.current is not None:
            return
        self.keep_draft()
        self.find_bar.leave()
        self.bridge.start(self.pages.open(workflow_id))

    def close_workflow(self) -> None:
        """Show none: the next message begins a new one."""
        self.keep_draft()
        self.pages.clear()
        self._draft_of = ""
        self._agent_id, self._model = "", None
        self.view.set_entries([])
        self.composer.set_draft("")
        self.header.set_title(_("New workflow"))
        self.header.show_usage(None)
        self._show_pickers()
        self._set_running(False)
        self._show_empty(True)
        self.composer.field.setFocus()

    async def load_choices(self) -> None:
        """Read agents and models for the pickers."""
        self.agents = await self.bridge.call(lambda a: a.agents.list())
        self._default_agent_id = (await self.bridge.call(lambda a: a.agents.default())).id if self.agents else ""
        self.models = await self.bridge.call(lambda a: a.models.list())
        self._show_pickers()

    def _on_opened(self, workflow: Workflow) -> None:
        transcript = self.pages.current
        if transcript is None:
            return
        self.host.images = ImageGate(_picture_folders(workflow, self.bridge.data_dir))
        self._agent_id = workflow.agent_id
        self._model = self._model_of(transcript.entries)
        self._draft_of = workflow.id
        self.composer.set_draft(workflow.draft)
        self.header.set_title(workflow.name)
        self._show_pickers()
        self.header.show_usage(workflow.usage, workflow.context_tokens, self._window_of())
        self._show_empty(not transcript.entries)
        self.view.set_entries(transcript.entries)
        self._set_running(bool(transcript.live_run))
        self.workflow_shown.emit(workflow.id)

    # -- agent and model ------------------------------------------------------------------------------------------------------
    @property
    def agent(self) -> Agent | None:
        """The agent that answers in the workflow in view."""
        for wanted in (self._agent_id, self._default_agent_id):
            for agent in self.agents:
                if agent.id == wanted:
                    return agent
        return self.agents[0] if self.agents else None

    def _model_of(self, entries: list[Entry]) -> tuple[str, str] | None:
        """The model of the newest answer, when it is not the agent's own: it stays chosen."""
        agent = self.agent
        newest = next((entry for entry in reversed(entries) if entry.provider and entry.model), None)
        if newest is None or agent is None or (newest.provider, newest.model) == (agent.config.provider, agent.config.model):
            return None
        known = any((info.provider, info.name) == (newest.provider, newest.model) for info in self.models)
        return (newest.provider, newest.model) if known else None

    def _show_pickers(self) -> None:
        agent = self.agent
        self.header.set_agents(self.agents, agent.id if agent else "")
        provider, model = self._model or ((agent.config.provider, agent.config.model) if agent else ("", ""))
        self.header.set_models(self.models, provider, model)
        self.composer.set_agent(agent.config.name if agent else "")
        self.composer.set_enabled(agent is not None and self.bridge.ready)
        self._show_starter(provider, model)

    def _show_starter(self, provider: str, model: str) -> None:
        """Say what the starter model is while it is the one that answers; made when it is needed first."""
        if self._starter is None:
            if provider != "local":
                return
            from app.desktop.firststart import StarterNotice

            self._starter = StarterNotice(self)
            self._starter.better_models_wanted.connect(self.better_models_wanted)
            self._above_composer.addWidget(self._starter, 0, Qt.AlignmentFlag.AlignLeft)
        self._starter.set_model(provider, model)

    def _window_of(self) -> int:
        agent = self.agent
        wanted = self._model or ((agent.config.provider, agent.config.model) if agent else None)
        info = next((each for each in self.models if (each.provider, each.name) == wanted), None)
        return (info.context_window or 0) if info is not None else 0

    def _config(self) -> AgentConfig | None:
        """The agent with the model chosen beside it; None when the stored agent is right as it is."""
        agent = self.agent
        if agent is None or self._model is None:
            return None
        return agent.config.model_copy(update={"provider": self._model[0], "model": self._model[1]})

    def _on_agent(self, agent_id: str) -> None:
        self._agent_id, self._model = agent_id, None
        self._show_pickers()
        workflow_id = self.workflow_id
        if workflow_id:
            self.bridge.do(lambda a: a.workflows.set_agent(workflow_id, agent_id))

    def _on_model(self, provider: str, model: str) -> None:
        agent = self.agent
        self._show_starter(provider, model)
        own = agent is not None and (agent.config.provider, agent.config.model) == (provider, model)
        self._model = None if own else (provider, model)

    # -- sending --------------------------------------------------------------------------------------------------------------
    def _on_sent(self, text: str, images: Any, strategy: str) -> None:
        self.bridge.start(self._send(text, images, strategy))

    async def _send(self, text: str, images: Any, strategy: str) -> None:
        encoded = await _encoded(images)
        agent, config = self.agent, self._config()
        agent_id = agent.id if agent else ""
        workflow_id = self.workflow_id
        if not workflow_id:
            workflow = await self.bridge.call(lambda a: a.workflows.create(agent_id=agent_id))
            workflow_id = workflow.id
            await self.pages.open(workflow_id)
            self.workflow_made.emit(workflow_id)
        own: Entry | None = None
        if self.pages.current is not None and self.workflow_id == workflow_id:
            self._sent += 1
            change = self.pages.current.add_own(f"own-{self._sent}", text, encoded)
            own = change[1]
            self._on_changes([change])
            self.view.scroll_to_end()
        try:
            await self.bridge.call(lambda a: _send(a, workflow_id, text, encoded, config, agent_id, strategy, self.stepping))
        except Exception:
            self._take_back(own, text)
            raise
        self._draft_timer.stop()
        await self.bridge.call(lambda a: a.workflows.set_draft(workflow_id, self.composer.field.toPlainText()))

    def _take_back(self, own: Entry | None, text: str) -> None:
        """The engine refused the message: put it back where it was written."""
        transcript = self.pages.current
        if own is not None and transcript is not None and own in transcript.entries:
            transcript.remove(own)
            self.view.set_entries(transcript.entries)
        if not self.composer.field.toPlainText().strip():
            self.composer.set_draft(text)

    def stop(self) -> None:
        """Cancel the run of the workflow in view."""
        workflow_id = self.workflow_id
        if workflow_id:
            self.bridge.do(lambda a: _cancel(a, workflow_id))

    def keep_draft(self) -> None:
        """Store what is typed; called a moment after the last key and before another workflow is shown."""
        pending = self._draft_timer.isActive()
        self._draft_timer.stop()
        workflow_id, text = self._draft_of, self.composer.field.toPlainText()
        if workflow_id and self.bridge.ready and (pending or self.sender() is self._draft_timer):
            self.bridge.do(lambda a: a.workflows.set_draft(workflow_id, text[:100_000]))

    def _on_regenerate(self, run_id: str) -> None:
        workflow_id = self.workflow_id
        self.bridge.start(self._rerun(lambda a: a.runs.regenerate(workflow_id, run_id)))

    def _on_resend(self, run_id: str, text: str) -> None:
        workflow_id, agent, config = self.workflow_id, self.agent, self._config()
        agent_id = agent.id if agent else ""
        self.bridge.start(self._rerun(lambda a: a.runs.edit_and_resend(workflow_id, run_id, text, agent=config, agent_id=agent_id)))

    def _on_branch(self, run_id: str) -> None:
        workflow_id = self.workflow_id
        self.bridge.start(self._rerun(lambda a: a.workflows.select_branch(workflow_id, run_id)))

    def add_above_composer(self, widget: QWidget) -> None:
        """Give a widget of the window a place over the composer, as wide as it."""
        self._above_composer.addWidget(widget)

    async def _rerun(self, function: Any) -> None:
        await self.bridge.call(function)
        await self.pages.reload()

    def _on_resume(self, run_id: str, changes: Any) -> None:
        self.bridge.do(lambda a: a.runs.resume(run_id, **changes))

    # -- what happens ---------------------------------------------------------------------------------------------------------
    def _on_changes(self, changes: list[Change]) -> None:
        for kind, entry in changes:
            if kind == "append":
                self.view.append(entry)
            else:
                self.view.update_entry(entry, streamed=kind == "stream")
        self._show_empty(False)

    def _on_stream(self, event: StreamEvent) -> None:
        if event.workflow_id != self.workflow_id or event.depth:
            return
        kind = event.chunk_type.value
        if kind == "usage":
            self.header.take_usage(event.data)
        elif kind in {"workflow_start", "workflow_complete", "run_status"}:
            transcript = self.pages.current
            self._set_running(transcript is not None and bool(transcript.live_run) and event.data.get("status") != "paused")

    def _set_running(self, running: bool) -> None:
        self.composer.set_running(running)
        if running != self._running:
            self._running = running
            self.run_changed.emit(running)

    def _on_changed(self, topic: str, key: str) -> None:
        if topic in {"agent", "model", "provider"} or (topic == "settings" and key == "default_agent_id"):
            self.bridge.start(self.load_choices())
        elif topic == "workflow" and key == self.workflow_id:
            self.bridge.start(self._refresh_workflow(key))

    async def _refresh_workflow(self, workflow_id: str) -> None:
        workflow = await self.bridge.call(lambda a: a.workflows.get(workflow_id))
        if workflow_id == self.workflow_id:
            self.header.set_title(workflow.name)

    def _on_older(self) -> None:
        if not self.pages.complete:
            self.bridge.start(self.pages.older())

    def _on_needle(self, needle: str) -> None:
        self.view.set_needle(needle)
        if needle:
            self.bridge.start(self._find())

    async def _find(self) -> None:
        needle = self.find_bar.needle
        await self.pages.everything()
        if needle == self.find_bar.needle and self.pages.current is not None and not self.find_bar.isHidden():
            self.find_bar.search(self.pages.current.entries)

    def reveal_message(self, row_id: str) -> None:
        """Bring a message into view, loading older pages until it is there."""
        self.bridge.start(self._reveal(row_id))

    async def _reveal(self, row_id: str) -> None:
        while self.pages.current is not None:
            found = next((entry for entry in self.pages.current.entries if entry.id == row_id), None)
            if found is not None:
                self.view.reveal(found)
                return
            if self.pages.complete or not await self.pages.older():
                return

    # -- looks ----------------------------------------------------------------------------------------------------------------
    def _show_empty(self, empty: bool) -> None:
        self._stack.setCurrentIndex(1 if empty else 0)

    def _resize_column(self) -> None:
        self.composer.setMaximumWidth(theme().px(CHAT_COLUMN))

    def retranslate(self) -> None:
        self.empty.set_texts(_("What shall we do?"), _("Write a goal below. The agent plans, uses tools and asks when it needs you."))
        if not self.workflow_id:
            self.header.set_title(_("New workflow"))


async def _send(
    atelier: Any,
    workflow_id: str,
    text: str,
    images: list[dict[str, str]],
    config: AgentConfig | None,
    agent_id: str,
    strategy: str,
    stepping: bool = False,
) -> None:
    """On the engine's loop: send the message, then name a workflow nobody named."""
    from app.domain.chat import ImagePart
    from app.domain.events import Dispatch
    from app.domain.workflow import RunMode

    parts = tuple(ImagePart(**image) for image in images)
    how = {"mode": RunMode.STEPPING} if stepping else {}
    await atelier.runs.send(workflow_id, text, agent=config, agent_id=agent_id, images=parts, strategy=Dispatch(strategy), **how)
    await atelier.workflows.name_after(workflow_id, text)


async def _encoded(images: Any) -> list[dict[str, str]]:
    """Make pictures ready to send, off the UI thread."""
    import asyncio

    from app.desktop.chat.attachments import encode

    return [await asyncio.to_thread(encode, image) for image in images]


async def _cancel(atelier: Any, workflow_id: str) -> None:
    run_id = atelier.runs.active(workflow_id)
    if run_id is not None:
        await atelier.runs.cancel(run_id)


def _picture_folders(workflow: Workflow, data_dir: Path | None) -> list[str | Path]:
    """Where pictures of a conversation may come from: its workspace, and what was attached."""
    return [*workflow.folders, *([data_dir / "attachments"] if data_dir is not None else [])]

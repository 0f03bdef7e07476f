"""The middle column: header, transcript and composer of one workflow, wired to the engine."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.compose.choices import WorkflowChoices
from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.queue_desk import QueueDesk, joined
from atelier_desk.desktop.chat.compose.queue_strip import QueueStrip
from atelier_desk.desktop.chat.compose.sending import encoded, picture_folders
from atelier_desk.desktop.chat.header import ChatHeader
from atelier_desk.desktop.chat.message_commands import MessageCommands
from atelier_desk.desktop.chat.meter import BudgetWatch
from atelier_desk.desktop.chat.pinned import PinnedButton
from atelier_desk.desktop.chat.search.find_bar import FindBar
from atelier_desk.desktop.chat.search.finder import Finder
from atelier_desk.desktop.chat.start_page import StartPage
from atelier_desk.desktop.chat.steering import Steering
from atelier_desk.desktop.chat.transcript.entries import Change, Entry
from atelier_desk.desktop.chat.transcript.host import TranscriptHost
from atelier_desk.desktop.chat.transcript.image_gate import ImageGate
from atelier_desk.desktop.chat.transcript.items import item_maker
from atelier_desk.desktop.chat.transcript.pages import TranscriptPages
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.soon import Soon
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.tokens import CHAT_COLUMN
from atelier_desk.desktop.widgets import Translated, fill
from atelier_desk.domain.limits import MESSAGE
from atelier_desk.i18n import _
from atelier_desk.llm.registry import builtin_type

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.desktop.chat.agent_page import AgentPage
    from atelier_desk.desktop.chat.compose.focus import ComposerFocus
    from atelier_desk.desktop.chat.compose.workflow_settings import WorkflowSettings
    from atelier_desk.domain.agent import Choices
    from atelier_desk.domain.events.run import Dispatch
    from atelier_desk.domain.stream.event import StreamEvent, Topic
    from atelier_desk.domain.stream.payloads import QueueShown
    from atelier_desk.domain.workflow import RunMode, Workflow

_BOTTOM = (24, 4, 24, 16)
_PICKED = {"default_agent_id", "favourite_models", "favourite_agents"}
"""Settings that the pickers show."""
DRAFT_MS = 600
"""Milliseconds after the last key before a draft is kept."""


class ChatPanel(Translated, QWidget):
    """Shows one workflow and talks to its agent.

    Signals:
        workflow_made: a first message was sent with no workflow open; the new one's id.
        workflow_shown: the id of the workflow in view, after it was loaded.
        workflow_chosen_again: the one in view already.
        question_requested: open the dialog of this question.
        run_changed: the workflow in view started or stopped working.
        better_models_wanted: the person wants more than the starter model.
    """

    workflow_made = Signal(str)
    workflow_shown = Signal(str)
    workflow_chosen_again = Signal()
    question_requested = Signal(str)
    run_changed = Signal(bool)
    better_models_wanted = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        mark(self, "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.team = TeamModel(bridge, self)
        self.host = TranscriptHost(self, self.team)
        self.pages = TranscriptPages(bridge, self.team, self)
        self.steering = Steering(bridge, self)
        self.header = ChatHeader(self)
        self.budget = BudgetWatch(self.team, self.header.meter)
        self.choices = WorkflowChoices(bridge, self.header, self)
        self.pinned = PinnedButton(bridge, self.pages, self.header)
        self.header.add(self.pinned)
        self.agent_page: AgentPage | None = None
        self.find_bar = FindBar(self)
        self.view = ChatView(item_maker(self.host), self)
        self.commands = self.host.commands = MessageCommands(bridge, self.host, self.view, self.pages, lambda: self.choices.models, self)
        self.finder = Finder(bridge, self.pages, self.team, self.view, self.find_bar, self)
        self.empty = StartPage(bridge, self)
        self.composer = Composer(self)
        self.composer.field.history = self._sent_before
        self.queue = QueueDesk(bridge, QueueStrip(self), self.composer, self)
        self.queue.stepping = lambda: self.stepping
        self._running = False
        self._sent = 0
        self.stepping = False
        """The next message starts a run that waits before each step."""
        self._draft_of = ""
        self._new_draft = ""
        """What was written for a new workflow, while another one is shown."""
        self._opening: Any = None
        self._shown_yet = False
        """A workflow, or the page of a new one, was shown. What is written before that is for the first that opens."""
        self._starter: Any = None
        self._draft_timer = Soon(self, DRAFT_MS, self.keep_draft)
        self._lay_out()
        self._connect()
        self.retranslate()
        self._show_empty(True)
        self.composer.set_enabled(False)

    def _lay_out(self) -> None:
        middle = QWidget(self)
        self._stack = QStackedLayout(middle)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.view)
        self._stack.addWidget(self.empty)
        bottom = self._bottom = fill(QHBoxLayout(), 1, margins=_BOTTOM)
        self._above_composer = QVBoxLayout()
        self._above_composer.setSpacing(4)
        self.bottom = QWidget(self)  # as wide as the column, whatever stands over the composer
        fill(QVBoxLayout(self.bottom), self._above_composer, self.queue.strip, self.composer, margins=(0, 0, 0, 0), spacing=4)
        bottom.addWidget(self.bottom, 100)
        bottom.addStretch(1)
        fill(QVBoxLayout(self), self.header, self.find_bar, (middle, 1), bottom, margins=(0, 0, 0, 0), spacing=0)
        self._resize_column()

    def _connect(self) -> None:
        self.pages.opened.connect(self._on_opened)
        self.pages.changed.connect(self._on_changes)
        self.pages.prepended.connect(self.view.prepend)
        self.view.older_wanted.connect(self._on_older)
        self.composer.sent.connect(self._on_sent)
        self.composer.stopped.connect(self.stop)
        self.header.options.clicked.connect(self.open_settings)
        self.choices.shown.connect(self._on_choice)
        self.empty.workflow_chosen.connect(self.open_workflow)
        self.empty.goal_chosen.connect(self._on_goal)
        self.empty.agent_chosen.connect(self._on_agent_card)
        self.composer.draft_changed.connect(lambda *_: self._draft_timer.start())
        self.finder.left.connect(self.leave_agent)
        self.finder.agent_found.connect(self.open_agent)
        self.pinned.chosen.connect(self.finder.reveal)
        self.host.question_requested.connect(self.question_requested)
        self.host.quote_requested.connect(self.composer.quote)
        self.host.go_on_requested.connect(self._on_go_on)
        self.host.regenerate_requested.connect(self._on_regenerate)
        self.host.resend_requested.connect(self._on_resend)
        self.host.branch_requested.connect(self._on_branch)
        self.host.agent_requested.connect(self.open_agent)
        self.steering.attach(self.host)
        self.bridge.stream_event.connect(self._on_stream)
        self.bridge.changed.connect(self._on_changed)
        theme().changed.connect(self._resize_column)

    def keep_focus(self, window: QWidget) -> ComposerFocus:
        """From now on the keyboard goes back to the composer in view, whenever what had it in this window goes away."""
        from atelier_desk.desktop.chat.compose.focus import ComposerFocus

        keeper = ComposerFocus(window, self._field_in_view)
        self.workflow_shown.connect(lambda *_: keeper.back())
        self.workflow_chosen_again.connect(keeper.back)
        self.composer.sent.connect(lambda *_: keeper.back())
        return keeper

    def _field_in_view(self) -> QWidget | None:
        fields = (self.composer.field, *((self.agent_page.composer.field,) if self.agent_page is not None else ()))
        return next((field for field in fields if field.isVisible()), None)

    # -- which workflow -------------------------------------------------------------------------------------------------------
    @property
    def workflow_id(self) -> str:
        return self.pages.workflow_id

    def open_workflow(self, workflow_id: str) -> None:
        """Show a workflow from its end; its draft, agent and model with it."""
        if workflow_id == self.pages.workflow_id and self.pages.current is not None:
            self.workflow_chosen_again.emit()
            return
        self.keep_draft()
        self.find_bar.leave()
        self.leave_agent()
        if not self._shown_yet:
            self._draft_of = workflow_id
        self._opening = self.bridge.jobs.start(self.pages.open(workflow_id))

    def close_workflow(self) -> None:
        """Show none: the next message begins a new one."""
        self._shown_yet = True
        self.keep_draft()
        self.leave_agent()
        self.pages.clear()
        self._draft_of = ""
        self.choices.set_workflow(None)
        self.queue.set_workflow("")
        self.view.set_entries([])
        self.composer.set_draft(self._new_draft)
        self.header.set_title(_("New workflow"))
        self.header.show_usage(None)
        self.header.set_interrupted(False)
        self.pinned.clear()
        self._set_running(False)
        self._show_thinking()
        self._show_empty(True)
        self.composer.field.setFocus()

    async def load_choices(self) -> None:
        """Read agents and models for the pickers."""
        await self.choices.load()

    def _on_opened(self, workflow: Workflow) -> None:
        transcript = self.pages.current
        if transcript is None:
            return
        self.host.images = ImageGate(picture_folders(workflow, self.bridge.data_dir))
        self._open_desk()
        self._show_draft(workflow)
        self.header.set_title(workflow.name)
        self.choices.set_workflow(workflow)
        self.queue.set_workflow(workflow.id)
        self.header.show_usage(workflow.usage, workflow.context_tokens, self.choices.window)
        self._show_empty(not transcript.entries)
        self.view.set_entries(transcript.entries)
        self._set_running(bool(transcript.live_run))
        self.header.set_interrupted(transcript.status == "interrupted")
        self._show_thinking()
        self.workflow_shown.emit(workflow.id)

    def _show_draft(self, workflow: Workflow) -> None:
        """What is typed goes away only when another workflow takes its place: one that is read again has nothing newer to show."""
        if workflow.id != self._draft_of:
            self.keep_draft()  # what was typed while this one was read
            self._draft_of = workflow.id
            self.composer.set_draft(workflow.draft)
        elif not self._shown_yet and workflow.draft:
            self.composer.set_draft(joined(workflow.draft, self.composer.field.toPlainText()))
            self._draft_timer.start()
        self._shown_yet = True

    def _show_thinking(self) -> None:
        self.view.show_thinking(self.pages.current.waits_since if self.pages.current is not None else 0.0)

    def _open_desk(self) -> None:
        """Waiting approvals are known to one desk for the whole window; made after the first paint."""
        if self.host.desk is None:
            from atelier_desk.desktop.questions.approval_desk import approval_desk

            self.host.bridge = self.bridge
            self.host.desk = approval_desk(self.bridge)
            self.host.desk.start()

    def _on_goal(self, text: str) -> None:
        """An example is written as if by hand: it can be changed before it is sent."""
        self.composer.set_draft(text)
        self.composer.field.moveCursor(QTextCursor.MoveOperation.End)
        self.composer.field.setFocus()

    def _on_agent_card(self, agent_id: str) -> None:
        self.header.agent_chosen.emit(agent_id)
        self.composer.field.setFocus()

    def _on_choice(self, provider: str, model: str) -> None:
        agent = self.choices.agent
        self.empty.show_agents(self.choices.agents, agent.id if agent else "", self.choices.labels)
        self.composer.set_agent(agent.config.name if agent else "")
        self.composer.set_enabled(agent is not None and self.bridge.ready)
        self._show_starter(provider, model)

    def _show_starter(self, provider: str, model: str) -> None:
        """Say what the starter model is while it is the one that answers; made when it is needed first."""
        if self._starter is None:
            if provider != builtin_type().kind:
                return
            from atelier_desk.desktop.firststart import StarterNotice

            self._starter = StarterNotice(self)
            self._starter.better_models_wanted.connect(self.better_models_wanted)
            self._above_composer.addWidget(self._starter, 0, Qt.AlignmentFlag.AlignLeft)
        self._starter.set_model(provider, model)

    # -- sub-agents -----------------------------------------------------------------------------------------------------------
    def open_agent(self, run_id: str, message_id: str = "") -> None:
        """Show a sub-agent's own transcript in place of the conversation, at a message; the turn's own run leads back to that."""
        if run_id in {"", self.team.root} or not self.workflow_id:
            self.leave_agent()
            return
        if self.agent_page is None:
            from atelier_desk.desktop.chat.agent_page import AgentPage

            self.agent_page = AgentPage(self.bridge, self.team, self.pages, self.steering, self)
            self.agent_page.left.connect(self.leave_agent)
            self.agent_page.host.question_requested.connect(self.question_requested)
            self._stack.addWidget(self.agent_page)
        self.agent_page.host.images, self.agent_page.host.desk = self.host.images, self.host.desk
        self.agent_page.host.bridge, self.agent_page.host.commands = self.bridge, self.commands
        self.agent_page.open(run_id, message_id)
        self._stack.setCurrentWidget(self.agent_page)
        self.composer.hide()
        self.queue.strip.cover(True)
        self._bottom.setContentsMargins(_BOTTOM[0], 0, _BOTTOM[2], 0)

    def leave_agent(self) -> None:
        """Back to the conversation, where the reader left it."""
        if self.agent_page is None or not self.agent_page.run_id:
            return
        self.agent_page.leave()
        self.composer.show()
        self.queue.strip.cover(False)
        self._bottom.setContentsMargins(*_BOTTOM)
        self._show_empty(not self.view.entries)
        self.composer.field.setFocus()

    # -- sending --------------------------------------------------------------------------------------------------------------
    def _on_sent(self, text: str, images: Any, strategy: str) -> None:
        """All of it is read now: what the person does next changes nothing of what was sent, nor where to."""
        from atelier_desk.domain.agent import Choices
        from atelier_desk.domain.events.run import Dispatch
        from atelier_desk.domain.workflow import RunMode

        agent = self.choices.agent if self._shown_yet or not self._draft_of else None  # before it is read, its own one answers
        answers = (agent.id, self.choices.chosen) if agent else ("", Choices())
        mode = RunMode.STEPPING if self.stepping else RunMode.AUTO
        self.bridge.jobs.start(self._send(self._draft_of, text, images, Dispatch(strategy), answers, mode))

    def _on_go_on(self, finish: str) -> None:
        """An ordinary message: it works with every kind of server, and can be seen."""
        from atelier_desk.engine.notice_words import go_on_words

        if self.pages.current is not None:
            self._on_changes(self.pages.current.release_notices())  # taken: a second click finds no button
        self._on_sent(go_on_words(finish), [], "queue")

    async def _send(
        self, workflow_id: str, text: str, images: Any, strategy: Dispatch, answers: tuple[str, Choices], mode: RunMode
    ) -> None:
        from atelier_desk.domain.chat import ImagePart

        engine, (agent_id, choices) = self.bridge.engine, answers
        await self._first_opened()
        waits = self._running and strategy.value == "queue"
        storing = self.choices.stored()
        pictures = await encoded(images)
        await storing
        if not workflow_id:
            workflow_id = (await engine.workflows.create(agent_id=agent_id, choices=choices)).id
            if not self.workflow_id:
                self._draft_of = workflow_id  # what is typed meanwhile goes on there
            await self.pages.open(workflow_id)
            self.workflow_made.emit(workflow_id)
        own: Entry | None = None
        if self.pages.current is not None and self.workflow_id == workflow_id and not waits:
            self._sent += 1
            change = self.pages.current.add_own(f"own-{self._sent}", text, pictures)
            own = change[1]
            self._on_changes([change])
            self.view.scroll_to_end()
        try:
            parts = tuple(ImagePart(**picture) for picture in pictures)
            await engine.runs.send(workflow_id, text, agent_id=agent_id, images=parts, strategy=strategy, mode=mode)
        except Exception:
            await self._take_back(workflow_id, own, text)
            raise
        if self._draft_of == workflow_id:
            self._draft_timer.stop()
            await engine.workflows.set_draft(workflow_id, self.composer.field.toPlainText()[:MESSAGE])

    async def _first_opened(self) -> None:
        """A message written before anything was shown is put below what is being read, and not lost from view with it."""
        import asyncio

        if not self._shown_yet and self._opening is not None:
            await asyncio.wait([self._opening])

    async def _take_back(self, workflow_id: str, own: Entry | None, text: str) -> None:
        """The engine refused the message: put it back where it was written, also when another workflow is shown now."""
        transcript = self.pages.current
        if own is not None and transcript is not None and own in transcript.entries:
            transcript.remove(own)
            self.view.set_entries(transcript.entries)
        if self._draft_of != workflow_id:
            await self.bridge.engine.workflows.set_draft(workflow_id, text[:MESSAGE])
        elif not self.composer.field.toPlainText().strip():
            self.composer.set_draft(text)

    def stop(self) -> None:
        """Cancel the run of the workflow in view."""
        workflow_id = self.workflow_id
        if workflow_id:
            self.steering.stop_workflow(workflow_id)

    def keep_draft(self) -> None:
        """Store what is typed; called a moment after the last key and before another workflow is shown."""
        pending = self._draft_timer.isActive()
        self._draft_timer.stop()
        workflow_id, text = self._draft_of, self.composer.field.toPlainText()
        if not self._shown_yet:
            return  # the stored one is not known yet, and would be lost
        if not workflow_id:
            self._new_draft = text
        elif self.bridge.ready and (pending or self.sender() is self._draft_timer):
            self.bridge.jobs.start(self.bridge.engine.workflows.set_draft(workflow_id, text[:MESSAGE]))

    def _on_regenerate(self, run_id: str) -> None:
        workflow_id = self.workflow_id
        self._rerun(("regenerate", run_id), lambda: self.bridge.engine.runs.regenerate(workflow_id, run_id))

    def _sent_before(self) -> list[str]:
        """What the person has written in this workflow, as far as it is loaded."""
        return [entry.content for entry in self.view.entries if entry.kind == "user" and entry.content]

    def _on_resend(self, run_id: str, text: str) -> None:
        workflow_id = self.workflow_id
        again = ("resend", run_id, text)
        self._rerun(again, lambda: self.bridge.engine.runs.edit_and_resend(workflow_id, run_id, text))

    def _on_branch(self, run_id: str) -> None:
        workflow_id = self.workflow_id
        self._rerun(("branch", run_id), lambda: self.bridge.engine.workflows.select_branch(workflow_id, run_id))

    def open_settings(self) -> None:
        """What holds in this workflow alone."""
        from atelier_desk.desktop.chat.compose.workflow_settings import WorkflowSettings

        agent = self.choices.agent
        if agent is None:
            return
        dialog = WorkflowSettings(self.choices.chosen, agent.config, self)
        dialog.chosen.connect(lambda choices: self.bridge.jobs.start(self._keep_settings(dialog, choices)))
        dialog.open()

    async def _keep_settings(self, dialog: WorkflowSettings, choices: Choices) -> None:
        """The dialog stays, with what is typed, when the engine refuses."""
        from atelier_desk.domain.errors import AtelierError

        try:
            await self.choices.choose_now(choices)
        except AtelierError as error:
            dialog.show_error(error.localized(_))
        else:
            dialog.close_done()

    def add_above_composer(self, widget: QWidget) -> None:
        """Give a widget of the window a place over the composer, as wide as it."""
        self._above_composer.addWidget(widget)

    def _rerun(self, once: tuple[str, ...], change: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Change which turns the conversation has."""

        async def work() -> None:
            await self.choices.stored()
            await change()
            await self.pages.reload()

        self.bridge.jobs.once(once, work)

    def clear_of(self) -> int:
        """Pixels at the lower edge that nothing may cover: what a person writes in and decides with, of a sub-agent's page too."""
        page = self.agent_page
        first = page.composer if page is not None and page.run_id and page.composer.isVisible() else self.bottom
        return self.height() - first.mapTo(self, QPoint()).y()

    # -- what happens ---------------------------------------------------------------------------------------------------------
    def _on_changes(self, changes: list[Change]) -> None:
        for kind, entry in changes:
            if kind == "append":
                self.view.append(entry)
            elif kind == "remove":
                self.view.remove(entry)
            else:
                self.view.update_entry(entry, streamed=kind == "stream")
        self._show_thinking()
        self._show_empty(False)

    def _on_stream(self, event: StreamEvent) -> None:
        from atelier_desk.domain.stream import payloads

        if event.workflow_id != self.workflow_id:
            return
        self.team.feed(event)
        data = event.payload
        if isinstance(data, payloads.QueueShown):
            self._on_queue(data)
        elif isinstance(data, payloads.UsageTold):
            self.header.meter.take(data, own=not event.depth)
        elif not event.depth and isinstance(data, payloads.WorkflowStart | payloads.WorkflowComplete | payloads.RunStatusChanged):
            transcript = self.pages.current
            held = not isinstance(data, payloads.WorkflowStart) and data.status in {"paused", "interrupted"}
            self._set_running(transcript is not None and bool(transcript.live_run) and not held)
            self.header.set_interrupted(transcript is not None and transcript.status == "interrupted")
            self._show_thinking()

    def _on_queue(self, shown: QueueShown) -> None:
        """What waits stands above the composer, and no longer among what was said."""
        self.queue.strip.show_waiting(shown.messages)
        texts = {each.content for each in shown.messages}
        transcript = self.pages.current
        for entry in [each for each in self.view.entries[-20:] if each.pending and each.content in texts]:
            if transcript is not None and entry in transcript.entries:
                transcript.remove(entry)
                self._on_changes([("remove", entry)])

    def _set_running(self, running: bool) -> None:
        self.composer.set_running(running)
        self.queue.strip.set_running(running)
        if running != self._running:
            self._running = running
            self.run_changed.emit(running)

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic in {"agent", "model", "provider"} or (topic == "settings" and key in _PICKED):
            self.bridge.jobs.start(self.load_choices())
        elif topic == "workflow" and key == self.workflow_id:
            self.bridge.jobs.start(self._refresh_workflow(key))

    async def _refresh_workflow(self, workflow_id: str) -> None:
        workflow = await self.bridge.engine.workflows.get(workflow_id)
        if workflow_id == self.workflow_id:
            self.header.set_title(workflow.name)
            self.choices.take(workflow)
            if not self._running:  # what was asked after the turn, such as a title, counts too
                self.header.show_usage(workflow.usage, workflow.context_tokens, self.choices.window)

    def _on_older(self) -> None:
        if not self.pages.complete:
            self.bridge.jobs.start(self.pages.older())

    def reveal_message(self, row_id: str) -> None:
        """Bring a message into view: of the conversation, loading older pages until it is there, or of a sub-agent."""
        self.finder.reveal(row_id)

    # -- looks ----------------------------------------------------------------------------------------------------------------
    def _show_empty(self, empty: bool) -> None:
        if self.agent_page is None or not self.agent_page.run_id:
            self._stack.setCurrentIndex(1 if empty else 0)

    def _resize_column(self) -> None:
        self.bottom.setMaximumWidth(theme().px(CHAT_COLUMN))

    def retranslate(self) -> None:
        self.choices.show()
        if not self.workflow_id:
            self.header.set_title(_("New workflow"))

"""The chat panel: header, transcript and composer of one workflow, connected to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from atelier_desk.desktop.chat.compose.agent_model_choices import WorkflowChoices, model_labels
from atelier_desk.desktop.chat.compose.composer import Composer
from atelier_desk.desktop.chat.compose.composer_focus import ComposerFocus
from atelier_desk.desktop.chat.compose.draft_and_send_controller import SendController
from atelier_desk.desktop.chat.compose.queue_controller import QueueController
from atelier_desk.desktop.chat.compose.queue_strip import QueueStrip
from atelier_desk.desktop.chat.compose.slash_commands import SlashCommandController
from atelier_desk.desktop.chat.compose.workflow_settings import WorkflowSettings
from atelier_desk.desktop.chat.header import ChatHeader
from atelier_desk.desktop.chat.message_actions import MessageCommands
from atelier_desk.desktop.chat.pinned_messages import PinnedMessages
from atelier_desk.desktop.chat.run_controls import RunControls
from atelier_desk.desktop.chat.search.transcript_finder import Finder
from atelier_desk.desktop.chat.start_page import StartPage
from atelier_desk.desktop.chat.transcript.allowed_images import ImageGate
from atelier_desk.desktop.chat.transcript.image_folders import picture_folders
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.page_reader import TranscriptPages
from atelier_desk.desktop.chat.transcript.transcript_host import Picked, TranscriptHost
from atelier_desk.desktop.chat.transcript.view import ChatView
from atelier_desk.desktop.chat.turn_changed_files import ChangedFiles
from atelier_desk.desktop.chat.turn_memories import MemoryQuestions, TurnMemories
from atelier_desk.desktop.chat.usage_meter import BudgetWatch
from atelier_desk.desktop.first_start.starter_model_notice import StarterNotice
from atelier_desk.desktop.panes.pane_base import offer_undo
from atelier_desk.desktop.questions.approval_controller import approval_controller
from atelier_desk.desktop.questions.approval_group import waiting_cards
from atelier_desk.desktop.team.model import TeamModel
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.design_tokens import CHAT_COLUMN
from atelier_desk.desktop.widgets import bind, hbox, vbox
from atelier_desk.desktop.widgets.find_bar import FindBar
from atelier_desk.desktop.widgets.tab_stops import chain, tab_stops
from atelier_desk.desktop.workspace_folders.button import FolderButton
from atelier_desk.desktop.workspace_folders.controller import FolderController
from atelier_desk.domain.errors import AtelierError
from atelier_desk.llm.provider_type_registry import builtin_type
from atelier_desk.presentation.rows.transcript_entries import Change
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    import asyncio

    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.chat.sub_agent_page import AgentPage
    from atelier_desk.domain.agent import Agent, Choices
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.stream.payloads import Waiting
    from atelier_desk.domain.workflow import Workflow

_BOTTOM = (24, 4, 24, 16)
_PICKED = {"default_agent_id", "favourite_models", "favourite_agents", "last_model"}
"""Settings that affect the pickers."""


class ChatPanel(QWidget):
    """Shows one workflow and sends messages to its agent.

    Signals:
        workflow_made: the id of a workflow created by its first message.
        workflow_shown: the id of the workflow in view, after loading.
        workflow_chosen_again: the workflow already in view was chosen.
        question_requested: open the dialog of this question.
        run_changed: the run in view has another state; whether it works.
        better_models_requested: the user wants more than the starter model.
    """

    workflow_made = Signal(str)
    workflow_shown = Signal(str)
    workflow_chosen_again = Signal()
    question_requested = Signal(str)
    run_changed = Signal(bool)
    workflow_refreshed = Signal()
    better_models_requested = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bridge = bridge
        mark(self, "surface")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.team = TeamModel(bridge, self)
        self.host = TranscriptHost(self, self.team)
        self.pages = TranscriptPages(bridge, self.team, self)
        self.steering = RunControls(bridge, self)
        self.header = ChatHeader(self)
        self.budget = BudgetWatch(self.team, self.header.meter)
        self.choices = WorkflowChoices(bridge, self.header, self)
        self.folders = FolderController(bridge, self)
        self.header.add(FolderButton(self.folders, self.header))
        self.pinned = PinnedMessages(bridge, self.pages, self.header.more)
        self.header.more.pinned = self.pinned.add_to
        self.agent_page: AgentPage | None = None
        self.find_bar = FindBar("find", N_("Find in this workflow"), self, wait_ms=150, newest_last=True)
        self.view = ChatView(lambda entry, parent: make_widget(entry, self.host, parent), self)
        self.host.unfolded.connect(self.view.stay)
        self.view.view_resized.connect(self.host.set_view_height)
        self.commands = self.host.commands = MessageCommands(
            bridge, self.host, self.view, self.pages, self.header.models, self
        )
        self._changed_files = ChangedFiles(bridge, self.pages, self.team.state, self)
        self._remembered = TurnMemories(bridge, self.pages, self), MemoryQuestions(bridge, self.pages, self)
        self.host.status_changed.connect(self.commands.status_changed)
        self.finder = Finder(bridge, self.pages, self.team, self.view, self.find_bar, self)
        self.empty = StartPage(bridge, self.folders, self)
        self.composer = Composer(self)
        self.sending = SendController(bridge, self.composer, self.choices, self.folders, self.pages, self.view, self)
        self.calling = SlashCommandController(bridge, self.composer, lambda: self.folders.folders)
        self.queue = QueueController(bridge, QueueStrip(self), self.composer, self)
        self.queue.stepping = lambda: self.sending.stepping
        self.queue.given_back.connect(self.sending.restore_attachments)
        self._starter: Any = None
        self._composer_focus: ComposerFocus | None = None
        self._lay_out()
        self._connect()
        bind(self._show_choices, on="language")
        self._show_empty(True)
        self.composer.set_enabled(False)

    def _lay_out(self) -> None:
        middle = QWidget(self)
        self._stack = QStackedLayout(middle)
        self._stack.setContentsMargins(0, 0, 0, 0)
        for page in (self.view, self.empty):
            page.setMinimumHeight(1)  # they scroll; what stands over the composer does not, and has its height first
            self._stack.addWidget(page)
        bottom = self._bottom = hbox(None, 1, margins=_BOTTOM)
        self.above_composer = QVBoxLayout()
        self.above_composer.setSpacing(4)
        self.bottom = QWidget(self)  # as wide as the column, whatever is above the composer
        vbox(
            self.bottom,
            self.above_composer,
            self.queue.strip,
            self.composer,
            spacing=4,
        )
        bottom.addWidget(self.bottom, 10_000)  # all available width up to the column's: as wide as the messages above
        bottom.addStretch(1)
        vbox(self, self.header, self.find_bar, (middle, 1), bottom, spacing=0)
        self._resize_column()

    def _connect(self) -> None:
        self.pages.opened.connect(self._on_opened)
        self.pages.changed.connect(self._on_changes)
        self.pages.run_changed.connect(self._show_run)
        self.pages.prepended.connect(self.view.prepend)
        self.view.older_requested.connect(self._on_older)
        self.sending.workflow_made.connect(self.workflow_made)
        self.composer.stopped.connect(self.stop)
        self.composer.profiles.chosen.connect(self.choices.choose_profile)
        self.choices.shown.connect(self._on_choice)
        self.empty.workflow_chosen.connect(self.open_workflow)
        self.empty.goal_chosen.connect(self._on_goal)
        self.empty.agent_chosen.connect(self._on_agent_card)
        self.empty.ready_chosen.connect(self.add_agent)
        self.finder.left.connect(self.leave_agent)
        self.finder.agent_found.connect(self.open_agent)
        self.pinned.chosen.connect(self.finder.reveal)
        self.host.question_requested.connect(self.question_requested)
        self.host.quote_requested.connect(self.composer.quote)
        self.host.agent_requested.connect(self.open_agent)
        self.sending.attach(self.host)
        self.steering.attach(self.host)
        stream = self.pages.stream
        stream.queue_changed.connect(self._on_queue)
        stream.usage_changed.connect(self.header.meter.update_usage)
        self.bridge.changed.connect(self._on_changed)
        bind(self._resize_column)

    def return_focus(self, window: QWidget) -> ComposerFocus:
        """Start returning the focus to the visible composer when the focused widget of this window disappears."""
        composer_focus = self._composer_focus = ComposerFocus(window, self._field_in_view)
        self.workflow_shown.connect(lambda *_: composer_focus.back())
        self.workflow_chosen_again.connect(composer_focus.back)
        self.composer.sent.connect(lambda *_: composer_focus.back())
        self.host.resume_requested.connect(lambda *_: composer_focus.back())
        return composer_focus

    def _field_in_view(self) -> QWidget | None:
        fields = (self.composer.field, *((self.agent_page.composer.field,) if self.agent_page is not None else ()))
        return next((field for field in fields if field.isVisible()), None)

    def order_stops(self) -> None:
        """Set the tab order through header, start page and messages.

        Visible approvals come right after the focused field.
        """
        self.header.order_stops()
        self.view.order_stops()
        if self.empty.isVisible():  # most of it was created after the composer, when it was loaded
            chain(self.view, tab_stops(self.empty))
        field = self._field_in_view()
        if field is not None and self.host.approvals is not None and len(self.host.approvals):
            chain(field, (each for card in waiting_cards(self) for each in card.stops()))

    @property
    def workflow_id(self) -> str:
        return self.pages.workflow_id

    def open_workflow(self, workflow_id: str) -> asyncio.Task[None] | None:
        """Show a workflow scrolled to its end, with its draft, agent and model.

        Returns the task that reads it; None if it is already shown.
        """
        if workflow_id == self.pages.workflow_id and self.pages.current is not None:
            self.workflow_chosen_again.emit()
            return None
        self.sending.save_draft()
        self.find_bar.leave()
        self.leave_agent()
        reading = self.bridge.jobs.start(self.pages.open(workflow_id))
        self.sending.expect_workflow(workflow_id, reading)
        return reading

    def close_workflow(self) -> None:
        """Show the start page: the next message creates a workflow."""
        self.sending.begin_new()
        self.leave_agent()
        self.pages.clear()
        self.choices.set_workflow(None)
        self.folders.set_workflow(None)
        self.queue.set_workflow("")
        self.view.set_entries([])
        self.header.set_title(_("New workflow"), named=False)
        self.header.show_usage(None)
        self.pinned.clear()
        self._show_run()
        self._show_empty(True)
        self.composer.field.setFocus()

    def _on_opened(self, workflow: Workflow) -> None:
        transcript = self.pages.current
        if transcript is None:
            return
        self.host.images = ImageGate(picture_folders(workflow, self.bridge.data_dir))
        self._open_approvals()
        self.sending.show(workflow)
        self.header.set_title(workflow.name)
        self.choices.set_workflow(workflow)
        self.folders.set_workflow(workflow)
        self.queue.set_workflow(workflow.id)
        self.header.show_usage(workflow.usage, workflow.context_tokens, self.choices.window)
        self._show_empty(not transcript.entries)
        self.view.set_entries(transcript.entries)
        self._show_run()
        self.workflow_shown.emit(workflow.id)

    def _show_thinking(self) -> None:
        self.view.show_thinking(self.pages.current, self.host)

    def _open_approvals(self) -> None:
        """Connect the pending approvals, which one controller holds for the window; called after the first paint."""
        if self.host.approvals is None:
            self.host.bridge = self.bridge
            self.host.approvals = approval_controller(self.bridge)
            self.host.approvals.decided.connect(
                lambda *_: self._composer_focus.back() if self._composer_focus is not None else None
            )
            self.host.approvals.start()

    def _on_goal(self, text: str) -> None:
        """Put an example into the composer, to be edited before sending."""
        self.composer.set_draft(text)
        self.composer.field.moveCursor(QTextCursor.MoveOperation.End)
        self.composer.field.setFocus()

    def _on_agent_card(self, agent_id: str) -> None:
        self.header.agent_chosen.emit(agent_id)
        self.composer.field.setFocus()

    def add_agent(self, key: str) -> None:
        """Store a copy of a ready-made agent and select it; can be undone."""
        self.bridge.jobs.start(self._add_agent(key), f"add {key}")

    async def _add_agent(self, key: str) -> None:
        agents, before = self.bridge.engine.agents, self.choices.agent
        made: Agent = await agents.import_config(await agents.ready(key))
        await self.choices.load()
        self._on_agent_card(made.id)

        def undo() -> None:
            if before is not None and self.choices.agent is not None and self.choices.agent.id == made.id:
                self._on_agent_card(before.id)
            self.bridge.jobs.start(agents.delete(made.id))

        offer_undo(self, _("“{name}” added", name=made.name), undo)

    def _on_choice(self, provider: str, model: str) -> None:
        agent = self.choices.agent
        self.host.models = model_labels(self.choices.models)
        self.host.set_picked(Picked(provider, model, agent.id if agent else "", agent.config.name if agent else ""))
        self.empty.show_agents(
            self.choices.agents, agent.id if agent else "", self.choices.labels, self.choices.ready_label
        )
        self.composer.set_agent(agent.config.name if agent else "")
        self.composer.set_enabled(agent is not None and self.bridge.ready)
        self.composer.profiles.show_profile(self.choices.profile)
        self.header.meter.know_window(self.choices.window)  # it may be loaded after the workflow
        self._show_starter(provider, model)

    def _show_starter(self, provider: str, model: str) -> None:
        """Explain the starter model while it is selected; created on demand."""
        if self._starter is None:
            if provider != builtin_type().kind:
                return
            self._starter = StarterNotice(self)
            self._starter.better_models_requested.connect(self.better_models_requested)
            self.above_composer.addWidget(self._starter)
        self._starter.set_model(provider, model)

    def open_agent(self, run_id: str, message_id: str = "") -> None:
        """Show a sub-agent's transcript in place of the chat, at a message; the root run's id shows the chat."""
        if run_id in {"", self.team.root} or not self.workflow_id:
            self.leave_agent()
            return
        if self.agent_page is None:
            from atelier_desk.desktop.chat.sub_agent_page import AgentPage

            self.agent_page = AgentPage(self.bridge, self.team, self.pages, self.steering, self)
            self.agent_page.left.connect(self.leave_agent)
            self.agent_page.host.question_requested.connect(self.question_requested)
            self.agent_page.host.report_requested.connect(self.host.report_requested)
            self.agent_page.host.provider_requested.connect(self.host.provider_requested)
            self.agent_page.host.price_requested.connect(self.host.price_requested)
            self._stack.addWidget(self.agent_page)
        self.agent_page.host.images, self.agent_page.host.approvals = self.host.images, self.host.approvals
        self.agent_page.host.bridge, self.agent_page.host.commands = self.bridge, self.commands
        self.agent_page.host.models = self.host.models
        self.agent_page.open(run_id, message_id)
        self._stack.setCurrentWidget(self.agent_page)
        self.composer.hide()
        self._cover(True)
        self._bottom.setContentsMargins(_BOTTOM[0], 0, _BOTTOM[2], 0)

    def leave_agent(self) -> None:
        """Return to the chat at its previous scroll position."""
        if self.agent_page is None or not self.agent_page.run_id:
            return
        self.agent_page.leave()
        self.composer.show()
        self._cover(False)
        self._bottom.setContentsMargins(*_BOTTOM)
        self._show_empty(not self.view.entries)
        self.composer.field.setFocus()

    def _cover(self, covered: bool) -> None:
        """Hide or show the parts that belong to the workflow's own composer."""
        self.queue.strip.cover(covered)
        if self._starter is not None:
            self._starter.cover(covered)

    def stop(self) -> None:
        """Cancel the run of the workflow in view, or first a message still waiting for a prompt it calls."""
        if self.sending.stop_waiting():
            return
        workflow_id = self.workflow_id
        if workflow_id:
            self.steering.stop_workflow(workflow_id)

    def open_settings(self) -> None:
        """Open the settings of this workflow."""
        agent = self.choices.agent
        if agent is None:
            return
        dialog = WorkflowSettings(self.choices.chosen, agent.config, self)
        dialog.chosen.connect(lambda choices: self.bridge.jobs.start(self._save_settings(dialog, choices)))
        dialog.open()

    async def _save_settings(self, dialog: WorkflowSettings, choices: Choices) -> None:
        """Save the workflow settings; the dialog remains open if the engine refuses them."""
        try:
            await self.choices.choose_now(choices)
        except AtelierError as error:
            dialog.show_error(error.localized(_))
        else:
            dialog.accept()

    def clear_of(self) -> int:
        """Pixels at the lower edge that nothing may cover: composer and decision cards, also of a sub-agent's page."""
        page = self.agent_page
        first = page.composer if page is not None and page.run_id and page.composer.isVisible() else self.bottom
        return self.height() - first.mapTo(self, QPoint()).y()

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

    def _show_run(self) -> None:
        """Show whether the turn is at work, interrupted, or waiting for its model."""
        transcript = self.pages.current
        status = transcript.status if transcript is not None else ""
        at_work = transcript is not None and bool(transcript.live_run)
        self.composer.set_paused(status == "paused")
        self._set_running(at_work and status not in {"paused", "interrupted"})
        self.header.set_interrupted(status == "interrupted")
        self._show_thinking()

    def _on_queue(self, messages: tuple[Waiting, ...]) -> None:
        """Queued messages are shown above the composer and removed from the transcript."""
        self.queue.strip.show_waiting(messages)
        texts = {each.content for each in messages}
        transcript = self.pages.current
        for entry in [each for each in self.view.entries[-20:] if each.pending and each.content in texts]:
            if transcript is not None and entry in transcript.entries:
                transcript.remove(entry)
                self._on_changes([("remove", entry)])

    def _set_running(self, running: bool) -> None:
        self.composer.set_running(running)
        self.queue.strip.set_running(running)
        self.sending.running = running
        self.run_changed.emit(running)

    def _on_changed(self, topic: Topic, key: str) -> None:
        if topic in {"agent", "model", "provider"} or (topic == "settings" and key in _PICKED):
            self.bridge.jobs.start(self.choices.load())
        elif topic == "workflow" and key == self.workflow_id:
            self.bridge.jobs.start(self._refresh_workflow(key))

    async def _refresh_workflow(self, workflow_id: str) -> None:
        workflow = await self.bridge.engine.workflows.get(workflow_id)
        if workflow_id == self.workflow_id:
            self.pages.refresh_from(workflow)
            self.header.set_title(workflow.name)
            self.choices.refresh_from(workflow)
            self.folders.refresh_from(workflow)
            self.workflow_refreshed.emit()
            if not self.sending.running:  # requests after the turn, such as for the title, count too
                self.header.show_usage(workflow.usage, workflow.context_tokens, self.choices.window)

    def _on_older(self) -> None:
        if not self.pages.complete:
            self.bridge.jobs.start(self.pages.older())

    def _show_empty(self, empty: bool) -> None:
        if self.agent_page is None or not self.agent_page.run_id:
            self._stack.setCurrentIndex(1 if empty else 0)

    def _resize_column(self) -> None:
        self.bottom.setMaximumWidth(theme().px(CHAT_COLUMN))

    def _show_choices(self) -> None:
        self.choices.show()
        if not self.workflow_id:
            self.header.set_title(_("New workflow"), named=False)

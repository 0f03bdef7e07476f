"""Views of a complete run: step mode, panes linked to points in time, replay and forks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from atelier_desk.desktop.chat.step_bar import StepBar, StepToggle
from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.timeline.pane import TimelinePane
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_interface import WindowParts
    from atelier_desk.desktop.replay.view import ReplayView


class RunViewController(QObject):
    """Created by the window after its first paint, when the panes exist."""

    def __init__(self, window: WindowParts) -> None:
        super().__init__(window)
        self._window, self._bridge = window, window.bridge
        self.replay: ReplayView | None = None
        self.step_bar = StepBar(window.bridge, window)
        window.chat.above_composer.addWidget(self.step_bar)
        self.step_toggle = StepToggle(window.chat)
        window.chat.above_composer.addWidget(self.step_toggle)
        self.step_toggle.off_requested.connect(window.actions_["step-mode"].trigger)
        self.step_bar.changed.connect(self.refresh_actions)
        window.chat.workflow_shown.connect(self._on_shown)
        for name in window.rail.panes:
            self._connect_pane(name)
        window.rail.made.connect(self._connect_pane)
        self.refresh_actions()

    def _show_message(self, workflow_id: str, message_id: str) -> None:
        self._window.chat.open_workflow(workflow_id)
        if message_id:
            self._window.chat.finder.reveal(message_id)

    def _connect_pane(self, name: str) -> None:
        match self._window.rail.panes[name]:
            case ActivityPane() as activity:
                activity.agent_opened.connect(self.open_agent)
            case MemoryPane() as memory:
                memory.message_requested.connect(self._show_message)
            case TimelinePane() as timeline:
                timeline.agent_requested.connect(self.open_agent)
                timeline.request_requested.connect(self.show_request)
                timeline.replay_requested.connect(self.show_replay)
                timeline.fork_requested.connect(self.fork)
            case _:
                pass

    def refresh_actions(self) -> None:
        """Enable a step while a run waits for one, to continue also while one is paused, replay if something ran."""
        self._window.actions_["next-step"].setEnabled(bool(self.step_bar.waiting))
        self._window.actions_["run-on"].setEnabled(self.step_bar.can_continue)
        self._window.actions_["replay-run"].setEnabled(bool(self._window.chat.workflow_id))

    def _on_shown(self, workflow_id: str) -> None:
        self.step_bar.set_workflow(workflow_id)
        if self.replay is not None and self.replay.workflow_id != workflow_id:
            self.close_replay()
        self.refresh_actions()

    def nothing_shown(self) -> None:
        """The window shows no workflow."""
        self.step_bar.set_workflow("")
        self.close_replay()
        self.refresh_actions()

    def set_step_mode(self, on: bool) -> None:
        """Set whether the next message starts a run that waits before each step; a run in view is changed at once."""
        self._window.chat.sending.stepping = on
        self.step_bar.set_stepping(on)
        self.step_toggle.setVisible(on)

    def open_agent(self, run_id: str) -> None:
        """Show a sub-agent's transcript in place of the chat."""
        self.close_replay()
        self._window.chat.open_agent(run_id)

    def show_request(self, run_id: str, seq: int = 0) -> None:
        """Show a request to a run's model: the one whose reply is event ``seq`` of the run; 0 means the latest."""
        self._window.rail.show_pane("context")
        context = self._window.rail.panes["context"]
        assert isinstance(context, ContextPane)
        context.show_run(run_id, seq)

    def open_replay(self) -> None:
        """Replay the newest turn of the workflow in view."""
        self._bridge.jobs.start(self._open_newest(self._window.chat.workflow_id))

    async def _open_newest(self, workflow_id: str) -> None:
        workflow = await self._bridge.engine.workflows.get(workflow_id)
        if workflow.head_run_id:
            await self._show_replay(workflow_id, workflow.head_run_id, 0)
        else:
            self._window.toasts.show(_("Nothing has run here yet."))

    def show_replay(self, workflow_id: str, root_run_id: str, seq: int = 0) -> None:
        """Replay a turn from a stream event; 0 starts at its end."""
        self._bridge.jobs.start(self._show_replay(workflow_id, root_run_id, seq))

    async def _show_replay(self, workflow_id: str, root_run_id: str, seq: int) -> None:
        if self.replay is None:
            self.replay = self._make_replay()
        self._window.middle.setCurrentWidget(self.replay)
        await self.replay.open(workflow_id, root_run_id, seq)

    def _make_replay(self) -> ReplayView:
        from atelier_desk.desktop.replay.view import ReplayView

        made = ReplayView(self._bridge, self._window.middle)
        made.host.images, made.host.commands = self._window.chat.host.images, self._window.chat.commands
        made.host.models = self._window.chat.host.models
        made.closed.connect(self.close_replay)
        made.fork_requested.connect(self.fork)
        made.quoted.connect(self._on_quoted)
        made.failed.connect(self._window.toasts.show)
        self._window.middle.addWidget(made)
        return made

    def _on_quoted(self, text: str) -> None:
        self.close_replay()
        self._window.chat.composer.quote(text)

    def close_replay(self) -> None:
        """Return to the chat."""
        if self.replay is not None and self._window.middle.currentWidget() is self.replay:
            self.replay.player.pause()
            self._window.middle.setCurrentWidget(self._window.chat)
            self._window.chat.composer.field.setFocus()

    def fork(self, workflow_id: str, seq: int) -> None:
        """Create a workflow from everything up to a stream event, and show it."""
        self._bridge.jobs.once(("fork", workflow_id, seq), lambda: self._fork(workflow_id, seq))

    async def _fork(self, workflow_id: str, seq: int) -> None:
        forked = await self._bridge.engine.runs.fork(workflow_id, seq)
        self.close_replay()
        self._window.chat.open_workflow(forked.id)
        # A fork inside a turn is paused, and the bar over the composer offers to continue.
        self._window.toasts.show(_("“{name}” created.", name=forked.name))

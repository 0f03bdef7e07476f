"""What the events of the stream mean to the window: no other module of it looks into their payloads.

Views of a workflow have a router of their own that follows it; ``Bridge.stream`` follows all workflows. The classes of
payloads are imported on first use: the window is painted before that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, SignalInstance

if TYPE_CHECKING:
    from atelier_desk.domain.stream.event import StreamEvent

_FOR_ROWS = frozenset({"token", "reasoning", "tool_progress"})
"""Frequent events that change rows and nothing else."""


class StreamRouter(QObject):
    """Passes on the events of one workflow, or of all.

    Signals:
        received: a ``StreamEvent``, before the signals that say what it means; for rows that events change.
        turn_began: workflow id.
        turn_ended: workflow id and status, which is ``limited`` for one that waits at a limit.
        run_changed: id and new status of the run of any agent.
        child_asked: a ``ParentQuestion``.
        child_closed: id of a sub-agent's run that was answered, or ended.
        limit_reached: a ``StoppedRun``, which waits once its run is paused.
        queue_changed: all queued messages (``Waiting``), the next one first.
        usage_changed: totals of the workflow (``UsageTotals``, None if not known), and tokens and window of the root
            agent's context (None for other agents).
        pins_changed: a message was pinned or unpinned.
        key_refused: name of the provider.
    """

    received = Signal(object)
    turn_began = Signal(str)
    turn_ended = Signal(str, str)
    run_changed = Signal(str, str)
    child_asked = Signal(object)
    child_closed = Signal(str)
    limit_reached = Signal(object)
    queue_changed = Signal(object)
    usage_changed = Signal(object, object)
    pins_changed = Signal()
    key_refused = Signal(str)

    def __init__(self, stream: SignalInstance, parent: QObject, workflow_id: Callable[[], str] | None = None) -> None:
        """``workflow_id`` returns the workflow followed, empty for none; without it, all are."""
        super().__init__(parent)
        self._workflow_id = workflow_id
        stream.connect(self._route)

    def _route(self, event: StreamEvent) -> None:
        if self._workflow_id is None or self._workflow_id() == event.workflow_id:
            self.received.emit(event)
            if event.chunk_type.value not in _FOR_ROWS:
                self._translate(event)

    def _translate(self, event: StreamEvent) -> None:
        from atelier_desk.domain.stream import payloads
        from atelier_desk.presentation.rows.waiting_runs import ParentQuestion, StoppedRun

        root = not event.depth and event.parent_run_id is None
        match data := event.payload:
            case payloads.RunStatusChanged():
                self.run_changed.emit(event.run_id, data.status)
            case payloads.UsageUpdated():
                context = (data.context_tokens, data.context_window) if root and data.context_window else None
                self.usage_changed.emit(data.workflow or (data if root else None), context)
            case payloads.WorkflowStart() if root:
                self.turn_began.emit(event.workflow_id)
            case payloads.WorkflowComplete() if root:
                self.turn_ended.emit(event.workflow_id, data.status)
            case payloads.QueueShown():
                self.queue_changed.emit(data.messages)
            case payloads.ContextChanged() if data.message_id:
                self.pins_changed.emit()
            case payloads.Failure(code="auth") if data.provider:
                self.key_refused.emit(data.provider)
            case payloads.SubAgentQuestion():
                self.child_asked.emit(ParentQuestion.of(event, data))
            case payloads.SubAgentAnswer() | payloads.SubAgentComplete():
                self.child_closed.emit(data.sub_agent_id)
            case payloads.LimitReached():
                self.limit_reached.emit(StoppedRun.of(event, data))

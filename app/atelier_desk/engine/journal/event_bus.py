"""In-process bus: stream events and change notices for subscribers, on the engine's loop."""

from __future__ import annotations

import logging
from collections.abc import Callable

from atelier_desk.domain.stream.event import StreamEvent, Topic

log = logging.getLogger(__name__)

StreamCallback = Callable[[StreamEvent], None]
ChangeCallback = Callable[[Topic, str], None]
FailureCallback = Callable[[str, BaseException], None]


class EventBus:
    """Publishes to subscribers, in order, synchronously.

    A subscriber must be fast and must not raise; one that raises is logged and does not affect the others.
    """

    def __init__(self) -> None:
        self._streams: dict[str | None, list[StreamCallback]] = {}
        self._changes: list[ChangeCallback] = []
        self._failures: list[FailureCallback] = []

    def subscribe(self, callback: StreamCallback, workflow_id: str | None = None) -> Callable[[], None]:
        """Subscribe to the stream events of one workflow, or all; returns a function that unsubscribes."""
        self._streams.setdefault(workflow_id, []).append(callback)

        def unsubscribe() -> None:
            listening = self._streams.get(workflow_id, [])
            if callback in listening:
                listening.remove(callback)
            if not listening:
                self._streams.pop(workflow_id, None)

        return unsubscribe

    def publish(self, event: StreamEvent) -> None:
        """Pass an event to the subscribers of its workflow.

        Durable events are only published by the journal, after the commit.
        """
        # Indexed by workflow: with a hundred running, each token must not be compared with all subscribers.
        for callback in (*self._streams.get(None, ()), *self._streams.get(event.workflow_id, ())):
            try:
                callback(event)
            except Exception:
                log.exception("a stream subscriber failed")

    def on_changed(self, callback: ChangeCallback) -> Callable[[], None]:
        """Subscribe to ``(topic, id)`` of changes to listed items; returns a function that unsubscribes."""
        self._changes.append(callback)

        def unsubscribe() -> None:
            if callback in self._changes:
                self._changes.remove(callback)

        return unsubscribe

    def on_failure(self, callback: FailureCallback) -> Callable[[], None]:
        """Subscribe to name and error of failed background work; returns a function that unsubscribes."""
        self._failures.append(callback)

        def unsubscribe() -> None:
            if callback in self._failures:
                self._failures.remove(callback)

        return unsubscribe

    def failed(self, name: str, error: BaseException) -> None:
        """Report failed background work, which is already logged."""
        for callback in list(self._failures):
            try:
                callback(name, error)
            except Exception:
                log.exception("a failure subscriber failed")

    def changed(self, topic: Topic, id: str) -> None:
        """Report a changed row."""
        for callback in list(self._changes):
            try:
                callback(topic, id)
            except Exception:
                log.exception("a change subscriber failed")

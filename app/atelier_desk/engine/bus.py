"""The bus inside the process: stream events and change notices, handed to subscribers on the engine's loop."""

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

    A subscriber must be quick and must not raise; one that raises is logged and does not disturb the others.
    """

    def __init__(self) -> None:
        self._streams: dict[str | None, list[StreamCallback]] = {}
        self._changes: list[ChangeCallback] = []
        self._failures: list[FailureCallback] = []

    def subscribe(self, callback: StreamCallback, workflow_id: str | None = None) -> Callable[[], None]:
        """Receive the stream events of one workflow, or of all; returns a function that ends it."""
        self._streams.setdefault(workflow_id, []).append(callback)

        def unsubscribe() -> None:
            listening = self._streams.get(workflow_id, [])
            if callback in listening:
                listening.remove(callback)
            if not listening:
                self._streams.pop(workflow_id, None)

        return unsubscribe

    def publish(self, event: StreamEvent) -> None:
        """Hand an event to everyone who listens to its workflow. Durable events are published by the journal alone, after the commit."""
        # By workflow: with a hundred of them at work, a word of one is not held against all the others.
        for callback in (*self._streams.get(None, ()), *self._streams.get(event.workflow_id, ())):
            try:
                callback(event)
            except Exception:
                log.exception("a stream subscriber failed")

    def on_changed(self, callback: ChangeCallback) -> Callable[[], None]:
        """Receive ``(topic, id)`` whenever something that screens list was changed; returns a function that ends it."""
        self._changes.append(callback)

        def unsubscribe() -> None:
            if callback in self._changes:
                self._changes.remove(callback)

        return unsubscribe

    def on_failure(self, callback: FailureCallback) -> Callable[[], None]:
        """Receive the name and the error of work in the background that failed; returns a function that ends it."""
        self._failures.append(callback)

        def unsubscribe() -> None:
            if callback in self._failures:
                self._failures.remove(callback)

        return unsubscribe

    def failed(self, name: str, error: BaseException) -> None:
        """Tell that work in the background failed; it is logged already."""
        for callback in list(self._failures):
            try:
                callback(name, error)
            except Exception:
                log.exception("a failure subscriber failed")

    def changed(self, topic: Topic, id: str) -> None:
        """Tell that a row changed."""
        for callback in list(self._changes):
            try:
                callback(topic, id)
            except Exception:
                log.exception("a change subscriber failed")

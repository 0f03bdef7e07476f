"""The reducer's registry: one small function per event type, and shared helpers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from atelier_desk.domain.events.run import EventBody, RunEvent
from atelier_desk.engine.run.reducer.replace_fields import evolve
from atelier_desk.engine.run.reducer.state import CallState, RunState

B = TypeVar("B", bound=EventBody)
handlers: dict[str, Callable[[RunState, Any, RunEvent], RunState]] = {}


def on(
    kind: type[B],
) -> Callable[[Callable[[RunState, B, RunEvent], RunState]], Callable[[RunState, B, RunEvent], RunState]]:
    def register(function: Callable[[RunState, B, RunEvent], RunState]) -> Callable[[RunState, B, RunEvent], RunState]:
        handlers[kind.model_fields["type"].default] = function
        return function

    return register


def origin_of(event: RunEvent) -> str:
    return f"{event.run_id}:{event.seq}"


def with_call(state: RunState, changed: CallState) -> RunState:
    return evolve(state, calls=tuple(changed if call.call.id == changed.call.id else call for call in state.calls))


def runnable_calls(state: RunState) -> tuple[CallState, ...]:
    """Return planned calls that may run now.

    Those before the first that needs approval, because later ones may build on it.
    """
    runnable: list[CallState] = []
    for call in state.calls:
        if call.status == "asked":
            break
        if call.status == "planned":
            runnable.append(call)
    return tuple(runnable)

"""The reducer's registry: one small function per event type, and shared helpers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from atelier_desk.domain.events.run import EventBody, RunEvent
from atelier_desk.engine.run.reducer.state import CallState, RunState

if TYPE_CHECKING:
    # Type checkers know this name, and check the fields.
    from dataclasses import replace as evolve
else:
    T = TypeVar("T")

    def evolve(old: T, /, **changes: object) -> T:
        """Like ``dataclasses.replace``, for dataclasses without slots; called for every event of a run.

        Twenty times faster for the 70 fields of a state, because it does not set each of them again.
        """
        new = object.__new__(type(old))
        new.__dict__.update(old.__dict__)
        new.__dict__.update(changes)
        return new


__all__ = ["evolve"]

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

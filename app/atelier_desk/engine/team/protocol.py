"""What a driver needs of the team it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.events.run import EventBody
from atelier_desk.domain.events.team import AnsweredBy
from atelier_desk.domain.team import ChildState
from atelier_desk.tools.base import Team

if TYPE_CHECKING:
    from atelier_desk.engine.journal import Decide, RunHandle
    from atelier_desk.engine.run.reducer.state import RunState
    from atelier_desk.engine.team.breakers import AgentBreakers

NO_ANSWER = "Your parent has ended its work and will not answer. Decide yourself, and say in your report what you assumed."


class TeamPort(Protocol):
    """The other runs, as one run's driver sees them: ``Teams``, which sets drivers going itself. Every commit here touches a run and its
    parent or child together.

    Attributes:
        alive: by root run, the sub-agents below it that are not over; their number is bounded.
        breakers: one an agent.
    """

    alive: dict[str, set[str]]
    breakers: AgentBreakers

    def free_slots(self, root_run_id: str) -> int:
        """How many more sub-agents may be alive under a root run."""
        ...

    async def child_states(self, handle: RunHandle) -> list[ChildState]:
        """The sub-agents of a run, with what those at work have used so far."""
        ...

    async def terminate(self, handle: RunHandle, child_id: str) -> ChildState:
        """End a sub-agent that is at work."""
        ...

    def desk(self, handle: RunHandle) -> Team:
        """What the planning tools of this run work with."""
        ...

    def tainted(self, state: RunState) -> tuple[str, ...]:
        """What the team of a run has read from outside."""
        ...

    async def start(self, handle: RunHandle, child_ids: Sequence[str]) -> None:
        """Begin planned sub-agents; those that cannot begin are over at once, with an error."""
        ...

    async def stop_below(self, handle: RunHandle) -> None:
        """Stop everything below a run; planned sub-agents never run."""
        ...

    async def ask_parent(self, handle: RunHandle, call_id: str, message: str) -> None:
        """A run asks its parent; its call waits for the answer."""
        ...

    async def answer(self, handle: RunHandle, child_id: str, text: str, *, by: AnsweredBy, then: Sequence[EventBody] = ()) -> bool:
        """Answer a sub-agent that waits; ``then`` is committed for the run itself too. False when it waits no longer."""
        ...

    async def conclude(self, handle: RunHandle, decide: Decide, *, clear_partial: bool = False) -> bool:
        """Append what ``decide`` says; when that ends a sub-agent's run, its parent learns of it in the same commit."""
        ...

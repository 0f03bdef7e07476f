"""Interface of a driver to its team."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.events.run import EventBody
from atelier_desk.domain.events.sub_agents import AnsweredBy
from atelier_desk.domain.sub_agent import ChildState
from atelier_desk.tools.base import Team

if TYPE_CHECKING:
    from atelier_desk.engine.journal.journal import Decide, RunHandle
    from atelier_desk.engine.run.reducer.state import RunState
    from atelier_desk.engine.team.agent_circuit_breakers import AgentBreakers

NO_ANSWER = (
    "Your parent has ended its work and will not answer. Decide yourself, and say in your report what you assumed."
)


class TeamPort(Protocol):
    """The other runs as seen by one run's driver; implemented by ``Teams``. Every commit here affects a run and its
    parent or child together.

    Attributes:
        alive: by root run, the unfinished sub-agents below it, limited in number.
        breakers: one per agent.
    """

    alive: dict[str, set[str]]
    breakers: AgentBreakers

    def free_slots(self, root_run_id: str) -> int:
        """Return how many more sub-agents may be alive under a root run."""
        ...

    async def child_states(self, handle: RunHandle) -> list[ChildState]:
        """Return the sub-agents of a run, with the usage so far of running ones."""
        ...

    async def terminate(self, handle: RunHandle, child_id: str) -> ChildState:
        """End a running sub-agent."""
        ...

    def broker(self, handle: RunHandle) -> Team:
        """Return the interface of the planning tools for this run."""
        ...

    def tainted(self, state: RunState) -> tuple[str, ...]:
        """Return the outside sources read by a run's team."""
        ...

    async def start(self, handle: RunHandle, child_ids: Sequence[str]) -> None:
        """Start planned sub-agents; those that cannot begin end at once with an error."""
        ...

    async def stop_below(self, handle: RunHandle) -> None:
        """Stop everything below a run; planned sub-agents never run."""
        ...

    async def ask_parent(self, handle: RunHandle, call_id: str, message: str) -> None:
        """Ask the parent of a run; its call waits for the answer."""
        ...

    async def answer(
        self, handle: RunHandle, child_id: str, text: str, *, by: AnsweredBy, then: Sequence[EventBody] = ()
    ) -> bool:
        """Answer a waiting sub-agent; ``then`` is committed for the run itself too. False if it no longer waits."""
        ...

    async def conclude(self, handle: RunHandle, decide: Decide, *, clear_partial: bool = False) -> bool:
        """Append the events of ``decide``; if they end a sub-agent's run, its parent is updated in the same commit."""
        ...

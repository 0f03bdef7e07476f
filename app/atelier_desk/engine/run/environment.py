"""What the driver needs from outside, handed in once: no global state, nothing of Qt."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Protocol

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.instructions import FolderInstructions
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.skill import Invocation, SkillFacts
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.stream.payloads import Payload
from atelier_desk.engine.bus import EventBus
from atelier_desk.engine.gateways.gateway import ModelGateway
from atelier_desk.engine.journal import FaultPoint, Journal, no_fault
from atelier_desk.engine.month_budget import MonthBudget
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.tokens import Calibration
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.registry import ToolRegistry
from atelier_desk.workspace.checkpoints.taint_marks import TaintMarks

Instructions = tuple[tuple[str, ...], tuple[FolderInstructions, ...]]
"""Which folders are trusted, and what those say to agents."""


async def no_instructions(_folders: Sequence[str], _rules: Sequence[PermissionRule]) -> Instructions:
    """No folder is trusted."""
    return (), ()


async def no_problems(_servers: Sequence[str]) -> tuple[ServerProblem, ...]:
    """Nothing is known of any server."""
    return ()


class Skills(Protocol):
    """Who knows the skills of granted folders and of the user."""

    async def catalogue(self, folders: Sequence[str]) -> tuple[SkillFacts, ...]:
        """Those that models may take up now."""
        ...

    async def withdrawn(self, uses: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
        """Those of the folders of skills that may not be used any more, as they are named and with links followed."""
        ...

    async def invoked(self, content: str, folders: Sequence[str]) -> Invocation | None:
        """What a message calls with ``/name``."""
        ...


class NoSkills:
    """There are none."""

    async def catalogue(self, folders: Sequence[str]) -> tuple[SkillFacts, ...]:
        return ()

    async def withdrawn(self, uses: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
        return ()

    async def invoked(self, content: str, folders: Sequence[str]) -> Invocation | None:
        return None


@dataclass
class RunEnvironment:
    """Everything a run touches.

    Attributes:
        default_agent: who answers in a workflow, by its id, when nobody says who.
        folder_instructions: which of the granted folders are trusted, and what those say to agents; what the rules deny to read left out.
        server_problems: what is wrong with MCP servers of these names, in the current language.
        saying: held from the look at what a workflow was told of its servers until more is told.
        own: the program's own data folder: a call that changes something in it asks every time.
        marks: the files of workspaces that were written after reading from outside.
        record_answer: tells the question gate how a question ended, so that its circuit breaker knows.
        month: what all requests may cost this month.
        calibrations: by model, how far our token estimates are from the server's counts.
        inactivity_s: seconds without a word after which a model's reply, or a sub-agent, is ended; can be changed while runs work.
        stop_repetition: whether a model in a loop is stopped; can be changed while runs work.
        frames: prompt frames that are in the database already.
        fault: called around every tool, as the journal's is around every commit; the chaos tests kill the process in it.
    """

    repos: Repositories
    journal: Journal
    bus: EventBus
    registry: ToolRegistry
    gateway: ModelGateway
    clock: Clock
    default_agent: Callable[[str], Awaitable[AgentConfig]]
    folder_instructions: Callable[[Sequence[str], Sequence[PermissionRule]], Awaitable[Instructions]] = no_instructions
    skills: Skills = field(default_factory=NoSkills)
    server_problems: Callable[[Sequence[str]], Awaitable[tuple[ServerProblem, ...]]] = no_problems
    month: MonthBudget = field(init=False)
    budget: InitVar[MonthBudget | None] = None
    saying: asyncio.Lock = field(default_factory=asyncio.Lock)
    record_answer: Callable[[str, QuestionStatus], None] = lambda workflow_id, status: None
    own: tuple[str, ...] = ()
    marks: TaintMarks | None = None
    inactivity_s: float = limits.INACTIVITY_S
    stop_repetition: bool = True
    frames: set[str] = field(default_factory=set)
    fault: FaultPoint = no_fault
    calibrations: defaultdict[str, Calibration] = field(default_factory=lambda: defaultdict(Calibration))

    def __post_init__(self, budget: MonthBudget | None) -> None:
        self.month = budget or MonthBudget(self.clock, self.bus)

    def publish(self, state: RunState, said: Payload) -> None:
        """Publish a stream event that is not kept: tokens, progress. One is made for every word, so its envelope is not validated."""
        self.bus.publish(
            StreamEvent.model_construct(
                v=1,
                seq=self.journal.last_stream_seq(state.workflow_id),
                time=self.clock.now(),
                workflow_id=state.workflow_id,
                run_id=state.run_id,
                parent_run_id=state.parent_run_id,
                correlation_id=state.correlation_id,
                agent_id=state.agent_id,
                agent_name=state.agent.name,
                depth=state.depth,
                durable=False,
                chunk_type=said.chunk,
                data=said.said(),
            )
        )

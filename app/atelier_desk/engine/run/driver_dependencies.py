"""Dependencies of the driver, injected once: no global state, no Qt."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Protocol

from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.clock import Clock
from atelier_desk.domain.folder_instructions import FolderInstructions
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.domain.permission import PermissionRule
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.setting_subscribers import SettingSubscribers
from atelier_desk.domain.skill import Invocation, SkillFacts
from atelier_desk.engine.costs.in_flight_requests import SentRequests
from atelier_desk.engine.costs.month_budget import MonthBudget
from atelier_desk.engine.gateways.model_gateway import ModelGateway
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.journal.journal import FaultPoint, Journal, no_fault
from atelier_desk.llm.token_and_cost_estimates import Calibration
from atelier_desk.storage.repositories import Repositories
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.workspace.checkpoints.tainted_file_marks import TaintMarks

Instructions = tuple[tuple[str, ...], tuple[FolderInstructions, ...]]
"""Trusted folders, and their instructions for agents."""


async def no_instructions(_folders: Sequence[str], _rules: Sequence[PermissionRule]) -> Instructions:
    """Return that no folder is trusted."""
    return (), ()


async def no_problems(_servers: Sequence[str]) -> tuple[ServerProblem, ...]:
    """Return that no problems are known."""
    return ()


class Skills(Protocol):
    """Skills of granted folders and of the user."""

    async def catalogue(self, folders: Sequence[str]) -> tuple[SkillFacts, ...]:
        """Return the skills that models may use now."""
        ...

    async def withdrawn(self, uses: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
        """Return the skill folders that may no longer be used, as named and with links resolved."""
        ...

    async def invoked(self, content: str, folders: Sequence[str]) -> Invocation | None:
        """Return what a message calls with ``/name``."""
        ...


class NoSkills:
    """No skills."""

    async def catalogue(self, folders: Sequence[str]) -> tuple[SkillFacts, ...]:
        return ()

    async def withdrawn(self, uses: Iterable[str], folders: Sequence[str]) -> tuple[str, ...]:
        return ()

    async def invoked(self, content: str, folders: Sequence[str]) -> Invocation | None:
        return None


@dataclass
class RunEnvironment:
    """Everything a run accesses.

    Attributes:
        in_force: the settings, which may change during runs.
        default_agent: returns the agent of new workflows.
        folder_instructions: returns the trusted ones of the granted folders, and their instructions without denied
            files.
        server_problems: returns problems of MCP servers by name, in the current language.
        announcing: held while checking and extending what a workflow was told about its servers.
        own: the program's data folder: calls that change it always ask.
        marks: workspace files written after reading outside content.
        record_answer: reports how a question ended to the question gate's circuit breaker.
        month: the monthly cost limit.
        sent: paid requests until they are settled.
        calibrations: by provider and model, the ratio of the server's token counts to estimates.
        frames: prompt frames already in the database.
        fault: called around every tool, like the journal's around every commit; the chaos tests kill the process there.
    """

    repos: Repositories
    journal: Journal
    bus: EventBus
    registry: ToolRegistry
    gateway: ModelGateway
    clock: Clock
    in_force: SettingSubscribers
    default_agent: Callable[[], Awaitable[Agent]]
    folder_instructions: Callable[[Sequence[str], Sequence[PermissionRule]], Awaitable[Instructions]] = no_instructions
    skills: Skills = field(default_factory=NoSkills)
    server_problems: Callable[[Sequence[str]], Awaitable[tuple[ServerProblem, ...]]] = no_problems
    month: MonthBudget = field(init=False)
    sent: SentRequests = field(init=False)
    budget: InitVar[MonthBudget | None] = None
    announcing: asyncio.Lock = field(default_factory=asyncio.Lock)
    record_answer: Callable[[str, QuestionStatus], None] = lambda workflow_id, status: None
    own: tuple[str, ...] = ()
    marks: TaintMarks | None = None
    frames: set[str] = field(default_factory=set)
    fault: FaultPoint = no_fault
    calibrations: defaultdict[tuple[str, str], Calibration] = field(default_factory=lambda: defaultdict(Calibration))

    def __post_init__(self, budget: MonthBudget | None) -> None:
        self.month = budget or MonthBudget(self.clock, self.bus)
        self.sent = SentRequests(self.month, self.repos.used, self.clock)
        self.journal.on_paid = self.month.committed

    def calibration(self, agent: AgentConfig) -> Calibration:
        """Return that of the agent's model: another provider's model of the same name is counted by another server."""
        return self.calibrations[agent.provider, agent.model]

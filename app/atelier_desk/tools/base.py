"""What a tool is, what it gets and what it gives back. A tool never imports the engine or the screen: its context brings all it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, TypeAdapter

from atelier_desk.domain.agent import AgentConfig, Budget
from atelier_desk.domain.approval import ApprovalKind, kind_of_section
from atelier_desk.domain.base import utc_now
from atelier_desk.domain.chat import ToolSpec
from atelier_desk.domain.events import TaskChanged
from atelier_desk.domain.question import QuestionSpec
from atelier_desk.domain.task import Task
from atelier_desk.domain.team import ChildPlan, ChildState, TeamCall

if TYPE_CHECKING:
    from atelier_desk.knowledge.search import MemorySearch
    from atelier_desk.storage.repositories import MemoryRepository, ReportRepository
    from atelier_desk.tools.registry import ToolRegistry


class ToolCategory(StrEnum):
    CONTROL = "control"
    COMMON = "common"
    AGENT = "agent"
    WORKFLOW = "workflow"


class Effect(StrEnum):
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"
    INTERACT = "interact"
    SPAWN = "spawn"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave.

    Attributes:
        data: the JSON object the model reads: ``{"success": true, …}`` or ``{"success": false, "error": …, "code": …}``.
        end: the run ends with this status; ``end_summary`` says how.
        tasks: what the call changes of the workflow's tasks: written with the result, all or none.
        output: text the user is shown, with its type (``message``, ``report``, ``result`` or ``progress``).
        text: what the model reads, filled in by ``ToolRegistry.execute``: ``data`` as JSON, cut to ``limits.RESULT_TO_MODEL`` characters.
        truncated: ``text`` or ``data`` was cut.
    """

    data: dict[str, Any]
    end: Literal["completed", "abandoned"] | None = None
    end_summary: str = ""
    output: tuple[str, Literal["message", "report", "result", "progress"]] | None = None
    tasks: tuple[TaskChanged, ...] = ()
    text: str = ""
    truncated: bool = False

    @property
    def success(self) -> bool:
        return bool(self.data.get("success"))

    @classmethod
    def ok(cls, **data: Any) -> ToolResult:
        return cls({"success": True, **data})

    @classmethod
    def failure(cls, error: str, code: str = "tool_error", **data: Any) -> ToolResult:
        """A failed call; ``error`` is written for the model: what was wrong, what is allowed, what to do next."""
        return cls({"success": False, "error": error, "code": code, **data})


@dataclass(frozen=True, slots=True)
class AskUser:
    """The call's result is a person's answer: the run waits, durably, until it comes."""

    question: QuestionSpec
    timeout_s: float | None = None
    """None takes the agent's setting; 0 waits for ever."""


@dataclass(frozen=True, slots=True)
class StartChildren:
    """The call wants sub-agents: the run waits, durably, until they are over; in the background it has its result when they have started.

    ``stop_on_error``: after a stage with a failure the later stages are not run.
    """

    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


@dataclass(frozen=True, slots=True)
class JoinChildren:
    """The call's result are the reports of sub-agents that were started before."""

    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskParent:
    """The call's result is the parent's answer, or the user's."""

    message: str


@dataclass(frozen=True, slots=True)
class AnswerChild:
    """Answers a waiting sub-agent; the call's result is that sub-agent's report."""

    child_id: str
    message: str


Outcome = ToolResult | AskUser | StartChildren | JoinChildren | AskParent | AnswerChild


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """A sub-agent as a tool asks for it, before the engine has looked at its parent's rights.

    Attributes:
        agent_id: a stored permanent agent, by id or name; empty makes one up from the parent's configuration and the fields below, where
            None takes the parent's.
        tools: names; ``sections`` adds every tool of those sections, and the two planners where the parent has them. Both None: the
            parent's own, without the planning tools when the child may start no agents.
        call: a tool and its arguments: the sub-agent makes just this call and reports its result; no model is asked.
        stage: sub-agents of a stage run together, stages one after the other.
        max_tokens: most tokens of one reply, cut to the parent's.
    """

    name: str
    prompt: str
    agent_id: str = ""
    system_prompt: str | None = None
    tools: tuple[str, ...] | None = None
    sections: tuple[str, ...] | None = None
    mcp_servers: tuple[str, ...] | None = None
    provider: str | None = None
    model: str | None = None
    budget: Budget | None = None
    max_tokens: int | None = None
    call: tuple[str, dict[str, Any]] | None = None
    stage: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Colleague:
    """A permanent agent that work can be delegated to."""

    id: str
    config: AgentConfig


class Team(Protocol):
    """What the planning tools can do; the engine implements it for one run."""

    depth: int
    max_depth: int

    async def plan(self, call_id: str, requests: Sequence[ChildRequest]) -> tuple[ChildPlan, ...]:
        """Sub-agents with the rights their parent may give.

        Raises:
            ToolError: with the code ``depth``, ``too_many_children``, ``unknown_agent``, ``self``, ``not_permanent``, ``unknown_tool``,
                ``unknown_section``, ``unknown_mcp_server``, ``unknown_model``, ``budget`` or ``circuit_open``; the text says what is
                valid.
        """
        ...

    async def children(self) -> list[ChildState]:
        """The sub-agents this run started, the oldest first, with what is known of them now."""
        ...

    async def colleagues(self) -> list[Colleague]:
        """Permanent agents, without the one that asks."""
        ...

    async def terminate(self, child_id: str) -> ChildState:
        """Stop a sub-agent and everything below it; returns it with its partial report.

        Raises:
            ToolError: ``unknown_child``, or ``not_running`` when it is over.
        """
        ...

    def free_slots(self) -> int:
        """How many more sub-agents may be alive under the root run now."""
        ...


class QuestionGate(Protocol):
    """Says whether a question may be asked now."""

    async def refusal(self, workflow_id: str) -> str | None:
        """Why not (queue full, user unresponsive), in words for the model, or None when the question may be asked."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may know and use.

    Attributes:
        idempotency_key: the same for every attempt at the same call; record ids are derived from it, so that a call that is run again
            after a kill finds what the first attempt made.
        enabled_tools: names the agent may call besides the control tools; None means every registered tool.
        tasks: reads the workflow's tasks by id, as they are now on the branch the run belongs to.
        progress: ``progress(percent, text)`` shows progress that is not kept.
    """

    workflow_id: str
    run_id: str
    call_id: str
    agent_id: str = ""
    agent_name: str = ""
    depth: int = 0
    language: str = "en"
    enabled_tools: tuple[str, ...] | None = None
    tasks: Callable[[], Awaitable[Mapping[str, Task]]] | None = None
    memories: MemoryRepository | None = None
    memory_search: MemorySearch | None = None
    reports: ReportRepository | None = None
    questions: QuestionGate | None = None
    registry: ToolRegistry | None = None
    team: Team | None = None
    memory_scope: dict[str, str | None] = field(default_factory=dict)
    """Per run: ``{"workflow_id": id}`` after ``activate_workflow``, ``{"workflow_id": None}`` after ``activate_general``, empty before."""
    progress: Callable[[int, str], None] = lambda percent, text: None
    now: Callable[[], datetime] = utc_now

    @property
    def idempotency_key(self) -> str:
        return f"{self.run_id}:{self.call_id}"


CALL_FACTS = ("workflow_id", "run_id", "call_id", "agent_id", "agent_name", "depth", "language", "enabled_tools", "memory_scope")
"""The fields of a context that a tool in a process of its own gets: plain values. Services stay in Atelier's own process."""


class Tool(ABC):
    """A tool. Subclasses set the class attributes and implement ``run``.

    Attributes:
        input: a pydantic model, or an annotated union of models discriminated on ``operation``; its JSON schema is the definition.
        idempotent: running the same call again (same ``idempotency_key``) has no second effect.
        changes: the topic announced on the bus after a call that writes (``memory``, ``report``), for the screens that list such rows;
            empty when there is none, or when the journal announces it already.
        timeout_s: seconds after which a call is stopped; 0 never stops it.
        awaits_external_response: the loop stops at the call until its result comes from outside; no other call runs beside it.
        rest_hint: what the model should do to read what was cut from a long result.
        examples: French and English requests with the call they should become: ``(language, request, arguments)``.
    """

    name: ClassVar[str]
    category: ClassVar[ToolCategory] = ToolCategory.COMMON
    section: ClassVar[str] = ""
    effect: ClassVar[Effect] = Effect.READ
    risk: ClassVar[Risk] = Risk.LOW
    idempotent: ClassVar[bool] = False
    timeout_s: ClassVar[float] = 60.0
    changes: ClassVar[str] = ""
    awaits_external_response: ClassVar[bool] = False
    rest_hint: ClassVar[str] = "Ask for less: narrow the request or lower its limit."
    examples: ClassVar[tuple[tuple[str, str, dict[str, Any]], ...]] = ()
    input: ClassVar[Any]

    @property
    @abstractmethod
    def description(self) -> str:
        """The text for the model, from the description template."""

    @abstractmethod
    async def run(self, input: Any, context: ToolContext) -> Outcome:
        """Do it. ``input`` is validated. Raise ``ToolError`` for anything the model should read; cancellation arrives as usual."""

    def adapter(self) -> TypeAdapter[Any]:
        """Validator of the arguments, built once a class."""
        cached = type(self).__dict__.get("_adapter")
        if cached is None:
            cached = TypeAdapter(self.input)
            type(self)._adapter = cached  # type: ignore[attr-defined]
        return cached

    def definition(self) -> ToolSpec:
        """Name, description and JSON schema for the model."""
        from atelier_desk.tools.schema import parameters_of, variants_of

        return ToolSpec(name=self.name, description=self.description, parameters=parameters_of(self), variants=variants_of(self))

    def operation_effect(self, arguments: dict[str, Any]) -> Effect:
        """The effect of this very call; tools with reading and writing operations refine it."""
        return self.effect

    def operation_risk(self, arguments: dict[str, Any]) -> Risk:
        """The risk of this very call."""
        return self.risk

    def operation_kind(self, arguments: dict[str, Any]) -> ApprovalKind:
        """What kind of approval this call would need; by default its section tells."""
        return kind_of_section(self.section)

    def operation_details(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """What an approval card shows besides the arguments (see ``ApprovalRequest.details``)."""
        return {}

    def operation_plans(self, arguments: dict[str, Any]) -> bool:
        """Whether running this very call changes nothing yet, and only says what is wanted: it can be tried before a person allows it."""
        return False

    def operation_idempotent(self, arguments: dict[str, Any]) -> bool:
        """Whether this very call may be run again after a kill."""
        return self.idempotent


class Input(BaseModel):
    """Base of tool inputs: unknown fields are refused by name. Validators are built at the first call, not at each start of the program."""

    model_config = {"extra": "forbid", "populate_by_name": True, "str_strip_whitespace": False, "defer_build": True}

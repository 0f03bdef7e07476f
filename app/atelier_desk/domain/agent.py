"""Agents: model, tools and limits. ``AgentConfig`` is also the JSON of agent files."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, field_validator, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now


class Lifecycle(StrEnum):
    PERMANENT = "permanent"
    TEMPORARY = "temporary"


class ToolMode(StrEnum):
    """How an agent sees its tools: all definitions, planning with sections, or as text through ``invoke_tool``."""

    DIRECT = "direct"
    SECTIONS = "sections"
    INVOKE = "invoke"


class SearchScope(StrEnum):
    """Which tools are searched for instead of listed; each value includes the previous ones.

    Tools of MCP servers; all except basic ones, those for files and those that start agents; all except basic ones;
    all except those of always available sections.
    """

    SERVERS = "servers"
    SPECIALISED = "specialised"
    OUTSIDE_CORE = "outside_core"
    ALL = "all"


class ToolDialect(StrEnum):
    """Wire format of tool calls; ``auto`` uses the model's profile."""

    AUTO = "auto"
    NATIVE = "native"
    XML = "xml"
    GUIDED = "guided"


class ApprovalMode(StrEnum):
    """How often a person is asked, from least to most strict; rules and protected names take precedence."""

    AUTO = "auto"
    EDIT = "edit"
    """Also changes workspace files and runs commands known to be harmless, all undoable."""
    SELECTIVE = "selective"
    MANUAL = "manual"
    PLAN = "plan"
    """Read-only: changes are refused without asking."""


class Effort(StrEnum):
    """Reasoning effort of a model, on servers that support it."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Budget(Model):
    """Limits of one run; None means no limit. ``max_cost`` is in US dollars."""

    max_cost: float | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: float | None = Field(default=None, gt=0)
    max_tool_calls: int | None = Field(default=None, ge=0)


class AgentConfig(Model):
    """Configuration of an agent; its JSON is the agent file (docs/python.md)."""

    name: str = Field(min_length=1, max_length=limits.AGENT_NAME)
    purpose: str = Field(default="", max_length=limits.AGENT_PURPOSE, exclude_if=lambda value: not value)
    """One-line purpose, shown where agents are chosen and to agents that may delegate to it."""
    lifecycle: Lifecycle = Lifecycle.PERMANENT
    provider: str = Field(min_length=1, max_length=64)
    model: str = Field(min_length=1, max_length=limits.MODEL_NAME)
    temperature: float | None = Field(default=None, ge=limits.TEMPERATURE[0], le=limits.TEMPERATURE[1])
    """None uses the server's default: some models refuse any value."""
    max_tokens: int = Field(default=4096, ge=limits.MAX_TOKENS[0], le=limits.MAX_TOKENS[1])
    system_prompt: str = Field(default="You are a helpful assistant.", min_length=1, max_length=limits.SYSTEM_PROMPT)
    tools: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    tool_mode: ToolMode = ToolMode.DIRECT
    tool_dialect: ToolDialect = ToolDialect.AUTO
    max_tool_iterations: int = Field(
        default=limits.TOOL_ITERATIONS_DEFAULT, ge=limits.TOOL_ITERATIONS[0], le=limits.TOOL_ITERATIONS[1]
    )
    enable_thinking: bool = True
    effort: Effort | None = None
    """None uses the server's default."""
    question_timeout_s: float = Field(default=0, ge=0)
    """Seconds a visible question waits; 0 waits forever."""
    approval: ApprovalMode = ApprovalMode.SELECTIVE
    budget: Budget = Budget()
    answer_schema: dict[str, object] | None = Field(default=None, exclude_if=lambda value: value is None)
    """JSON Schema (type object) of final answers; None does not restrict them. See ``domain.final_answer_schema``."""

    @model_validator(mode="before")
    @classmethod
    def _documented_names(cls, values: object) -> object:
        """Agent files may call the purpose ``description``, and say with an empty ``skills`` that they choose none."""
        if not isinstance(values, dict) or not {"description", "skills"} & values.keys():
            return values
        read = dict(values)
        if "purpose" not in read and "description" in read:
            read["purpose"] = read.pop("description")
        if not read.get("skills"):
            read.pop("skills", None)
        return read

    @field_validator("name", "system_prompt")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value


class Thinking(StrEnum):
    """Reasoning effort for one workflow: ``off``, or an ``Effort``."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Choices(Model):
    """Overrides of an agent's configuration for one workflow; empty or None uses the agent's.

    Attributes:
        provider, model: both, or neither.
        approval: how often a person is asked.
        budget: limits of each run; None uses the agent's.
        instructions: added to the agent's.
    """

    provider: str = Field(default="", max_length=64)
    model: str = Field(default="", max_length=limits.MODEL_NAME)
    thinking: Thinking | None = None
    approval: ApprovalMode | None = None
    budget: Budget = Budget()
    instructions: str = Field(default="", max_length=limits.WORKFLOW_INSTRUCTIONS)

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if bool(self.provider) != bool(self.model):
            raise ValueError("provider and model are chosen together")
        return self

    def without_model(self) -> Choices:
        """Return the choices for another agent, without those specific to the model."""
        return self.model_copy(update={"provider": "", "model": "", "thinking": None})

    def applied(self, agent: AgentConfig) -> AgentConfig:
        """Return the agent's configuration in this workflow.

        Raises:
            ValueError: the combined instructions are longer than an agent's may be.
        """
        changed: dict[str, object] = {"provider": self.provider, "model": self.model} if self.model else {}
        if self.thinking is not None:
            off = self.thinking is Thinking.OFF
            changed |= {"enable_thinking": not off, "effort": agent.effort if off else Effort(self.thinking.value)}
        if self.approval is not None:
            changed["approval"] = self.approval
        caps = self.budget.model_dump(exclude_none=True)
        if caps:
            changed["budget"] = agent.budget.model_copy(update=caps)
        if self.instructions.strip():
            prompt = f"{agent.system_prompt.rstrip()}\n\n{self.instructions.strip()}"
            if len(prompt) > limits.SYSTEM_PROMPT:
                raise ValueError(f"{len(prompt)} characters of instructions; at most {limits.SYSTEM_PROMPT}")
            changed["system_prompt"] = prompt
        return agent.model_copy(update=changed) if changed else agent


class Agent(Model):
    """A stored agent: configuration and identity."""

    id: str = Field(default_factory=new_id)
    config: AgentConfig
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)

    @property
    def name(self) -> str:
        return self.config.name

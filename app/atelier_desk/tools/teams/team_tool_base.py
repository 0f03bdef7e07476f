"""Shared by the planning tools: checks before a start, checked text, and previews for approval cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import ChildState
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import (
    Call,
    ChildRequest,
    Effect,
    Input,
    JoinChildren,
    Risk,
    Team,
    ToolCategory,
    ToolContext,
    ToolResult,
)
from atelier_desk.tools.definition.tool_description import DescribedTool
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.sections import PLANNING

PREVIEW = 200
"""Characters of a prompt shown on an approval card; half of it in a list of several."""


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


Prompt = Annotated[
    str,
    Field(
        min_length=1,
        max_length=limits.MESSAGE,
        description="All the sub-agent is told: what to do, what it must know, what to report.",
    ),
    AfterValidator(_not_blank),
]
AgentId = Annotated[
    str,
    Field(min_length=1, max_length=64, description="Id or name of a permanent agent, as list_agents gives it."),
    AfterValidator(_not_blank),
]
AgentName = Annotated[
    str,
    Field(min_length=1, max_length=limits.AGENT_NAME, description="Short name for the sub-agent, the user sees it."),
    AfterValidator(_not_blank),
]
ChildId = Annotated[str, Field(min_length=1, max_length=64, description="Id of a sub-agent of yours.")]
ToolName = Annotated[str, Field(min_length=1, max_length=128)]
NotBlank = AfterValidator(_not_blank)


class Join(Input):
    operation: Literal["join"]
    child_ids: list[ChildId] = Field(
        default=[],
        max_length=limits.LIST_DEFAULT,
        description="Which ones; when left out, all whose reports you do not have yet.",
    )


class TeamTool(DescribedTool):
    """A tool that starts or manages sub-agents.

    Running it changes nothing yet: it returns the wanted sub-agents, and the engine plans them under ids derived from
    the call, so that an interrupted call may be repeated.

    Attributes:
        starting: the operations that start sub-agents; others only look, wait or stop.
    """

    category = ToolCategory.COMMON
    section = PLANNING
    icon = "users"
    effect = Effect.SPAWN
    risk = Risk.MEDIUM
    idempotent = True
    hands_on = True
    starting: ClassVar[tuple[str, ...]] = ()

    def describe(self, input: Any) -> Call:
        call = super().describe(input)
        if self.starts(input):
            return replace(call, plans=True, details=self.details(input))
        return replace(call, effect=Effect.READ, risk=Risk.LOW)

    def starts(self, input: Any) -> bool:
        """Whether a call starts sub-agents."""
        return input.operation in self.starting

    def details(self, input: Any) -> dict[str, object]:
        """Return the approval card details of a call that starts some."""
        return {}

    def own_tools(self, context: ToolContext) -> tuple[ToolRegistry, Sequence[str]]:
        """Return the registry, and the tools that the run may use.

        Raises:
            ToolError: the run has none (``unknown_tool``).
        """
        registry = self.services.registry
        if registry is None:
            raise ToolError("No tools are available in this run. Do the work yourself.", code="unknown_tool")
        return registry, registry.get_all_tool_names() if context.enabled_tools is None else context.enabled_tools


def team_of(context: ToolContext, *, starting: bool) -> Team:
    """Return the run's team.

    Raises:
        ToolError: there is none (``no_team``), or no sub-agents may be started (``depth``).
    """
    team = context.team
    if team is None:
        raise ToolError(
            "There is no team in this run: no agents can be started or asked. Do the work yourself.", code="no_team"
        )
    if starting and team.depth >= team.max_depth:
        raise ToolError(
            "You are at depth {depth} of at most {most}: no further agents can be started here. Do the work yourself.",
            code="depth",
            depth=team.depth,
            most=team.max_depth,
        )
    return team


def job_for(agent_id: str, prompt: str) -> ChildRequest:
    """Return a request for a permanent agent."""
    return ChildRequest(name=agent_id, agent_id=agent_id.strip(), prompt=prompt, title=title_of(prompt))


async def join(context: ToolContext, child_ids: Sequence[str]) -> JoinChildren | ToolResult:
    """Wait for the named sub-agents, or for all whose reports were not delivered yet.

    Raises:
        ToolError: an id is not one of this run's sub-agents (``unknown_child``).
    """
    children = await team_of(context, starting=False).children()
    if not child_ids:
        wanted = tuple(child.id for child in children if not child.told)
        if not wanted:
            return ToolResult.ok(results=[], message="No sub-agent is left whose report you do not have.")
        return JoinChildren(wanted)
    known = {child.id: child for child in children}
    unknown = [child_id for child_id in child_ids if child_id not in known]
    if unknown:
        raise ToolError(
            "{unknown}: no such sub-agent of yours. Your sub-agents: {there}.",
            code="unknown_child",
            unknown=", ".join(unknown),
            there=listed(children),
        )
    return JoinChildren(tuple(dict.fromkeys(child_ids)))


def listed(children: Iterable[ChildState]) -> str:
    """Return sub-agents by id and name, for the model to choose from."""
    return ", ".join(f"{child.id} ({child.name})" for child in children) or "none"


def title_of(text: str) -> str:
    """Return a short first line of a prompt, for trees and cards."""
    lines = text.strip().splitlines()
    return shorten(lines[0].strip() if lines else "", limits.CHILD_TITLE, at_word=True)


def preview(text: str, length: int = PREVIEW) -> str:
    """Return the beginning of a text, at most ``length`` characters."""
    return shorten(text, length)


def prompt_details(prompt: str) -> dict[str, object]:
    """Return ``prompt_preview`` and ``prompt_length`` for an approval card."""
    return {"prompt_preview": preview(prompt), "prompt_length": len(prompt)}

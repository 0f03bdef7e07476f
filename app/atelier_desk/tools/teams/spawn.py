"""SpawnAgentTool: start, await and stop sub-agents created for one job."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import ChildState, ChildStatus, TeamCall
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, ChildRequest, Effect, Input, Outcome, StartChildren, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.teams.team_tool_base import (
    AgentName,
    ChildId,
    Join,
    NotBlank,
    Prompt,
    TeamTool,
    ToolName,
    join,
    preview,
    prompt_details,
    team_of,
    title_of,
)

_TASK_SHOWN = 100
"""Characters of a sub-agent's task in a listing."""


class Spawn(Input):
    operation: Literal["spawn"]
    name: AgentName
    prompt: Prompt
    system_prompt: Annotated[str, NotBlank] | None = Field(
        default=None,
        min_length=1,
        max_length=limits.SYSTEM_PROMPT,
        description="Who it is and how it works; left out: a general sub-agent.",
    )
    tools: list[ToolName] | None = Field(
        default=None,
        max_length=limits.LIST_DEFAULT,
        description="The only tools it may use, by name, out of yours; [] for none; left out: all of yours.",
    )
    mcp_servers: list[ToolName] | None = Field(
        default=None,
        max_length=limits.LIST_DEFAULT,
        description="Names of MCP servers (NAME in mcp__NAME__tool), out of yours: it gets all their tools beside "
        "those "
        "in tools, and no "
        "other server's; [] for none. Left out: all your servers, or only what tools names.",
    )
    provider: str | None = Field(
        default=None, min_length=1, max_length=64, description="Provider of its model, such as openai; left out: yours."
    )
    model: str | None = Field(
        default=None, min_length=1, max_length=limits.MODEL_NAME, description="Its model; left out: yours."
    )
    budget: Budget | None = Field(
        default=None,
        description="Its limits, taken from yours: max_cost in US dollars, max_tokens, max_seconds, max_tool_calls.",
    )
    wait: bool = Field(
        default=True,
        description="true: the call gives its report. false: it works in the background; join gives the report.",
    )


class ListChildren(Input):
    operation: Literal["list_children"]


class Terminate(Input):
    operation: Literal["terminate"]
    child_id: ChildId


SpawnInput = Annotated[Spawn | Join | ListChildren | Terminate, Field(discriminator="operation")]


@builtin(order=210)
class SpawnAgentTool(TeamTool):
    """Start a sub-agent with a prompt and get its report."""

    name = "SpawnAgentTool"
    title = N_("Sub-agent")
    purpose = N_("Starts sub-agents for parts of the work")
    summaries = {
        "spawn": N_("Start the agent {name}"),
        "join": N_("Wait for the reports"),
        "list_children": N_("List the sub-agents"),
        "terminate": N_("Stop a sub-agent"),
    }
    done = {
        "spawn": N_("Started the agent {name}"),
        "join": N_("Waited for the reports"),
        "list_children": N_("Listed the sub-agents"),
        "terminate": N_("Stopped a sub-agent"),
    }
    input = SpawnInput
    starting = ("spawn",)
    rest_hint = "Ask the sub-agent for a shorter report, or let it store a long one with ReportTool."
    about = About(
        what=(
            "Starts a sub-agent for one job: it gets your prompt and nothing else, works with your tools or "
            "fewer, and reports to you."
        ),
        when=(
            "a part of the work stands by itself, takes many steps you need not see, or can go on while you do "
            "something else."
        ),
        when_not="one or two tool calls of your own do it, or a permanent agent is made for it (DelegateTaskTool).",
        operations={
            "spawn": "start one, and get its report or, with wait false, its child_id",
            "join": "wait for sub-agents in the background and get their reports",
            "list_children": "your sub-agents and how they are",
            "terminate": "stop one and everything below it; gives what it had got so far",
        },
        example={
            "operation": "spawn",
            "name": "Contract reader",
            "prompt": "Read the report 'contract' and list every date by which something must be done, one a line.",
            "tools": ["ReportTool"],
        },
        limits=(
            f"name {limits.AGENT_NAME} characters",
            f"prompt {limits.MESSAGE} characters",
            f"{limits.CHILDREN} sub-agents alive at once in the whole team",
            "a sub-agent never gets a tool, server or budget you do not have",
        ),
    )

    def describe(self, input: SpawnInput) -> Call:
        call = super().describe(input)
        return replace(call, effect=Effect.WRITE) if isinstance(input, Terminate) else call

    def details(self, input: Spawn) -> dict[str, object]:
        return {
            "sub_agent_name": preview(input.name, limits.AGENT_NAME),
            **prompt_details(input.prompt),
            "tools": list(input.tools or ()),
            "mcp_servers": list(input.mcp_servers or ()),
        }

    async def run(self, input: SpawnInput, context: ToolContext) -> Outcome:
        match input:
            case Spawn():
                return await self._spawn(input, context)
            case Join():
                return await join(context, input.child_ids)
            case Terminate():
                return await self._terminate(input.child_id, context)
            case _:
                return await self._list(context)

    async def _spawn(self, input: Spawn, context: ToolContext) -> Outcome:
        request = ChildRequest(
            name=input.name.strip(),
            prompt=input.prompt,
            system_prompt=input.system_prompt,
            tools=None if input.tools is None else tuple(input.tools),
            mcp_servers=None if input.mcp_servers is None else tuple(input.mcp_servers),
            provider=input.provider,
            model=input.model,
            budget=input.budget,
            title=title_of(input.prompt),
        )
        plans = await team_of(context, starting=True).plan(context.call_id, [request])
        return StartChildren(TeamCall.SPAWN, plans, background=not input.wait)

    async def _list(self, context: ToolContext) -> ToolResult:
        team = team_of(context, starting=False)
        children = await team.children()
        return ToolResult.ok(
            count=len(children),
            max_allowed=limits.CHILDREN,
            remaining_slots=max(0, team.free_slots()),
            children=[_shown(child) for child in children],
        )

    async def _terminate(self, child_id: str, context: ToolContext) -> ToolResult:
        team = team_of(context, starting=False)
        try:
            child = await team.terminate(child_id)
        except ToolError as error:
            if error.code != "not_running":
                raise
            # After an interruption, the repeated call finds the sub-agent already stopped.
            stopped = [
                one for one in await team.children() if one.id == child_id and one.status is ChildStatus.CANCELLED
            ]
            if not stopped:
                raise
            child = stopped[0]
        return ToolResult.ok(
            child_id=child.id,
            name=child.name,
            status=child.status.value,
            report=child.report,
            metrics=child.metrics,
            message="It was stopped. The report is what it had got so far."
            if child.report
            else "It was stopped; it had no report yet.",
        )


def _shown(child: ChildState) -> dict[str, object]:
    shown: dict[str, object] = {
        "id": child.id,
        "name": child.name,
        "status": child.status.value,
        "task_description": preview(child.title, _TASK_SHOWN),
    }
    if child.question:
        shown["question"] = child.question
    if child.status.over:
        shown["report_read"] = child.told
        shown["metrics"] = child.metrics
    return shown

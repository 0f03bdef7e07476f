"""DelegateTaskTool: assign work to a permanent agent, and list agents."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Colleague, Input, Outcome, StartChildren, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.teams.team_tool_base import AgentId, Prompt, TeamTool, job_for, preview, prompt_details, team_of


class Delegate(Input):
    operation: Literal["delegate"]
    agent_id: AgentId
    prompt: Prompt


class ListAgents(Input):
    operation: Literal["list_agents"]


DelegateInput = Annotated[Delegate | ListAgents, Field(discriminator="operation")]


@builtin(order=220)
class DelegateTaskTool(TeamTool):
    """Let a permanent agent do a job with its own model, system prompt and tools."""

    name = "DelegateTaskTool"
    title = N_("Delegation")
    purpose = N_("Delegates work to another of your agents")
    summaries = {
        "delegate": N_("Delegate work to {agent_id}"),
        "list_agents": N_("List the agents"),
    }
    done = {
        "delegate": N_("Delegated work to {agent_id}"),
        "list_agents": N_("Listed the agents"),
    }
    subjects = {"agent_id": "agents"}
    input = DelegateInput
    starting = ("delegate",)
    rest_hint = "Ask the agent for a shorter report, or let it store a long one with ReportTool."
    about = About(
        what="Gives a job to one of the user's permanent agents, which works in its own way and gives you its report.",
        when="list_agents shows an agent that is made for a part of the work.",
        when_not="no agent fits (SpawnAgentTool makes one), or several are to work at once (ParallelTasksTool).",
        operations={
            "delegate": "give the job and wait for the report",
            "list_agents": "the permanent agents, without yourself",
        },
        example={
            "operation": "delegate",
            "agent_id": "Translator",
            "prompt": "Translate the report 'offer' into French and store it as 'offre'.",
        },
        limits=(
            f"prompt {limits.MESSAGE} characters",
            f"{limits.CHILDREN} sub-agents alive at once in the whole team",
            "it cannot use tools you do not have",
        ),
    )

    def details(self, input: Delegate) -> dict[str, object]:
        """Return the card details; the name is as the model wrote it, an id or a name."""
        target = preview(input.agent_id, limits.AGENT_NAME)
        return {"target_agent_id": target, "target_agent_name": target, **prompt_details(input.prompt)}

    async def run(self, input: DelegateInput, context: ToolContext) -> Outcome:
        if isinstance(input, ListAgents):
            colleagues = await team_of(context, starting=False).colleagues()
            return ToolResult.ok(count=len(colleagues), agents=[_shown(colleague) for colleague in colleagues])
        plans = await team_of(context, starting=True).plan(context.call_id, [job_for(input.agent_id, input.prompt)])
        return StartChildren(TeamCall.DELEGATE, plans)


def _shown(colleague: Colleague) -> dict[str, object]:
    config = colleague.config
    return {
        "id": colleague.id,
        "name": config.name,
        "model": f"{config.provider}/{config.model}",
        "about": preview(" ".join((config.purpose or config.system_prompt).split())),
        "tools": list(config.tools),
        "sections": list(config.sections),
    }

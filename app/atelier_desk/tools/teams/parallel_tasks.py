"""ParallelTasksTool: run several permanent agents concurrently and combine their reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from atelier_desk.domain import limits
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Call, Input, Outcome, Risk, StartChildren, ToolContext
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.teams.team_tool_base import (
    PREVIEW,
    AgentId,
    Join,
    Prompt,
    TeamTool,
    job_for,
    join,
    preview,
    team_of,
)


class Task(Input):
    agent_id: AgentId
    prompt: Prompt


class ExecuteBatch(Input):
    operation: Literal["execute_batch"]
    tasks: list[Task] = Field(
        min_length=1, max_length=limits.CHILDREN, description="Jobs to do at once: {agent_id, prompt} each."
    )
    wait_all: bool = Field(default=True, description="false: go on at once while they work, and join them later.")


ParallelInput = Annotated[ExecuteBatch | Join, Field(discriminator="operation")]


@builtin(order=230)
class ParallelTasksTool(TeamTool):
    """Run a batch of jobs in parallel."""

    name = "ParallelTasksTool"
    title = N_("Parallel agents")
    purpose = N_("Runs several of your agents in parallel")
    summaries = {
        "execute_batch": N_("Run agents in parallel"),
        "join": N_("Wait for the reports"),
    }
    done = {
        "execute_batch": N_("Ran agents in parallel"),
        "join": N_("Waited for the reports"),
    }
    risk = Risk.HIGH
    input = ParallelInput
    starting = ("execute_batch",)
    rest_hint = "Ask the agents for shorter reports, or let them store long ones with ReportTool."
    about = About(
        what=(
            "Gives jobs to permanent agents at the same time and gives you their results in order, with one "
            "report of all."
        ),
        when="two or more jobs do not need each other's results; the same agent may get several.",
        when_not="a job builds on another one's result (plan_actions, or one after the other with DelegateTaskTool).",
        operations={
            "execute_batch": "start all and wait for all; with wait_all false go on and join them later",
            "join": "wait for sub-agents started before and get their reports",
        },
        example={
            "operation": "execute_batch",
            "tasks": [
                {"agent_id": "Researcher", "prompt": "List the arguments for the four-day week, five lines."},
                {"agent_id": "Researcher", "prompt": "List the arguments against the four-day week, five lines."},
            ],
        },
        limits=(
            f"1 to {limits.CHILDREN} tasks",
            f"prompt {limits.MESSAGE} characters each",
            f"{limits.CHILDREN} sub-agents alive at once in the whole team",
        ),
    )

    def describe(self, input: ParallelInput) -> Call:
        call = super().describe(input)
        if isinstance(input, Join):
            return call
        return replace(call, subjects=Subjects(agents=tuple(dict.fromkeys(task.agent_id for task in input.tasks))))

    def details(self, input: ExecuteBatch) -> dict[str, object]:
        shown = [
            {
                "agent_id": preview(task.agent_id, limits.AGENT_NAME),
                "prompt_preview": preview(task.prompt, PREVIEW // 2),
            }
            for task in input.tasks
        ]
        return {"task_count": len(input.tasks), "tasks": shown}

    async def run(self, input: ParallelInput, context: ToolContext) -> Outcome:
        if isinstance(input, Join):
            return await join(context, input.child_ids)
        requests = [job_for(task.agent_id, task.prompt) for task in input.tasks]
        plans = await team_of(context, starting=True).plan(context.call_id, requests)
        return StartChildren(TeamCall.PARALLEL, plans, background=not input.wait_all)

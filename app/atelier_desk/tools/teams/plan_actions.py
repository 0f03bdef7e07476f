"""plan_actions: a goal split into actions, each done by a sub-agent or a single tool call, in stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, model_validator

from atelier_desk.domain import limits
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.sub_agent import TeamCall
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import (
    Call,
    ChildRequest,
    Effect,
    Input,
    Outcome,
    Risk,
    StartChildren,
    Tool,
    ToolCategory,
    ToolContext,
)
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError, closest
from atelier_desk.tools.definition.call_description import summary_of
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.registry import PreparedCall, ToolRegistry
from atelier_desk.tools.registry.sections import PLANNING
from atelier_desk.tools.registry.tool_modes import section_list
from atelier_desk.tools.teams.plan_stages import Step, Strategy, stages_of
from atelier_desk.tools.teams.team_tool_base import NotBlank, TeamTool, ToolName, preview, team_of, title_of

REPLY_TOKENS = {"simple": 5_096, "moderate": 6_096, "complex": 8_096}
"""Maximum tokens per reply of an action's sub-agent: 4,096 plus 1,000, 2,000 or 4,000 by complexity."""
MANY = 5
"""Plans with more actions are a high risk, like a batch."""
_LISTED = 100
"""Characters of each other action in a sub-agent's prompt."""

SYSTEM_PROMPT = (
    "You are a sub-agent with one action of a larger plan. Do that action with the tools you have, and nothing "
    "beyond it. Then report in "
    "Markdown: first a short summary of the result, then what the others need to build on it. Say plainly what did "
    "not work."
)


class Action(Input):
    description: Annotated[str, NotBlank] = Field(
        min_length=1,
        max_length=limits.PLAN_DESCRIPTION,
        description=(
            "What is to be done, understandable by itself: a sub-agent is told it, the goal and the results of "
            "earlier stages."
        ),
    )
    complexity: Literal["simple", "moderate", "complex"] = Field(
        default="moderate",
        description="For a sub-agent: how long its replies may be ("
        + ", ".join(f"{name} {tokens}" for name, tokens in REPLY_TOKENS.items())
        + " tokens).",
    )
    tool: ToolName | None = Field(
        default=None,
        description="Name of one of your tools, called once with arguments; left out: a sub-agent does the action.",
    )
    arguments: dict[str, object] | None = Field(
        default=None, description="The arguments of that tool's call, as its definition has them."
    )
    depends_on: list[int] = Field(
        default=[],
        max_length=limits.PLAN_ACTIONS,
        description=(
            "Actions before it that must have ended, by place from 0: [0] waits for the first. Not with all_at_once."
        ),
    )

    @model_validator(mode="after")
    def _complete(self) -> Action:
        if self.arguments is not None and self.tool is None:
            raise ValueError("arguments need the name of a tool; leave both out to have a sub-agent do the action")
        return self


class PlanActionsInput(Input):
    goal: Annotated[str, NotBlank] = Field(
        min_length=1, max_length=limits.PLAN_GOAL, description="What all actions together are for."
    )
    sections: list[ToolName] = Field(
        default=[],
        max_length=limits.LIST_DEFAULT,
        description=(
            'Ids of sections (list_tool_sections) whose tools the sub-agents get, such as ["file_ops"]; left '
            "out: all of yours."
        ),
    )
    actions: list[Action] = Field(
        min_length=1,
        max_length=limits.PLAN_ACTIONS,
        description=(
            "In order. For a sub-agent: description, complexity, depends_on; for one tool call: description, "
            "tool, arguments."
        ),
    )
    strategy: Strategy = Field(
        default=Strategy.BATCH,
        description="sequential: one after the other, stops at the first failure. batch_when_possible: together, "
        "as far "
        "as depends_on and "
        "changes allow. all_at_once: all together.",
    )

    @model_validator(mode="after")
    def _ordered(self) -> PlanActionsInput:
        for number, action in enumerate(self.actions):
            wrong = [index for index in action.depends_on if not 0 <= index < number]
            if wrong:
                allowed = f"0 to {number - 1}" if number else "none, it is the first"
                raise ValueError(f"actions[{number}].depends_on names {wrong}; allowed are earlier actions: {allowed}")
            if action.depends_on and self.strategy is Strategy.ALL:
                raise ValueError(
                    f"actions[{number}].depends_on cannot hold with all_at_once; use batch_when_possible or sequential"
                )
        return self


@builtin(order=250)
class PlanActions(TeamTool):
    """Execute a plan with only the sections it needs."""

    name = "plan_actions"
    title = N_("Action sequence")
    purpose = N_("Runs several actions with tools and agents, in sequence or in parallel")
    icon = "list-todo"
    reaches_sections = True
    input = PlanActionsInput
    rest_hint = "Plan fewer actions at once, or let them store long results with ReportTool."
    about = About(
        what=(
            "Carries out a plan: a sub-agent with the sections' tools does each action, or it is one tool call; "
            "you get all results."
        ),
        when="the work has several steps, or needs tools of sections you cannot call directly.",
        when_not="one call of a tool you have does it, or a step must be decided by you after seeing the one before.",
        example={
            "goal": "Know which tasks are late and tell the user",
            "sections": ["core_ops"],
            "actions": [
                {"description": "List the open tasks", "tool": "TodoTool", "arguments": {"operation": "list"}},
                {
                    "description": "Write the report 'late-tasks' about what is late and why",
                    "complexity": "moderate",
                    "depends_on": [0],
                },
            ],
            "strategy": "batch_when_possible",
        },
        limits=(
            f"1 to {limits.PLAN_ACTIONS} actions, {limits.CHILDREN} of them at once",
            f"goal {limits.PLAN_GOAL} and description {limits.PLAN_DESCRIPTION} characters",
            "actions whose tool changes something run alone",
        ),
    )

    def starts(self, input: PlanActionsInput) -> bool:
        return True

    def describe(self, input: PlanActionsInput) -> Call:
        risk = Risk.HIGH if len(input.actions) > MANY else Risk.MEDIUM
        goal = summary_of({"goal": input.goal}, N_("Run a sequence of actions: {goal}"))
        return replace(super().describe(input), risk=risk, summary=goal, done=N_("Ran a sequence of actions: {goal}"))

    def details(self, input: PlanActionsInput) -> dict[str, object]:
        return {
            "goal": preview(input.goal),
            "strategy": input.strategy.value,
            "action_count": len(input.actions),
            "actions": [
                {"description": preview(action.description, _LISTED), "tool": preview(action.tool or "", 128)}
                for action in input.actions
            ],
        }

    async def run(self, input: PlanActionsInput, context: ToolContext) -> Outcome:
        team = team_of(context, starting=True)
        registry, enabled = self.own_tools(context)
        sections = checked_sections(input.sections, registry, enabled)
        steps = [
            Step(tuple(action.depends_on), _changes(checked_call(number, action, registry, enabled)))
            for number, action in enumerate(input.actions)
        ]
        # Stages are limited by the present room; a slot is freed when a sub-agent ends.
        room = min(limits.CHILDREN, max(1, team.free_slots()))
        stages = stages_of(steps, input.strategy, most=room)
        requests = [request_for(input, number, stage, sections) for number, stage in enumerate(stages)]
        plans = await team.plan(context.call_id, requests)
        return StartChildren(TeamCall.PLAN, plans, stop_on_error=input.strategy is Strategy.SEQUENTIAL)


def checked_sections(sections: Sequence[str], registry: ToolRegistry, enabled: Sequence[str]) -> tuple[str, ...]:
    """Return the sub-agents' sections, including always available ones; all sections of the run's tools if none was
    chosen.

    They are always named: a sub-agent with sections sees its tools directly, without planning again. The planning
    section is valid for any run that can plan, even without another tool of that section.

    Raises:
        ToolError: a section without any of the run's tools (``unknown_section``).
    """
    usable = [section["id"] for section in section_list(registry, enabled)]
    chosen = sections or usable
    always = registry.sections.always_available()
    unknown = [section for section in chosen if section not in (*usable, *always, PLANNING)]
    if unknown:
        raise ToolError(
            "Unknown section {unknown}. Sections of your tools: {known}.",
            code="unknown_section",
            unknown=", ".join(unknown),
            known=", ".join(usable) or "none",
        )
    return tuple(dict.fromkeys((*chosen, *always)))


def checked_call(number: int, action: Action, registry: ToolRegistry, enabled: Sequence[str]) -> PreparedCall | None:
    """Return the call of an action that is a single tool call, None for a sub-agent's.

    Raises:
        ToolError: the tool is unknown, not enabled or not allowed in a plan, or its arguments are invalid; the text
            names the action.
    """
    if action.tool is None:
        return None
    tool = registry.get_tool(action.tool)
    enabled = [name for name in enabled if (one := registry.get_tool(name)) is not None and _plannable(one)]
    if tool is not None and not _plannable(tool):
        raise ToolError(
            (
                "actions[{number}]: {tool} cannot be an action of a plan. Allowed: {enabled}; or leave tool out to "
                "have "
                "a sub-agent do it."
            ),
            code="invalid_arguments",
            number=number,
            tool=action.tool,
            enabled=", ".join(enabled) or "none",
        )
    if tool is None or action.tool not in enabled:
        near = closest(action.tool, enabled)
        raise ToolError(
            "actions[{number}]: there is no tool {tool} for you. {hint}",
            code="unknown_tool",
            number=number,
            tool=action.tool,
            hint=f"Closest: {', '.join(near)}." if near else f"Your tools: {', '.join(enabled) or 'none'}.",
        )
    try:
        return registry.prepare(tool, action.arguments or {})
    except InvalidArgumentsError as error:
        raise InvalidArgumentsError("actions[{number}]: {problem}", number=number, problem=str(error)) from error


def _plannable(tool: Tool) -> bool:
    return tool.category is not ToolCategory.CONTROL and tool.section != PLANNING


def _changes(call: PreparedCall | None) -> bool:
    return call is not None and call.described.effect in (Effect.WRITE, Effect.EXECUTE)


def request_for(plan: PlanActionsInput, number: int, stage: int, sections: tuple[str, ...]) -> ChildRequest:
    """Return the request for one action's sub-agent."""
    action = plan.actions[number]
    name = f"Action {number + 1}"
    title = title_of(action.description)
    if action.tool is not None:
        call = (action.tool, dict(action.arguments or {}))
        return ChildRequest(
            name=name, prompt=action.description, tools=(action.tool,), call=call, stage=stage, title=title
        )
    return ChildRequest(
        name=name,
        prompt=_prompt(plan, number),
        system_prompt=SYSTEM_PROMPT,
        sections=sections,
        max_tokens=REPLY_TOKENS[action.complexity],
        stage=stage,
        title=title,
    )


def _prompt(plan: PlanActionsInput, number: int) -> str:
    """Return the prompt: the goal, the action, and its position among the others."""
    lines = [
        f"GOAL: {plan.goal.strip()}",
        "",
        f"YOUR ACTION ({number + 1} of {len(plan.actions)}): {plan.actions[number].description.strip()}",
    ]
    if len(plan.actions) > 1:
        lines += ["", "ALL ACTIONS (the others are not yours):"]
        for index, action in enumerate(plan.actions):
            mark = ">" if index == number else " "
            lines.append(f"[{mark}] {index + 1}. {preview(' '.join(action.description.split()), _LISTED)}")
    return "\n".join(lines)

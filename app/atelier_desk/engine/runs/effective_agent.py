"""Determine who answers in a workflow: its agent, with the workflow's choices overriding the agent's configuration."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Choices
from atelier_desk.domain.errors import LimitError, NotFoundError
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.engine.run.driver_dependencies import RunEnvironment
    from atelier_desk.engine.run.reducer.state import RunState


@dataclass(frozen=True, slots=True)
class Responder:
    """Who answers: the configuration, and its stored agent (empty for one created ad hoc)."""

    agent: AgentConfig
    agent_id: str = ""


async def responder(env: RunEnvironment, workflow: Workflow, agent_id: str = "") -> Responder:
    """Return who answers in a workflow: the agent with this id, else the workflow's, else the default one.

    Raises:
        NotFoundError: no agent has this id.
        LimitError: as ``chosen``.
    """
    stored = env.repos.agents
    agent = await stored.get(agent_id) if agent_id else None
    if agent is None and workflow.agent_id:
        with suppress(NotFoundError):
            agent = await stored.get(workflow.agent_id)
    agent = agent or await env.default_agent()
    # A different agent for one turn brings its own model.
    own = not workflow.agent_id or agent.id == workflow.agent_id
    return Responder(chosen(workflow.choices if own else workflow.choices.without_model(), agent.config), agent.id)


def chosen(choices: Choices, agent: AgentConfig) -> AgentConfig:
    """Return the agent's configuration in the workflow.

    Raises:
        LimitError: the combined instructions are too long.
    """
    try:
        return choices.applied(agent)
    except ValueError:
        raise LimitError(
            N_(
                "The instructions of the agent and of the workflow together are longer than {most} characters. "
                "Shorten one of them."
            ),
            most=limits.SYSTEM_PROMPT,
        ) from None


def other_agent(state: RunState, agent: AgentConfig, agent_id: str) -> AgentConfig | None:
    """Return who answers a message to a running run if another agent or model was chosen since it began; None if
    unchanged.

    A run of an agent created by another agent keeps that one.
    """
    if not state.agent_id or not agent_id:
        return None
    if state.agent_id != agent_id:
        return agent
    model = agent.model_dump(include={"provider", "model", "enable_thinking", "effort"})
    same = state.agent.model_copy(update={**model, "effort": agent.effort})
    return None if same == state.agent else same

"""Determine who answers in a workflow: its agent, with the workflow's choices overriding the agent's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig, Choices
from atelier_desk.domain.errors import LimitError
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.run.reducer.state import RunState


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

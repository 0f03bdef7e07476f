"""Options that choose agent and model, shared by ``run`` and ``chat``."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.agent import Agent, AgentConfig, Choices, Thinking
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.runs.effective_agent import chosen
from atelier_desk.engine.services.common import input_checks
from atelier_desk.presentation.file_change_text import missing_text
from atelier_desk.presentation.permission_profiles import mode_of
from atelier_desk.support.i18n import N_, _


async def chosen_workflow(atelier: Atelier, arguments: Namespace) -> Workflow | None:
    """The workflow to continue; None for a new one.

    Raises:
        NotFoundError: the named workflow does not exist, or there is none at all.
    """
    if arguments.latest:
        return await atelier.workflows.latest()
    return await atelier.workflows.get(arguments.workflow) if arguments.workflow else None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Agent and model chosen on the command line.

    Attributes:
        config: configuration to send with, when options change more than a workflow stores; None for the stored one.
        choices: what the workflow stores: the model and its reasoning effort.
    """

    config: AgentConfig | None
    agent_id: str
    choices: Choices

    async def keep(self, atelier: Atelier, workflow: Workflow) -> None:
        """Store agent and model in the workflow until others are chosen, as the window does."""
        if (self.agent_id, self.choices) != (workflow.agent_id, workflow.choices):
            await atelier.workflows.choose(workflow.id, self.choices, agent_id=self.agent_id)


async def chosen_agent(
    atelier: Atelier, arguments: Namespace, workflow: Workflow | None, schema: dict[str, object] | None = None
) -> Chosen:
    """The agent to send with, changed by the options.

    It is the agent named on the command line, else the workflow's, else the default one. ``schema`` is the
    answer schema of ``--schema``.

    Raises:
        UsageError: an unknown agent, provider or tool, or values that do not fit together.
    """
    if arguments.agent:
        agent = await atelier.agents.by_name(arguments.agent)
    elif workflow is not None and workflow.agent_id:
        agent = await _or_default(atelier, workflow.agent_id)
    else:
        agent = await atelier.agents.default()
    choices = await chosen_model(atelier, arguments, agent, workflow)
    changes = _changes(arguments)
    if schema is not None:
        changes["answer_schema"] = schema
    budget = {
        key: value
        for key, value in (
            ("max_cost", arguments.max_cost),
            ("max_tokens", arguments.max_tokens),
            ("max_seconds", arguments.timeout),
        )
        if value is not None
    }
    config = chosen(choices, agent.config)
    if budget:
        changes["budget"] = config.budget.model_copy(update=budget)
    if not changes:
        return Chosen(None, agent.id, choices)
    config = input_checks.changed(config, _("agent"), **changes)
    if "tools" in changes:
        atelier.agents.check_tools(config, stored=agent.config)
    return Chosen(config, agent.id, choices)


async def chosen_model(atelier: Atelier, arguments: Namespace, agent: Agent, workflow: Workflow | None) -> Choices:
    """The workflow's choices, changed by the model and effort options.

    Another agent starts with its own model and effort.
    """
    choices = workflow.choices if workflow is not None else Choices()
    if workflow is not None and agent.id != workflow.agent_id:
        choices = choices.without_model()
    changes: dict[str, object] = {}
    if arguments.provider is not None or arguments.model is not None:
        provider = arguments.provider or choices.provider or agent.config.provider
        await atelier.providers.get(provider)
        changes = {"provider": provider, "model": arguments.model or await first_model(atelier, provider)}
    if arguments.effort is not None:
        changes["thinking"] = Thinking(arguments.effort)
    return input_checks.changed(choices, _("agent"), **changes) if changes else choices


def _changes(arguments: Namespace) -> dict[str, object]:
    fields = ("tools", "tool_mode", "tool_dialect", "approval")
    found = {name: getattr(arguments, name) for name in fields if getattr(arguments, name) is not None}
    if "approval" in found:
        found["approval"] = mode_of(found["approval"])
    if arguments.system is not None:
        found["system_prompt"] = arguments.system
    if "tools" in found:
        found["tools"] = tuple(found["tools"])
    return found


async def _or_default(atelier: Atelier, agent_id: str) -> Any:
    try:
        return await atelier.agents.get(agent_id)
    except NotFoundError:
        return await atelier.agents.default()


async def first_model(atelier: Atelier, provider: str) -> str:
    """The first chat model of a provider, for ``--provider`` without ``--model``."""
    models = [model.name for model in await atelier.providers.models(provider) if not model.embedding]
    if not models:
        raise UsageError(N_("The provider {name} lists no models; specify a model with --model."), name=provider)
    return models[0]


async def grant(atelier: Atelier, out: Output, workflow: Workflow, named: Sequence[str]) -> None:
    """Grant a workflow's agents these folders in addition to those they may use already."""
    granted = tuple(dict.fromkeys((*workflow.workspace, *named)))
    if granted != workflow.workspace:
        await atelier.workflows.set_workspace(workflow.id, granted)
        await warn_about_unread(atelier, out, named)


async def warn_about_missing(atelier: Atelier, out: Output, granted: Sequence[str]) -> None:
    """Warn about granted folders that do not exist; the turn starts anyway."""
    for folder in await atelier.files.missing(granted):
        out.note(missing_text(folder), "warn")


async def warn_about_unread(atelier: Atelier, out: Output, granted: Sequence[str]) -> None:
    """Warn about folders whose agent instructions are not read because nobody trusted them."""
    for folder in await atelier.files.unread(granted):
        text = _(
            "Agents ignore the instructions in {folder}. To use them: atelier files trust {argument}",
            folder=folder,
            argument=shlex.quote(folder),
        )
        out.note(text, "warn")

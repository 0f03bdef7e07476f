"""The options that say who works, shared by ``run`` and ``chat``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import Parser, names, number
from atelier_desk.file_words import missing_words
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.agent import Agent, AgentConfig, Choices
    from atelier_desk.domain.workflow import Workflow
    from atelier_desk.engine.atelier import Atelier

TOOL_MODES = ("direct", "sections", "invoke")
DIALECTS = ("auto", "native", "xml", "guided")
PROFILES = ("plan", "ask", "ask-all", "edit", "free")
FORMER = {"selective": "ask", "manual": "ask-all", "auto": "free"}
"""The names that agent files and the program before this one use, accepted too."""
EFFORTS = ("off", "low", "medium", "high")
ON_APPROVAL = ("ask", "allow", "deny")


def add_agent_options(parser: Parser) -> None:
    """Options that choose or make up an agent."""
    who = parser.add_argument_group(_("agent"))
    add_model_options(who)
    who.add_argument("--system", metavar="TEXT", help=_("other instructions than the agent's"))
    who.add_argument("--tools", metavar="A,B", type=names, help=_("the tools it may use; an empty list for none"))
    who.add_argument("--tool-mode", choices=TOOL_MODES, help=_("tool loading"))
    who.add_argument("--tool-dialect", choices=DIALECTS, help=_("tool-call format"))
    add_profile_option(who)
    who.add_argument("--max-cost", metavar="USD", type=number(float, least=0), help=_("stop at this cost"))
    who.add_argument("--max-tokens", metavar="N", type=number(int, least=1), help=_("stop at this many tokens"))
    who.add_argument("--timeout", metavar="S", type=number(float, least=0.001), help=_("stop after this many seconds"))
    add_people_options(who)
    add_workspace_option(who)


def add_workspace_option(parser: argparse._ActionsContainer) -> None:
    """``--workspace``: folders that are granted; read with ``workspace``."""
    parser.add_argument("--workspace", metavar="DIR", action="append", default=[], help=_("a folder the workflow may use (repeatable)"))


def add_schema_option(parser: argparse._ActionsContainer) -> None:
    """``--schema``: the form of the answers; read with ``schema_from``."""
    parser.add_argument("--schema", metavar="FILE", help=_("a JSON Schema that the answer has to fit; - reads standard input"))


async def schema_from(out: Output, name: str) -> dict[str, Any] | None:
    """The schema of a file, checked; None for an empty one.

    Raises:
        UsageError, LimitError: it cannot be read, or is no JSON Schema of an object.
    """
    from atelier_desk.cli.files import read_text
    from atelier_desk.domain import answers

    return answers.schema_of(await read_text(out, name))


def add_profile_option(who: argparse._ActionsContainer) -> None:
    """``--approval``: the permission profile by its name; ``profile_words.mode_of`` turns it into what is stored."""
    who.add_argument(
        "--profile",
        "--approval",
        dest="approval",
        type=lambda name: FORMER.get(name, name),
        choices=PROFILES,
        help=_(
            "what it may do without asking (the agent's own): plan only reads, ask asks before changes, ask-all before every call, "
            "edit may also change files of its folders, free asks only about protected files, installations, what leaves the sandbox, "
            "repaired arguments and commands of unknown effect"
        ),
    )


def add_model_options(who: argparse._ActionsContainer) -> None:
    """Options that choose what a workflow keeps until another is chosen."""
    who.add_argument("--agent", metavar="NAME", help=_("the agent that works, from now on (the workflow's own, else the default one)"))
    who.add_argument("--provider", metavar="P", help=_("another provider than the agent's, from now on"))
    who.add_argument("--model", metavar="M", help=_("another model than the agent's, from now on"))
    who.add_argument("--effort", choices=EFFORTS, help=_("how long the model thinks before it answers, where it can be told"))


def add_workflow_options(parser: Parser) -> None:
    """Options that choose the workflow to go on in."""
    which = parser.add_mutually_exclusive_group()
    add_id(which, "--workflow", "workflow", help=_("continue this workflow"))
    which.add_argument("--continue", "-c", action="store_true", dest="latest", help=_("continue the most recent workflow"))


async def chosen_workflow(atelier: Atelier, arguments: argparse.Namespace) -> Workflow | None:
    """The workflow to go on in; None for a new one.

    Raises:
        NotFoundError: there is no such workflow, or none at all.
    """
    if arguments.latest:
        return await atelier.workflows.latest()
    return await atelier.workflows.get(arguments.workflow) if arguments.workflow else None


def add_people_options(parser: argparse._ActionsContainer) -> None:
    """Options that say how questions and calls that need an approval are dealt with, shared by everything that follows a run."""
    parser.add_argument("--answers", metavar="ask|skip|FILE", default="ask", help=_("how to answer the agents' questions"))
    parser.add_argument(
        "--on-approval",
        choices=ON_APPROVAL,
        default="ask",
        help=_("how to handle calls that need approval: ask here, allow or deny all"),
    )


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who works.

    Attributes:
        config: the configuration to send with, when options change more than a workflow keeps; None: the stored one, as chosen.
        choices: what the workflow keeps: the model and how long it thinks.
    """

    config: AgentConfig | None
    agent_id: str
    choices: Choices

    async def keep(self, atelier: Atelier, workflow: Workflow) -> None:
        """Agent and model hold in the workflow until others are chosen, as if they were picked in the window."""
        if (self.agent_id, self.choices) != (workflow.agent_id, workflow.choices):
            await atelier.workflows.choose(workflow.id, self.choices, agent_id=self.agent_id)


async def chosen_agent(
    atelier: Atelier, arguments: argparse.Namespace, workflow: Workflow | None, schema: dict[str, Any] | None = None
) -> Chosen:
    """The agent to send with: the one that is named, else the workflow's, else the default one, as the options change it.

    ``schema`` is that of ``--schema``.

    Raises:
        UsageError: an unknown agent, provider or tool, or values that do not fit together.
    """
    from atelier_desk.engine.choosing import chosen
    from atelier_desk.engine.services.common import checks

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
        for key, value in (("max_cost", arguments.max_cost), ("max_tokens", arguments.max_tokens), ("max_seconds", arguments.timeout))
        if value is not None
    }
    config = chosen(choices, agent.config)
    if budget:
        changes["budget"] = config.budget.model_copy(update=budget)
    if not changes:
        return Chosen(None, agent.id, choices)
    config = checks.changed(config, _("agent"), **changes)
    if "tools" in changes:
        atelier.agents.check_tools(config, stored=agent.config)
    return Chosen(config, agent.id, choices)


async def chosen_model(atelier: Atelier, arguments: argparse.Namespace, agent: Agent, workflow: Workflow | None) -> Choices:
    """What was chosen for the workflow before, with the model and the effort that the options name; another agent begins with its own."""
    from atelier_desk.domain.agent import Choices, Thinking
    from atelier_desk.engine.services.common import checks

    choices = workflow.choices if workflow is not None else Choices()
    if workflow is not None and agent.id != workflow.agent_id:
        choices = choices.without_model()
    changes: dict[str, Any] = {}
    if arguments.provider is not None or arguments.model is not None:
        provider = arguments.provider or choices.provider or agent.config.provider
        await atelier.providers.get(provider)
        changes = {"provider": provider, "model": arguments.model or await first_model(atelier, provider)}
    if arguments.effort is not None:
        changes["thinking"] = Thinking(arguments.effort)
    return checks.changed(choices, _("agent"), **changes) if changes else choices


def _changes(arguments: argparse.Namespace) -> dict[str, Any]:
    fields = ("tools", "tool_mode", "tool_dialect", "approval")
    found = {name: getattr(arguments, name) for name in fields if getattr(arguments, name) is not None}
    if "approval" in found:
        from atelier_desk.profile_words import mode_of

        found["approval"] = mode_of(found["approval"])
    if arguments.system is not None:
        found["system_prompt"] = arguments.system
    if "tools" in found:
        found["tools"] = tuple(found["tools"])
    return found


async def _or_default(atelier: Atelier, agent_id: str) -> Any:
    from atelier_desk.domain.errors import NotFoundError

    try:
        return await atelier.agents.get(agent_id)
    except NotFoundError:
        return await atelier.agents.default()


async def first_model(atelier: Atelier, provider: str) -> str:
    """The first chat model of a provider, for ``--provider`` without ``--model``."""
    from atelier_desk.domain.errors import UsageError

    models = [model.name for model in await atelier.providers.models(provider) if not model.embedding]
    if not models:
        raise UsageError(N_("The provider {name} offers no model; name one with --model."), name=provider)
    return models[0]


def workspace(out: Output, arguments: argparse.Namespace) -> tuple[str, ...]:
    """The folders of ``--workspace``, absolute; each must exist."""
    return folders(out, arguments.workspace)


def folders(out: Output, names: Sequence[str]) -> tuple[str, ...]:
    """Folders that were named, absolute; each must exist."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.domain.errors import UsageError

    found = []
    for name in names:
        folder = Path(path_of(out, name)).resolve()
        if not folder.is_dir():
            raise UsageError(N_("{path} is not a folder."), path=folder)
        found.append(str(folder))
    return tuple(dict.fromkeys(found))


async def grant(atelier: Atelier, out: Output, workflow: Workflow, named: Sequence[str]) -> None:
    """Let agents of a workflow use these folders besides those they may use already."""
    granted = tuple(dict.fromkeys((*workflow.workspace, *named)))
    if granted != workflow.workspace:
        await atelier.workflows.set_workspace(workflow.id, granted)
        await tell_unread(atelier, out, named)


async def tell_missing(atelier: Atelier, out: Output, granted: Sequence[str]) -> None:
    """Say which granted folders are not there; a turn begins all the same, and its tools say so too."""
    for folder in await atelier.files.missing(granted):
        out.note(missing_words(folder), "warn")


async def tell_unread(atelier: Atelier, out: Output, granted: Sequence[str]) -> None:
    """Say which folders have instructions for agents that are not read, as nobody was asked about them."""
    for folder in await atelier.files.unread(granted):
        text = _("{folder} has instructions for agents that are ignored. To use them: atelier files trust {folder}", folder=folder)
        out.note(text, "warn")

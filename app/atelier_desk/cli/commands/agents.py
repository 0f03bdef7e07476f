"""``atelier agents``: list, show, add and remove."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("agents", _("who works, with which model and tools"))
    group.command("list", _("all agents"), "agents:list_", needs=DATABASE)
    show = group.command("show", _("an agent's file"), "agents:show", needs=DATABASE)
    show.add_argument("name", metavar="NAME")
    added = group.command("add", _("store the agent of a file"), "agents:add_")
    added.add_argument("file", metavar="FILE", help=_("JSON of the agent; - reads standard input"))
    added.add_argument("--on-conflict", choices=("error", "skip", "overwrite", "rename"), default="error")
    remove = group.command("remove", _("remove an agent"), "agents:remove")
    remove.add_argument("name", metavar="NAME")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    agents = await atelier.agents.ensure_builtin()
    if out.json:
        data(out, [agent.model_dump(mode="json") for agent in agents])
        return 0
    rows = [(agent.name, agent.config.provider, agent.config.model, ", ".join(agent.config.tools)) for agent in agents]
    table(out, rows, (_("name"), _("provider"), _("model"), _("tools")))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    await atelier.agents.ensure_builtin()
    agent = await atelier.agents.by_name(arguments.name)
    out.write(await atelier.agents.export_json(agent.id) + "\n")
    return 0


async def add_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import read_text
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.agent import AgentConfig
    from atelier_desk.engine.services.common import checks

    text = await read_text(out, arguments.file)
    if arguments.on_conflict == "error":
        agent = await atelier.agents.save(checks.parse_json(AgentConfig, text, _("agent file")))
    else:
        agent = await atelier.agents.import_json(text, arguments.on_conflict)
    if out.json:
        data(out, agent.model_dump(mode="json"))
    else:
        line(out, f"{agent.id}  {agent.name}")
    return 0


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    agent = await atelier.agents.by_name(arguments.name)
    await atelier.agents.delete(agent.id)
    if out.json:
        data(out, {"removed": agent.name})
    else:
        line(out, _("Removed {name}", name=agent.name))
    return 0

"""``atelier agents``: list, show, add, change and remove."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.agent_options import add_schema_option, schema_from
from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import N_, _

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
    add_schema_option(added)
    edit = group.command("edit", _("set the answer schema of an agent"), "agents:edit")
    edit.add_argument("name", metavar="NAME")
    form = edit.add_mutually_exclusive_group(required=True)
    add_schema_option(form)
    form.add_argument("--no-schema", action="store_true", help=_("remove the answer schema"))
    imported = group.command(
        "import", _("store an agent of another program's file: Claude Code, opencode, Codex, Cursor…"), "agents:import_"
    )
    imported.add_argument("file", metavar="FILE", help=_("Markdown, YAML or TOML; - reads standard input as Markdown"))
    imported.add_argument("--on-conflict", choices=("error", "skip", "overwrite", "rename"), default="error")
    imported.add_argument("--dry-run", action="store_true", help=_("preview without saving"))
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
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.agent import AgentConfig
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.engine.services.common import checks

    if arguments.file == arguments.schema == "-":
        raise UsageError(N_("Standard input is either the agent or the schema."))
    config = checks.parse_json(AgentConfig, await read_text(out, arguments.file), _("agent file"))
    if arguments.schema is not None:
        config = checks.changed(config, _("agent"), answer_schema=await schema_from(out, arguments.schema))
    if arguments.on_conflict == "error":
        agent = await atelier.agents.save(config)
    else:
        agent = await atelier.agents.import_config(config, arguments.on_conflict)
    outcome(out, agent.model_dump(mode="json"), f"{agent.id}  {agent.name}")
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome
    from atelier_desk.engine.services.common import checks

    agent = await atelier.agents.by_name(arguments.name)
    schema = None if arguments.no_schema else await schema_from(out, arguments.schema)
    agent = await atelier.agents.save(checks.changed(agent.config, _("agent"), answer_schema=schema), agent.id)
    outcome(out, agent.model_dump(mode="json"), f"{agent.id}  {agent.name}")
    return 0


async def import_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """What cannot be taken is said on standard error before anything is stored."""
    from atelier_desk.cli.files import read_text
    from atelier_desk.cli.output import data, outcome

    text = await read_text(out, arguments.file)
    read = await atelier.agents.read_file(text, "agent.md" if arguments.file == "-" else arguments.file)
    notes = [note.localized(_) for note in read.notes]
    for note in notes:
        out.note(note, "warn")
    if arguments.dry_run:
        data(out, {"agent": read.config.model_dump(mode="json"), "notes": notes})
        return 0
    if arguments.on_conflict == "error":
        agent = await atelier.agents.save(read.config)
    else:
        agent = await atelier.agents.import_config(read.config, arguments.on_conflict)
    outcome(out, {**agent.model_dump(mode="json"), "notes": notes}, f"{agent.id}  {agent.name}")
    return 0


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    agent = await atelier.agents.by_name(arguments.name)
    await atelier.agents.delete(agent.id)
    outcome(out, {"removed": agent.name}, _("Removed {name}", name=agent.name))
    return 0

"""``atelier agents``: list, show, add, change and remove."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.file_arguments import read_text, schema_from
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.agent_gallery import READY
from atelier_desk.engine.services.common import input_checks
from atelier_desk.support.i18n import N_, _


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    agents = await atelier.agents.ensure_builtin()
    rows = (
        (agent.name, agent.config.purpose, agent.config.provider, agent.config.model, str(len(agent.config.tools)))
        for agent in agents
    )
    return Result(agents, Table((_("name"), _("purpose"), _("provider"), _("model"), _("tools")), rows))


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    await atelier.agents.ensure_builtin()
    agent = await atelier.agents.by_name(arguments.name)
    out.write(await atelier.agents.export_json(agent.id) + "\n")
    return 0


async def gallery(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    configs = {each.key: await atelier.agents.ready(each.key) for each in READY}
    rows = [
        {"key": key, "name": config.name, "purpose": config.purpose, "tools": list(config.tools)}
        for key, config in configs.items()
    ]
    cells = ((key, config.name, config.purpose) for key, config in configs.items())
    return Result(rows, Table((_("key"), _("name"), _("purpose")), cells))


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.file == arguments.schema == "-":
        raise UsageError(N_("Standard input can contain the agent or the schema, not both."))
    if arguments.ready:
        config = await atelier.agents.ready(arguments.ready)
    else:
        config = input_checks.parse_json(AgentConfig, await read_text(out, arguments.file), _("agent file"))
    if arguments.name is not None:
        config = input_checks.changed(config, _("agent"), name=arguments.name)
    if arguments.schema is not None:
        config = input_checks.changed(config, _("agent"), answer_schema=await schema_from(out, arguments.schema))
    if arguments.on_conflict == "error":
        agent = await atelier.agents.save(config)
    else:
        agent = await atelier.agents.import_config(config, arguments.on_conflict)
    return Result(agent, f"{agent.id}  {agent.name}")


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    agent = await atelier.agents.by_name(arguments.name)
    schema = None if arguments.no_schema else await schema_from(out, arguments.schema)
    agent = await atelier.agents.save(input_checks.changed(agent.config, _("agent"), answer_schema=schema), agent.id)
    return Result(agent, f"{agent.id}  {agent.name}")


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Report entries that cannot be imported on standard error before anything is stored."""
    text = await read_text(out, arguments.file)
    read = await atelier.agents.read_file(text, "agent.md" if arguments.file == "-" else arguments.file)
    notes = [note.localized(_) for note in read.notes]
    for note in notes:
        out.note(note, "warn")
    if arguments.dry_run:
        return Result({"agent": read.config, "notes": notes})
    if arguments.on_conflict == "error":
        agent = await atelier.agents.save(read.config)
    else:
        agent = await atelier.agents.import_config(read.config, arguments.on_conflict)
    return Result({**agent.model_dump(mode="json"), "notes": notes}, f"{agent.id}  {agent.name}")


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    agent = await atelier.agents.by_name(arguments.name)
    await atelier.agents.delete(agent.id)
    return Result({"removed": agent.name}, _("Removed {name}.", name=agent.name))

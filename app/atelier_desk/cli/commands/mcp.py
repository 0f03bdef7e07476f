"""``atelier mcp``: servers of the Model Context Protocol, their tools, resources and calls."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from importlib import import_module

from atelier_desk import __version__
from atelier_desk.cli.command_result import Note, Result, Shown, Table, print_note
from atelier_desk.cli.file_arguments import path_of
from atelier_desk.cli.headers_and_secrets import headers_of, name_and_value, need_mcp_keyring
from atelier_desk.cli.mcp_output import described, health_of, health_text, waits_of
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.terminal_io import Output, moment
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpServer, McpState
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.mcp_config_checks import checked
from atelier_desk.engine.services.common.mcp_status import McpHealth
from atelier_desk.mcp.config_import.found_server import is_secret
from atelier_desk.presentation.mcp_server_text import STATES, TOOL_STATES, why_text
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    rows = await atelier.mcp.list()
    cells = ((row.name, _(STATES[row.state]), str(row.tools), _time(row.latency_ms), row.config.place) for row in rows)
    return Result(
        list(map(described, rows)),
        Table((_("name"), _("state"), _("tools"), _("startup time"), _("location")), cells),
        map(waits_of, rows),
    )


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    secrets: dict[str, str] = {}
    env: dict[str, str] = {}
    for given, hidden in [
        *((each, False) for each in arguments.env or ()),
        *((each, True) for each in arguments.secret or ()),
    ]:
        name, value = name_and_value(given)
        if hidden or is_secret(name, value):
            env[name], secrets[f"env:{name}"] = "", value
        else:
            env[name] = value
    headers, values = headers_of(arguments.header, named=lambda value: "$" in value)
    secrets |= {f"header:{name}": value for name, value in values.items()}
    if arguments.client_secret:
        if not arguments.client_id:
            raise UsageError(N_("A client secret needs a client ID: --client-id ID."))
        if not atelier.vault.persistent:
            raise UsageError(N_("This computer has no keyring to store the client secret in."), code="no_keyring")
        secrets["client:secret"] = arguments.client_secret
    home = not arguments.folder or arguments.folder.startswith("~")
    folder = arguments.folder if home else str(path_of(out, arguments.folder))
    line_ = [_from_here(word, out, first=index == 0) for index, word in enumerate(arguments.line or [""])]
    fields: dict[str, object] = (
        {"transport": "http", "url": arguments.url}
        if arguments.url is not None
        else {"command": line_[0], "args": tuple(line_[1:])}
    )
    config = input_checks.build(
        McpServer, _("MCP server"), name=arguments.name, env=env, headers=headers, folder=folder,
        sandbox=arguments.sandbox,
        timeout_s=arguments.timeout, older_protocol=arguments.older_protocol,
        client_id=arguments.client_id, scopes=arguments.scopes, **fields,
    )  # fmt: skip
    await need_mcp_keyring(atelier, (key for key in secrets if key != "client:secret"), checked(config).headers)
    agents = [await atelier.agents.by_name(name) for name in arguments.agent or ()]
    await atelier.mcp.save(config, secrets, new=True)
    for agent in agents:
        await atelier.mcp.give(config.name, agent.id, True)
    print_note(out, _("Added {name}.", name=config.name))
    health = None if arguments.no_test else await atelier.mcp.test(config.name)
    return Result(
        {**described(await atelier.mcp.get(config.name)), "test": health_of(health) if health is not None else None},
        health_text(config.name, health) if health is not None else (),
        ()
        if agents
        else Note(
            _(
                "No agent has the tools of {name} yet. To give them to an agent: atelier mcp give {name} AGENT",
                name=config.name,
            )
        ),
    )


def _from_here(word: str, out: Output, *, first: bool) -> str:
    """Make a relative path in a server's command absolute: the server starts in another folder.

    Args:
        first: the word is the program, where every form of a path counts; in other words only an explicit path does.
    """

    separators = [each for each in (os.sep, os.altsep) if each]
    written = tuple(f"{dots}{each}" for dots in (".", "..") for each in separators)
    path = any(each in word for each in separators) if first else word.startswith(written)
    if not path or word.startswith("~") or not (there := path_of(out, word)).exists():
        return word
    return str(there)


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.mcp.remove(arguments.name)
    return Result({"removed": arguments.name}, _("Removed {name}.", name=arguments.name))


async def test(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when the server answers, else 1."""
    health = await atelier.mcp.test(arguments.name)
    waits = waits_of(await atelier.mcp.get(arguments.name)) if health.ok else ()
    log = await atelier.mcp.log(arguments.name) if arguments.log else ()
    lines = (" ".join(filter(None, (f"{each.time:%H:%M:%S}", each.level, each.logger, each.text))) for each in log)
    return _verdict(arguments.name, health, waits, lines)


def _verdict(name: str, health: McpHealth, *more: Shown) -> Result:
    return Result(health_of(health), health_text(name, health), *more, status=OK if health.ok else FAILED)


async def status(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 1 when a server has failed, else 0. No server is started."""
    rows = await atelier.mcp.check(arguments.names)
    failed = any(row.state in (McpState.FAILED, McpState.SIGN_IN) for row in rows)
    cells = (
        (
            row.name,
            _(STATES[row.state]),
            _time(row.latency_ms),
            _time(row.ping_ms),
            str(row.failures),
            str(row.pid or "-"),
        )
        for row in rows
    )
    return Result(
        list(map(described, rows)),
        Table((_("name"), _("state"), _("startup time"), _("response time"), _("failures"), _("process")), cells),
        map(waits_of, rows),
        status=FAILED if failed else OK,
    )


def _time(milliseconds: int) -> str:
    return locale_format.duration(milliseconds) if milliseconds else "-"


async def restart(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when the server answers, else 1."""
    return _verdict(arguments.name, await atelier.mcp.restart(arguments.name))


async def roots(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Show, add and remove the folders shared with a server (roots)."""

    def whole(folder: str) -> str:
        return str(path_of(out, folder).resolve())

    row = await atelier.mcp.get(arguments.name)
    removed = {whole(each) for each in arguments.remove}
    if unknown := removed - set(row.config.roots):
        known = ", ".join(row.config.roots) or _("none")
        raise UsageError(
            N_("{folder} is not shared with the server. Shared folders: {known}."), folder=min(unknown), known=known
        )
    folders = [each for each in row.config.roots if each not in removed]
    folders += [each for each in map(whole, arguments.add) if each not in folders]
    if arguments.add or arguments.remove:
        row = await atelier.mcp.let_know(arguments.name, folders)
    return Result(row.config.roots, row.config.roots or Note(_("No folders are shared with the server.")))


async def tools(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    for names, on in ((arguments.on, True), (arguments.off, False)):
        for name in names or ():
            await atelier.mcp.switch_tool(arguments.name, name, on)
    if arguments.approve is not None:
        await atelier.mcp.approve(arguments.name, arguments.approve or None)
    rows = await atelier.mcp.tools(arguments.name)

    def shown() -> Iterator[Shown]:
        cells = (
            (row.tool, _(TOOL_STATES[row.state]) if row.on else _("off"), row.name or "-", row.told) for row in rows
        )
        yield Table((_("tool"), _("state"), _("name agents use"), _("description")), cells)
        for row in rows:
            if row.problem:
                yield Note(f"{row.tool}: {why_text(row.problem)}", "warn")
            if row.approved_told:
                yield Note(
                    _(
                        "Previous description of {name}: {text}",
                        name=row.tool,
                        text=" ".join(row.approved_told.split())[:300],
                    ),
                    "warn",
                )
        if not rows:
            yield _none_listed(arguments.name)

    return Result(rows, shown())


def _none_listed(name: str) -> Note:
    return Note(_("Nothing is listed yet. To see what the server offers: atelier mcp test {name}", name=name))


async def calls(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    rows = await atelier.mcp.calls(arguments.name, arguments.limit)
    lines = (
        (
            moment(row.started_at, seconds=True),
            row.tool,
            row.agent_name,
            row.status,
            locale_format.duration(row.duration_ms),
            row.error,
        )
        for row in rows
    )
    return Result(
        [row.model_dump(mode="json", exclude={"parts", "presentation"}) for row in rows],
        Table((_("date"), _("tool"), _("agent"), _("status"), _("duration"), _("error")), lines),
    )


async def resources(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Resources as last listed; no server is started."""
    known = (await atelier.mcp.get(arguments.name)).known
    cells = [(each["uri"], each["name"], each["media_type"] or "-") for each in known.listed]
    cells += [(each.uri, each.name, each.media_type or "-") for each in known.templates]
    value = {"resources": known.listed, "templates": known.templates}
    return Result(
        value, Table((_("address"), _("name"), _("type")), cells), () if cells else _none_listed(arguments.name)
    )


async def read(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    uri = arguments.uri
    if arguments.value or any(each.uri == uri for each in (await atelier.mcp.get(arguments.name)).known.templates):
        uri = await atelier.mcp.content.fill(arguments.name, uri, dict(map(name_and_value, arguments.value or ())))
    text, content, kind = await atelier.mcp.content.resource(arguments.name, uri)
    if content and not out.json:
        raise UsageError(
            N_("{uri} is not text ({kind}). Attach it to a message in the desktop app."), uri=uri, kind=kind or "-"
        )
    return Result({"uri": uri, "media_type": kind, "text": text, "bytes": len(content)}, text)


async def _switch(atelier: Atelier, arguments: Namespace, out: Output, *, wanted: bool) -> Result:
    await atelier.mcp.switch(arguments.name, wanted)
    return Result(
        {"name": arguments.name, "on": wanted},
        _("{name} enabled.", name=arguments.name) if wanted else _("{name} disabled.", name=arguments.name),
    )


on = partial(_switch, wanted=True)
off = partial(_switch, wanted=False)


async def login(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when the server is connected afterwards."""

    def told(url: str) -> None:
        out.note(_("Use your browser to sign in. If it does not open: {url}", url=url))

    return _verdict(arguments.name, await atelier.mcp.sign_in(arguments.name, told))


async def logout(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.mcp.sign_out(arguments.name)
    return Result({"signed_out": arguments.name}, _("Signed out of {name}.", name=arguments.name))


async def _give(atelier: Atelier, arguments: Namespace, out: Output, *, wanted: bool) -> Result:
    agent = await atelier.agents.by_name(arguments.agent)
    await atelier.mcp.give(arguments.name, agent.id, wanted)
    servers = (await atelier.agents.get(agent.id)).config.mcp_servers
    return Result(
        {"agent": agent.name, "mcp_servers": list(servers)},
        _("MCP servers of {agent}: {names}", agent=agent.name, names=", ".join(servers) or _("none")),
    )


give = partial(_give, wanted=True)
take = partial(_give, wanted=False)


async def serve(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    """Run until standard input ends. Standard output carries only the protocol."""
    # Imported here because the SDK's server takes long to load and no other command needs it.
    await in_tool_thread(import_module, "mcp.server.mcpserver")
    from atelier_desk.engine import mcp_server

    await mcp_server.serve(mcp_server.offered(atelier, __version__), lambda: out.ask(""), out.write)
    return 0

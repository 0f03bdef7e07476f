"""``atelier mcp``: servers of the Model Context Protocol, their tools, resources and calls."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk import figures
from atelier_desk.cli.commands import mcp_import
from atelier_desk.cli.mcp_output import described, health_of, tell_health, tell_waiting
from atelier_desk.cli.parser import DATABASE, ENGINE, TOOLS, Adder, number
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("mcp", _("MCP servers: tools of other programs"))

    def of_one(name: str, help: str, needs: str = ENGINE) -> argparse.ArgumentParser:
        """A command whose first argument names a server."""
        command = group.command(name, help, f"mcp:{name}", needs=needs)
        command.add_argument("name", metavar="NAME")
        return command

    group.command("list", _("all servers"), "mcp:list_", needs=TOOLS)
    _register_add(group)
    of_one("remove", _("remove a server and its secrets"))
    test_ = of_one("test", _("start a server, and compare its tools with what was approved"))
    test_.add_argument("--log", action="store_true", help=_("show what the server logs meanwhile"))
    state = group.command("status", _("status of the servers; running ones are pinged"), "mcp:status", needs=TOOLS)
    state.add_argument("names", metavar="NAME", nargs="*", help=_("only these; default: all"))
    of_one("restart", _("restart a server"))
    folders = of_one("roots", _("folders shared with a server (roots)"))
    folders.add_argument("--add", metavar="DIR", action="append", default=[], help=_("share a folder (repeatable)"))
    folders.add_argument("--remove", metavar="DIR", action="append", default=[], help=_("stop sharing a folder (repeatable)"))
    offered = of_one("tools", _("list a server's tools and changes since approval"), TOOLS)
    offered.add_argument("--approve", metavar="TOOL", nargs="*", help=_("approve the current version of these; without names, all"))
    offered.add_argument("--on", metavar="TOOL", action="append", help=_("enable a tool (repeatable)"))
    offered.add_argument("--off", metavar="TOOL", action="append", help=_("disable a tool (repeatable)"))
    made = of_one("calls", _("the newest calls of a server's tools"), DATABASE)
    made.add_argument("--limit", metavar="N", type=number(int, least=1), default=20, help=_("how many (20)"))
    of_one("resources", _("list a server's resources and resource templates"), TOOLS)
    content = of_one("read", _("read a resource of a server"))
    content.add_argument("uri", metavar="URI", help=_("its address; one with parts in braces gets them by --value"))
    content.add_argument("--value", metavar="NAME=VALUE", action="append", help=_("a part of the address (repeatable)"))
    of_one("on", _("enable a server"))
    of_one("off", _("disable a server"))
    of_one("login", _("sign in to a server in the browser"))
    of_one("logout", _("sign out of a server"))
    of_one("give", _("give all tools of a server to an agent")).add_argument("agent", metavar="AGENT")
    of_one("take", _("take a server's tools from an agent")).add_argument("agent", metavar="AGENT")
    group.command("serve", _("run as an MCP server over standard input and output"), "mcp:serve")
    mcp_import.register(group)


def _register_add(group: Adder) -> None:
    added = group.command("add", _("configure a server, and start it to see its tools"), "mcp:add_")
    added.add_argument("name", metavar="NAME")
    how = added.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "--command",
        dest="line",
        metavar="WORD",
        nargs=argparse.REMAINDER,
        help=_("the program and its arguments; the last option of the line"),
    )
    how.add_argument("--url", metavar="U", help=_("the address of a server over HTTP"))
    added.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        help=_("a variable of the program; what looks like a secret goes to the keyring (repeatable)"),
    )
    added.add_argument("--secret", metavar="NAME=VALUE", action="append", help=_("a variable whose value goes to the keyring (repeatable)"))
    added.add_argument(
        "--header",
        metavar="'NAME: VALUE'",
        action="append",
        help=_("sent with each request; a value goes to the keyring, $VARIABLE is kept as it is (repeatable)"),
    )
    added.add_argument("--client-id", metavar="ID", default="", help=_("the client that you registered with the server's sign-in by hand"))
    added.add_argument("--client-secret", metavar="SECRET", default="", help=_("the secret of that client; it goes to the keyring"))
    added.add_argument("--scopes", metavar="'A B'", default="", help=_("what is asked for at sign-in; what the server names without it"))
    added.add_argument("--folder", metavar="DIR", default="", help=_("where the program starts; your home without it"))
    added.add_argument("--sandbox", action="store_true", help=_("let it write only in its folder, and read no secrets"))
    added.add_argument(
        "--older-protocol", action="store_true", help=_("talk to it in a protocol revision before 2026-07-28, whatever it offers")
    )
    added.add_argument("--timeout", metavar="S", type=number(float, least=1), default=30.0, help=_("seconds a call may take (30)"))
    added.add_argument("--agent", metavar="NAME", action="append", help=_("give its tools to this agent (repeatable)"))
    added.add_argument("--no-test", action="store_true", help=_("do not start it"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table
    from atelier_desk.mcp_words import STATES

    rows = await atelier.mcp.list()
    if out.json:
        data(out, [described(row) for row in rows])
        return 0
    lines = [(row.name, _(STATES[row.state]), str(row.tools), _time(row.ping_ms or row.latency_ms), row.config.place) for row in rows]
    table(out, lines, (_("name"), _("state"), _("tools"), _("latency"), _("place")))
    for row in rows:
        tell_waiting(out, row)
    return 0


async def add_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.header_options import headers_of, name_and_value, need_mcp_keyring
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.domain.mcp import McpServer
    from atelier_desk.engine.services.common import checks
    from atelier_desk.engine.services.common.mcp_rules import checked
    from atelier_desk.mcp.reading.found import is_secret

    secrets: dict[str, str] = {}
    env: dict[str, str] = {}
    for given, hidden in [*((each, False) for each in arguments.env or ()), *((each, True) for each in arguments.secret or ())]:
        name, value = name_and_value(given)
        if hidden or is_secret(name, value):
            env[name], secrets[f"env:{name}"] = "", value
        else:
            env[name] = value
    headers, values = headers_of(arguments.header, named=lambda value: "$" in value)
    secrets |= {f"header:{name}": value for name, value in values.items()}
    if arguments.client_secret:
        if not arguments.client_id:
            raise UsageError(N_("A client's secret needs the client's id: --client-id ID."))
        if not await atelier.mcp.keeps_secrets():
            raise UsageError(N_("This machine has no keyring to keep the client's secret in."), code="no_keyring")
        secrets["client:secret"] = arguments.client_secret
    home = not arguments.folder or arguments.folder.startswith("~")
    folder = arguments.folder if home else str(path_of(out, arguments.folder))
    line_ = [_from_here(word, out, first=place == 0) for place, word in enumerate(arguments.line or [""])]
    fields: dict[str, Any] = (
        {"transport": "http", "url": arguments.url} if arguments.url is not None else {"command": line_[0], "args": tuple(line_[1:])}
    )
    config = checks.build(
        McpServer, _("MCP server"), name=arguments.name, env=env, headers=headers, folder=folder, sandbox=arguments.sandbox,
        timeout_s=arguments.timeout, older_protocol=arguments.older_protocol,
        client_id=arguments.client_id, scopes=arguments.scopes, **fields,
    )  # fmt: skip
    await need_mcp_keyring(atelier, (key for key in secrets if key != "client:secret"), checked(config).headers)
    agents = [await atelier.agents.by_name(name) for name in arguments.agent or ()]
    await atelier.mcp.save(config, secrets, new=True)
    for agent in agents:
        await atelier.mcp.give(config.name, agent.id, True)
    if not out.json:
        line(out, _("Added {name}.", name=config.name))
    health = None if arguments.no_test else await atelier.mcp.test(config.name)
    if out.json:
        data(out, {**described(await atelier.mcp.get(config.name)), "test": health_of(health) if health is not None else None})
    elif health is not None:
        tell_health(out, config.name, health)
    if not agents and not out.json:
        out.note(_("No agent has its tools yet. To give them: atelier mcp give {name} AGENT", name=config.name))
    return 0


def _from_here(word: str, out: Output, *, first: bool) -> str:
    """A word of a command whose path begins at the folder the person is in: the server starts elsewhere, and would not find it.

    Args:
        first: it is the program, for which a path in any form is one; of the others only what is written as one.
    """
    import os

    from atelier_desk.cli.files import path_of

    separators = [each for each in (os.sep, os.altsep) if each]
    written = tuple(f"{dots}{each}" for dots in (".", "..") for each in separators)
    path = any(each in word for each in separators) if first else word.startswith(written)
    if not path or word.startswith("~") or not (there := path_of(out, word)).exists():
        return word
    return str(there)


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    await atelier.mcp.remove(arguments.name)
    outcome(out, {"removed": arguments.name}, _("Removed {name}", name=arguments.name))
    return 0


async def test(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when the server answers, 1 when not."""
    from atelier_desk.cli.output import data, line

    health = await atelier.mcp.test(arguments.name)
    if out.json:
        data(out, health_of(health))
    else:
        tell_health(out, arguments.name, health)
        if health.ok:
            tell_waiting(out, await atelier.mcp.get(arguments.name))
        for each in await atelier.mcp.log(arguments.name) if arguments.log else ():
            line(out, " ".join(filter(None, (f"{each.time:%H:%M:%S}", each.level, each.logger, each.text))))
    return 0 if health.ok else 1


async def status(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when none of them has failed, 1 when one has. None is started."""
    from atelier_desk.cli.output import data, table
    from atelier_desk.domain.mcp import McpState
    from atelier_desk.mcp_words import STATES

    rows = await atelier.mcp.check(arguments.names)
    failed = any(row.state in (McpState.FAILED, McpState.SIGN_IN) for row in rows)
    if out.json:
        data(out, [described(row) for row in rows])
        return 1 if failed else 0
    lines = [
        (row.name, _(STATES[row.state]), _time(row.latency_ms), _time(row.ping_ms), str(row.failures), str(row.pid or "-")) for row in rows
    ]
    table(out, lines, (_("name"), _("state"), _("started in"), _("answers in"), _("failures"), _("process")))
    for row in rows:
        tell_waiting(out, row)
    return 1 if failed else 0


def _time(milliseconds: int) -> str:
    return figures.duration(milliseconds) if milliseconds else "-"


async def restart(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when the server answers, 1 when not."""
    from atelier_desk.cli.output import data

    health = await atelier.mcp.restart(arguments.name)
    if out.json:
        data(out, health_of(health))
    else:
        tell_health(out, arguments.name, health)
    return 0 if health.ok else 1


async def roots(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Show, add and remove the folders a server may be told of."""
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import UsageError

    def whole(folder: str) -> str:
        return str(path_of(out, folder).resolve())

    row = await atelier.mcp.get(arguments.name)
    removed = {whole(each) for each in arguments.remove}
    if unknown := removed - set(row.config.roots):
        known = ", ".join(row.config.roots) or _("none")
        raise UsageError(N_("{folder} is not shared with the server. Shared folders: {known}."), folder=min(unknown), known=known)
    folders = [each for each in row.config.roots if each not in removed]
    folders += [each for each in map(whole, arguments.add) if each not in folders]
    if arguments.add or arguments.remove:
        row = await atelier.mcp.let_know(arguments.name, folders)
    if out.json:
        data(out, list(row.config.roots))
        return 0
    for each in row.config.roots:
        line(out, each)
    if not row.config.roots:
        out.note(_("No folders are shared with it."))
    return 0


async def tools(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table
    from atelier_desk.mcp_words import TOOL_STATES, why_words

    for names, on in ((arguments.on, True), (arguments.off, False)):
        for name in names or ():
            await atelier.mcp.switch_tool(arguments.name, name, on)
    if arguments.approve is not None:
        await atelier.mcp.approve(arguments.name, arguments.approve or None)
    rows = await atelier.mcp.tools(arguments.name)
    if out.json:
        from dataclasses import asdict

        data(out, [asdict(row) for row in rows])
        return 0
    lines = [
        (row.tool, _(TOOL_STATES[row.state]) if row.on else _("off"), row.name or "-", " ".join(row.told.split())[:100]) for row in rows
    ]
    table(out, lines, (_("tool"), _("state"), _("name for agents"), _("description")))
    for row in rows:
        if row.problem:
            out.note(f"{row.tool}: {why_words(row.problem)}", "warn")
        if row.approved_told:
            out.note(_("{name} said before: {text}", name=row.tool, text=" ".join(row.approved_told.split())[:300]), "warn")
    if not rows:
        out.note(_("None listed yet. To see them: atelier mcp test {name}", name=arguments.name))
    return 0


async def calls(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, moment, table

    rows = await atelier.mcp.calls(arguments.name, arguments.limit)
    if out.json:
        data(out, [row.model_dump(mode="json", exclude={"parts", "presentation"}) for row in rows])
        return 0
    lines = [
        (moment(row.started_at, seconds=True), row.tool, row.agent_name, row.status, figures.duration(row.duration_ms), row.error)
        for row in rows
    ]
    table(out, lines, (_("time"), _("tool"), _("agent"), _("status"), _("duration"), _("error")))
    return 0


async def resources(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """As it listed them last; nothing is started."""
    from atelier_desk.cli.output import data, table

    known = (await atelier.mcp.get(arguments.name)).known
    if out.json:
        data(out, {"resources": list(known.listed), "templates": [each.model_dump(mode="json") for each in known.templates]})
        return 0
    lines = [(each["uri"], each["name"], each["media_type"] or "-") for each in known.listed]
    lines += [(each.uri, each.name, each.media_type or "-") for each in known.templates]
    table(out, lines, (_("address"), _("name"), _("type")))
    if not lines:
        out.note(_("None listed yet. To see them: atelier mcp test {name}", name=arguments.name))
    return 0


async def read(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.header_options import name_and_value
    from atelier_desk.cli.output import data
    from atelier_desk.domain.errors import UsageError

    uri = arguments.uri
    if arguments.value or any(each.uri == uri for each in (await atelier.mcp.get(arguments.name)).known.templates):
        uri = await atelier.mcp.content.fill(arguments.name, uri, dict(map(name_and_value, arguments.value or ())))
    text, content, kind = await atelier.mcp.content.resource(arguments.name, uri)
    if out.json:
        data(out, {"uri": uri, "media_type": kind, "text": text, "bytes": len(content)})
    elif content:
        raise UsageError(N_("{uri} is no text ({kind}): attach it to a message in the window."), uri=uri, kind=kind or "-")
    else:
        out.write(text if text.endswith("\n") else text + "\n")
    return 0


async def on(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _switch(atelier, arguments, out, True)


async def off(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _switch(atelier, arguments, out, False)


async def _switch(atelier: Atelier, arguments: argparse.Namespace, out: Output, wanted: bool) -> int:
    from atelier_desk.cli.output import outcome

    await atelier.mcp.switch(arguments.name, wanted)
    outcome(
        out,
        {"name": arguments.name, "on": wanted},
        _("{name} enabled.", name=arguments.name) if wanted else _("{name} disabled.", name=arguments.name),
    )
    return 0


async def login(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when it is connected then."""
    from atelier_desk.cli.output import data

    def told(url: str) -> None:
        out.note(_("Sign in in your browser. If it does not open: {url}", url=url))

    health = await atelier.mcp.sign_in(arguments.name, told)
    if out.json:
        data(out, health_of(health))
    else:
        tell_health(out, arguments.name, health)
    return 0 if health.ok else 1


async def logout(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    await atelier.mcp.sign_out(arguments.name)
    outcome(out, {"signed_out": arguments.name}, _("Signed out of {name}.", name=arguments.name))
    return 0


async def give(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _give(atelier, arguments, out, True)


async def take(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _give(atelier, arguments, out, False)


async def _give(atelier: Atelier, arguments: argparse.Namespace, out: Output, wanted: bool) -> int:
    from atelier_desk.cli.output import outcome

    agent = await atelier.agents.by_name(arguments.agent)
    await atelier.mcp.give(arguments.name, agent.id, wanted)
    servers = (await atelier.agents.get(agent.id)).config.mcp_servers
    outcome(
        out,
        {"agent": agent.name, "mcp_servers": list(servers)},
        _("MCP servers of {agent}: {names}", agent=agent.name, names=", ".join(servers) or _("none")),
    )
    return 0


async def serve(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Until standard input ends. Standard output carries the protocol alone."""
    from atelier_desk import __version__
    from atelier_desk.engine import offering
    from atelier_desk.threads import in_tool_thread

    await in_tool_thread(_load_server)
    await offering.serve(offering.offered(atelier, __version__), lambda: out.ask(""), out.write)
    return 0


def _load_server() -> None:
    """The SDK takes two seconds to load."""
    import mcp.server.mcpserver  # noqa: F401

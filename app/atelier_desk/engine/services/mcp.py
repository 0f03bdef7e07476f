"""MCP servers: configuration, secrets, connections, and their tools.

Agents get a server's tools as its owner approved them. Those of its first list are approved with it; tools added later
are unavailable until approved, and a tool whose definition changed keeps the approved one and always asks.
"""

from __future__ import annotations

import asyncio
import builtins
import logging
import math
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.errors import AtelierError, ConflictError, LimitError, NotFoundError
from atelier_desk.domain.mcp import MOST_SERVERS, McpEntry, McpError, McpKnown, McpServer, McpState
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.engine.services.common import mcp_calls
from atelier_desk.engine.services.common.mcp_config_checks import (
    checked,
    denied_in,
    existing_folders,
    known_tool,
    same_place,
    started,
    tool_statuses,
)
from atelier_desk.engine.services.common.mcp_ping import McpPing
from atelier_desk.engine.services.common.mcp_problems import McpProblems, left_out, usable_tools
from atelier_desk.engine.services.common.mcp_resources_prompts import McpContent
from atelier_desk.engine.services.common.mcp_server_info import described, inspected
from atelier_desk.engine.services.common.mcp_sign_in import McpSignIn
from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus, McpToolStatus
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.mcp import results, tool_definitions
from atelier_desk.mcp.server_secrets import McpSecrets, resolved
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_storage_thread, in_tool_thread
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.base import ServerAsks
from atelier_desk.tools.registry import mcp_tool
from atelier_desk.tools.registry.sections import Section, of_server

if TYPE_CHECKING:
    from atelier_desk.domain.workflow import ToolExecution
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.mcp.connection import Connection
    from atelier_desk.mcp.results import Answer
    from atelier_desk.mcp.server_requests import LogLine
    from atelier_desk.tools.calls.context import ToolContext
    from atelier_desk.workspace.path_restrictions import Denials

log = logging.getLogger(__name__)


def _bare(config: McpServer) -> McpServer:
    """Return a server without fields that do not affect its identity."""
    return config.model_copy(update={"keyring": "", "enabled": True, "tools_off": (), "roots": ()})


def _healthy(entry: McpEntry) -> McpHealth:
    """Return the result of a successful test."""
    known = entry.known
    return McpHealth(
        ok=True,
        latency_ms=known.latency_ms,
        tools=usable_tools(entry),
        resources=known.resources,
        prompts=known.prompts,
        protocol=known.protocol,
        title=known.title,
        left_out=left_out(entry),
    )


class McpService:
    """MCP servers. Changes of one, including its state, are announced as ``mcp`` with its name.

    Attributes:
        content: resources and prompts.
        problems: problems of an agent's servers.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._entries: dict[str, McpEntry] | None = None
        self._connections: dict[str, Connection] = {}
        self._checked: dict[str, object] = {}
        """By server: the client whose tool list was compared with the approved one."""
        self._registered: dict[str, list[str]] = {}
        self._changing = asyncio.Lock()
        self._listing: dict[str, asyncio.Lock] = {}
        self.content = McpContent(self._all, self._entry, self._refresh, self._connection)
        self._refreshing: dict[str, asyncio.Task[None]] = {}
        self._waited: dict[str, tuple[float, float]] = {}
        """By server: the time of its last requested tool check, and the delay used."""
        self._watch = McpPing(self._connections, context.clock)
        self._folder: Path | None = None
        self._sign = McpSignIn(self, context.vault)
        self.problems = McpProblems(self._all, self._refresh, self._failure)
        self._secrets = McpSecrets(context.vault)
        self._tested: dict[str, tuple[McpServer, McpKnown]] = {}
        """By name: the last tested unsaved server, and its self-description."""

    async def list(self) -> builtins.list[McpStatus]:
        """Return all servers by name with their state."""
        entries = await self._all()
        return [await self._status(entries[name]) for name in sorted(entries, key=str.casefold)]

    async def get(self, name: str) -> McpStatus:
        """Return one server. Raises ``NotFoundError``, which lists the servers."""
        return await self._status(await self._entry(name))

    async def tools(self, name: str) -> builtins.list[McpToolStatus]:
        """Return the tools of a server, as last listed. Nothing is started."""
        entry = await self._entry(name)
        standing = [rule for rule in await self._context.permissions.rules() if not rule.held]
        actions = {rule.text: rule.action.value for rule in standing if rule.scope is RuleScope.ALWAYS}
        return [replace(row, rule=actions.get(row.name, "")) for row in tool_statuses(entry)]

    async def calls(self, name: str, limit: int = 100) -> builtins.list[ToolExecution]:
        """Return the latest calls to a server's tools, newest first."""
        await self._entry(name)
        return await self._context.repos.executions.of_server(name, limit)

    async def has_client_secret(self, name: str) -> bool:
        """Whether the keyring has the secret of a manually registered client."""
        return await self._secrets.has_client_secret((await self._entry(name)).config)

    async def save(
        self, config: McpServer, secrets: Mapping[str, str] | None = None, *, new: bool = False
    ) -> McpStatus:
        """Store a server; its connection is closed, and the next use opens a new one.

        Args:
            secrets: values for the keyring, by ``env:NAME`` or ``header:NAME`` for empty configuration values, or
                ``client:secret``.
            new: the name must be free.

        Raises:
            ConflictError: the name is taken. UsageError: it cannot work.
        """
        checked(config)
        async with self._changing:
            entries = await self._all()
            before = entries.get(config.name)
            if new and before is not None:
                raise ConflictError(N_("An MCP server named {name} already exists."), name=config.name)
            if before is None and len(entries) >= MOST_SERVERS:
                raise LimitError(N_("At most {most} MCP servers can be added."), most=MOST_SERVERS)
            known = before.known if before is not None and same_place(before.config, config) else McpKnown()
            tested = self._tested.pop(config.name, None)
            if known.approved is None and tested is not None and tested[0] == _bare(config):
                known = tested[1].model_copy(update={"checked_at": self._context.clock.now()})
            old = await self._secrets.settled(before.config) if before is not None else None
            config = (
                config.model_copy(update={"keyring": old.keyring}) if old is not None else self._secrets.fresh(config)
            )
            entry = McpEntry(
                name=config.name, config=config, known=known, **({"created_at": before.created_at} if before else {})
            )
            await self._secrets.store(config, secrets or {})
            await self._context.repos.mcp_servers.save(entry)
            entries[config.name] = entry
            if old is not None:
                await self._secrets.changed(old, config)
            await self._drop(config.name)
            await self._register(entry)
        self._announce(config.name)
        return await self._status(entry)

    async def remove(self, name: str) -> None:
        """End a server and delete it with its secrets. Agents keep its name, and work without it."""
        async with self._changing:
            entry = await self._entry(name)
            await self._drop(name)
            await self._secrets.delete_all(entry.config)
            await self._context.repos.mcp_servers.delete(name)
            (await self._all()).pop(name, None)
        self._announce(name)

    async def switch(self, name: str, on: bool) -> None:
        """Enable or disable a server; a disabled one is ended."""
        entry = await self._entry(name)
        if entry.config.enabled != on:
            await self.save(entry.config.model_copy(update={"enabled": on}))

    async def switch_tool(self, name: str, tool: str, on: bool) -> None:
        """Enable or disable one of its tools for agents."""
        entry = await self._entry(name)
        known_tool(entry, tool)
        off = builtins.list(entry.config.tools_off)
        if (tool not in off) != on:
            changed = [each for each in off if each != tool] if on else [*off, tool]
            async with self._changing:
                await self._save_entry(
                    entry.model_copy(update={"config": entry.config.model_copy(update={"tools_off": tuple(changed)})})
                )

    async def approve(self, name: str, tools: Sequence[str] | None = None) -> builtins.list[McpToolStatus]:
        """Approve the present definitions of tools; None approves all, and removes those that are gone."""
        async with self._changing:
            entry = await self._entry(name)
            for tool in tools or ():
                known_tool(entry, tool)
            seen = {str(each["name"]): each for each in entry.known.seen}
            if tools is None:
                approved = tool_definitions.in_order_of(entry.known.approved or (), entry.known.seen)
            else:
                before = {str(each["name"]): each for each in entry.known.approved or ()}
                chosen = {tool: seen[tool] for tool in tools if tool in seen}
                gone = {tool for tool in tools if tool not in seen}
                approved = tuple(each for each in {**before, **chosen}.values() if each["name"] not in gone)
            await self._save_entry(
                entry.model_copy(update={"known": entry.known.model_copy(update={"approved": approved})})
            )
        return await self.tools(name)

    async def let_know(self, name: str, folders: Sequence[str]) -> McpStatus:
        """Replace the folders a server may be told about; its connection stays. Raises ``UsageError``."""
        async with self._changing:
            entry = await self._entry(name)
            config = entry.config.model_copy(update={"roots": await in_storage_thread(existing_folders, folders)})
            await self._save_entry(entry.model_copy(update={"config": config}))
        if name in self._connections:
            await self._connections[name].roots_changed()
        return await self._status(await self._entry(name))

    async def permit(self, name: str, tool: str, action: Action | None) -> None:
        """Set the single global permission rule of a tool; None removes it, and the profile decides.

        Raises:
            NotFoundError: agents cannot have this tool.
        """
        ours = next((row.name for row in tool_statuses(await self._entry(name)) if row.tool == tool and row.name), "")
        if not ours:
            raise NotFoundError(
                N_("The MCP server {server} has no tool {tool} that agents can use."), server=name, tool=tool
            )
        rules = self._context.repos.rules
        for rule in await self._context.permissions.rules():
            if rule.text == ours and rule.scope is RuleScope.ALWAYS:
                await rules.delete(rule.id)
        if action is not None:
            await rules.save(PermissionRule(text=ours, action=action, created_at=self._context.clock.now()))
        self._context.bus.changed("settings", "approvals")
        self._announce(name)
        await self._context.runs.rights_withdrawal.apply()

    async def give(self, name: str, agent_id: str, on: bool) -> None:
        """Give all tools of a server to a stored agent, or remove them."""
        await self._entry(name)
        agent = await self._context.repos.agents.get(agent_id)
        servers = [each for each in agent.config.mcp_servers if each != name]
        config = agent.config.model_copy(update={"mcp_servers": tuple([*servers, name] if on else servers)})
        if config != agent.config:
            await self._context.repos.agents.save(
                agent.model_copy(update={"config": config, "updated_at": self._context.clock.now()})
            )
            self._context.bus.changed("agent", agent_id)

    async def test(self, name: str) -> McpHealth:
        """Start or ping a server, and compare its tools. Failures are results, not errors."""
        entry = await self._entry(name)
        connection = await self._connection(entry.config)
        connection.forgive()
        try:
            await self._refresh(name, anew=True)
        except McpError as error:
            return McpHealth(ok=False, message=error.localized(_), code=error.code, error=error)
        return _healthy(await self._entry(name))

    async def test_draft(self, config: McpServer, secrets: Mapping[str, str] | None = None) -> McpHealth:
        """Test an unsaved server or form; it is ended, and nothing is stored.

        A ``save`` of exactly this server knows its list, so that agents have its tools at once.
        """
        checked(config)
        stored = config.name in await self._all()
        own = (await self.settled(config.name)).keyring if stored else self._secrets.fresh(config).keyring
        config = config.model_copy(update={"keyring": own})
        vault = await self._secrets.drafted(config, secrets or {})
        drafted = config.model_copy(update={"enabled": True})
        connection = self._to(drafted, vault)
        try:
            known = described(McpKnown(), await inspected(connection))
            self._tested[config.name] = (_bare(config), known)
            return _healthy(McpEntry(name=config.name, config=config, known=known))
        except McpError as error:
            return McpHealth(ok=False, message=error.localized(_), code=error.code, error=error)
        finally:
            await connection.close()

    async def sign_in(self, name: str, told: Callable[[str], object] | None = None) -> McpHealth:
        """Sign in to a server in the browser, and connect; see ``McpSignIn.sign_in``."""
        return await self._sign.sign_in(name, told)

    async def sign_out(self, name: str) -> None:
        """Delete a server's client and tokens, and end its connection."""
        await self._sign.sign_out(name)
        self._announce(name)

    async def restart(self, name: str) -> McpHealth:
        """End a server and start it again."""
        await self.stop(name)
        return await self.test(name)

    async def check(self, names: Sequence[str] = ()) -> builtins.list[McpStatus]:
        """Ping running servers; return the state of all, or of these names. None is started."""
        for name in names:
            await self._entry(name)
        await self._watch.check()
        return [row for row in await self.list() if not names or row.name in names]

    async def stop(self, name: str) -> None:
        """End a server; it is started again when an agent needs it."""
        await self._entry(name)
        connection = self._connections.get(name)
        if connection is not None:
            self._checked.pop(name, None)
            await connection.close()

    async def call(
        self, server: str, tool: str, digest: str, arguments: Mapping[str, object], context: ToolContext
    ) -> Answer | ServerAsks:
        """Make a call; see ``tools.registry.mcp_tool.Caller``."""
        connection = await self._connection((await self._entry(server)).config)
        with connection.answers.serving(
            mcp_calls.RunRequestBroker(connection, context, self._context.gate.refusal)
        ) as serving:
            await self._refresh(server)
            entry = await self._entry(server)
            now = next((each for each in entry.known.seen if each["name"] == tool), None)
            if now is None:
                raise McpError(
                    N_("The MCP server {server} no longer has a tool {tool}."), code="gone", server=server, tool=tool
                )
            if tool_definitions.digest(now) != digest:
                message = N_(
                    "The MCP server {server} changed the description of {tool}. The call was not made; the "
                    "user will be asked before the next one."
                )
                raise McpError(message, code="altered", server=server, tool=tool)
            if await in_tool_thread(results.hidden, dict(arguments)) != dict(arguments):
                # A model was tricked into sending one: a server only gets the secrets its owner gave it.
                message = N_(
                    "The call to {tool} was not made: its arguments contain a secret that the MCP server {server} "
                    "must not receive."
                )
                raise McpError(message, code="secret_sent", server=server, tool=tool)
            self._watch.begin()
            return await mcp_calls.call(connection, serving, tool, arguments, context)

    async def log(self, name: str) -> builtins.list[LogLine]:
        """Return a server's log since the program started, newest last; limited."""
        await self._entry(name)
        connection = self._connections.get(name)
        return builtins.list(connection.answers.lines) if connection is not None else []

    async def load(self) -> None:
        """Register the approved tools of all servers. No server is started."""
        async with self._changing:
            for entry in (await self._all()).values():
                await self._register(entry)

    async def aclose(self) -> None:
        """End every server."""
        self._watch.stop()
        for task in self._refreshing.values():
            task.cancel()
        connections = builtins.list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections), return_exceptions=True)
        if self._folder is not None:
            await in_storage_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _all(self) -> dict[str, McpEntry]:
        if self._entries is None:
            found = {entry.name: entry for entry in await self._context.repos.mcp_servers.list()}
            self._entries = self._entries if self._entries is not None else found
        return self._entries

    async def _entry(self, name: str) -> McpEntry:
        entries = await self._all()
        if name not in entries:
            names = ", ".join(sorted(entries)) or _("none")
            raise NotFoundError(N_("There is no MCP server {name}. Servers: {names}."), name=name, names=names)
        return entries[name]

    def _failure(self, name: str) -> McpError | None:
        connection = self._connections.get(name)
        return (
            connection.reason
            if connection is not None and connection.state in (McpState.FAILED, McpState.SIGN_IN)
            else None
        )

    async def _save_entry(self, entry: McpEntry) -> None:
        """Store changes of an entry without touching its connection."""
        await self._context.repos.mcp_servers.save(entry)
        (await self._all())[entry.name] = entry
        if entry.name in self._connections:
            self._connections[entry.name].server = entry.config
        await self._register(entry)
        self._announce(entry.name)

    async def settled(self, name: str) -> McpServer:
        """Return a server's configuration, with its own keyring entries."""
        async with self._changing:
            entry = await self._entry(name)
            if not entry.config.keyring:
                await self._save_entry(entry.model_copy(update={"config": await self._secrets.settled(entry.config)}))
            return (await self._entry(name)).config

    async def connection(self, name: str) -> Connection:
        """Return the connection to a server, which may not be running."""
        return await self._connection((await self._entry(name)).config)

    async def _connection(self, config: McpServer) -> Connection:
        name = config.name
        if name not in self._connections:
            self._connections[name] = self._to(
                config,
                self._context.vault,
                told=lambda: self._announce(name),
                listed=lambda: self._reread_tools(name),
                auth=self._sign.auth,
            )
        return self._connections[name]

    def _to(self, config: McpServer, vault: KeyVault, **more: Any) -> Connection:
        """Return a new connection to a server, with its secrets from this vault."""
        from atelier_desk.mcp.connection import Connection

        return Connection(
            config,
            lambda server: resolved(server, vault),
            self._context.clock,
            hidden=(self._context.datadir.root,),
            temporary=self._temporary,
            denied=self._denied,
            files=self._context.workspace_files,
            **more,
        )

    async def _denied(self, folder: str) -> Denials:
        """Return what rules deny to a server's program in this folder.

        See ``denied_in``. Raises StorageError while a rule is damaged.
        """
        await self._context.repos.settings.refuse_damaged()
        return await denied_in(folder, await self._context.repos.rules.list())

    def _reread_tools(self, name: str) -> None:
        """Handle a server's notice of changed tools; many notices become one check."""
        task = self._refreshing.get(name)
        if task is None or task.done():
            self._refreshing[name] = background_tasks.start(
                self._quietly(name), f"look at the tools of {name}", self._context.bus.failed
            )

    async def _quietly(self, name: str) -> None:
        # A server that changes endlessly would cause two checks per second: each waits longer than the last.
        at, before = self._waited.get(name, (-math.inf, 0.0))
        now = self._context.clock.monotonic()
        wait = min(2 * before, MAX_REREAD_DELAY_S) if now - at < 2 * MAX_REREAD_DELAY_S else REREAD_DELAY_S
        self._waited[name] = now, wait
        await self._context.clock.sleep(wait)
        try:
            await self._refresh(name, anew=True)
        except AtelierError as error:
            log.warning("%s", error)

    async def _refresh(self, name: str, *, anew: bool = False) -> None:
        """Run the server and compare its tools with the approved ones: once per connection, or ``anew``."""
        async with self._listing.setdefault(name, asyncio.Lock()):
            await self.settled(name)
            connection = await self._connection((await self._entry(name)).config)
            client = await connection.client()
            if self._checked.get(name) is client and not anew:
                return
            found = await inspected(connection)
            async with self._changing:
                if self._connections.get(name) is not connection:
                    return  # the server was saved or removed meanwhile: what was found is of the former one
                entry = await self._entry(name)
                known = described(entry.known, found)
                self._checked[name] = client
                if known != entry.known:
                    known = known.model_copy(update={"checked_at": self._context.clock.now()})
                    await self._save_entry(entry.model_copy(update={"known": known}))

    async def _register(self, entry: McpEntry) -> None:
        """Register what was approved."""
        registry = self._context.registry
        for name in self._registered.pop(entry.name, ()):
            registry.unregister(name)
        section = of_server(entry.name)
        registry.sections.unregister(section)
        if not entry.config.enabled or entry.known.approved is None:
            return
        about = entry.known.title or entry.name
        registry.sections.register(
            Section(
                section,
                f"MCP: {entry.name}",
                shorten(about, 200),
                ApprovalKind.MCP,
                instructions=entry.known.instructions,
            )
        )
        made = await in_tool_thread(self._made, entry)
        registry.register_all(made)
        self._registered[entry.name] = [tool.name for tool in made]

    def _made(self, entry: McpEntry) -> builtins.list[mcp_tool.McpTool]:
        config, known = entry.config, entry.known
        approved = {str(each["name"]): each for each in known.approved or ()}
        seen = {str(each["name"]): tool_definitions.digest(each) for each in known.seen}
        found = []
        for tool, name in tool_definitions.names(config.name, approved).items():
            if tool in config.tools_off or tool not in seen:
                continue
            try:
                found.append(mcp_tool.make(config, name, approved[tool], self, seen=seen[tool]))
            except tool_definitions.Unusable as problem:
                log.warning("the tool %s of the MCP server %s cannot be used: %s", tool, config.name, problem)
        return found

    async def _drop(self, name: str) -> None:
        """Permanently close a connection, and remove the tools."""
        self._checked.pop(name, None)
        task = self._refreshing.pop(name, None)
        if task is not None:
            task.cancel()
        connection = self._connections.pop(name, None)
        if connection is not None:
            await connection.close()
        for tool in self._registered.pop(name, ()):
            self._context.registry.unregister(tool)
        self._context.registry.sections.unregister(of_server(name))

    async def _status(self, entry: McpEntry) -> McpStatus:
        connection = self._connections.get(entry.name)
        state = connection.state if connection is not None else McpState.IDLE if entry.config.enabled else McpState.OFF
        return McpStatus(
            entry.config,
            entry.known,
            state,
            connection.reason.localized(_) if connection is not None and connection.reason is not None else "",
            connection.latency_ms if connection is not None and connection.latency_ms else entry.known.latency_ms,
            len(self._registered.get(entry.name, ())),
            tool_definitions.difference(entry.known.approved or (), entry.known.seen),
            await self._secrets.missing(entry.config),
            **started(connection),
        )

    def _temporary(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="atelier-mcp-"))
        return self._folder

    def _announce(self, name: str) -> None:
        self._context.bus.changed("mcp", name)


REREAD_DELAY_S = 0.5
"""Minimum seconds between a notice of changed tools and the check."""
MAX_REREAD_DELAY_S = 60.0
"""Maximum seconds, for a server that keeps sending notices."""

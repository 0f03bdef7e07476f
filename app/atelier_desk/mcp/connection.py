"""One server: started when it is needed, talked to over the official SDK in either era of the protocol, ended with all it started.

A task of its own holds the SDK's client from its start to its end, because what it opens must be closed in the task that opened it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.mcp import MOST_TOOLS, START_S, McpError, McpPrompt, McpServer, McpState
from atelier_desk.i18n import N_
from atelier_desk.mcp import errors, http, prompts, stdio
from atelier_desk.mcp.resolving import Resolved
from atelier_desk.policy.circuit_breaker import CircuitBreaker
from atelier_desk.threads import in_tool_thread
from atelier_desk.workspace.processes import environment, sandbox
from atelier_desk.workspace.processes.process import Order

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp_types import CallToolResult

log = logging.getLogger(__name__)
T = TypeVar("T")
Progress = Callable[[int, str], None]

MOST_PAGES = 50
"""Pages of one list; a server whose list never ends is cut off."""
MOST_URI = 2_000
CLOSES_S = 8.0
"""Seconds a connection may take to close before its task is cancelled."""
RESTART_S = 0.5
"""Seconds before a server that failed is started again; twice as many after each further failure, until the breaker leaves it alone."""
INSTRUCTIONS = 4_000
"""Characters of what a server tells models of itself."""


class Connection:
    """A server's connection; it can be closed and used again.

    Attributes:
        state, reason: how it stands, and why it failed.
        latency_ms: what the newest connecting took.
        pid: of the program, 0 for none.
    """

    start_s = START_S
    restart_s = RESTART_S

    def __init__(
        self,
        server: McpServer,
        resolve: Callable[[McpServer], Awaitable[Resolved]],
        clock: Clock,
        *,
        told: Callable[[], None] = lambda: None,
        listed: Callable[[], None] = lambda: None,
        hidden: tuple[Path, ...] = (),
        temporary: Callable[[], Path] | None = None,
        auth: Callable[[McpServer], Awaitable[httpx2.Auth | None]] | None = None,
    ) -> None:
        """``told`` is called when its state changed, ``listed`` when the server says that its list of tools is another. ``hidden`` is what
        a program in the sandbox cannot read, ``temporary`` makes the folder it may write to."""
        self.server = server
        self._resolve = resolve
        self._clock = clock
        self._told = told
        self._listed = listed
        self._hidden = hidden
        self._temporary = temporary
        self._auth = auth
        self.state = McpState.IDLE if server.enabled else McpState.OFF
        self.reason: McpError | None = None
        self.latency_ms = 0
        self._breaker = CircuitBreaker(clock)
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._closing = asyncio.Event()
        self._ended = stdio.Ended()
        self._answered = http.Answered()

    @property
    def pid(self) -> int:
        return self._ended.pid if self._client is not None else 0

    # -- using it ----------------------------------------------------------------------------------------------------------------------

    async def call(self, tool: str, arguments: Mapping[str, Any], told: Progress = lambda percent, text: None) -> CallToolResult:
        """Call a tool by the name its server gave it. Cancelling tells the server. Raises ``McpError``."""

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            told(round(100 * progress / total) if total and total > 0 else 0, (message or "")[:500])

        return await self.request(lambda client: client.call_tool(tool, dict(arguments), progress_callback=heard))

    async def request(self, ask: Callable[[Client], Awaitable[T]], timeout_s: float | None = None) -> T:
        """Ask the server something, starting it when that is needed; ``timeout_s`` None is its own. Raises ``McpError``."""
        client = await self.client()
        seconds = timeout_s or self.server.timeout_s
        self._answered.status = 0
        try:
            async with asyncio.timeout(seconds):
                result = await ask(client)
        except asyncio.CancelledError:
            self._breaker.release()
            raise
        except TimeoutError:
            raise await self._broke(errors.timed_out(self.server.name, seconds)) from None
        except Exception as error:
            ended = self._ended if self._client is not client else None
            raise await self._broke(errors.explained(error, self.server.name, ended=ended, answered=self._answered)) from error
        self._breaker.success()
        return result

    async def tools(self) -> list[dict[str, Any]]:
        """All tools as the server defines them, in its order; of several with one name the first. Raises ``McpError``."""

        async def ask(client: Client) -> list[dict[str, Any]]:
            if client.server_capabilities.tools is None:
                return []
            found: dict[str, dict[str, Any]] = {}
            cursor: str | None = None
            for _page in range(MOST_PAGES):
                listed = await client.list_tools(cursor=cursor)
                for tool in listed.tools:
                    if tool.name and len(tool.name) <= 256:
                        found.setdefault(tool.name, tool.model_dump(mode="json", by_alias=True, exclude_none=True))
                cursor = listed.next_cursor
                if not cursor or len(found) > MOST_TOOLS:
                    break
            return list(found.values())[:MOST_TOOLS]

        return await self.request(ask)

    async def resources(self) -> list[dict[str, str]]:
        """The resources it lists: ``uri``, ``name``, ``about``, ``media_type``. Raises ``McpError``."""

        async def ask(client: Client) -> list[dict[str, str]]:
            if client.server_capabilities.resources is None:
                return []
            found: dict[str, dict[str, str]] = {}
            cursor: str | None = None
            for _page in range(MOST_PAGES):
                listed = await client.list_resources(cursor=cursor)
                for each in listed.resources:
                    uri = str(each.uri)
                    if len(uri) <= MOST_URI:
                        said = {"name": each.title or each.name, "about": each.description or "", "media_type": each.mime_type or ""}
                        found.setdefault(uri, {"uri": uri, **{key: text[:300] for key, text in said.items()}})
                cursor = listed.next_cursor
                if not cursor or len(found) > MOST_TOOLS:
                    break
            return list(found.values())[:MOST_TOOLS]

        return await self.request(ask)

    async def prompts(self) -> list[McpPrompt]:
        """The prompts it lists; of several that are called the same the first. Raises ``McpError``."""

        async def ask(client: Client) -> list[McpPrompt]:
            if client.server_capabilities.prompts is None:
                return []
            found: dict[str, McpPrompt] = {}
            cursor: str | None = None
            for _page in range(MOST_PAGES):
                listed = await client.list_prompts(cursor=cursor)
                for each in filter(None, map(prompts.listed, listed.prompts)):
                    found.setdefault(each.call, each)
                cursor = listed.next_cursor
                if not cursor or len(found) > prompts.MOST_PROMPTS:
                    break
            return list(found.values())[: prompts.MOST_PROMPTS]

        return await self.request(ask)

    async def client(self) -> Client:
        """The SDK's client of a running server. Raises ``McpError``."""
        async with self._starting:
            if self._client is not None:
                return self._client
            if not self.server.enabled:
                raise McpError(_OFF, code="off", server=self.server.name)
            if not self._breaker.try_acquire():
                raise errors.resting(self.server.name, self._breaker.retry_after_s, self.reason)
            if self._breaker.failures:
                await self._clock.sleep(self.restart_s * 2 ** (self._breaker.failures - 1))
            return await self._start()

    async def close(self, *, state: McpState | None = None) -> None:
        """End the server; it is started again when it is needed, unless it is off."""
        await self._stop()
        self._set(state or (McpState.IDLE if self.server.enabled else McpState.OFF))

    def forgive(self) -> None:
        """Forget earlier failures: somebody wants it tried now."""
        self._breaker.success()

    # -- its task ----------------------------------------------------------------------------------------------------------------------

    async def _start(self) -> Client:
        self._closing = asyncio.Event()
        self._ended, self._answered = stdio.Ended(), http.Answered()
        started: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._set(McpState.STARTING)
        begun = self._clock.monotonic()
        self._task = asyncio.create_task(self._serve(started, self._closing, self._ended))
        try:
            async with asyncio.timeout(self.start_s):
                client = await started
        except TimeoutError:
            await self._stop()
            raise self._failed(errors.timed_out(self.server.name, self.start_s)) from None
        except McpError as error:
            raise self._failed(error) from None
        except asyncio.CancelledError:
            await self._stop()
            self._breaker.release()
            self._set(McpState.IDLE)
            raise
        self._client = client
        self._answered.status = 0
        self.latency_ms = round((self._clock.monotonic() - begun) * 1000)
        self.reason = None
        self._set(McpState.READY)
        return client

    async def _serve(self, started: asyncio.Future[Client], closing: asyncio.Event, ended: stdio.Ended) -> None:
        """Hold the connection from its start until it closes."""
        listening: asyncio.Task[None] | None = None
        try:
            await in_tool_thread(_load)
            client = await self._made(closing, ended)
            async with client:
                # A server could name patterns in the schema of its answers that take for ever: its answers are read as they are.
                setattr(client.session, "validate_tool_result", _unchecked)  # noqa: B010
                if not started.done():
                    started.set_result(client)
                listening = asyncio.create_task(self._listen(client))
                await closing.wait()
                listening.cancel()
        except BaseException as error:
            failed = errors.explained(error, self.server.name, ended=ended, answered=self._answered)
            if not started.done():
                started.set_exception(failed)
            elif not isinstance(error, asyncio.CancelledError):
                self._lost(failed)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            if ended.status is not None and not self._stopping:
                self._lost(errors.died(self.server.name, ended) if ended.why != "too_long" else errors.too_large(self.server.name))
        finally:
            if listening is not None:
                listening.cancel()
            if started.done() and not started.cancelled():
                started.exception()  # nobody may wait for it any more

    _stopping = False

    async def _made(self, closing: asyncio.Event, ended: stdio.Ended) -> Client:
        from mcp import Client
        from mcp_types import Implementation

        server = self.server
        values = await self._resolve(server)
        if server.transport == "http":
            auth = await self._auth(server) if self._auth is not None else None
            transport: Any = http.talk(values.url, values.headers, self._answered, timeout_s=server.timeout_s, auth=auth)
        else:
            transport = stdio.talk(await in_tool_thread(self._order, values), ended, closing.set)
        return Client(
            transport,
            mode="auto",
            cache=None,
            client_info=Implementation(name="atelier", title="Atelier", version=_version()),
            message_handler=self._heard,
        )

    def _order(self, values: Resolved) -> Order:
        """What is started. Raises ``McpError`` when there is no such program or folder."""
        server = self.server
        folder = Path(server.folder).expanduser() if server.folder else Path.home()
        if not folder.is_dir():
            raise errors.not_started(server.name, server.command, f"{folder} is no folder")
        command = str(Path(server.command).expanduser()) if server.command.startswith("~") else server.command
        program = environment.program(command, folder, None)
        if not program:
            raise errors.not_started(server.name, server.command, "there is no such program")
        environ = {**environment.environment(None), **values.env}
        box = None
        if server.sandbox:
            if self._temporary is None or not sandbox.available():
                raise errors.not_started(server.name, server.command, "this system has no sandbox")
            temporary = self._temporary()
            box = sandbox.working((folder,) if server.folder else (), temporary, self._hidden, network=True)
            own = {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(temporary / "cache"), "npm_config_cache": str(temporary / "npm")}
            environ |= {**own, "UV_CACHE_DIR": str(temporary / "uv"), "npm_config_userconfig": "/dev/null"}
        return Order(program, (command, *values.args), folder, environ, sandbox=box)

    async def _heard(self, message: Any) -> None:
        """A notification of the server; what is none of ours is left alone."""
        if type(message).__name__ in ("ToolListChangedNotification", "PromptListChangedNotification"):
            self._listed()

    async def _listen(self, client: Client) -> None:
        """Servers of the newest revision tell of changes only to who listens."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
            return
        try:
            async with client.listen(tools_list_changed=True) as told:
                async for _event in told:
                    self._listed()
        except Exception as error:
            log.info("the MCP server %s tells of no changes: %s", self.server.name, type(error).__name__)

    async def _stop(self) -> None:
        task, running = self._task, self._client is not None
        self._task = self._client = None
        if task is None:
            return
        self._stopping = True
        try:
            self._closing.set()
            _done, pending = await asyncio.wait({task}, timeout=CLOSES_S if running else 0.0)
            if pending:
                task.cancel()
                await asyncio.wait({task}, timeout=CLOSES_S)
        finally:
            self._stopping = False

    # -- how it stands -----------------------------------------------------------------------------------------------------------------

    def _set(self, state: McpState) -> None:
        if state is not self.state:
            self.state = state
            self._told()

    def _failed(self, error: McpError) -> McpError:
        """Take note that it could not be started."""
        self._task = None
        self._client = None
        self.reason = error
        if error.code in ("sign_in", "sign_in_failed", "secret"):
            self._breaker.release()
        else:
            self._breaker.failure()
        self.state = McpState.SIGN_IN if error.code == "sign_in" else McpState.FAILED
        self._told()
        return error

    def _lost(self, error: McpError) -> None:
        """Take note that it ended by itself."""
        if self._client is not None or self.state is McpState.READY:
            log.warning("%s", error)
            self._failed(error)

    async def _broke(self, error: McpError) -> McpError:
        """Take note of a request that failed; one that says nothing of the connection leaves it as it is."""
        if error.code == "closed":
            # Why it closed is known once its task is over.
            task = self._task
            if task is not None:
                await asyncio.wait({task}, timeout=CLOSES_S)
            return self.reason if self._client is None and self.reason is not None else error
        if error.code == "sign_in":
            await self._stop()
            self.reason = error
            self._set(McpState.SIGN_IN)
        elif error.code in errors.BROKEN:
            self._breaker.failure()
            if self._breaker.state != "closed" or error.code in ("too_large", "died"):
                await self._stop()
                self.reason = error
                self._set(McpState.FAILED)
        return error


_OFF = N_("The MCP server {server} is switched off.")


def _version() -> str:
    """Of this program; its front door is not imported by what it hands out."""
    return str(import_module(__name__.partition(".")[0]).__version__)


def _load() -> None:
    """The SDK; two seconds at its first time."""
    for name in ("mcp", "mcp.client.streamable_http", "mcp_types.version"):
        import_module(name)


async def _unchecked(name: str, result: object) -> None:
    """The answer is taken as it is."""

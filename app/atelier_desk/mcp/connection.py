"""Connection to one server: starts it on demand, calls it, and ends all its processes.

It works with both protocol families. One task holds the SDK's client from start to end, because what it opens
must be closed in the same task.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mcp import Client
from mcp_types import (
    EmptyResult,
    Implementation,
    InputRequiredResult,
    RootsListChangedNotification,
    SetLevelRequest,
    SetLevelRequestParams,
)

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.mcp import START_S, McpError, McpPrompt, McpServer, McpState, McpTemplate
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import error_conversion, http_transport, listing, resource_templates, sdk, stdio_transport
from atelier_desk.mcp.list_validation import Entries
from atelier_desk.mcp.protected_file_enforcement import ServerProtectedFiles
from atelier_desk.mcp.server_requests import Answers, ClientRequests, responses
from atelier_desk.mcp.server_secrets import Resolved
from atelier_desk.policy.circuit_breaker import CircuitBreaker
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.processes import command_environment, sandbox_contents
from atelier_desk.workspace.processes.command_process import CHECK_S, Order

if TYPE_CHECKING:
    import httpx2
    from mcp_types import CallToolResult

    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

log = logging.getLogger(__name__)
T = TypeVar("T")
Progress = Callable[[int, str], None]

MAX_ROUNDS = 40
"""Repetitions of a call that the server postpones without asking for anything."""
CLOSES_S = 8.0
"""Seconds a connection may take to close before its task is cancelled."""
RESTART_S = 0.5
"""Seconds before a failed server is restarted.

Doubled after each further failure, until no restart is tried for a while.
"""
PING_S = 10.0
"""Seconds a server has to answer a ping."""
PROGRESS_INTERVAL_S = 0.1
"""Seconds between two progress reports that are passed on.

Some servers send thousands a second.
"""


class Connection:
    """A server's connection; it can be closed and used again.

    Attributes:
        state, reason: current state, and why it failed.
        latency_ms: milliseconds of the latest connection attempt.
        ping_ms: milliseconds of the latest ping; 0 before the first.
        used_at: time of the last request, by the clock.
        pid: process id of the program; 0 for none.
        entries: list entries rejected since the latest start.
    """

    start_s = START_S
    restart_s = RESTART_S
    mode = "auto"

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
        denied: Callable[[str], Awaitable[Denials]] | None = None,
        files: WorkspaceFiles | None = None,
    ) -> None:
        """Create a connection without starting the server.

        ``told`` is called when the state changes, ``listed`` when the server says its tools changed. For a
        program in the sandbox, ``hidden`` are files it cannot read, ``temporary`` creates the folder it may
        write to, ``denied`` gives what rules deny in its folder, and ``files`` holds protected files it
        creates.
        """
        self.server = server
        self._resolve = resolve
        self._clock = clock
        self._on_state_changed = told
        self._listed = listed
        self._hidden = hidden
        self._temporary = temporary
        self._files = files
        self._protected_files: ServerProtectedFiles | None = None
        self._auth = auth
        self._denied = denied
        self._holds = Denials()
        self.state = McpState.IDLE if server.enabled else McpState.OFF
        self.reason: McpError | None = None
        self.latency_ms = self.ping_ms = 0
        self.used_at = clock.monotonic()
        self._open = 0
        self.answers = Answers(clock, server.name)
        self._breaker = CircuitBreaker(clock)
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._closing = asyncio.Event()
        self._ended = stdio_transport.Ended()
        self._answered = http_transport.Answered()
        self.entries = Entries()

    @property
    def pid(self) -> int:
        return self._ended.pid if self._client is not None else 0

    @property
    def pingable(self) -> bool:
        """Whether the server is running; others are not pinged."""
        return self._client is not None

    @property
    def failures(self) -> int:
        """Consecutive failures; after a few of them no restart is tried for ``retry_s`` seconds."""
        return self._breaker.failures

    @property
    def retry_s(self) -> float:
        return self._breaker.retry_after_s

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        told: Progress = lambda percent, text: None,
        *,
        serving: ClientRequests | None = None,
        given: Mapping[str, Mapping[str, object]] | None = None,
        state: str | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by the server's own name for it. Cancelling notifies the server.

        Args:
            serving: answers the server's requests during the call (``answers.serving``).
            given, state: answers to the requests of the previous attempt, by key, and its opaque state.

        Returns the result, or the server's requests that must be answered first.

        Raises:
            McpError: the call failed.
        """

        heard_at = -math.inf

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            nonlocal heard_at
            now = self._clock.monotonic()
            if now - heard_at >= PROGRESS_INTERVAL_S:
                heard_at = now
                told(round(100 * progress / total) if total and total > 0 else 0, redact(message or "")[:500])

        async def ask(client: Client) -> CallToolResult | InputRequiredResult:
            await self._send_roots(client)
            sent, opaque, again = responses(given or {}) if sdk.modern(client) else {}, state, False
            for round_ in range(MAX_ROUNDS):
                try:
                    result = await client.session.call_tool(
                        tool, dict(arguments), progress_callback=on_progress, input_responses=sent or None,
                        request_state=opaque, allow_input_required=True,
                    )  # fmt: skip
                except Exception as error:
                    wanted = sdk.pages_of(error)
                    if wanted is not None:
                        return wanted
                    if again or not await sdk.relisted(error, client):
                        raise
                    again = True
                    continue
                if not isinstance(result, InputRequiredResult) or result.input_requests:
                    return result
                # Nothing is asked: the server is not ready yet, and ``opaque`` identifies the call next time.
                sent, opaque = {}, result.request_state
                await self._clock.sleep(min(0.05 * 2**round_, 2.0))
            raise McpError(
                N_("The MCP server {server} keeps postponing this call. Try again later."),
                code="not_ready",
                server=self.server.name,
            )

        return await self.request(ask, serving=serving)

    async def _send_roots(self, client: Client) -> None:
        """Notify servers of the older revisions when the shared folders change."""
        told, roots = self.answers.roots_sent, self.answers.roots
        if told is not None and roots != told and not sdk.modern(client):
            self.answers.roots_sent = roots
            await client.session.send_notification(RootsListChangedNotification())

    async def roots_changed(self) -> None:
        """The shared folders have changed: notify the server if it is running."""
        if self._client is not None:
            try:
                await self._send_roots(self._client)
            except Exception as error:
                log.info(
                    "the MCP server %s could not be told of its folders: %s", self.server.name, type(error).__name__
                )

    async def request(
        self,
        ask: Callable[[Client], Awaitable[T]],
        timeout_s: float | None = None,
        *,
        serving: ClientRequests | None = None,
    ) -> T:
        """Send a request, starting the server if needed.

        ``timeout_s`` is in seconds; None uses the server's timeout.

        Raises:
            McpError: the request failed.
        """
        client = await self.client()
        self.used_at = self._clock.monotonic()
        return await self._asked(client, ask, timeout_s or self.server.timeout_s, serving)

    async def ping(self) -> None:
        """Ping a running server; one with requests in progress counts as alive. Raises ``McpError``."""
        client = self._client
        if client is None or self._open:
            return
        begun = self._clock.monotonic()
        try:
            await self._asked(client, sdk.ping, PING_S)
        except McpError as error:
            if error.code != "refused":  # a refusal is an answer
                if self._client is client:
                    self.reason = error
                    self._on_state_changed()
                raise
        self.ping_ms = max(1, round((self._clock.monotonic() - begun) * 1000))

    async def _asked(
        self,
        client: Client,
        ask: Callable[[Client], Awaitable[T]],
        seconds: float,
        serving: ClientRequests | None = None,
    ) -> T:
        self._answered.reset()
        self._open += 1
        try:
            async with asyncio.timeout(seconds) as limit:
                if serving is not None:
                    serving.limit, serving.seconds = limit, seconds
                result = await ask(client)
        except asyncio.CancelledError:
            self._breaker.release()
            raise
        except TimeoutError:
            raise await self._broke(error_conversion.timed_out(self.server.name, seconds)) from None
        except Exception as error:
            ended = self._ended if self._client is not client else None
            raise await self._broke(
                error_conversion.explained(error, self.server.name, ended=ended, answered=self._answered)
            ) from error
        finally:
            self._open -= 1
        self._breaker.success()
        if self.reason is not None and self._client is client:
            self.reason = None
            self._on_state_changed()
        return result

    async def tools(self) -> list[dict[str, Any]]:
        """All its tools; see ``listing.tools``. Raises ``McpError``."""
        return await self.request(lambda client: listing.tools(client, self.server.name))

    async def resources(self) -> list[dict[str, str]]:
        """Its resources; see ``listing.resources``. Raises ``McpError``."""
        return await self.request(lambda client: listing.resources(client, self.entries))

    async def prompts(self) -> list[McpPrompt]:
        """Its prompts; see ``listing.prompts_of``. Raises ``McpError``."""
        return await self.request(lambda client: listing.prompts_of(client, self.entries))

    async def templates(self) -> list[McpTemplate]:
        """Its resource templates; see ``resource_templates.templates``. Raises ``McpError``."""
        return await self.request(lambda client: resource_templates.templates(client, self.entries))

    async def client(self) -> Client:
        """The SDK's client of the running server. Raises ``McpError``."""
        async with self._starting:
            if self._client is not None:
                if not await self._is_denied_more():
                    return self._client
                await self._stop()  # its file access was fixed when it was started
            if not self.server.enabled:
                raise McpError(_OFF, code="off", server=self.server.name)
            if not self._breaker.try_acquire():
                raise error_conversion.resting(self.server.name, self._breaker.retry_after_s, self.reason)
            if self._breaker.failures:
                await self._clock.sleep(self.restart_s * 2 ** (self._breaker.failures - 1))
            return await self._start()

    async def modern(self) -> bool:
        """Whether the server uses revision 2026-07-28 or later. Raises ``McpError``."""
        return sdk.modern(await self.client())

    async def close(self, *, state: McpState | None = None) -> None:
        """End the server; the next request restarts it, unless it is disabled."""
        await self._stop()
        self._set(state or (McpState.IDLE if self.server.enabled else McpState.OFF))

    def forgive(self) -> None:
        """Reset the failure count: a person wants to try it now."""
        self._breaker.success()

    async def _start(self) -> Client:
        self._closing = asyncio.Event()
        self._ended, self._answered, self.entries = stdio_transport.Ended(), http_transport.Answered(), Entries()
        started: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._set(McpState.STARTING)
        self.answers.roots_sent = None
        begun = self._clock.monotonic()
        self._task = asyncio.create_task(self._serve(started, self._closing, self._ended))
        try:
            async with asyncio.timeout(self.start_s):
                client = await started
        except TimeoutError:
            await self._stop()
            raise self._failed(error_conversion.timed_out(self.server.name, self.start_s)) from None
        except McpError as error:
            raise self._failed(error) from None
        except asyncio.CancelledError:
            await self._stop()
            self._breaker.release()
            self._set(McpState.IDLE)
            raise
        self._client = client
        self._answered.reset()
        self.latency_ms, self.ping_ms = round((self._clock.monotonic() - begun) * 1000), 0
        self.used_at = self._clock.monotonic()
        self.reason = None
        self._set(McpState.READY)
        return client

    async def _serve(
        self, started: asyncio.Future[Client], closing: asyncio.Event, ended: stdio_transport.Ended
    ) -> None:
        """Hold the connection from its start until it closes."""
        listening: asyncio.Task[None] | None = None
        try:
            await in_tool_thread(sdk.load)
            client = await self._made(closing, ended)
            async with client:
                # Patterns in a server's output schema could take unlimited time: answers are not validated.
                setattr(client.session, "validate_tool_result", sdk.unchecked)  # noqa: B010
                if not started.done():
                    started.set_result(client)
                listening = asyncio.create_task(self._listen(client))
                await closing.wait()
                listening.cancel()
        except BaseException as error:
            failed = error_conversion.explained(error, self.server.name, ended=ended, answered=self._answered)
            if not started.done():
                started.set_exception(failed)
            elif not isinstance(error, asyncio.CancelledError):
                self._lost(failed)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            beyond = error_conversion.went_beyond(self.server.name, ended, self._answered)
            if not self._stopping and (beyond is not None or ended.status is not None):
                self._lost(beyond or error_conversion.died(self.server.name, ended))
        finally:
            if listening is not None:
                listening.cancel()
            if ended.guarded:
                self.answers.note("warning", f"{_LEFT} {ended.guarded.text}")
            if self._protected_files is not None:
                protected_files, self._protected_files = self._protected_files, None
                await asyncio.shield(in_tool_thread(protected_files.settle, ended.guarded.held))
            if started.done() and not started.cancelled():
                started.exception()  # possibly nobody awaits it any more

    _stopping = False

    async def _made(self, closing: asyncio.Event, ended: stdio_transport.Ended) -> Client:
        server = self.server
        values = await self._resolve(server)
        if server.transport == "http":
            auth = await self._auth(server) if self._auth is not None else None
            transport: Any = http_transport.talk(
                values.url,
                values.headers,
                self._answered,
                closing.set,
                self.entries,
                timeout_s=server.timeout_s,
                auth=auth,
            )
        else:
            denials = self._holds = await self._denials()
            transport = stdio_transport.talk(
                await in_tool_thread(self._order, values, denials), ended, closing.set, self.entries
            )
        return Client(
            transport,
            mode="legacy" if server.older_protocol else self.mode,
            cache=None,
            client_info=Implementation(name="atelier", title="Atelier", version=sdk.program_version()),
            message_handler=self._on_notification,
            elicitation_callback=self.answers.elicited,
            sampling_callback=self.answers.sampled,
            list_roots_callback=self.answers.list_roots,
            logging_callback=self.answers.logged,
            log_level="info",
        )

    async def _denials(self) -> Denials:
        """What rules currently deny to the program."""
        return await self._denied(self.server.folder) if self._denied is not None and self.server.sandbox else Denials()

    async def _is_denied_more(self) -> bool:
        """Whether rules added since the program's start deny it files."""
        held = {ban.rule for ban in self._holds.bans}
        return any(ban.rule not in held for ban in (await self._denials()).bans)

    def _order(self, values: Resolved, denials: Denials) -> Order:
        """The program and options to start. Raises ``McpError`` when program or folder do not exist."""
        server = self.server
        folder = Path(server.folder).expanduser() if server.folder else Path.home()
        if not folder.is_dir():
            raise error_conversion.not_started(
                server.name, server.command, McpError(N_("{folder} is not a folder"), folder=folder)
            )
        command = str(Path(server.command).expanduser()) if server.command.startswith("~") else server.command
        program = command_environment.program(command, folder, None)
        if not program:
            raise error_conversion.not_started(server.name, server.command, McpError(N_("there is no such program")))
        environ = {**command_environment.environment(None), **values.env}
        box = None
        if server.sandbox:
            if self._temporary is None or not sandbox_contents.available():
                raise error_conversion.not_started(
                    server.name, server.command, McpError(N_("this system has no sandbox"))
                )
            temporary = self._temporary()
            try:
                kept_from = denials.hidden(None)
            except ToolError as error:
                problem = McpError(
                    N_("rules deny access to some files, and finding these files in {path} took too long"),
                    path=error.params["path"],
                )
                raise error_conversion.not_started(server.name, server.command, problem) from None
            if kept_from.masked and not sandbox_contents.hides():
                problem = McpError(
                    N_("a rule denies access to {path}, and this system cannot hide it from a program"),
                    path=kept_from.masked[0],
                )
                raise error_conversion.not_started(server.name, server.command, problem)
            roots = (folder,) if server.folder else ()
            self._protected_files = ServerProtectedFiles(self._files, server.name, roots)
            box = sandbox_contents.working(
                roots, temporary, self._hidden, network=True, held=sandbox_contents.held_in(self._hidden),
                read_only=(*kept_from.read_only, *self._protected_files.read_only), masked=kept_from.masked,
                pinned=kept_from.pinned,
            )  # fmt: skip
            own = {
                "TMPDIR": str(temporary),
                "XDG_CACHE_HOME": str(temporary / "cache"),
                "npm_config_cache": str(temporary / "npm"),
            }
            environ |= {**own, "UV_CACHE_DIR": str(temporary / "uv"), "npm_config_userconfig": "/dev/null"}
        return Order(program, (command, *values.args), folder, environ, sandbox=box, check_s=CHECK_S)

    async def _on_notification(self, message: object) -> None:
        """Handle a server's notification; ignore unknown ones."""
        if type(message).__name__ in ("ToolListChangedNotification", "PromptListChangedNotification"):
            self._listed()

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes: the newest revision reports them only to subscribers."""
        tools = client.server_capabilities.tools
        if not sdk.modern(client):
            if client.server_capabilities.logging is not None:
                await self._ask_for_log(client)
            return
        if tools is None or not tools.list_changed:
            return
        try:
            async with client.listen(tools_list_changed=True) as told:
                async for _event in told:
                    self._listed()
        except Exception as error:
            log.info("the MCP server %s tells of no changes: %s", self.server.name, type(error).__name__)

    async def _ask_for_log(self, client: Client) -> None:
        """Set the log level of a server that keeps a log; it sends nothing otherwise."""
        try:
            await client.session.send_request(SetLevelRequest(params=SetLevelRequestParams(level="info")), EmptyResult)
        except Exception as error:
            log.info("the MCP server %s takes no level of logging: %s", self.server.name, type(error).__name__)

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

    def _set(self, state: McpState) -> None:
        if state is not self.state:
            self.state = state
            self._on_state_changed()

    def _failed(self, error: McpError) -> McpError:
        """Record that the server could not be started."""
        self._task = None
        self._client = None
        self.reason = error
        if error.code in ("sign_in", "sign_in_failed", "secret"):
            self._breaker.release()
        else:
            self._breaker.failure()
        self.state = McpState.SIGN_IN if error.code == "sign_in" else McpState.FAILED
        self._on_state_changed()
        return error

    def _lost(self, error: McpError) -> None:
        """Record that the server ended by itself."""
        if self._client is not None or self.state is McpState.READY:
            log.warning("%s", error)
            self._failed(error)

    async def _broke(self, error: McpError) -> McpError:
        """Record a failed request; one that says nothing about the connection does not change it."""
        if error.code == "closed":
            # Why it closed is known once its task has ended.
            task = self._task
            if task is not None:
                await asyncio.wait({task}, timeout=CLOSES_S)
            return self.reason if self._client is None and self.reason is not None else error
        if error.code == "sign_in":
            await self._stop()
            self.reason = error
            self._set(McpState.SIGN_IN)
        elif error.code in error_conversion.BROKEN:
            self._breaker.failure()
            if self._breaker.state != "closed" or error.code in ("too_large", "died", "flood"):
                await self._stop()
                self.reason = error
                self._set(McpState.FAILED)
        return error


_LEFT = "It changed what git runs outside the sandbox."
_OFF = N_("The MCP server {server} is disabled; enable it in the settings.")

"""Errors of servers, with messages that name the server."""

from __future__ import annotations

import asyncio
import socket
import ssl

from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.mcp import McpError
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp.http_transport import LONGEST_ANSWER, Answered, TooLargeError
from atelier_desk.mcp.message_limits import MOST_ASKED, MOST_VALUES, TooManyValuesError
from atelier_desk.mcp.stdio_transport import Ended
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

_DETAIL = 500
BROKEN = frozenset(
    {"closed", "unreachable", "not_started", "timeout", "died", "too_large", "noise", "flood", "proxy", "certificate"}
)
"""Codes after which the connection is unusable; they count as failures of the server."""
_ELSEWHERE = frozenset({404, 405, 501})
"""HTTP statuses of an address that does not offer MCP."""
_STOPPED = {
    "memory": N_("it needed too much memory"),
    "processes": N_("it started too many processes"),
    "disk": N_("the disk was nearly full"),
    "unknown": N_("its processes could no longer be tracked"),
    "repositories": N_("it kept changing git hooks and settings, or created too many files"),
}
"""By the reason why the supervisor stopped a program."""
CLOSED = -32000
"""The SDK's error code for a closed connection."""


def explained(
    error: BaseException, server: str, *, ended: Ended | None = None, answered: Answered | None = None
) -> McpError:
    """The error for a person or a model; ``ended`` and ``answered`` describe the connection."""
    inner = _innermost(error)
    if isinstance(inner, McpError):
        return inner
    if isinstance(inner, ProviderError):  # from the proxy, or the certificates named in the environment
        return McpError(inner.template, code=inner.code, recoverable=inner.recoverable, **inner.params)
    if type(inner).__module__.startswith("mcp.client.auth"):
        message = N_("Signing in to the MCP server {server} failed: {detail}")
        return McpError(message, code="sign_in_failed", server=server, detail=_short(str(inner)))
    if answered is not None and answered.problem is not None:
        return answered.problem
    if answered is not None and (answered.unauthorized or answered.status == 403):
        if answered.unauthorized:
            return McpError(N_("The MCP server {server} requires you to sign in."), code="sign_in", server=server)
        return McpError(
            N_("The MCP server {server} refused access (HTTP 403). Check its key or sign in again."),
            code="forbidden",
            server=server,
        )
    if isinstance(inner, TooLargeError):
        return too_large(server)
    if (beyond := went_beyond(server, ended, answered)) is not None:
        return beyond
    if isinstance(inner, TooManyValuesError):
        return too_many_values(server)
    if ended is not None and (ended.status is not None or ended.why):
        return died(server, ended)
    return _by_class(inner, server, answered)


def _by_class(inner: BaseException, server: str, answered: Answered | None) -> McpError:
    if isinstance(inner, MCPError):
        if inner.code == CLOSED:
            return McpError(
                N_("The connection to the MCP server {server} was closed."),
                code="closed",
                recoverable=True,
                server=server,
            )
        if answered is not None and answered.status in _ELSEWHERE:
            message = N_(
                "The MCP server {server} answered with HTTP {status}: this address does not support streamable "
                "HTTP. Atelier does not support the older SSE transport, whose addresses often end in /sse. Ask the"
                " server's provider for the streamable HTTP address, which often ends in /mcp."
            )
            return McpError(message, code="unreachable", server=server, status=answered.status)
        if answered is not None and answered.status >= 400:
            message = N_("The MCP server {server} answered with HTTP {status}: {detail}")
            return McpError(
                message,
                code="unreachable",
                recoverable=True,
                server=server,
                status=answered.status,
                detail=_short(inner.message),
            )
        return McpError(
            N_("The MCP server {server} refused the request: {detail}"),
            code="refused",
            server=server,
            detail=_short(inner.message),
        )
    if isinstance(inner, ValidationError | ValueError | TypeError | KeyError | RecursionError):
        message = N_("The MCP server {server} sent an answer that breaks the protocol: {detail}")
        return McpError(message, code="protocol", server=server, detail=_short(_first(inner)))
    if isinstance(inner, TimeoutError):
        return McpError(
            N_("The MCP server {server} did not answer in time."), code="timeout", recoverable=True, server=server
        )
    if (known := _unreachable(inner)) is not None:
        return McpError(known, code="unreachable", recoverable=True, server=server)
    message = N_("The MCP server {server} cannot be reached: {detail}")
    return McpError(
        message, code="unreachable", recoverable=True, server=server, detail=_short(str(inner) or type(inner).__name__)
    )


def _unreachable(error: BaseException) -> str | None:
    """Why a server cannot be reached, if the HTTP library's error shows it."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, socket.gaierror):
            return N_("The MCP server {server} cannot be reached: its host was not found.")
        if isinstance(seen, ConnectionRefusedError) or "All connection attempts failed" in str(seen):
            return N_("The MCP server {server} cannot be reached: nothing answers at this address and port.")
        if isinstance(seen, ssl.SSLError):
            return N_(
                "The MCP server {server} cannot be reached: the secure connection failed because its "
                "certificate or TLS version was refused."
            )
        seen = seen.__cause__ or seen.__context__
    return None


def timed_out(server: str, seconds: float) -> McpError:
    """The error for a request that timed out after ``seconds``."""
    message = N_("The MCP server {server} did not answer within {seconds} s.")
    return McpError(message, code="timeout", recoverable=True, server=server, seconds=f"{seconds:g}")


def too_large(server: str) -> McpError:
    message = N_("The MCP server {server} sent more than {megabytes} MB at once.")
    return McpError(message, code="too_large", server=server, megabytes=LONGEST_ANSWER // 1024**2)


def too_many_values(server: str) -> McpError:
    message = N_(
        "The MCP server {server} sent an answer of more than {count} values: none of it was read. Request less data."
    )
    return McpError(message, code="too_large", server=server, count=MOST_VALUES)


def went_beyond(server: str, ended: Ended | None, answered: Answered | None) -> McpError | None:
    """The error for a connection ended because its server sent too much; None otherwise."""
    why = (ended.why if ended is not None else "") or (answered.why if answered is not None else "")
    if why == "too_long":
        return too_large(server)
    if why == "values":
        return too_many_values(server)
    if why == "requests":
        message = N_(
            "The connection to the MCP server {server} was closed because the server made more than {count} "
            "requests without waiting for answers."
        )
        return McpError(message, code="flood", server=server, count=MOST_ASKED)
    return None


def defines_too_much(server: str, megabytes: int) -> McpError:
    """The error for a list of tools that is too large to use."""
    message = N_("The tool definitions of the MCP server {server} exceed {megabytes} MB: none of them is used.")
    return McpError(message, code="too_large", server=server, megabytes=megabytes)


def not_started(server: str, command: str, detail: McpError) -> McpError:
    """The error for a program that cannot be run; ``detail`` is the translatable reason."""
    message = N_("The MCP server {server} cannot be started with {command}: {detail}")
    return McpError(message, code="not_started", server=server, command=shorten(command, 100), detail=detail)


def died(server: str, ended: Ended) -> McpError:
    """The error for a program that ended, with its last output if there was any."""
    if ended.why == "noise":
        message = N_("The program of the MCP server {server} does not speak the protocol.")
        problem = McpError(message, code="noise", server=server)
    elif ended.why:
        message = N_("The program of the MCP server {server} was stopped: {why}.")
        why = McpError(_STOPPED[ended.why]) if ended.why in _STOPPED else ended.why
        problem = McpError(message, code="died", recoverable=True, server=server, why=why)
    else:
        message = N_("The program of the MCP server {server} exited unexpectedly (exit status {status}).")
        problem = McpError(message, code="died", recoverable=True, server=server, status=ended.status)
    if not ended.last_words:
        return problem
    return McpError(
        N_("{problem} Last output: {detail}"),
        code=problem.code,
        recoverable=problem.recoverable,
        server=server,
        problem=problem,
        detail=_short(ended.last_words.splitlines()[-1]),
    )


def resting(server: str, seconds: float, reason: McpError | None) -> McpError:
    """The error while a server that keeps failing is not restarted."""
    message = N_(
        "The MCP server {server} failed several times and will be tried again in {seconds} s. Last error: {detail}"
    )
    return McpError(
        message,
        code="circuit_open",
        recoverable=True,
        server=server,
        seconds=max(1, round(seconds)),
        detail=reason or "-",
    )


def _innermost(error: BaseException) -> BaseException:
    """The first real error of a group, ignoring tasks cancelled because of it."""
    while isinstance(error, BaseExceptionGroup):
        error = next((each for each in error.exceptions if not _is_cancelled(each)), error.exceptions[0])
    return error


def _is_cancelled(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError)


def _first(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error) or type(error).__name__


def _short(text: str) -> str:
    return shorten(" ".join(redact(text).split()), _DETAIL)

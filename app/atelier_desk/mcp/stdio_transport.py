"""MCP over a program's standard streams.

Replaces the SDK's own transport, which starts programs with fewer restrictions
(``workspace.processes.stdio_process``).
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter

from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import message_limits
from atelier_desk.mcp.list_validation import Entries
from atelier_desk.mcp.unanswered_request_limit import RequestLimit
from atelier_desk.workspace.processes.command_process import Guarded, Order
from atelier_desk.workspace.processes.stdio_process import LineTooLongError, StdioProcess

log = logging.getLogger(__name__)
MOST_NOISE = 1_000
"""Lines that are not messages; a program that prints more does not speak the protocol."""
UNREADABLE = -32700
"""JSON-RPC's error code for invalid JSON."""
_ID = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,12})\b')
_BEGIN = 200
_LOGGED = 4_096
"""Bytes of a line in which secrets are looked for before its beginning is logged."""


class Ended:
    """How the program behind a connection ended."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.why = ""
        self.last_words = ""
        self.pid = 0
        self.guarded = Guarded()


@asynccontextmanager
async def talk(
    order: Order, ended: Ended, over: Callable[[], None], entries: Entries
) -> AsyncIterator[tuple[object, object]]:
    """Start a program and open the streams for the SDK's client.

    ``over`` is called when the program closes its output; ``ended`` records how it ended, ``entries`` the
    rejected list entries.

    Raises:
        OSError: the program cannot be started.
    """
    program = await StdioProcess.start(order)
    ended.pid = program.pid
    into, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    outgoing, out_of = anyio.create_memory_object_stream["SessionMessage"](0)

    asked, pace = RequestLimit(), message_limits.MessageRate()

    async def read() -> None:
        noise = 0
        try:
            async for line in program.lines():
                line = line.removeprefix(codecs.BOM_UTF8)  # some programs on Windows send a byte order mark
                if not line.strip():
                    continue
                await message_limits.count(line)
                await pace.consume()
                try:
                    message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                except (ValueError, RecursionError):
                    if (wanted := _ID.search(line[:_BEGIN])) is not None:
                        # An answer that cannot be parsed, such as one nested without end: its caller gets an
                        # error now.
                        error = ErrorData(code=UNREADABLE, message="an answer that cannot be read")
                        await into.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(wanted[1]), error=error)))
                    noise += 1
                    # The log hides whole secrets only, not what the cut leaves of one.
                    shown = redact(line[:_LOGGED].decode("utf-8", "replace"))[:200]
                    log.info("an MCP server printed a line that is no message: %s", shown)
                    if noise > MOST_NOISE:
                        ended.why = "noise"
                        break
                    continue
                if not asked.on_received(message.message):
                    ended.why = "requests"
                    break
                entries.on_received(message.message)
                await into.send(message)
        except LineTooLongError:
            ended.why = "too_long"
        except message_limits.TooManyValuesError:
            ended.why = "values"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return
        finally:
            into.close()
            over()

    async def write() -> None:
        try:
            async for message in out_of:
                entries.on_sent(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await program.write(text.encode() + b"\n")
                asked.on_sent(message.message)
        except (OSError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            into.close()

    working = [asyncio.create_task(read()), asyncio.create_task(write())]
    try:
        yield incoming, outgoing
    finally:
        # Also when the caller is cancelled: a program left behind would be worse than waiting for it.
        ending = asyncio.create_task(_end(program, working, ended))
        for stream in (incoming, outgoing, into, out_of):
            stream.close()
        with anyio.CancelScope(shield=True):
            await asyncio.shield(ending)


async def _end(program: StdioProcess, working: list[asyncio.Task[None]], ended: Ended) -> None:
    working[0].cancel()
    await program.end()
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    ended.status, ended.last_words, ended.guarded = program.status, program.last_words, program.guarded
    ended.why = ended.why or ("" if program.ended_by == "stopped" else program.ended_by)

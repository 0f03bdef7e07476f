"""The words of the local socket: one JSON object a line, UTF-8.

Client: ``hello`` with ``token`` first, then one request: ``command`` (list of arguments, with ``cwd``, ``json``, ``interactive``,
``watched`` and ``request``, see ``ipc.request``) or ``raise``. During a command: ``reply`` (text or null, with the ``number`` of what it
replies to) to an ``ask`` or ``read``, a long one in parts that all but the last have ``more``, ``ctrl_c`` (while the holder wants to know
of it) and ``cancel``.

Holder: ``hello``, then ``begun`` before anything of the command is done, ``out`` (standard output), ``err`` with ``style`` (a line for
standard error), each with ``at`` (workflow, run and number of the durable event that is shown with it), ``think`` (a piece of a model's
thinking), ``ask``, ``prompt`` (shown again), ``read`` (``piped``: what a pipe brings; ``most``: bytes), ``catches_ctrl_c`` (whether it
deals with it), and last ``exit`` with the status; or ``error`` with ``message``. A connection that ends without ``exit`` means that the
holder ended. Before ``begun`` nothing was done; after it the client goes on with the next holder, where the newest ``at`` says.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

PROTOCOL = 1
"""A client of another protocol is refused with both versions named."""
LINE_BYTES = 16 * 1024 * 1024
"""Longest line."""
PART_CHARS = 1_000_000
"""Longest part of a reply: each character may be written as twelve."""
UNSENT_BYTES = 64 * 1024 * 1024
"""A client that lets more than this pile up is disconnected."""


class ProtocolError(Exception):
    """What came over the socket is not this protocol."""


def encode(message: dict[str, Any]) -> bytes:
    """One line; half surrogates that command lines can hold are kept as escapes."""
    return json.dumps(message, ensure_ascii=True).encode("ascii") + b"\n"


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message, None at the end of the connection.

    Raises:
        ProtocolError: a line that is too long, or not a JSON object.
    """
    try:
        line = await reader.readline()
    except ConnectionError:
        return None
    except ValueError as error:
        raise ProtocolError(f"a line has more than {LINE_BYTES} bytes") from error
    if not line.endswith(b"\n"):
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a line is not JSON") from error
    if not isinstance(message, dict):
        raise ProtocolError("a line is not a JSON object")
    return message

"""The protocol of the local socket: one JSON object per line, UTF-8.

Client: ``hello`` with ``token`` first, then one request: ``command`` (list of arguments, with ``cwd``, ``json``,
``interactive``, ``watched`` and ``request``, see ``ipc.resumable_command``) or ``raise``. During a command: ``reply``
(text or null, with the ``number`` of the request) to an ``ask`` or ``read``, long ones in parts with ``more`` on all
but the last, ``ctrl_c`` (while the holder handles it) and ``cancel``.

Holder: ``hello``, then ``begun`` before anything is executed, ``out`` (standard output), ``err`` with ``style`` (a line
for standard error), each with ``at`` (workflow, run and number of the durable event shown with it), ``think`` (a piece
of a model's reasoning), ``ask``, ``prompt`` (shown again), ``read`` (``piped``: input of a pipe; ``most``: bytes),
``catches_ctrl_c`` (whether it handles it), and last ``exit`` with the status; or ``error`` with ``message``. A
connection that ends without ``exit`` means that the holder ended. Before ``begun`` nothing was done; after it the
client continues with the next holder, from the newest ``at``.
"""

from __future__ import annotations

import asyncio
import json

PROTOCOL = 1
"""Clients with another protocol version are refused; the message names both."""
LINE_BYTES = 16 * 1024 * 1024
"""Maximum bytes of a line."""
PART_CHARS = 1_000_000
"""Maximum characters of a part of a reply: each may be encoded as twelve."""
UNSENT_BYTES = 64 * 1024 * 1024
"""Maximum unsent bytes before a client is disconnected."""


class ProtocolError(Exception):
    """Received data does not follow this protocol."""


def encode(message: dict[str, object]) -> bytes:
    """Encode one line; lone surrogates from command lines are escaped."""
    return json.dumps(message, ensure_ascii=True).encode("ascii") + b"\n"


async def receive(reader: asyncio.StreamReader) -> dict[str, object] | None:
    """Return the next message, None at the end of the connection.

    Raises:
        ProtocolError: a line is too long, or not a JSON object.
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

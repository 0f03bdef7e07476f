"""The limit on a server's unanswered requests."""

from __future__ import annotations

from mcp_types import JSONRPCRequest

from atelier_desk.mcp.message_limits import MOST_ASKED


class RequestLimit:
    """A server's requests without an answer."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()

    def on_received(self, message: object) -> bool:
        """Record a message from the server; False when it has too many open requests."""
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
        return len(self._open) <= MOST_ASKED

    def on_sent(self, message: object) -> None:
        """Record a message that the server accepted."""
        if not isinstance(message, JSONRPCRequest):
            self._open.discard(getattr(message, "id", ""))

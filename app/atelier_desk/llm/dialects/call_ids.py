"""Deterministic ids for calls whose server gave none."""

from __future__ import annotations

import hashlib
from functools import cached_property

from atelier_desk.domain.model_messages import ChatRequest


class CallIds:
    """Creates ids for the calls of one reply.

    An id is derived from the whole conversation and the call's position. So a repeated request gives its calls the same
    ids, and two turns of a run never share one, even after old turns were summarised.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._request = request

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256()
        for message in self._request.messages:
            ids = " ".join(call.id for call in message.tool_calls)
            for part in (message.role.value, message.content, message.tool_call_id or "", ids):
                digest.update(part.encode("utf-8", "replace") + b"\0")
        return digest.hexdigest()

    @cached_property
    def used(self) -> frozenset[str]:
        """Ids already used in the conversation."""
        return frozenset(call.id for message in self._request.messages for call in message.tool_calls)

    def at(self, position: int) -> str:
        """Return the id of call number ``position`` (from 0)."""
        return f"call_{self._digest[:20]}_{position}"

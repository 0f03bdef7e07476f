"""Identifiers for calls whose server gave none: the same request and position always give the same one."""

from __future__ import annotations

import hashlib
from functools import cached_property

from atelier_desk.domain.model_messages import ChatRequest


class CallIds:
    """Makes identifiers for the calls of the reply to one request.

    An identifier is derived from the whole conversation and the call's position in the reply. So a request that is sent again after a
    failure gives its calls the same identifiers, and two turns of a run never share one, also after old turns were summarised away.
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
    def taken(self) -> frozenset[str]:
        """The identifiers the conversation uses already."""
        return frozenset(call.id for message in self._request.messages for call in message.tool_calls)

    def at(self, position: int) -> str:
        """The identifier of call number ``position`` of the reply, counted from 0."""
        return f"call_{self._digest[:20]}_{position}"

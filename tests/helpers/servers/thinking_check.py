"""Thinking that a server requires back with its calls, unchanged; it refuses requests without it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.helpers.servers.scripted_http_server import Reply


class Thoughts:
    """Thinking by model and calls. ``refused`` has the calls of refused requests."""

    def __init__(self) -> None:
        self._issued: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        self.refused: list[tuple[str, ...]] = []

    def note(self, model: str, reply: Reply) -> None:
        """Record the thinking sent with a reply."""
        if reply.reasoning and reply.calls:
            self._issued[_key(model, [(call.name, call.arguments) for call in reply.calls])].add(reply.reasoning)

    def missing(self, model: str, calls: Sequence[tuple[str, Any]], thought: str) -> bool:
        """Whether an assistant message has calls of ours without their thinking."""
        key = _key(model, calls)
        wrong = bool(calls) and key in self._issued and thought not in self._issued[key]
        if wrong:
            self.refused.append(key)
        return wrong


def _key(model: str, calls: Sequence[tuple[str, Any]]) -> tuple[str, ...]:
    plain = [(name, json.loads(arguments) if isinstance(arguments, str) else arguments) for name, arguments in calls]
    return (model, *(json.dumps(each, sort_keys=True) for each in plain))

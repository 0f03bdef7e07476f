"""Loop guard: detects an agent that repeats the same call with the same result.

Users of other programs lost millions of tokens this way. The third repetition warns the model; the fifth pauses the run
and asks the user.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal

from atelier_desk.domain import limits

WINDOW = 20
"""Calls considered.

Enough to detect loops of several calls (A, B, A, B …), but not a legitimate repetition much later.
"""


def signature(tool: str, arguments: dict[str, object], result: str) -> str:
    """Return a short digest of a call and its result, independent of argument order."""
    payload = json.dumps([tool, arguments, result], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2s(payload.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def remember(recent: tuple[str, ...], new: str) -> tuple[str, ...]:
    """Return the window after one more call."""
    return (*recent, new)[-WINDOW:]


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """Action for the ``index``-th newest call (0 is the newest), whose digest occurred ``count`` times."""

    action: Literal["warn", "pause"]
    digest: str
    count: int
    index: int


def verdict(recent: tuple[str, ...], warned: frozenset[str], newest: int = 1) -> LoopVerdict | None:
    """Check the ``newest`` calls (those of one reply): warn at the third repetition, pause at the fifth."""
    found = [
        LoopVerdict("pause", digest, recent.count(digest), index)
        for index, digest in enumerate(reversed(recent[-newest:]))
    ]
    worst = max(found, key=lambda v: v.count, default=None)
    if worst is None or worst.count < limits.LOOP_WARN:
        return None
    if worst.count >= limits.LOOP_PAUSE:
        return worst
    fresh = next((v for v in found if v.count >= limits.LOOP_WARN and v.digest not in warned), None)
    return replace(fresh, action="warn") if fresh else None

"""What a change is about; apart from the events, which tools and listings do not need."""

from __future__ import annotations

from typing import Literal

Topic = Literal[
    "workflow",
    "agent",
    "provider",
    "model",
    "memory",
    "report",
    "settings",
    "task",
    "question",
    "approval",
    "download",
    "tool",
    "file",
    "command",
    "mcp",
    "projects",
    "prompt",
    "data",
    "usage",
]
"""What a change is about: of ``data`` whether its folder is not where it was (``moved``, else empty). The id beside it is that of the
row, of ``settings`` the name of the field; empty means all of them. ``usage``: most of the monthly limit is used; the id is the month."""

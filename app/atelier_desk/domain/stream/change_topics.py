"""Topics of changes; separate from the events, which tools and listings do not need."""

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
"""Topic of a change.

The accompanying id is that of the row, for ``settings`` the name of the field; empty means all. ``data``: whether its
folder was moved (``moved``, else empty). ``usage``: most of the monthly limit is used; the id is the month.
"""

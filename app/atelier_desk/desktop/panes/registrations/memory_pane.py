"""The memory pane."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "memory",
    order=30,
    icon="brain",
    title=N_("Memory"),
    command=N_("Show memory"),
    place="stack",
    height=282,
    shortcut="Ctrl+3",
)
def memory(host: PaneHost) -> Any:
    return classes().MemoryPane(host.bridge)

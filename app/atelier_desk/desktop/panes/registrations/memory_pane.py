"""The memory pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.memory.pane import MemoryPane


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
def memory(host: PaneHost) -> MemoryPane:
    from atelier_desk.desktop.panes.memory.pane import MemoryPane

    return MemoryPane(host.bridge)

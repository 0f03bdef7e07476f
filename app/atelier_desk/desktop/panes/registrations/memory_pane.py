"""The memory pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


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
def memory(host: PaneHost) -> Pane:
    return pane_classes.MemoryPane(host.bridge)

"""The tasks pane."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "tasks",
    order=10,
    icon="list-todo",
    title=N_("Tasks"),
    command=N_("Show tasks"),
    place="stack",
    height=224,
    shortcut="Ctrl+1",
)
def tasks(host: PaneHost) -> Any:
    return classes().TaskPane(host.bridge)

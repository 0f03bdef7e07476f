"""The tasks pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.tasks.pane import TaskPane


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
def tasks(host: PaneHost) -> TaskPane:
    from atelier_desk.desktop.panes.tasks.pane import TaskPane

    return TaskPane(host.bridge)

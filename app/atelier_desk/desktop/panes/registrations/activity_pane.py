"""The activity pane: agents of a run and their actions."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "activity",
    order=20,
    icon="activity",
    title=N_("Activity"),
    command=N_("Show activity"),
    place="stack",
    height=344,
    shortcut="Ctrl+2",
)
def activity(host: PaneHost) -> Any:
    return classes().ActivityPane(host.bridge)

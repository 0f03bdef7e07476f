"""The activity pane: agents of a run and their actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


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
def activity(host: PaneHost) -> Pane:
    return pane_classes.ActivityPane(host.bridge)

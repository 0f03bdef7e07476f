"""The timeline pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


@pane(
    "timeline",
    order=60,
    icon="chart-gantt",
    title=N_("Timeline"),
    command=N_("Show the timeline"),
    place="drawer",
    shortcut="Ctrl+6",
    keywords="lanes time",
)
def timeline(host: PaneHost) -> Pane:
    return pane_classes.TimelinePane(host.bridge)

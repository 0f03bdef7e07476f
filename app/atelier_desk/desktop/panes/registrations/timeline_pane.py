"""The timeline pane."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


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
def timeline(host: PaneHost) -> Any:
    return classes().TimelinePane(host.bridge)

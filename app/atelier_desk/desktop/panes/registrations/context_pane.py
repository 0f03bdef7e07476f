"""The context inspector."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "context",
    order=70,
    icon="layers",
    title=N_("Context"),
    command=N_("Show what was sent to the model"),
    place="drawer",
    shortcut="Ctrl+7",
    keywords="context prompt",
)
def context(host: PaneHost) -> Any:
    return classes().ContextPane(host.bridge)

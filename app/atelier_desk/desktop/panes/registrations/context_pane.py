"""The context inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


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
def context(host: PaneHost) -> Pane:
    return pane_classes.ContextPane(host.bridge)

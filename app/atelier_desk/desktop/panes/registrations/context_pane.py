"""The context inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.context.pane import ContextPane


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
def context(host: PaneHost) -> ContextPane:
    from atelier_desk.desktop.panes.context.pane import ContextPane

    return ContextPane(host.bridge)

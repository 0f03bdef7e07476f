"""The reports pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


@pane("reports", order=40, icon="file-text", title=N_("Reports"), command=N_("Show reports"), shortcut="Ctrl+4")
def reports(host: PaneHost) -> Pane:
    return pane_classes.ReportsPane(host.bridge)

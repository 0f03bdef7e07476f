"""The reports pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.reports_pane import ReportsPane


@pane("reports", order=40, icon="file-text", title=N_("Reports"), command=N_("Show reports"), shortcut="Ctrl+4")
def reports(host: PaneHost) -> ReportsPane:
    from atelier_desk.desktop.panes.reports_pane import ReportsPane

    return ReportsPane(host.bridge)

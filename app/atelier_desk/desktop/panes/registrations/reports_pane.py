"""The reports pane."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane("reports", order=40, icon="file-text", title=N_("Reports"), command=N_("Show reports"), shortcut="Ctrl+4")
def reports(host: PaneHost) -> Any:
    return classes().ReportsPane(host.bridge)

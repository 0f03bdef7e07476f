"""The files pane: changes in granted folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


@pane(
    "files",
    order=55,
    icon="folder",
    title=N_("Files"),
    command=N_("Show files"),
    place="drawer",
    keywords="files workspace folder diff undo changes",
)
def files(host: PaneHost) -> Pane:
    return pane_classes.FilesPane(host.bridge)

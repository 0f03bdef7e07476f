"""The files pane: changes in granted folders."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "files",
    order=55,
    icon="folder",
    title=N_("Files"),
    command=N_("Show files"),
    place="drawer",
    keywords="files workspace folder diff undo changes",
)
def files(host: PaneHost) -> Any:
    return classes().FilesPane(host.bridge)

"""The inbox: requests to the user, and unseen failed and finished workflows."""

from __future__ import annotations

from typing import Any

from atelier_desk.desktop.panes.registry import PaneHost, classes, pane
from atelier_desk.support.i18n import N_


@pane(
    "questions",
    order=50,
    icon="inbox",
    title=N_("Inbox"),
    command=N_("Show inbox"),
    shortcut="Ctrl+5",
    keywords="questions approvals waiting finished failed interrupted",
)
def questions(host: PaneHost) -> Any:
    return classes().InboxPane(host.bridge, host.presenter)

"""The inbox: requests to the user, and unseen failed and finished workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane, pane_classes
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.pane_base import Pane


@pane(
    "questions",
    order=50,
    icon="inbox",
    title=N_("Inbox"),
    command=N_("Show inbox"),
    shortcut="Ctrl+5",
    keywords="questions approvals waiting finished failed interrupted",
)
def questions(host: PaneHost) -> Pane:
    return pane_classes.InboxPane(host.bridge, host.presenter)

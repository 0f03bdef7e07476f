"""Questions and approvals that wait for the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.desktop.panes.registry import PaneHost, pane
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.panes.inbox_pane import InboxPane


@pane("questions", order=50, icon="inbox", title=N_("Questions"), command=N_("Show questions"), shortcut="Ctrl+5")
def questions(host: PaneHost) -> InboxPane:
    from atelier_desk.desktop.panes.inbox_pane import InboxPane

    return InboxPane(host.bridge, host.presenter)

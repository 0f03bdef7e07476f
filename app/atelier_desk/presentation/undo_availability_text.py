"""Text about what can be undone after a call is approved."""

from __future__ import annotations

from atelier_desk.domain.approval import ApprovalKind, ApprovalRequest
from atelier_desk.support.i18n import N_, _, ngettext

_BY_EFFECT = {
    "execute": N_("Usually, only changes to files in the workspace can be undone."),
    "network": N_("Sent data cannot be recalled."),
}


def undo_text(asked: ApprovalRequest) -> str:
    """What can be undone, as a sentence; empty for calls that change nothing of the person's.

    ``details`` has ``undo`` (``trash`` for deletions) and ``undo_days``: days that changes are stored, 0 for
    unlimited.
    """
    if asked.server and asked.effect != "read":
        return _("What the server does cannot be undone here.")
    if asked.effect != "write" or asked.kind is not ApprovalKind.FILE_OP:
        return _(_BY_EFFECT[asked.effect]) if asked.effect in _BY_EFFECT else ""
    days = asked.details.get("undo_days")
    days = days if isinstance(days, int) and days > 0 else 0
    if asked.details.get("undo") == "trash":
        if not days:
            return _("The item goes to the trash and can be restored.")
        return ngettext(
            "The item goes to the trash and can be restored for {n} day.",
            "The item goes to the trash and can be restored for {n} days.",
            days,
        )
    if not days:
        return _("This can be undone.")
    return ngettext("This can be undone for {n} day.", "This can be undone for {n} days.", days)

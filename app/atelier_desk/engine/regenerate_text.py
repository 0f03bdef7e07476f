"""What is said to whom has a turn answered again: what goes along with it, and that what its earlier answer did stays done."""

from __future__ import annotations

from atelier_desk.support.i18n import ngettext

CHANGES = frozenset({"write", "execute", "spawn"})
"""Effects that outlast the answer, of ``tools.call.Effect``."""


def repeated_text(messages: int) -> str:
    """A sentence about so many messages of the turn before the one that is changed, or whose answer is made again; empty for none."""
    if messages <= 0:
        return ""
    return ngettext(
        "{n} earlier message of this turn is sent and answered again, too.",
        "{n} earlier messages of this turn are sent and answered again, too.",
        messages,
    )


def changed_text(calls: int) -> str:
    """A sentence about so many calls of the turn that changed something; empty for none."""
    if not calls:
        return ""
    return ngettext(
        "{n} call of the earlier answer changed something. That stays, and may be done again.",
        "{n} calls of the earlier answer changed something. That stays, and may be done again.",
        calls,
    )

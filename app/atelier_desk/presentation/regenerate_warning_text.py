"""Warnings before regenerating a turn: what is repeated with it, and that effects of its earlier answer remain."""

from __future__ import annotations

from atelier_desk.support.i18n import ngettext

CHANGES = frozenset({"write", "execute", "spawn"})
"""Effects that outlast the answer; values of ``tools.definition.call_description.Effect``."""


def repeated_text(messages: int) -> str:
    """Return a sentence about preceding messages of a turn that is changed or regenerated; empty for none."""
    if messages <= 0:
        return ""
    return ngettext(
        "{n} earlier message of this turn will also be resent and answered again.",
        "{n} earlier messages of this turn will also be resent and answered again.",
        messages,
    )


def changed_text(calls: int) -> str:
    """Return a sentence about the turn's calls with lasting effects; empty for none."""
    if not calls:
        return ""
    return ngettext(
        "{n} call in the earlier answer changed something. The change is kept, and the new answer may repeat it.",
        "{n} calls in the earlier answer changed something. The changes are kept, and the new answer may repeat them.",
        calls,
    )

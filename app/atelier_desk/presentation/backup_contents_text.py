"""Text about the contents of a backup or export: workflows and messages, not tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.storage.copies.database_inspection import DamagedAttachment


def rows_text(counts: Mapping[str, int]) -> list[str]:
    """``5 workflows``, ``120 messages`` …, then one number for all other tables; no zeros."""
    words: dict[str, Callable[[int], str]] = {
        "workflow": lambda n: ngettext("{n} workflow", "{n} workflows", n),
        "message": lambda n: ngettext("{n} message", "{n} messages", n),
        "task": lambda n: ngettext("{n} task", "{n} tasks", n),
        "memory": lambda n: ngettext("{n} memory", "{n} memories", n),
        "report": lambda n: ngettext("{n} report", "{n} reports", n),
        "agent": lambda n: ngettext("{n} agent", "{n} agents", n),
    }
    known = [say(counts[table]) for table, say in words.items() if counts.get(table)]
    others = sum(count for table, count in counts.items() if table not in words)
    return [*known, ngettext("{n} other record", "{n} other records", others)] if others else known


def damaged_attachment(found: DamagedAttachment) -> str:
    """A damaged attachment, by its workflow and name."""
    workflow = found.workflow_name or found.workflow
    if found.missing:
        return _("The attachment “{name}” of the workflow “{workflow}” is missing.", name=found.name, workflow=workflow)
    return _("The attachment “{name}” of the workflow “{workflow}” is damaged.", name=found.name, workflow=workflow)

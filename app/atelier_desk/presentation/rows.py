"""What a backup or an export holds, in words: people know workflows and messages, not the tables beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.storage.copies.inspect import DamagedAttachment


def rows_text(counts: Mapping[str, int]) -> list[str]:
    """``5 workflows``, ``120 messages`` …, and the rows of all other tables in one number; nothing of what there is none of."""
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
    return [*known, ngettext("{n} other row", "{n} other rows", others)] if others else known


def damaged_attachment(found: DamagedAttachment) -> str:
    """An attachment that is not as it was kept, by its workflow and name."""
    workflow = found.workflow_name or found.workflow
    if found.missing:
        return _("The attachment “{name}” of the workflow “{workflow}” is missing.", name=found.name, workflow=workflow)
    return _("The attachment “{name}” of the workflow “{workflow}” is damaged.", name=found.name, workflow=workflow)

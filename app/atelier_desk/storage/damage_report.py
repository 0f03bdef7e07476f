"""Describe damaged rows: where they are, what still works and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from atelier_desk.domain.errors import StorageError
from atelier_desk.support.i18n import N_

CODE = "damaged_row"
CHANGED, MISSING = "changed", "missing"
SHOWN = 5
"""Maximum number of damaged rows that an error names."""
WHERE: dict[tuple[str, str], str] = {
    ("run_event", CHANGED): N_("Workflow {workflow}, run {run}: event {seq} is damaged."),
    ("run_event", MISSING): N_("Workflow {workflow}, run {run}: event {seq} is missing."),
    ("message", MISSING): N_("Workflow {workflow}, run {run}: the message {row} is missing."),
    ("tool_execution", MISSING): N_("Workflow {workflow}, run {run}: the tool call {row} is missing."),
    ("run", CHANGED): N_("Workflow {workflow}: the database entry of run {run} is damaged."),
    ("run", MISSING): N_("Workflow {workflow}: the database entry of run {run} is missing."),
    ("workflow", CHANGED): N_("Workflow {workflow}: its database entry is damaged."),
    ("workflow", MISSING): N_(
        "Workflow {workflow}: its database entry is missing, but other entries of this workflow exist."
    ),
    ("setting", CHANGED): N_("The setting {row} is damaged."),
}
"""What an error says of a damaged row, by table and problem; a ``Table`` adds its own."""
CONFIGURATION = ["setting"]
"""Tables whose damaged rows a person may discard and write again."""
RESTRICTING = ("permission_rule", "setting")
"""Tables that may contain restrictions: while one of their rows is damaged, no agent starts."""
GIVE_UP = N_(
    "It is ignored, and nothing was changed. To recover it, restore a backup: atelier backup restore FILE. "
    "To delete it, so that you can create it again: Settings → Data and diagnostics, or atelier doctor "
    "--remove-damaged"
)
DAMAGED_CONFIGURATION = N_("{damage} {what_to_do}")
NOT_BEGUN = N_("{damage} It may contain a restriction, so no agent starts until this is resolved. {what_to_do}")
_NO_RUN: dict[str, str] = {
    CHANGED: N_("Workflow {workflow}: the event {row} is damaged."),
    MISSING: N_("Workflow {workflow}: an event that belongs to no run is missing."),
}
DAMAGED = N_(
    "{damage} Nothing was changed. Everything else in the workflow can be read and exported: atelier "
    "workflows export WORKFLOW. To recover everything, restore a backup: atelier backup restore FILE"
)
DAMAGED_ROWS = N_(
    "{count} database entries are missing or damaged. {damage} Nothing was changed. Everything else in the workflow "
    "can be read and exported: atelier workflows export WORKFLOW. To recover everything, restore a "
    "backup: atelier backup restore FILE"
)

LEFT_OUT = N_(
    "These entries and everything after them in the same run were left out because the data folder is damaged at "
    "that point. To recover them, restore a backup: atelier backup restore FILE"
)
"""Follows the list of damaged rows of an export or a copy."""
IN_BACKUP = N_(
    "These entries were damaged before the backup was made, so they are also damaged in the backup. Keep "
    "your older backups: one made before the damage contains them intact."
)
"""Follows the list of damaged rows of a backup."""
IN_EXPORT = N_("These entries are in the export as they are now. A backup made before the damage contains them intact.")
"""Follows the list of damaged rows of a complete export."""


class Damage(NamedTuple):
    """One damaged row.

    Attributes:
        run: id of its run; empty for rows outside runs.
        table: ``run_event``, ``message``, ``tool_execution``, ``prompt_frame``, ``run``, ``workflow`` or another one
            with hashes.
        row: its id; empty for a missing event.
        seq: for an event, its number in the run.
        problem: ``changed`` (also when it cannot be read at all) or ``missing``.
    """

    workflow: str
    run: str
    table: str
    row: str
    seq: int
    problem: str

    def error(self) -> StorageError:
        """Return an error that names this row in one sentence."""
        sentence = (
            _NO_RUN[self.problem] if self.table == "run_event" and not self.run else WHERE[self.table, self.problem]
        )
        return StorageError(sentence, code=CODE, workflow=self.workflow, run=self.run, row=self.row, seq=self.seq)


def readable_until(found: Iterable[Damage]) -> dict[str, int]:
    """Return, by run, the number of the first damaged event: those before it can be read."""
    first: dict[str, int] = {}
    for each in found:
        if each.table == "run_event" and each.run:
            first[each.run] = min(each.seq, first.get(each.run, each.seq))
    return first


def damaged(found: Sequence[Damage]) -> StorageError:
    """Return the error for damaged rows (at least one)."""
    first = found[0].error()
    if found[0].table in CONFIGURATION:
        return StorageError(DAMAGED_CONFIGURATION, code=CODE, damage=first, what_to_do=StorageError(GIVE_UP))
    if len(found) == 1:
        return StorageError(DAMAGED, code=CODE, damage=first)
    return StorageError(DAMAGED_ROWS, code=CODE, count=len(found), damage=first)


def not_begun(found: Sequence[Damage]) -> StorageError:
    """Return the error for work that may not start while rows of ``RESTRICTING`` are damaged (at least one)."""
    return StorageError(NOT_BEGUN, code=CODE, damage=found[0].error(), what_to_do=StorageError(GIVE_UP))


def of_row(table: str, row: Mapping[str, object], problem: str = CHANGED) -> Damage:
    """Describe a damaged row that was read; any of its values may be wrong."""
    seq = found if isinstance(found := row.get("seq"), int) else 0
    return Damage(_key(row.get("workflow")), _key(row.get("run")), table, _key(row.get("id")), seq, problem)


def damaged_row(table: str, row: Mapping[str, object]) -> StorageError:
    """Return the error for a row that was read and is damaged."""
    return damaged([of_row(table, row)])


def _key(found: object) -> str:
    return str(getattr(found, "id", found or ""))

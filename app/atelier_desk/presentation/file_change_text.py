"""Text about changes of files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import day, size
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.domain.file_change import Change
    from atelier_desk.domain.held_file import HeldFile
    from atelier_desk.storage.data_folder.schema_version import UpgradeStep
    from atelier_desk.workspace.checkpoints.cleaning import Cleaned, KeptRecord
    from atelier_desk.workspace.checkpoints.leftover_undo_data import Leftover

ACTIONS = {"created": N_("created"), "changed": N_("edited"), "deleted": N_("deleted"), "moved": N_("moved")}
LEFTOVER_DAYS = 30
"""Same as ``checkpoints.leftover_undo_data.DAYS``, which lists need not import."""
NAMED = 5
"""Files named in a sentence; the others are counted."""


GONE = N_("no longer exists (moved, renamed or deleted)")
"""State of a granted folder."""


def trust_text(trusted: bool | None) -> str:
    """Decision about a folder's trust and its meaning, untranslated."""
    if trusted is None:
        return N_("not yet trusted (its instructions are not read)")
    return (
        N_("trusted (agents read its instructions)") if trusted else N_("not trusted (its instructions are not read)")
    )


def missing_text(folder: str) -> str:
    """Warning about a granted folder that does not exist."""
    return _("The folder {folder} was not found: it was moved or deleted, or its disk is not connected.", folder=folder)


def path_text(change: Change) -> str:
    """A change's path: ``src/a.py``, ``docs/`` for a folder, ``a.py → b.py`` for a move."""
    return visible(
        f"{change.path} → {change.moved_to}" if change.moved_to else change.path + ("/" if change.folder else "")
    )


def state_text(change: Change) -> str:
    """Why a change cannot be undone; empty when it can."""
    return _("undone") if change.undone_by else _("can no longer be undone") if change.cleaned else ""


def held_file_text(held: HeldFile) -> str:
    """A held file's path (``AGENTS.md``, ``hooks/``), and whether a file of that name exists.

    That file stays unchanged.
    """
    path = held.path + ("/" if held.folder else "")
    return _("{path} (new version)", path=path) if held.replaces else visible(path)


def retained_text(kept: KeptRecord) -> str:
    """Storage used for undo: ``12.3 MB for 40 changes, the oldest of 2026-11-01``."""
    held = size(kept.size)
    if not kept.changes or kept.oldest is None:
        return _("{size}; there is nothing to undo", size=held)
    changes = ngettext("{n} change", "{n} changes", kept.changes)
    return _(
        "{size} for {changes} that can be undone, the oldest from {date}",
        size=held,
        changes=changes,
        date=day(kept.oldest),
    )


def cleaned_text(done: Cleaned) -> str:
    """Result and cost of a clean-up."""
    freed = _("{size} freed.", size=size(done.freed))
    if not done.given_up:
        return _("{freed} Every change can still be undone.", freed=freed)
    lost = ngettext("{n} change can no longer be undone.", "{n} changes can no longer be undone.", done.given_up)
    return f"{freed} {lost}"


def leftover_name(leftover: Leftover) -> str:
    """Name of leftover data: ``Workflow 0192… (3 changes)``."""
    match leftover.kind:
        case "unknown":
            changes = ngettext("{n} change", "{n} changes", leftover.changes)
            return _("Unknown workflow {id} ({changes})", id=leftover.key, changes=changes)
        case "unnamed":
            return _(
                "Copies of deleted files that belong to no recorded change ({id})", id=leftover.key.rpartition("/")[2]
            )
        case "contents":
            return _("File contents that unreadable records may need")
        case "cut_off":
            return _("Interrupted change ({path})", path=leftover.key)
        case _:
            return _("Unreadable record ({path})", path=leftover.key)


def leftover_facts(leftover: Leftover) -> str:
    """Size of leftover data, why it is stored, and until when."""
    until = _("kept until {date}", date=day(leftover.until)) if leftover.until else _("kept until you delete it")
    return " · ".join(
        part for part in (size(leftover.size), _(leftover.reason) if leftover.reason else "", until) if part
    )


def leftovers_text(leftovers: Sequence[Leftover]) -> list[str]:
    """A sentence each for unreadable and for unknown data; empty without any."""
    unknown = [each for each in leftovers if each.kind in ("unknown", "unnamed")]
    unread = [each for each in leftovers if each not in unknown]
    found = []
    if unread:
        count = sum(each.kind != "contents" for each in unread)
        words = ngettext(
            "{n} record of changes cannot be read. Everything it may refer to is kept: {size}.",
            "{n} records of changes cannot be read. Everything they may refer to is kept: {size}.",
            count,
            size=size(sum(each.size for each in unread)),
        )
        found.append(words)
    if unknown:
        words = ngettext(
            "{n} set of undo data belongs to a workflow that is not in this database: {size}. It is kept for "
            "{days} "
            "days.",
            "{n} sets of undo data belong to workflows that are not in this database: {size}. Each is kept for "
            "{days} days.",
            len(unknown),
            size=size(sum(each.size for each in unknown)),
            days=LEFTOVER_DAYS,
        )
        found.append(words)
    return found


def unreadable_text(count: int) -> str:
    """Warning in a list of changes about unreadable records; empty for none."""
    if not count:
        return ""
    return ngettext(
        "{n} record of changes cannot be read and is left out. See: atelier files leftovers",
        "{n} records of changes cannot be read and are left out. See: atelier files leftovers",
        count,
    )


def upgrade_text(step: UpgradeStep, percent: int = 0) -> str:
    """Progress while data of an older version is upgraded; 0 percent when a step begins."""
    steps = {
        "copy": _("copying"),
        "read": _("reading"),
        "migrate": _("updating the copy"),
        "back_up": _("creating a backup"),
        "verify": _("checking the backup"),
    }
    number, what = list(steps).index(step) + 1, steps[step]
    if percent:
        return _(
            "Updating your data for this version, step {n} of {total}: {what} ({percent}%)…",
            n=number,
            total=len(steps),
            what=what,
            percent=percent,
        )
    return _(
        "Updating your data for this version, step {n} of {total}: {what}…",
        n=number,
        total=len(steps),
        what=what,
    )


def lost_data_text(count: int) -> str:
    """Warning that the checkpoints of changes were deleted; empty for none."""
    words = ngettext("Undo is no longer possible for {n} change", "Undo is no longer possible for {n} changes", count)
    return _("{lost}: the required data was deleted, or is on another computer.", lost=words) if count else ""


def mark_text(sources: Sequence[str]) -> str:
    """Note on a file written after reading outside sources."""
    return _("Written by an agent that had read from {sources}", sources=", ".join(sources))


def undo_text(changes: Iterable[Change]) -> str:
    """What undoing these changes cannot restore; empty when it restores everything."""
    if not any(change.command for change in changes):
        return ""
    return _(
        "Commands made some or all of these changes. What they did elsewhere (in other folders, in .git, in ignored "
        "files, over the network) is not undone."
    )


def changed_text(changes: Iterable[Change]) -> str:
    """``Changed files: a.py, b.py and 3 others``, or ``Changed file: a.py``; ``Deleted …`` if no other was changed."""
    changes = tuple(changes)
    paths = list(dict.fromkeys(map(path_text, changes)))
    deleted = all(change.action == "deleted" for change in changes)
    names, others = ", ".join(paths[:NAMED]), len(paths) - NAMED
    if others > 0 and deleted:
        return ngettext(
            "Deleted files: {names} and {n} other", "Deleted files: {names} and {n} others", others, names=names
        )
    if others > 0:
        return ngettext(
            "Changed files: {names} and {n} other", "Changed files: {names} and {n} others", others, names=names
        )
    if deleted:
        return ngettext("Deleted file: {names}", "Deleted files: {names}", len(paths), names=names)
    return ngettext("Changed file: {names}", "Changed files: {names}", len(paths), names=names)

"""Text about skills and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.file_references import has_commands

if TYPE_CHECKING:
    from atelier_desk.engine.services.skills import ListedSkill

KINDS = {"skill": N_("skill"), "command": N_("command")}
STATES = {
    "used": N_("used"),
    "off": N_("disabled"),
    "undecided": N_("folder not yet trusted"),
    "untrusted": N_("folder not trusted"),
    "hidden": N_("hidden"),
    "broken": N_("broken"),
}
ADVISORY = N_("The skill asks for the tools {tools}. This grants nothing: permissions are checked for every call.")


def state(row: ListedSkill) -> str:
    """A key of ``STATES``; the first that applies."""
    if row.found.text is None:
        return "broken"
    if not row.trusted:
        return "undecided" if row.trusted is None else "untrusted"
    if not row.on:
        return "off"
    return "hidden" if row.shadowed_by else "used"


def where(row: ListedSkill) -> str:
    """A skill's file, with ``~`` for the home folder."""
    return f"~/{row.found.path}" if row.found.scope == "user" else row.found.file


def called_by(row: ListedSkill) -> str:
    """Who can use it; empty when it cannot be used."""
    text = row.found.text
    if text is None:
        return ""
    if text.by_model:
        return _("agents, or you with /{name}", name=row.name) if text.by_person else _("agents")
    return _("you, with /{name}", name=row.name) if text.by_person else _("nobody")


def remarks(row: ListedSkill) -> list[str]:
    """Problems and notes, one sentence each."""
    text = row.found.text
    out = [] if row.found.problem is None else [row.found.problem.localized(_)]
    if row.shadowed_by:
        out.append(_("Another skill or command with this name takes precedence: {file}", file=row.shadowed_by))
    if text is not None:
        out += [warning.localized(_) for warning in text.warnings]
        if text.allowed:
            out.append(_(ADVISORY, tools=", ".join(text.allowed)))
        if text.ignored:
            out.append(_("Ignored fields: {fields}.", fields=", ".join(text.ignored)))
        if has_commands(text.body):
            out.append(
                _(
                    "Calling the skill does not run its commands in !`…`. Agents run them like any other command, "
                    "if permissions allow it."
                )
            )
        if text.paths:
            out.append(
                _("Intended for files that match {patterns}. Agents see this hint.", patterns=", ".join(text.paths))
            )
        if text.compatibility:
            out.append(_("Needs: {what}", what=text.compatibility))
    return out

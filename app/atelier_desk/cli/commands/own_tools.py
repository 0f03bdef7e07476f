"""``atelier tools own``: list, confirm and revoke the user's own tool files."""

from __future__ import annotations

import argparse

from atelier_desk.cli.output import Output, data, line, outcome, table
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.own_tools import OwnToolFile
from atelier_desk.i18n import N_, _

STATES = {"new": N_("new"), "confirmed": N_("confirmed"), "changed": N_("modified"), "broken": N_("broken")}
"""In a person's words; ``new`` and ``changed`` wait for a confirmation."""


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.own_tools.list()
    if out.json:
        data(out, [_described(each) for each in found])
        return 0
    out.note(_("Folder: {path}", path=atelier.own_tools.folder))
    rows = [(each.file, _(STATES[each.state]), each.sha256[:12], each.reason or ", ".join(each.tools)) for each in found]
    table(out, rows, (_("file"), _("state"), "SHA-256", _("tools")))
    return 0


async def confirm(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when its tools are there now, 1 when the file is broken. Without ``--sha256`` the file as it is now is confirmed."""
    digest = arguments.sha256 or (await atelier.own_tools.read(arguments.file)).sha256
    out.note(_("A tool file is a program that runs with your own rights."), "warn")
    confirmed = await atelier.own_tools.confirm(arguments.file, digest)
    if out.json:
        data(out, _described(confirmed))
    elif not confirmed.reason:
        line(out, _("Confirmed {file} ({hash}): {tools}", file=confirmed.file, hash=digest[:12], tools=", ".join(confirmed.tools)))
    if confirmed.reason:
        out.note(_("Error: {problem}", problem=confirmed.reason), "error")
    return 1 if confirmed.reason else 0


async def revoke(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    await atelier.own_tools.revoke(arguments.file)
    outcome(out, {"revoked": arguments.file}, _("Revoked {name}", name=arguments.file))
    return 0


def _described(each: OwnToolFile) -> dict[str, object]:
    return {"file": each.file, "sha256": each.sha256, "state": each.state.value, "tools": list(each.tools), "reason": each.reason}

"""``atelier tools own``: list, confirm and revoke the user's own tool files."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, Table
from atelier_desk.cli.parser import FAILED
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.own_tools import OwnToolFile
from atelier_desk.support.i18n import N_, _

STATES = {"new": N_("new"), "confirmed": N_("confirmed"), "changed": N_("modified"), "broken": N_("broken")}
"""States as shown; ``new`` and ``changed`` need confirmation."""


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.own_tools.list()
    folder = Note(_("Folder: {path}", path=atelier.own_tools.folder))
    rows = (
        (each.file, _(STATES[each.state]), each.sha256[:12], each.reason or ", ".join(each.tools)) for each in found
    )
    return Result(
        list(map(_described, found)), folder, Table((_("file"), _("state"), "SHA-256", _("tools or problem")), rows)
    )


async def confirm(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when its tools are available afterwards, 1 when the file cannot be loaded.

    Without ``--sha256`` the current content of the file is confirmed.
    """
    digest = arguments.sha256 or (await atelier.own_tools.read(arguments.file)).sha256
    out.note(_("A tool file is a program that runs with your own rights."), "warn")
    done = await atelier.own_tools.confirm(arguments.file, digest)
    if done.reason:
        out.note(_("Error: {problem}", problem=done.reason), "error")
        return Result(_described(done), (), status=FAILED)
    return Result(
        _described(done),
        _("Confirmed {file} ({hash}): {tools}", file=done.file, hash=digest[:12], tools=", ".join(done.tools)),
    )


async def revoke(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.own_tools.revoke(arguments.file)
    return Result({"revoked": arguments.file}, _("Revoked the confirmation of {name}.", name=arguments.file))


def _described(each: OwnToolFile) -> dict[str, object]:
    return {
        "file": each.file,
        "sha256": each.sha256,
        "state": each.state.value,
        "tools": list(each.tools),
        "reason": each.reason,
    }

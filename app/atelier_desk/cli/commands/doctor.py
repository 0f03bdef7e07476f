"""``atelier doctor``: is everything there that Atelier needs, and what to do about what is not."""

from __future__ import annotations

import argparse

from atelier_desk.cli.output import Output, data, line
from atelier_desk.cli.progress import every_second, noted_when_slow
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.doctor import checks
from atelier_desk.i18n import _

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


async def doctor(atelier: Atelier | None, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when nothing failed; warnings do not count."""
    if arguments.remove_damaged and atelier is not None:
        for each in await atelier.data.remove_damaged():
            out.note(_("Removed: {what}", what=f"{each.table} {each.row}"))
    async with noted_when_slow(out, _("Checking the installation…")) as go_on:
        found = await checks(
            atelier,
            root=getattr(arguments, "data_root", None),
            problem=getattr(arguments, "problem", None),
            progress=every_second(lambda done, total: out.note(_("Reading: {done} of {total}", done=done, total=total))),
            deep=arguments.deep,
            begin=lambda title: go_on(_("Checking: {title}…", title=title)),
        )
    if out.json:
        data(out, [check.model_dump(mode="json") for check in found])
    else:
        for check in found:
            line(out, f"{MARKS[check.status]} " + _("{title}: {message}", title=check.title, message=check.message))
            if check.fix:
                line(out, f"    {check.fix}")
        if not arguments.deep:
            out.note(_("The window toolkit, the embedder and the built-in model were not loaded. To try them: atelier doctor --deep"))
    return 1 if any(check.status == "fail" for check in found) else 0

"""``atelier doctor``: check the installation and say how to fix what is missing."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from atelier_desk.cli.command_result import Note, Result, Shown
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.slow_command_notes import every_second, noted_when_slow
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.maintenance.doctor import checks
from atelier_desk.support.i18n import _

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


async def doctor(atelier: Atelier | None, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when nothing failed; warnings do not count."""
    if arguments.remove_damaged and atelier is not None:
        for each in await atelier.data.remove_damaged():
            out.note(_("Removed: {what}", what=f"{each.table} {each.row}"))
    async with noted_when_slow(out, _("Checking the installation…")) as go_on:
        found = await checks(
            atelier,
            root=getattr(arguments, "data_root", None),
            problem=getattr(arguments, "problem", None),
            progress=every_second(
                lambda done, total: out.note(_("Reading: {done} of {total}", done=done, total=total))
            ),
            deep=arguments.deep,
            begin=lambda title: go_on(_("Checking: {title}…", title=title)),
        )

    def shown() -> Iterator[Shown]:
        for check in found:
            yield f"{MARKS[check.status]} " + _("{title}: {message}", title=check.title, message=check.message)
            if check.fix:
                yield f"    {check.fix}"
        if not arguments.deep:
            yield Note(
                _(
                    "The GUI toolkit, the embedder and the starter model were not loaded. To check them too: "
                    "atelier doctor --deep"
                )
            )

    return Result(found, shown(), status=FAILED if any(check.status == "fail" for check in found) else OK)

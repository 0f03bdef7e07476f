"""``atelier skills``: list, enable, disable, trust and add skills and commands."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator
from functools import partial

from atelier_desk.cli.command_result import Note, Result, Shown, Table, print_note
from atelier_desk.cli.file_arguments import folders, path_of
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.skills import ListedSkill
from atelier_desk.presentation.skill_text import KINDS, STATES, called_by, remarks, state, where
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.skill_discovery import FoundSkill


def _folders(arguments: Namespace, out: Output) -> tuple[str, ...]:
    return tuple(folders(out, arguments.workspace or ["."]))


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    rows = await atelier.skills.list(_folders(arguments, out))
    cells = ((row.name, _(KINDS[row.found.kind]), _(STATES[state(row)]), where(row)) for row in rows)
    undecided = dict.fromkeys(row.found.root for row in rows if row.trusted is None)
    unused = N_("The skills of {folder} are not used. To use them: atelier skills trust {argument}")
    return Result(
        list(map(described, rows)),
        Table((_("name"), _("kind"), _("state"), _("file")), cells),
        (Note(f"{row.name}: {remark}", "warn") for row in rows for remark in _problems(row)),
        (Note(_(unused, folder=folder, argument=shlex.quote(folder))) for folder in undecided),
    )


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.skills.show(arguments.name, _folders(arguments, out))
    row = found.listed

    def shown() -> Iterator[Shown]:
        text = row.found.text
        yield f"{row.name}  ({_(STATES[state(row)])})  {where(row)}"
        if text is not None:
            yield text.description
            yield _("Called by: {who}", who=called_by(row))
        for remark in remarks(row):
            yield Note(remark, "warn")
        if found.files:
            yield _("Files: {names}", names=", ".join(found.files))
        if found.body:
            yield from ("", found.body)

    return Result({**described(row), "body": found.body, "files": found.files}, shown())


async def _switch(atelier: Atelier, arguments: Namespace, out: Output, *, wanted: bool) -> Result:
    folders = _folders(arguments, out)
    rows = [row for row in await atelier.skills.list(folders) if arguments.name in (row.name, row.found.file)]
    # Of several with one name: the active one, or for "on" the first that was disabled.
    chosen = next((row for row in rows if (not row.on if wanted else row.usable)), None)
    row = chosen or (await atelier.skills.show(arguments.name, folders)).listed
    await atelier.skills.switch(row.found.file, wanted)
    words = N_("{name} enabled: {file}") if wanted else N_("{name} disabled: {file}")
    return Result({"name": row.name, "file": row.found.file, "on": wanted}, _(words, name=row.name, file=where(row)))


on = partial(_switch, wanted=True)
off = partial(_switch, wanted=False)


async def trust(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = folders(out, arguments.folder)
    for folder in found:
        await atelier.files.trust(folder, True)
        print_note(
            out, _("{folder} is trusted: its skills are used, and agents follow its instructions.", folder=folder)
        )
    return Result({"trusted": found}, ())


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    added: FoundSkill = await atelier.skills.add(str(path_of(out, arguments.folder)))
    warnings = added.text.warnings if added.text is not None else ()
    return Result(
        {"name": added.name, "file": added.file},
        _("Added {name}: {file}", name=added.name, file=added.file),
        (Note(warning.localized(_), "warn") for warning in warnings),
    )


def described(row: ListedSkill) -> dict[str, object]:
    """A skill as JSON."""
    found, text = row.found, row.found.text
    return {
        "name": row.name,
        "kind": found.kind,
        "scope": found.scope,
        "file": found.file,
        "place": found.place,
        "state": state(row),
        "trusted": row.trusted,
        "on": row.on,
        "shadowed_by": row.shadowed_by,
        "problem": str(found.problem) if found.problem is not None else "",
        "description": text.description if text is not None else "",
        "argument_hint": text.hint if text is not None else "",
        "by_model": text.by_model if text is not None else False,
        "by_person": text.by_person if text is not None else False,
        "allowed_tools": list(text.allowed) if text is not None else [],
        "warnings": [str(warning) for warning in text.warnings] if text is not None else [],
    }


def _problems(row: ListedSkill) -> list[str]:
    found = row.found
    if found.problem is not None:
        return [found.problem.localized(_)]
    return [warning.localized(_) for warning in found.text.warnings] if found.text is not None else []

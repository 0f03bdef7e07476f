"""``atelier skills``: which skills and commands there are, switching them on and off, trusting their folder, adding one."""

from __future__ import annotations

import argparse

from atelier_desk.cli.files import folders, path_of
from atelier_desk.cli.output import Output, data, line, table
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.skills import Listed
from atelier_desk.i18n import _
from atelier_desk.skill_words import KINDS, STATES, called_by, remarks, state, where
from atelier_desk.workspace.skills.find import Found


def _folders(arguments: argparse.Namespace, out: Output) -> tuple[str, ...]:
    return tuple(folders(out, arguments.workspace or ["."]))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    rows = await atelier.skills.list(_folders(arguments, out))
    if out.json:
        data(out, [described(row) for row in rows])
        return 0
    lines = [(row.name, _(KINDS[row.found.kind]), _(STATES[state(row)]), where(row)) for row in rows]
    table(out, lines, (_("name"), _("kind"), _("state"), _("file")))
    for row in rows:
        for remark in _problems(row):
            out.note(f"{row.name}: {remark}", "warn")
    undecided = dict.fromkeys(row.found.root for row in rows if row.trusted is None)
    for folder in undecided:
        out.note(_("The skills of {folder} are not used. To use them: atelier skills trust {folder}", folder=folder))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    shown = await atelier.skills.show(arguments.name, _folders(arguments, out))
    row = shown.listed
    if out.json:
        data(out, {**described(row), "body": shown.body, "files": list(shown.files)})
        return 0
    said = row.found.text
    line(out, f"{row.name}  ({_(STATES[state(row)])})  {where(row)}")
    if said is not None:
        line(out, said.description)
        line(out, _("Called by: {who}", who=called_by(row)))
    for remark in remarks(row):
        out.note(remark, "warn")
    if shown.files:
        line(out, _("Files: {names}", names=", ".join(shown.files)))
    if shown.body:
        line(out, "")
        line(out, shown.body)
    return 0


async def on(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _switch(atelier, arguments, out, True)


async def off(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    return await _switch(atelier, arguments, out, False)


async def _switch(atelier: Atelier, arguments: argparse.Namespace, out: Output, wanted: bool) -> int:
    folders = _folders(arguments, out)
    rows = [row for row in await atelier.skills.list(folders) if arguments.name in (row.name, row.found.file)]
    # Of several with one name: the one that is used, or for "on" the first that was switched off.
    chosen = next((row for row in rows if (not row.on if wanted else row.usable)), None)
    row = chosen or (await atelier.skills.show(arguments.name, folders)).listed
    await atelier.skills.switch(row.found.file, wanted)
    if out.json:
        data(out, {"name": row.name, "file": row.found.file, "on": wanted})
    elif wanted:
        line(out, _("{name} enabled: {file}", name=row.name, file=where(row)))
    else:
        line(out, _("{name} disabled: {file}", name=row.name, file=where(row)))
    return 0


async def trust(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = folders(out, arguments.folder)
    for folder in found:
        await atelier.files.trust(folder, True)
        if not out.json:
            line(out, _("{folder} is trusted: its skills are used, and agents read its instructions.", folder=folder))
    if out.json:
        data(out, {"trusted": list(found)})
    return 0


async def add(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    added: Found = await atelier.skills.add(str(path_of(out, arguments.folder)))
    if out.json:
        data(out, {"name": added.name, "file": added.file})
        return 0
    line(out, _("Added {name}: {file}", name=added.name, file=added.file))
    if added.text is not None:
        for warning in added.text.warnings:
            out.note(warning.localized(_), "warn")
    return 0


def described(row: Listed) -> dict[str, object]:
    """A row as JSON."""
    found, said = row.found, row.found.text
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
        "description": said.description if said is not None else "",
        "argument_hint": said.hint if said is not None else "",
        "by_model": said.by_model if said is not None else False,
        "by_person": said.by_person if said is not None else False,
        "allowed_tools": list(said.allowed) if said is not None else [],
        "warnings": [str(warning) for warning in said.warnings] if said is not None else [],
    }


def _problems(row: Listed) -> list[str]:
    found = row.found
    if found.problem is not None:
        return [found.problem.localized(_)]
    return [warning.localized(_) for warning in found.text.warnings] if found.text is not None else []

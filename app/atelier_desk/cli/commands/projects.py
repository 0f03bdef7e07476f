"""``atelier projects``: list, create, ingest, search, explore, show, forget, delete, pause, offers and answer."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from atelier_desk import figures
from atelier_desk.cli.output import Output, data, line, moment, outcome, table
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.project import Direction, EntityKind, IngestState, Project, RelationKind, free_name, is_address
from atelier_desk.engine.atelier import Atelier
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.project_words import (
    KIND_WORDS,
    RELATION_WORDS,
    RUNNING,
    cut_word,
    folder_word,
    language_word,
    place_word,
    state_word,
    title_word,
)
from atelier_desk.storage.graph import is_entity_id

LOOK_S = 0.2
"""Seconds between two looks whether a reading is over."""
DELETED = N_("The project {name} was deleted while it was being indexed.")
SAID_S = 1.0
"""Seconds between two lines about how far it is."""


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    projects = await atelier.repos.projects.list()
    if out.json:
        data(out, [each.model_dump(mode="json") for each in projects])
        return 0
    rows = [(each.name, _("yes") if each.loaded else _("no"), _when(each), each.root) for each in projects]
    table(out, rows, (_("name"), _("loaded"), _("read"), _("folder")))
    return 0


async def create(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    folder = _path(out, arguments.folder) if arguments.folder else ""
    made = await atelier.projects.create(
        arguments.name, folder, embedded=not arguments.no_vectors, watched=bool(folder) and not arguments.no_watch
    )
    _print(out, made)
    return 0


async def ingest(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:

    path = _path(out, arguments.path)
    project = await _of_path(atelier, path)
    if project is None:
        name = arguments.name or free_name(Path(path).name, await atelier.projects.list())
        project = await atelier.projects.create(name, path, embedded=not arguments.no_vectors, watched=not arguments.no_watch)
    await atelier.projects.ingest(project.id, () if path == project.root else (path,), force=arguments.force, emptied=arguments.force)
    try:
        state = await _followed(atelier, project, out)
    except asyncio.CancelledError:
        await atelier.projects.stop(project.id)
        out.note(_("Paused. Run the same command to continue."))
        raise
    if not (state.error or state.changed or state.unchanged or state.removed) and not _exists(path):
        raise NotFoundError(N_("There is nothing at {path}, and nothing was read of it."), path=path)
    if out.json:
        data(out, {"project": project.model_dump(mode="json"), "state": state.model_dump(mode="json")})
    elif state.error:
        out.note(state.error, "error")
    elif state.stage.value == "paused":  # by somebody else: in the window, or with another command
        out.note(_("Paused. Run the same command to continue."))
    else:
        problems = (await atelier.projects.statistics(project.id)).problems  # also of files that are as they were
        line(out, _("{project}: {changed} indexed, {unchanged} unchanged, {removed} removed, {problems} with problems",
                    project=project.name, changed=figures.number(state.changed), unchanged=figures.number(state.unchanged),
                    removed=figures.number(state.removed), problems=figures.number(problems)))  # fmt: skip
        if state.cut:
            out.note(cut_word(state.cut), "warn")
    return 0 if state.stage.value == "done" else 1


async def search(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    ids = [(await atelier.projects.get(name)).id for name in arguments.project]
    found = await atelier.projects.find(
        arguments.query, project_ids=ids, kinds=[EntityKind(kind) for kind in arguments.kind], limit=arguments.limit,
        threshold=arguments.threshold,
    )  # fmt: skip
    if out.json:
        data(out, [each.model_dump(mode="json") for each in found])
        return 0
    rows = [
        (figures.number(each.score, 2, trim=True), each.entity.id, title_word(each.entity), each.project, place_word(each.entity))
        for each in found
    ]
    table(out, rows, (_("score"), _("id"), _("name"), _("project"), _("place")))
    return 0


async def explore(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.projects.explore(
        await _entity_id(atelier, arguments.entity), relations=[RelationKind(each) for each in arguments.relation],
        direction=Direction(arguments.direction), depth=arguments.depth, limit=arguments.limit,
    )  # fmt: skip
    if out.json:
        data(out, found.model_dump(mode="json"))
        return 0
    names = {each.id: title_word(each) for each in (found.start, *(near.entity for near in found.neighbours))}
    rows = []
    for each in found.neighbours:
        by = f"{names.get(each.by.source, '?')} {_(RELATION_WORDS[each.by.kind])} {names.get(each.by.target, '?')}"
        rows.append((str(each.depth), each.entity.id, title_word(each.entity), by, place_word(each.entity)))
    table(out, rows, (_("depth"), _("id"), _("name"), _("relation"), _("place")))
    if found.cut:
        out.note(_("More results: --limit N."))
    return 0


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    try:
        project = await atelier.projects.get(arguments.what)
    except NotFoundError:
        try:
            entity = await atelier.projects.entity(await _entity_id(atelier, arguments.what))
        except NotFoundError as error:
            names = ", ".join(each.name for each in await atelier.projects.list()) or _("none")
            raise NotFoundError(N_("{error} Projects: {names}."), error=error, names=names) from error
        if out.json:
            data(out, entity.model_dump(mode="json"))
        else:
            out.note(f"{title_word(entity)}  {place_word(entity)}")
            out.write(entity.text.rstrip("\n") + "\n")
        return 0
    statistics = await atelier.projects.statistics(project.id)
    problems = await atelier.projects.problems(project.id, limit=50)
    if out.json:
        shown = {name: each.model_dump(mode="json") for name, each in (("project", project), ("statistics", statistics))}
        data(out, {**shown, "problems": [{**each.model_dump(exclude={"values"}), "reason": each.localized(_)} for each in problems]})
        return 0
    line(out, f"{project.name}  {folder_word(project)}  {_when(project)}")
    counted = (
        (_("Contains"), {_(KIND_WORDS[kind]): count for kind, count in statistics.entities.items()}),
        (_("Relations"), {_(RELATION_WORDS[kind]): count for kind, count in statistics.relations.items()}),
        (_("Languages"), {language_word(language): count for language, count in statistics.languages.items()}),
    )
    for title, counts in counted:
        line(out, _("{type}: {number}", type=title, number=", ".join(f"{name} {figures.number(n)}" for name, n in counts.items())))
    vectors = _("embeddings: {done} of {total}", done=figures.number(statistics.vectors), total=figures.number(statistics.texts))
    line(out, ngettext("{n} file", "{n} files", statistics.files) + f", {vectors}")
    if project.cut:
        line(out, cut_word(project.cut))
    for problem in problems:
        line(out, f"  {problem.path}: {problem.localized(_)}")
    for path in project.readable:
        line(out, f"  {path}: " + _("Indexed although it looks like a secret."))
    return 0


async def allow(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    path = _path(out, arguments.path)
    project = await _of_path(atelier, path)
    if project is None:
        raise NotFoundError(N_("{path} is not in any project."), path=path)
    project = await atelier.projects.allow(project.id, path, yes=not arguments.undo)
    state = await _followed(atelier, project, out)
    words = _("{path} is excluded again.", path=path) if arguments.undo else _("{path} is indexed from now on.", path=path)
    outcome(out, {"project": project.name, "readable": list(project.readable)}, words)
    return 0 if state.stage.value == "done" else 1


async def forget(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    path = arguments.path if is_address(arguments.path) else _path(out, arguments.path)
    project = await _of_path(atelier, path)
    if project is None:
        raise NotFoundError(N_("{path} is not in any project."), path=path)
    count = await atelier.projects.forget_path(project.id, path)
    if not count:
        raise NotFoundError(N_("Nothing of {path} is in the project {name}."), path=path, name=project.name)
    outcome(out, {"project": project.name, "files": count}, ngettext("{n} file removed", "{n} files removed", count))
    if project.root and not is_address(path):
        out.note(_("Indexing again adds existing files back; a line in .gitignore excludes them."))
    return 0


async def delete(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    project = await atelier.projects.get(arguments.name)
    rows = await atelier.projects.delete(project.id)
    outcome(out, {"deleted": project.name, "rows": rows}, _("Deleted the project {name}.", name=project.name))
    return 0


async def pause(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    project = await atelier.projects.get(arguments.name)
    state = (await atelier.projects.states()).get(project.id)
    await atelier.projects.stop(project.id)
    reading = state is not None and state.stage in RUNNING
    paused = _("Indexing of {name} is paused; indexing it again continues.", name=project.name)
    outcome(out, project.model_dump(mode="json"), paused if reading else _("{name} is not being indexed.", name=project.name))
    return 0


async def offers(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.projects.offers()
    if out.json:
        data(out, [each.model_dump() for each in found])
    else:
        table(out, [(each.name, each.folder) for each in found], (_("name"), _("folder")))
    return 0


async def answer(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    project = await atelier.projects.answer(_path(out, arguments.folder), arguments.said == "yes")
    if project is not None:
        await _followed(atelier, project, out)
        _print(out, await atelier.projects.get(project.id))
    return 0


async def _followed(atelier: Atelier, project: Project, out: Output) -> IngestState:
    """Say how far it is, on standard error, until it is over.

    Raises:
        NotFoundError: the project was deleted meanwhile.
    """
    waiting = asyncio.ensure_future(atelier.projects.wait(project.id))
    loop, said, told = asyncio.get_running_loop(), asyncio.get_running_loop().time(), ""
    try:
        while not waiting.done():
            await asyncio.wait([waiting], timeout=LOOK_S)
            state = (await atelier.projects.states()).get(project.id)
            if state is not None and not waiting.done() and loop.time() - said >= SAID_S:
                said = loop.time()
                words = f"{state_word(state)}  {state.path if state.total else ''}".rstrip()
                if words != told:
                    out.note(words)
                told = words
    finally:
        waiting.cancel()
    found = waiting.result()
    if found is None or all(each.id != project.id for each in await atelier.projects.list()):
        raise NotFoundError(DELETED, name=project.name)
    return found


async def _of_path(atelier: Atelier, path: str) -> Project | None:
    """The project that a path lies in, the nearest; of a page, one that has it."""

    projects = await atelier.repos.projects.list()
    if is_address(path):
        for each in projects:
            if any(state.path == path for state in await atelier.repos.projects.files(each.id)):
                return each
        return None
    above = [each for each in projects if each.root and Path(path).is_relative_to(each.root)]
    return max(above, key=lambda each: len(each.root), default=None)


async def _entity_id(atelier: Atelier, text: str) -> str:
    """An id, or the id of the one that has this name."""
    if is_entity_id(text):
        return text
    found = await atelier.projects.find(text, limit=10)
    named = [each.entity for each in found if text in (each.entity.name, each.entity.qualified, each.entity.path)]
    if len(named) == 1:
        return named[0].id
    names = ", ".join(f"{title_word(each)} ({each.id})" for each in named or [hit.entity for hit in found[:5]]) or _("none")
    raise NotFoundError(N_("There is no single entity {name}. Nearest: {names}."), name=text[:80], names=names)


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _path(out: Output, text: str) -> str:
    return os.path.realpath(os.path.join(out.cwd, os.path.expanduser(text)))  # noqa: PTH111, PTH118


def _when(project: Project) -> str:
    return moment(project.ingested_at) if project.ingested_at is not None else _("not yet")


def _print(out: Output, project: Project) -> None:
    outcome(out, project.model_dump(mode="json"), f"{project.name}  {project.root}")

"""``atelier projects``: indexed folders and pages, their search and their graph."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from atelier_desk.cli.command_result import Note, Result, Shown, Table, report
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.terminal_io import Output, moment
from atelier_desk.domain.errors import NotFoundError
from atelier_desk.domain.project import (
    Direction,
    EntityKind,
    IngestState,
    Neighbour,
    Project,
    RelationKind,
    free_name,
    is_address,
)
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.project_text import (
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
from atelier_desk.storage.project_graph_rows import is_entity_id
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext

POLL_S = 0.2
"""Seconds between two checks whether indexing has ended."""
DELETED = N_("The project {name} was deleted while it was being indexed.")
REPORT_S = 1.0
"""Seconds between two progress lines."""


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    projects = await atelier.repos.projects.list()
    rows = ((each.name, _("yes") if each.loaded else _("no"), _when(each), each.root) for each in projects)
    return Result(projects, Table((_("name"), _("loaded"), _("indexed"), _("folder")), rows))


async def create(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    folder = _path(out, arguments.folder) if arguments.folder else ""
    watched = bool(folder) and not arguments.no_watch
    return _made(
        await atelier.projects.create(arguments.name, folder, embedded=not arguments.no_vectors, watched=watched)
    )


async def ingest(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    path = _path(out, arguments.path)
    project = await _of_path(atelier, path)
    if project is None:
        name = arguments.name or free_name(Path(path).name, await atelier.projects.list())
        project = await atelier.projects.create(
            name, path, embedded=not arguments.no_vectors, watched=not arguments.no_watch
        )
    await atelier.projects.ingest(
        project.id, () if path == project.root else (path,), force=arguments.force, emptied=arguments.force
    )
    try:
        state = await _followed(atelier, project, out)
    except asyncio.CancelledError:
        await atelier.projects.stop(project.id)
        out.note(_("Paused. Run the same command to continue."))
        raise
    if not (state.error or state.changed or state.unchanged or state.removed) and _nothing_at(path):
        raise NotFoundError(N_("{path} does not exist and is not in the index."), path=path)
    shown: list[Shown] = []
    if state.error:
        shown.append(Note(state.error, "error"))
    elif state.stage.value == "paused":  # paused in the window or by another command
        shown.append(Note(_("Paused. Run the same command to continue.")))
    else:
        problems = (await atelier.projects.statistics(project.id)).problems  # includes problems of unchanged files
        counts = {
            "changed": state.changed,
            "unchanged": state.unchanged,
            "removed": state.removed,
            "problems": problems,
        }
        counted = {name: locale_format.number(count) for name, count in counts.items()}
        words = _("{project}: {changed} indexed, {unchanged} unchanged, {removed} removed, {problems} with problems",
                  project=project.name, **counted)  # fmt: skip
        shown += [words, Note(cut_word(state.cut), "warn") if state.cut else ()]
    return Result({"project": project, "state": state}, shown, status=OK if state.stage.value == "done" else FAILED)


async def search(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    ids = [(await atelier.projects.get(name)).id for name in arguments.project]
    found = await atelier.projects.find(
        arguments.query, project_ids=ids, kinds=[EntityKind(kind) for kind in arguments.kind], limit=arguments.limit,
        threshold=arguments.threshold,
    )  # fmt: skip
    rows = (
        (
            locale_format.number(each.score, 2, trim=True),
            each.entity.id,
            title_word(each.entity),
            each.project,
            place_word(each.entity),
        )
        for each in found
    )
    return Result(found, Table((_("score"), _("id"), _("name"), _("project"), _("location")), rows))


async def explore(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.projects.explore(
        await _entity_id(atelier, arguments.entity), relations=[RelationKind(each) for each in arguments.relation],
        direction=Direction(arguments.direction), depth=arguments.depth, limit=arguments.limit,
    )  # fmt: skip
    names = {each.id: title_word(each) for each in (found.start, *(near.entity for near in found.neighbours))}

    def row(near: Neighbour) -> tuple[str, ...]:
        by = f"{names.get(near.by.source, '?')} {_(RELATION_WORDS[near.by.kind])} {names.get(near.by.target, '?')}"
        return (str(near.depth), near.entity.id, title_word(near.entity), by, place_word(near.entity))

    header = (_("depth"), _("id"), _("name"), _("relation"), _("location"))
    return Result(
        found, Table(header, map(row, found.neighbours)), Note(_("For more results: --limit N")) if found.cut else ()
    )


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    try:
        project = await atelier.projects.get(arguments.what)
    except NotFoundError:
        try:
            entity = await atelier.projects.entity(await _entity_id(atelier, arguments.what))
        except NotFoundError as error:
            names = ", ".join(each.name for each in await atelier.projects.list()) or _("none")
            raise NotFoundError(N_("{error} Projects: {names}."), error=error, names=names) from error
        return Result(entity, Note(f"{title_word(entity)}  {place_word(entity)}"), entity.text.rstrip("\n"))
    statistics = await atelier.projects.statistics(project.id)
    problems = await atelier.projects.problems(project.id, limit=50)

    def shown() -> Iterator[Shown]:
        yield f"{project.name}  {folder_word(project)}  {_when(project)}"
        counted = (
            (_("Contains"), {_(KIND_WORDS[kind]): count for kind, count in statistics.entities.items()}),
            (_("Relations"), {_(RELATION_WORDS[kind]): count for kind, count in statistics.relations.items()}),
            (_("Languages"), {language_word(language): count for language, count in statistics.languages.items()}),
        )
        for title, counts in counted:
            yield _(
                "{type}: {number}",
                type=title,
                number=", ".join(f"{name} {locale_format.number(n)}" for name, n in counts.items()),
            )
        vectors = _(
            "embeddings: {done} of {total}",
            done=locale_format.number(statistics.vectors),
            total=locale_format.number(statistics.texts),
        )
        yield ngettext("{n} file", "{n} files", statistics.files) + f", {vectors}"
        if project.cut:
            yield cut_word(project.cut)
        for problem in problems:
            yield f"  {problem.path}: {problem.localized(_)}"
        for path in project.readable:
            yield f"  {path}: " + _("Indexed despite looking like a secret.")

    documents = [{**each.model_dump(exclude={"values"}), "reason": each.localized(_)} for each in problems]
    return Result({"project": project, "statistics": statistics, "problems": documents}, shown())


async def allow(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    path = _path(out, arguments.path)
    project = await _holding(atelier, path)
    project = await atelier.projects.allow(project.id, path, yes=not arguments.undo)
    state = await _followed(atelier, project, out)
    words = _("{path} is excluded again.", path=path) if arguments.undo else _("{path} will be indexed.", path=path)
    return Result(
        {"project": project.name, "readable": project.readable},
        words,
        status=OK if state.stage.value == "done" else FAILED,
    )


async def forget(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    path = arguments.path if is_address(arguments.path) else _path(out, arguments.path)
    project = await _holding(atelier, path)
    count = await atelier.projects.forget_path(project.id, path)
    if not count:
        raise NotFoundError(N_("The project {name} contains nothing from {path}."), path=path, name=project.name)
    done = Result(
        {"project": project.name, "files": count},
        ngettext("{n} file removed from the index", "{n} files removed from the index", count),
    )
    status = report(out, done)
    if project.root and not is_address(path):
        out.note(_("Files that still exist are indexed again next time; to exclude them, list them in .gitignore."))
    return status


async def delete(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    project = await atelier.projects.get(arguments.name)
    rows = await atelier.projects.delete(project.id)
    return Result({"deleted": project.name, "rows": rows}, _("Deleted the project {name}.", name=project.name))


async def pause(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    project = await atelier.projects.get(arguments.name)
    state = (await atelier.projects.states()).get(project.id)
    await atelier.projects.stop(project.id)
    reading = state is not None and state.stage in RUNNING
    paused = _("Indexing of {name} is paused; index it again to continue.", name=project.name)
    return Result(project, paused if reading else _("{name} is not being indexed.", name=project.name))


async def offers(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.projects.offers()
    return Result(found, Table((_("name"), _("folder")), ((each.name, each.folder) for each in found)))


async def answer(atelier: Atelier, arguments: Namespace, out: Output) -> Result | int:
    project = await atelier.projects.answer(_path(out, arguments.folder), arguments.said == "yes")
    if project is None:
        return OK
    await _followed(atelier, project, out)
    return _made(await atelier.projects.get(project.id))


async def _followed(atelier: Atelier, project: Project, out: Output) -> IngestState:
    """Print progress on standard error until indexing ends.

    Raises:
        NotFoundError: the project was deleted meanwhile.
    """
    waiting = asyncio.ensure_future(atelier.projects.wait(project.id))
    loop, said, told = asyncio.get_running_loop(), asyncio.get_running_loop().time(), ""
    try:
        while not waiting.done():
            await asyncio.wait([waiting], timeout=POLL_S)
            state = (await atelier.projects.states()).get(project.id)
            if state is not None and not waiting.done() and loop.time() - said >= REPORT_S:
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
    """The innermost project that contains a path; for a web page, a project that has it."""

    projects = await atelier.repos.projects.list()
    if is_address(path):
        for each in projects:
            if any(state.path == path for state in await atelier.repos.projects.files(each.id)):
                return each
        return None
    above = [each for each in projects if each.root and Path(path).is_relative_to(each.root)]
    return max(above, key=lambda each: len(each.root), default=None)


async def _entity_id(atelier: Atelier, text: str) -> str:
    """An entity's id, from an id or a name."""
    if is_entity_id(text):
        return text
    found = await atelier.projects.find(text, limit=10)
    named = [each.entity for each in found if text in (each.entity.name, each.entity.qualified, each.entity.path)]
    if len(named) == 1:
        return named[0].id
    names = ", ".join(f"{title_word(each)} ({each.id})" for each in named or [hit.entity for hit in found[:5]]) or _(
        "none"
    )
    raise NotFoundError(N_("{name} does not match exactly one entity. Closest: {names}."), name=text[:80], names=names)


def _nothing_at(path: str) -> bool:
    return not os.path.lexists(path)


def _path(out: Output, text: str) -> str:
    return os.path.realpath(os.path.join(out.cwd, os.path.expanduser(text)))  # noqa: PTH111, PTH118


def _when(project: Project) -> str:
    return moment(project.ingested_at) if project.ingested_at is not None else _("not yet")


def _made(project: Project) -> Result:
    return Result(project, f"{project.name}  {project.root}")


async def _holding(atelier: Atelier, path: str) -> Project:
    """The project that contains a path; NotFoundError when there is none."""
    project = await _of_path(atelier, path)
    if project is None:
        raise NotFoundError(N_("{path} is not in any project."), path=path)
    return project

"""Projects: folders and fetched pages as a searchable graph for people and agents."""

from __future__ import annotations

import builtins
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain import limits
from atelier_desk.domain.document_formats import DOCUMENTS
from atelier_desk.domain.errors import AtelierError, ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.project import (
    FOUND_MAX,
    Direction,
    Entity,
    EntityKind,
    Exploration,
    FileProblem,
    IngestState,
    Project,
    ProjectHit,
    ProjectOffer,
    ProjectStatistics,
    Relation,
    RelationKind,
    free_name,
    is_address,
)
from atelier_desk.engine.projects import file_selection, project_paths_and_text
from atelier_desk.engine.projects.background_indexing import Ingestions
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.knowledge.projects.entity_filter import filtered
from atelier_desk.knowledge.projects.search import around, relation, search, shown
from atelier_desk.llm.embedders.single_threaded_blas import limit_to_one_thread
from atelier_desk.storage.project_graph_rows import file_key, is_entity_id, project_key
from atelier_desk.storage.repositories.projects import NAME_IN_USE
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.confined_root import ConfinedRoot

if TYPE_CHECKING:
    from atelier_desk.knowledge.projects.index import ProjectIndex
    from atelier_desk.knowledge.projects.index_cache import ProjectIndexes
    from atelier_desk.llm.interfaces import Embedder

log = logging.getLogger(__name__)

NO_FOLDER = N_("The folder {path} does not exist.")
FILE = N_("{path} is a file; a project needs a folder.")
INSIDE_DATA = N_("{path} contains Atelier's own data: it cannot become a project.")
EXPLORED_MAX = 5_000
DEPTH_MAX = 5
TEXT = 50_000
"""Maximum characters of an entity's text per answer."""
OFFERED_FROM = 20
"""Number of readable files from which indexing a folder is offered.

Fewer fit in one listing, and an agent finds what it needs by searching and reading them in a few calls.
"""
FILE_KINDS = frozenset({EntityKind.FILE, EntityKind.DOCUMENT, EntityKind.IMAGE, EntityKind.PAGE})


class ProjectService:
    """Projects. Changes are announced as ``projects`` with the project's id."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._repo = context.repos.projects
        self._ingestions = Ingestions(
            self._repo,
            lambda: self._indexes,
            self._embedding_with,
            context.clock,
            self._announce,
            (context.datadir.root,),
        )
        self.some = False
        """Whether any project exists; known after ``load``."""
        self.waits = False
        """Vectors may cost something: texts are read and get none before the person says so."""

    @cached_property
    def _indexes(self) -> ProjectIndexes:
        """The indexes, which load numpy: made when a project is read or searched."""
        limit_to_one_thread()
        from atelier_desk.knowledge.projects.index_cache import ProjectIndexes

        return ProjectIndexes(self._repo, self._context.datadir.root, self._embedder)

    async def load(self) -> None:
        """Check whether there are projects, so that agents are only offered their tools then."""
        self.some = bool(await self._repo.list())

    async def list(self) -> list[Project]:
        """All projects by name."""
        return await self._repo.list()

    async def get(self, project: str) -> Project:
        """Return a project by id or name, ignoring case.

        Raises:
            NotFoundError: there is none; the message lists the projects.
        """
        known = await self._repo.list()
        for each in known:
            if each.id == project or each.name.casefold() == project.casefold():
                return each
        names = ", ".join(each.name for each in known) or _("none")
        raise NotFoundError(N_("There is no project {name}. Projects: {names}."), name=project, names=names)

    async def create(self, name: str, root: str = "", *, embedded: bool = True, watched: bool = True) -> Project:
        """Create a project, not indexed yet.

        Raises:
            UsageError: no such folder, or it contains Atelier's own data; a blank name.
            ConflictError: the name is taken.
        """
        wanted = input_checks.text(name, _("name"), limits.PROJECT_NAME)
        folder = await self._folder(root) if root else ""
        known = await self._repo.list()
        if any(each.name.casefold() == wanted.casefold() for each in known):
            raise ConflictError(NAME_IN_USE, name=wanted)
        now = self._context.clock.now()
        project = Project(name=wanted, root=folder, embedded=embedded, watched=watched, created_at=now, updated_at=now)
        keys = {project_key(each.id) for each in (*known, *await self._repo.leaving())}
        while project_key(project.id) in keys:
            project = Project(**{**dict(project), "id": Project(name=wanted).id})
        await self._repo.save(project)
        self.some = True
        self._announce(project.id)
        return project

    async def change(
        self,
        project_id: str,
        *,
        name: str | None = None,
        loaded: bool | None = None,
        watched: bool | None = None,
        embedded: bool | None = None,
    ) -> Project:
        """Rename a project, or switch whether it is searched, watched, or embedded.

        Work required by an enabled switch starts in the background.
        """
        project = await self._repo.get(project_id)
        given = {"loaded": loaded, "watched": watched, "embedded": embedded}
        fields: dict[str, object] = {field: value for field, value in given.items() if value is not None}
        if name is not None:
            fields["name"] = input_checks.text(name, _("name"), limits.PROJECT_NAME)
        changed = input_checks.changed(project, _("project"), **fields, updated_at=self._context.clock.now())
        await self._repo.save(changed)
        self._announce(project_id)
        on = {field for field, value in given.items() if value and not getattr(project, field)}
        if "embedded" in on:
            self.waits = False
        if "embedded" in on or (on and changed.watched and changed.loaded):
            await self._catch_up(changed)
        return changed

    async def _catch_up(self, project: Project) -> None:
        """Index changes made while unwatched, and make missing vectors.

        A folder that was never indexed, or paused by a person, waits for them.
        """
        if not project.root:
            if project.embedded:
                await self._ingestions.embed(project)
        elif self._ingestions.at_work(project.id) or (project.ingested_at is not None and not project.pending):
            await self._read_on(project)

    async def _read_on(self, project: Project) -> None:
        try:
            await self._ingest(project.id)
        except AtelierError as error:
            log.info("a project was not gone on with: %s", error)
            if project.watched and project.loaded and project.root:
                self._ingestions.watch(project)  # until its folder exists again

    async def delete(self, project_id: str) -> int:
        """Delete a project and its index; its folder is not touched. Returns the number of deleted rows."""
        await self._repo.get(project_id)
        await self._ingestions.drop(project_id)
        count = await self._repo.delete(project_id)
        await self._finish_deletions()
        await self.load()
        await self._indexes.delete(project_id)
        self._announce(project_id)
        return count

    async def ingest(
        self, project_id: str, paths: Sequence[str] = (), *, force: bool = False, emptied: bool = False
    ) -> None:
        """Index a project in the background, or only these files and folders (relative to its root, or absolute).

        ``force`` reads unchanged files again; with ``emptied`` an empty folder is accepted, and its indexed files are
        forgotten, as a person confirmed.

        Raises:
            UsageError: the project has no folder, it is missing, or a path is outside.
        """
        self.waits = False
        await self._ingest(project_id, paths, force=force, emptied=emptied)

    async def _ingest(
        self, project_id: str, paths: Sequence[str] = (), *, force: bool = False, emptied: bool = False
    ) -> None:
        project = await self._repo.get(project_id)
        await self._ingestions.start(
            project,
            [project_paths_and_text.relative_path(project, path) for path in paths],
            force=force,
            emptied=emptied,
        )
        if project.watched:
            self._ingestions.watch(project)

    async def allow(self, project_id: str, path: str, *, yes: bool = True) -> Project:
        """Allow reading a file or folder skipped as a possible secret; ``yes`` False reverts that and forgets what was
        read.

        The project is indexed in the background.

        Raises:
            UsageError: the path is outside the project, or was not skipped for that reason.
        """
        project = await self._repo.get(project_id)
        below = project_paths_and_text.relative_path(project, path)
        known = [each for each in project.readable if each != below]
        if yes:
            problem = await self._repo.problem(project_id, below)
            if below not in project.readable and (problem is None or not problem.secret):
                raise UsageError(
                    N_("{path} was not skipped as a possible secret, so indexing it needs no permission."),
                    path=below or project.root,
                )
            known.append(below)
        elif len(known) == len(project.readable):
            raise UsageError(
                N_("No permission to index {path} was given, so there is nothing to revoke."),
                path=below or project.root,
            )
        async with self._ingestions.aside(project):  # later indexing respects this
            await self._remove_below(project_id, below)
            project = input_checks.changed(
                await self._repo.get(project_id), _("project"), readable=tuple(sorted(known))
            )
            await self._repo.save(project)
        await self.ingest(project_id, [below])
        return project

    async def stop(self, project_id: str) -> None:
        """Pause indexing; ``ingest`` continues it."""
        await self._ingestions.stop(project_id)

    async def states(self) -> dict[str, IngestState]:
        """Return, by project, running and paused indexing, and runs ended since the start."""
        return dict(self._ingestions.states)

    async def wait(self, project_id: str) -> IngestState | None:
        """Wait until the project is no longer being indexed; return its final state."""
        await self._ingestions.wait(project_id)
        return self._ingestions.states.get(project_id)

    async def embed(self, project_id: str, *, kinds: Sequence[EntityKind] = (), force: bool = False) -> None:
        """Make missing vectors of a project in the background, of these kinds or all; with ``force`` also existing ones
        again.

        ``IngestState.done`` finally is the number of texts.

        Raises:
            UsageError: no embedder is configured.
        """
        if self._embedder() is None:
            raise UsageError(
                N_("No embedder is chosen in the settings; there is nothing to compute."), code="no_embedder"
            )
        self.waits = False
        await self._ingestions.embed(await self._repo.get(project_id), kinds, force=force)

    async def follow_embedder(self) -> None:
        """Make the projects' missing vectors for the configured embedder, in the background; others are kept."""
        self.waits = False
        if self._embedder() is None:
            return
        for project in await self._repo.list():
            if project.embedded and not project.pending and not self._ingestions.busy(project.id):
                await self._ingestions.embed(project)

    async def waiting_texts(self) -> int:
        """Texts of projects without a vector of the embedder of the settings, while they wait for the person's word."""
        count = 0
        for project in await self._repo.list() if self.waits else ():
            if project.embedded:
                texts, vectors = await in_tool_thread((await self._indexes.get(project.id)).texts)
                count += max(0, texts - vectors)
        return count

    async def offers(self, folders: Sequence[str] = ()) -> builtins.list[ProjectOffer]:
        """Return folders (these, or all granted ones) outside any project that nobody was asked about.

        Never a home folder, a disk, Atelier's own data, or a folder with fewer than ``OFFERED_FROM`` files to read.
        """
        if not folders:
            workflows = await self._context.repos.workflows.list()
            folders = [folder for workflow in workflows for folder in workflow.workspace]
        answered = (await self._context.settings.get()).project_answers
        known = await self._repo.list()

        def fresh() -> builtins.list[Path]:
            found = dict.fromkeys(Path(folder).resolve() for folder in folders)
            roots = [Path(each.root) for each in known if each.root]
            home = Path.home().resolve()
            return [
                each
                for each in found
                if each.is_dir()
                and str(each) not in answered
                and not any(each.is_relative_to(root) for root in roots)
                and each not in (home, Path(each.anchor))
                and not self._is_own(each)
                and _is_worth_indexing(each)
            ]

        return [
            ProjectOffer(folder=str(each), name=free_name(each.name, known)) for each in await in_tool_thread(fresh)
        ]

    async def answer(self, folder: str, yes: bool) -> Project | None:
        """Store a person's answer about a folder; if yes, it becomes a project and is indexed in the background.

        Raises:
            UsageError: there is no such folder.
        """
        real = await self._folder(folder)
        await self._context.settings.update(project_answers=lambda answers: {**answers, real: yes})
        project = None
        if yes:
            known = await self._repo.list()
            project = next((each for each in known if each.root == real), None)
            if project is None:
                project = await self.create(free_name(Path(real).name, known), real)
            await self.ingest(project.id)
        self._announce(project.id if project is not None else "")
        return project

    async def resume_pending(self) -> None:
        """Resume unfinished work, and watch the watched projects."""
        await self._finish_deletions()
        for project in await self._repo.list():
            if project.pending or (
                project.watched and project.loaded and project.ingested_at is not None and project.root
            ):
                await self._read_on(project)
        if self.waits:
            for project in await self._repo.list():
                await self._ingestions.wait(project.id)
            self._context.bus.changed("memory", EMBEDDING_OFFER)

    async def aclose(self) -> None:
        """Pause all indexing, and end its processes."""
        await self._ingestions.aclose()

    async def statistics(self, project_id: str) -> ProjectStatistics:
        """Count the project's content."""
        await self._repo.get(project_id)
        found = await self._repo.statistics(project_id)
        index = await self._indexes.get(project_id)
        texts, vectors = await in_tool_thread(index.texts)
        return found.model_copy(update={"texts": texts, "vectors": vectors})

    async def problems(self, project_id: str, *, limit: int = 200) -> builtins.list[FileProblem]:
        """Return files that were not, or not completely, read, earliest failure first."""
        await self._repo.get(project_id)
        return await self._repo.problems(project_id, limit)

    async def files(self, project_id: str, *, under: str = "", limit: int = 1000) -> builtins.list[Entity]:
        """Return the files of a project by path, below a folder of it."""
        input_checks.page(limit)
        await self._repo.get(project_id)
        index = await self._indexes.get(project_id)
        folder = under.strip("/")
        found = [
            each
            for each in await in_tool_thread(index.all)
            if each.kind in FILE_KINDS and project_paths_and_text.is_inside(each.path, folder)
        ]
        return [shown(each, project_id) for each in sorted(found, key=lambda each: each.path)[:limit]]

    async def entity(self, entity_id: str) -> Entity:
        """Return an entity with its text, at most ``TEXT`` characters.

        A scope's text is read from its present file; a PDF's or office document's consists of its sections.

        Raises:
            NotFoundError: there is none.
        """
        project, index = await self._home(entity_id)
        found = (
            await self._repo.entities([entity_id], project.id, text=True) if index.get(entity_id) is not None else []
        )
        if not found:
            raise NotFoundError(N_("There is no entity {id}."), id=entity_id[:80])
        entity = found[0]
        if entity.kind is EntityKind.SCOPE:
            with contextlib.suppress(AtelierError):
                text, first, last = await self.source(entity_id)
                lines = text.split("\n")[first - 1 : last]
                return entity.model_copy(update={"text": "\n".join(lines)[:TEXT]})
        if entity.kind is EntityKind.DOCUMENT and entity.language in DOCUMENTS:
            return entity.model_copy(
                update={"text": (await self._sections(index, project.id, entity.path))[:TEXT] or entity.text}
            )
        return entity

    async def _sections(self, index: ProjectIndex, project_id: str, path: str) -> str:
        """Return the indexed text of a non-text document, section by section."""
        found = [index.get(each) for each in index.of_file(file_key(project_id, path))]
        sections = sorted(
            (each for each in found if each is not None and each.kind == EntityKind.SECTION),
            key=lambda each: each.start_line,
        )
        texts = await self._repo.texts([each.id for each in sections])
        parts = [(each.name, texts.get(each.id, "").strip()) for each in sections]
        return "\n\n".join(
            text if " ".join(text.split()).startswith(name) else f"{name}\n{text}".strip() for name, text in parts
        )

    async def find(
        self,
        query: str,
        *,
        project_ids: Sequence[str] = (),
        kinds: Sequence[EntityKind] = (),
        limit: int = 20,
        threshold: float = 0.0,
    ) -> builtins.list[ProjectHit]:
        """Search by words and meaning, best first: in these projects, or all loaded ones.

        Raises:
            UsageError: a blank query, a threshold below 0 or above 1.
        """
        input_checks.page(limit, most=FOUND_MAX)
        wanted = input_checks.text(query, _("query"), limits.MEMORY_CONTENT)
        if not 0 <= threshold <= 1:
            raise UsageError(N_("The threshold must be a number from 0 to 1, not {value}."), value=threshold)
        known = {each.id: each for each in await self._repo.list()}
        for project_id in project_ids:
            if project_id not in known:
                await self._repo.get(project_id)
        asked = [known[each] for each in project_ids] or [each for each in known.values() if each.loaded]
        return await search(self._repo, self._indexes, self._embedder(), asked, wanted, kinds, limit, threshold)

    async def query(
        self,
        project_id: str,
        kind: EntityKind,
        where: Mapping[str, object],
        order_by: str = "",
        limit: int = 50,
        *,
        reads: Callable[[str], bool] = lambda path: True,
    ) -> tuple[builtins.list[Entity], int]:
        """Return entities of a kind that meet conditions, and their number; see ``knowledge.projects.entity_filter``.
        Unreadable paths are excluded.

        Raises:
            UsageError: an unknown field or operator.
        """
        input_checks.page(limit, most=FOUND_MAX)
        await self._repo.get(project_id)
        index = await self._indexes.get(project_id)
        found = await in_tool_thread(
            lambda: filtered([each for each in index.all() if each.kind == kind and reads(each.path)], where, order_by)
        )
        return await self._repo.entities([each.id for each in found[:limit]], project_id), len(found)

    async def forget_path(self, project_id: str, path: str) -> int:
        """Forget a file, or the files in a folder, until read again; return the number of files."""
        project = await self._repo.get(project_id)
        below = path if is_address(path) else project_paths_and_text.relative_path(project, path)
        async with self._ingestions.aside(project):
            return await self._remove_below(project_id, below)

    async def _remove_below(self, project_id: str, below: str) -> int:
        index = await self._indexes.get(project_id)
        gone = [
            each.path
            for each in await self._repo.files(project_id)
            if project_paths_and_text.is_inside(each.path, below)
        ]
        for each in gone:
            await self._repo.remove_files(project_id, [each])
            await in_tool_thread(index.remove, index.of_file(file_key(project_id, each)))
        await self._ingestions.lose(project_id)
        self._announce(project_id)
        return len(gone)

    async def add_pages(self, project_id: str, pages: Sequence[tuple[str, str, str]]) -> int:
        """Store fetched pages (address, title, Markdown) in a project; return their number of entities."""
        project = await self._repo.get(project_id)
        return await self._ingestions.add_pages(project, pages)

    async def explore(
        self,
        entity_id: str,
        *,
        relations: Sequence[RelationKind] = (),
        direction: Direction = Direction.BOTH,
        depth: int = 1,
        limit: int = 200,
    ) -> Exploration:
        """Return the surroundings of an entity, by these relations (default: all), to a depth of 1 to 5.

        Raises:
            NotFoundError: there is no such entity.
            LimitError: depth or limit is out of range.
        """
        input_checks.page(limit, most=EXPLORED_MAX)
        if not 1 <= depth <= DEPTH_MAX:
            raise LimitError(N_("The depth must be between 1 and {most}, not {depth}."), most=DEPTH_MAX, depth=depth)
        project, index = await self._home(entity_id)
        if index.get(entity_id) is None:
            raise NotFoundError(N_("There is no entity {id}."), id=entity_id[:80])
        return await in_tool_thread(
            around,
            index,
            project.id,
            entity_id,
            tuple(map(RelationKind, relations)),
            Direction(direction),
            depth,
            limit,
        )

    async def among(self, entity_ids: Sequence[str], touching: Sequence[str] = ()) -> builtins.list[Relation]:
        """Return all relations among these entities of one project; with ``touching``, only those with an end in it.

        Unknown ids, and those of other projects, are ignored.

        Raises:
            NotFoundError: the first of them belongs to no project.
            LimitError: more than ``EXPLORED_MAX`` entities.
        """
        if not entity_ids:
            return []
        input_checks.page(len(entity_ids), most=EXPLORED_MAX)
        _project, index = await self._home(entity_ids[0])
        return [relation(each) for each in await in_tool_thread(index.among, entity_ids, frozenset(touching))]

    async def source(self, entity_id: str) -> tuple[str, int, int]:
        """Return the present text of an entity's file (for a notebook its joined cells), and the entity's first and
        last line.

        0 for the whole file.

        Raises:
            NotFoundError: there is no such entity, or its file is gone.
            UsageError: its file is not text, or it has none.
        """
        project, index = await self._home(entity_id)
        found = index.get(entity_id)
        if found is None:
            raise NotFoundError(N_("There is no entity {id}."), id=entity_id[:80])
        if not project.root or not found.path or found.kind == EntityKind.PACKAGE:
            raise UsageError(N_("{name} has no file, so its text cannot be shown."), name=found.name)
        text = await in_tool_thread(
            project_paths_and_text.read_text, project.root, found.path, (self._context.datadir.root,)
        )
        if found.language == "notebook":
            text = await in_tool_thread(project_paths_and_text.notebook_text, text)
        return text, found.start_line, found.end_line

    async def _finish_deletions(self) -> None:
        """Complete interrupted deletions of projects."""
        for project in await self._repo.leaving():
            with contextlib.suppress(NotFoundError):  # concurrent completion
                await self._repo.delete(project.id)
            await self._indexes.delete(project.id)

    async def _home(self, entity_id: str) -> tuple[Project, ProjectIndex]:
        """Return the project of an entity, and its index."""
        if is_entity_id(entity_id):
            for project in await self._repo.list():
                if entity_id.startswith(project_key(project.id)):
                    return project, await self._indexes.get(project.id)
        raise NotFoundError(N_("There is no entity {id}."), id=entity_id[:80])

    def _embedding_with(self) -> Embedder | None:
        """What ingestions make vectors with: nothing while that waits for the person's word."""
        return None if self.waits else self._embedder()

    def _embedder(self) -> Embedder | None:
        return self._context.embedder

    async def _folder(self, root: str) -> str:
        def real() -> Path:
            found = Path(root).expanduser().resolve()
            if not found.is_dir():
                raise UsageError(FILE if found.exists() else NO_FOLDER, path=root)
            return found

        folder = await in_tool_thread(real)
        if self._is_own(folder):
            raise UsageError(INSIDE_DATA, path=root)
        return str(folder)

    def _is_own(self, folder: Path) -> bool:
        """Whether a folder (links resolved) lies in Atelier's own data."""
        return folder.is_relative_to(self._context.datadir.root.resolve())

    def _announce(self, project_id: str) -> None:
        self._context.bus.changed("projects", project_id)


def _is_worth_indexing(folder: Path) -> bool:
    try:
        return file_selection.has_files(ConfinedRoot(folder, real=True), OFFERED_FROM)
    except AtelierError:  # it cannot be read
        return False

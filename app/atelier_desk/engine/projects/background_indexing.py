"""Indexing of projects: one background run per project, started, paused and resumed by people, and by file changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.project import EntityKind, IngestStage, IngestState, Project
from atelier_desk.engine.projects.indexing_run import GONE, Ingestion, IngestTarget
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.gitignore_walk import IGNORE_FILES

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.engine.projects.file_reader_client import Reader
    from atelier_desk.knowledge.projects.index_cache import ProjectIndexes
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.repositories import ProjectRepository

log = logging.getLogger(__name__)

DEBOUNCE_MS = 400
"""Milliseconds without changes before changed files are read: editors save in several steps."""
READERS = 4
"""Maximum processes reading one project."""
MANY = 50
"""Number of changed files from which the index file is written at once; otherwise at the end."""
POLL_MS = 5_000
"""Milliseconds between checks that a watched folder is still the same, without changes in it."""
MAX_RELATORS = 2
"""Projects whose relating process is kept for the next change."""
NO_ROOT = N_("The project {name} has no folder: pages are added to it one by one.")


@dataclass(frozen=True, slots=True)
class _Wish:
    """What to index, and how; see ``Ingestion.run``."""

    below: tuple[str, ...] = ()
    force: bool = False
    emptied: bool = False

    def joined(self, other: _Wish) -> _Wish:
        """Combine two requests."""
        below = tuple(sorted({*self.below, *other.below})) if self.below and other.below else ()
        return _Wish(below, self.force or other.force, self.emptied or other.emptied)


class Ingestions:
    """Indexing runs of one open data folder.

    Args:
        told: called with a project's id whenever its state changes.
        closed: folders that are never read.
    """

    def __init__(
        self,
        repo: ProjectRepository,
        indexes: Callable[[], ProjectIndexes],
        embedder: Callable[[], Embedder | None],
        clock: Clock,
        told: Callable[[str], None],
        closed: Sequence[Path],
    ) -> None:
        self._repo = repo
        self._indexes = indexes
        self._embedder = embedder
        self._clock = clock
        self._on_state_changed = told
        self._closed = tuple(closed)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._relators: dict[str, Reader] = {}
        self._waiting: dict[str, _Wish] = {}
        self._beginning: dict[str, asyncio.Lock] = {}
        """By project: its holder alone decides what is started there."""
        self._closing = False
        self.states: dict[str, IngestState] = {}

    def at_work(self, project_id: str) -> bool:
        """Whether the project is being indexed."""
        task = self._tasks.get(project_id)
        return task is not None and not task.done()

    def busy(self, project_id: str) -> bool:
        """Whether the project is being indexed or extended by pages: either also makes missing vectors at the end."""
        return self.at_work(project_id) or self._begins(project_id).locked()

    async def start(
        self, project: Project, below: Sequence[str] = (), *, force: bool = False, emptied: bool = False
    ) -> None:
        """Start indexing, after a running one if necessary. See ``Ingestion.run``.

        Raises:
            UsageError: the project has no folder, or it is missing.
        """
        async with self._begins(project.id):
            await self._start(project, _Wish(tuple(below), force, emptied))

    async def _start(self, project: Project, wish: _Wish) -> None:
        if self._closing:
            return
        try:
            root = await self._root(project)
        except UsageError as error:
            self._not_there(project, error)
            raise
        cut_off = project.pending and not self.at_work(project.id)
        project = await self._mark(project, pending=True)
        if cut_off or "" in wish.below:
            wish = replace(wish, below=())  # files not read before are not forgotten because of the new request
        if self.at_work(project.id):
            waiting = self._waiting.get(project.id)
            self._waiting[project.id] = wish if waiting is None else waiting.joined(wish)
        else:
            self._begin(project, root, self._run(project, root, wish, cut_off))

    def _not_there(self, project: Project, error: UsageError) -> None:
        """Report that the folder is missing: otherwise its index would look up to date."""
        state = self.states.get(project.id)
        if project.root and not self.at_work(project.id) and (state is None or state.stage is not IngestStage.PAUSED):
            self._set_state(IngestState(project_id=project.id, stage=IngestStage.FAILED, error=error.localized(_)))

    async def embed(self, project: Project, kinds: Sequence[EntityKind] = (), *, force: bool = False) -> None:
        """Only make missing vectors; see ``Ingestion.embed``."""
        async with self._begins(project.id):
            if not self._closing and not self.at_work(project.id):
                self._begin(project, Path(), self._run(project, None, _Wish(tuple(kinds), force), False))

    def _begin(self, project: Project, root: Path, work: Coroutine[object, None, None]) -> None:
        self._set_state(IngestState(project_id=project.id, stage=IngestStage.READING))
        self._tasks[project.id] = background_tasks.start(work, f"ingestion of {root}")

    async def stop(self, project_id: str) -> None:
        """Pause: written data stays, and the next start continues."""
        self._waiting.pop(project_id, None)
        task = self._tasks.get(project_id)
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def wait(self, project_id: str) -> None:
        """Wait until the project is no longer being indexed."""
        while self.at_work(project_id):
            await asyncio.wait([self._tasks[project_id]])
            async with self._begins(project_id):
                pass  # the caller of ``aside`` will resume it

    @asynccontextmanager
    async def aside(self, project: Project) -> AsyncIterator[None]:
        """Suspend indexing of the project while the block runs; a running one is continued after it."""
        async with self._begins(project.id):
            reading = self.at_work(project.id)
            await self.stop(project.id)
            try:
                yield
            finally:
                if reading and project.root:
                    await self._resume(project.id)

    async def _resume(self, project_id: str) -> None:
        try:
            await self._start(await self._repo.get(project_id), _Wish())
        except AtelierError as error:
            log.info("a reading was not gone on with: %s", error)

    def _begins(self, project_id: str) -> asyncio.Lock:
        return self._beginning.setdefault(project_id, asyncio.Lock())

    async def lose(self, project_id: str) -> None:
        """Discard the relating process, whose knowledge of a project is outdated."""
        relator = self._relators.pop(project_id, None)
        if relator is not None:
            await relator.aclose()

    async def add_pages(self, project: Project, pages: Sequence[tuple[str, str, str]]) -> int:
        """Store pages (address, title, Markdown). Returns their number of entities."""
        async with self.aside(project):
            work = self._work(project, Path(project.root) if project.root else None)
            try:
                return await work.add_pages(pages)
            finally:
                self._cache_relator(project.id, work.relator)
                self._on_state_changed(project.id)

    async def drop(self, project_id: str) -> None:
        """Stop indexing and watching a project that is to be deleted."""
        await self.stop(project_id)
        await self.unwatch(project_id)
        await self.lose(project_id)
        self.states.pop(project_id, None)

    async def aclose(self) -> None:
        """Pause all runs, and end every process."""
        self._closing = True
        for project_id in list(self._watches):
            await self.unwatch(project_id)
        for project_id in list(self._tasks):
            await self.stop(project_id)
        for relator in self._relators.values():
            await relator.aclose()
        self._relators.clear()
        for project_id in self.states:
            await self._indexes().save(project_id)

    def watch(self, project: Project) -> None:
        """Index changed files of the project from now on. A watch that the system ended is restarted."""
        watching = self._watches.get(project.id)
        if project.root and (watching is None or watching.done()) and not self._closing:
            self._watches[project.id] = background_tasks.start(
                self._watch(project.id, Path(project.root)), "watch of a project"
            )

    async def unwatch(self, project_id: str) -> None:
        """Stop watching."""
        task = self._watches.pop(project_id, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, project_id: str, root: Path) -> None:
        away = gone = False
        while True:
            there = await in_tool_thread(_folder, root)
            if there is None:
                if not gone:
                    await self._changed(project_id, ())  # which reports that it is missing
                away = gone = True
                await asyncio.sleep(POLL_MS / 1000)
                continue
            gone = False
            if away:
                # the present content may be a copy of the previous one, or something else
                await self._changed(project_id, ())
            away = True
            try:
                await self._follow(project_id, root, there)
            except (OSError, RuntimeError) as error:
                if await in_tool_thread(_folder, root) is not None:
                    # Too many folders for the system: a person can still start indexing.
                    log.warning("the folder %s is not watched: %s", root, error)
                    return

    async def _follow(self, project_id: str, root: Path, there: tuple[int, int]) -> None:
        """Index changes until the folder is replaced or missing.

        The system follows the original folder wherever it is moved.
        """
        from watchfiles import awatch

        stop = asyncio.Event()
        changed = awatch(
            root, debounce=DEBOUNCE_MS, stop_event=stop, recursive=True, ignore_permission_denied=True,
            rust_timeout=POLL_MS,
            yield_on_timeout=True,
        )  # fmt: skip
        try:
            async with contextlib.aclosing(changed):
                async for changes in changed:
                    if await in_tool_thread(_folder, root) != there:
                        return
                    paths = {Path(path).relative_to(root).as_posix() for _change, path in changes}
                    below = sorted({_scope_of_change(path) for path in paths if not path.startswith(".git/")})
                    if below:
                        await self._changed(project_id, () if "" in below else below)
        finally:
            stop.set()

    async def _changed(self, project_id: str, below: Sequence[str]) -> None:
        try:
            project = await self._repo.get(project_id)
            state = self.states.get(project_id)
            # paused by a person; resuming reads everything
            paused = state is not None and state.stage is IngestStage.PAUSED
            if project.watched and not paused:
                await self.start(project, below)
        except AtelierError as error:
            log.info("changes of a project were not read: %s", error)

    async def _run(self, project: Project, root: Path | None, wish: _Wish, cut_off: bool) -> None:
        before: IngestState | None = None
        while True:
            await self._once(project, root, wish, cut_off, before)
            before = self.states[project.id]
            waiting = self._waiting.pop(project.id, None)
            if waiting is None or self.states[project.id].stage is not IngestStage.DONE:
                return
            project = await self._mark(project, pending=True)
            root, cut_off = await self._root(project), False
            wish = waiting

    async def _once(
        self, project: Project, root: Path | None, wish: _Wish, cut_off: bool, before: IngestState | None
    ) -> None:
        work = self._work(project, root, before)
        try:
            if root is None:  # only vectors, of the kinds stored in place of paths
                await work.embed(tuple(map(EntityKind, wish.below)), force=wish.force)
            else:
                await work.run(wish.below, force=wish.force, whole=cut_off, emptied=wish.emptied)
                fields = {} if wish.below else {"cut": work.state.cut}
                await self._mark(project, pending=False, ingested_at=self._clock.now(), **fields)
            self._cache_relator(project.id, work.relator)
            if work.state.changed + work.state.removed >= MANY:
                await self._indexes().save(project.id)
            self._indexes().give_up(project.id)
            again = before.changed if before is not None else 0  # the first reading counts as new, the second does not
            unchanged = max(0, work.state.unchanged - again)
            self._set_state(
                work.state.model_copy(update={"stage": IngestStage.DONE, "path": "", "unchanged": unchanged})
            )
        except asyncio.CancelledError:
            await work.aclose()
            self._set_state(work.state.model_copy(update={"stage": IngestStage.PAUSED, "path": ""}))
            raise
        except Exception as error:
            await work.aclose()
            if isinstance(error, NotFoundError):
                log.info("a project was deleted while it was read")
            else:
                log.exception("a project could not be read")
            message = error.localized(_) if isinstance(error, AtelierError) else _("Indexing failed; see the log file.")
            self._set_state(work.state.model_copy(update={"stage": IngestStage.FAILED, "error": message, "path": ""}))

    def _work(self, project: Project, root: Path | None, before: IngestState | None = None) -> Ingestion:
        target = IngestTarget(root or Path(), self._closed, min(READERS, os.cpu_count() or 1))
        relator = self._relators.pop(project.id, None)
        return Ingestion(project, target, self._repo, self._indexes(), self._embedder, self._set_state, relator, before)

    def _cache_relator(self, project_id: str, relator: Reader | None) -> None:
        if relator is None:
            return
        self._relators[project_id] = relator
        while len(self._relators) > MAX_RELATORS:
            oldest = next(iter(self._relators))
            background_tasks.start(self._relators.pop(oldest).aclose(), "end of a reader")

    async def _mark(self, project: Project, **fields: object) -> Project:
        """Update marks on the present project row, which may have been renamed meanwhile."""
        marked = (await self._repo.get(project.id)).model_copy(update=fields)
        await self._repo.save(marked)
        return marked

    async def _root(self, project: Project) -> Path:
        if not project.root:
            raise UsageError(NO_ROOT, name=project.name)
        root = Path(project.root)
        if not await in_tool_thread(root.is_dir):
            raise UsageError(GONE, path=project.root, name=project.name)
        return root

    def _set_state(self, state: IngestState) -> None:
        self.states[state.project_id] = state
        self._on_state_changed(state.project_id)


def _folder(root: Path) -> tuple[int, int] | None:
    """Identify the folder at a path, by device and inode; None if missing."""
    with contextlib.suppress(OSError):
        found = root.stat()
        return (found.st_dev, found.st_ino) if root.is_dir() else None
    return None


def _scope_of_change(path: str) -> str:
    """Return what to scan when a file changed: for an ignore file, its folder."""
    folder, _slash, name = path.rpartition("/")
    return folder if name in (".", *IGNORE_FILES) else path

"""One indexing run of a project: scan, read, write, relate, embed. After an interruption, the next one continues.

A file in the database is complete with its hash, in its new or previous state: files with an unchanged hash are not
read again. Relations are written after all files; a file whose relations are missing says so in its row, and the
project records an unfinished run, after which all files are related again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.domain.project import EntityKind, IngestStage, IngestState, Project, is_address
from atelier_desk.engine.projects import file_selection
from atelier_desk.engine.projects.file_reader_client import Reader
from atelier_desk.knowledge.projects.entity_rows import entity_row, light, package_row
from atelier_desk.knowledge.projects.entity_texts import embedded_text
from atelier_desk.storage.project_graph_rows import NO_FILE, Edge, FileState, FileWrite, file_key, project_key
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.confined_root import ConfinedRoot

if TYPE_CHECKING:
    from atelier_desk.knowledge.projects.index import ProjectIndex
    from atelier_desk.knowledge.projects.index_cache import ProjectIndexes
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.repositories import ProjectRepository

log = logging.getLogger(__name__)

CHUNK = 16
"""Files per request to a process."""
ROWS = 2_000
"""Approximate rows per transaction: other writes wait about 150 ms for it."""
AT_ONCE = 200
"""Maximum files looked up one by one; for more, all are read."""
SAVE_S = 5.0
"""Seconds after which even few files are written: recognising text in an image takes that long."""
FILES_PER_BATCH = 500
"""Files whose symbols are sent at once."""
EMBEDDED = 64
"""Texts embedded between two checks for cancellation."""
SHOWN_S = 0.3
"""Minimum seconds between progress reports."""
GONE = N_("The folder {path} of the project {name} is missing.")
EMPTIED = N_(
    "There are no longer any files in {path}. The index of the project {name} is kept in case they are "
    "on a drive that is not connected. If they are gone for good, choose “Re-index everything”, or run "
    "atelier projects ingest --force."
)


@dataclass(slots=True)
class IngestTarget:
    """Location of a project's files, unreadable parts, and number of processes."""

    root: Path
    closed: tuple[Path, ...]
    readers: int


@dataclass(slots=True)
class _Batch:
    """Files written together, and their symbols."""

    writes: list[FileWrite] = field(default_factory=list)
    symbols: dict[str, str | None] = field(default_factory=dict)
    rows: int = 0
    begun: float = field(default_factory=lambda: asyncio.get_running_loop().time())


class _Writing:
    """Writes batches one after the other, each while the next is collected.

    A started transaction is always awaited at the end, so that the index learns of it.
    """

    def __init__(self) -> None:
        self._under_way: asyncio.Task[None] | None = None

    async def put(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a write once the previous one is over."""
        try:
            await self._over()
        except BaseException:
            work.close()
            raise
        self._under_way = asyncio.create_task(work)

    async def _over(self) -> None:
        if self._under_way is not None:
            await asyncio.shield(self._under_way)  # cancelling the caller does not cancel the write
            self._under_way = None

    async def __aenter__(self) -> _Writing:
        return self

    async def __aexit__(self, failed: type[BaseException] | None, *_about: object) -> None:
        try:
            if failed is None:
                await self._over()
        finally:
            if self._under_way is not None:
                await asyncio.wait([self._under_way])
                if not self._under_way.cancelled():
                    self._under_way.exception()  # an earlier failure is the one reported


class Ingestion:
    """One indexing run, created anew for each; ``state`` is its progress.

    Args:
        told: called with every new state, at most a few times a second.
        relator: the process that knows all symbols, if kept from the previous run; afterwards the present one.
        before: final state of the run that this one directly follows: its changes are counted too.
    """

    def __init__(
        self,
        project: Project,
        place: IngestTarget,
        repo: ProjectRepository,
        indexes: ProjectIndexes,
        embedder: Callable[[], Embedder | None],
        told: Callable[[IngestState], None],
        relator: Reader | None,
        before: IngestState | None,
    ) -> None:
        self._project = project
        self._place = place
        self._repo = repo
        self._indexes = indexes
        self._embedder = embedder
        self._on_state_changed = told
        self._reported_at = 0.0
        self._written: list[str] = []
        self._removed: list[str] = []
        self._complete = False
        self._first = False
        self.relator = relator if relator is not None and relator.alive else None
        self.state = IngestState(project_id=project.id, stage=IngestStage.READING)
        if before is not None:
            self.state = self.state.model_copy(update={"changed": before.changed, "removed": before.removed})

    async def run(
        self, below: Sequence[str] = (), *, force: bool = False, whole: bool = False, emptied: bool = False
    ) -> None:
        """Run the indexing.

        Args:
            below: files and folders to scan; empty for all.
            force: read unchanged files again.
            whole: relate all files, because an earlier run was interrupted.
            emptied: forget indexed files even if the whole folder is empty.

        Raises:
            UsageError: the folder is empty, without ``emptied``.
        """
        index = await self._indexes.get(self._project.id)
        self._complete = whole
        self._show(force=True)
        try:
            await self._read(index, below, force, emptied)
            self._set_state(stage=IngestStage.RELATING, done=0, total=0, path="")
            await self._relate(index)
            await self._sweep(index)
            if self._project.embedded:
                await self._embed(index)
        except BaseException:
            await self.aclose()
            raise

    async def add_pages(self, pages: Sequence[tuple[str, str, str]]) -> int:
        """Store pages (address, title, Markdown), relate and embed them."""
        index = await self._indexes.get(self._project.id)
        known = {each.path: each for each in await self._repo.files(self._project.id)}
        try:
            await self._warm()
            assert self.relator is not None
            batch = _Batch()
            async for answer in self.relator.pages(pages):
                self._store_result(batch, answer)
            await self._write(index, batch, known)
            await self._relate(index)
            if self._project.embedded:
                await self._embed(index)
        except BaseException:
            await self.aclose()
            raise
        return sum(len(write.entities) for write in batch.writes)

    async def embed(self, kinds: Sequence[EntityKind] = (), *, force: bool = False) -> None:
        """Only make missing vectors, of these kinds of entities or all; with ``force``, also existing ones again."""
        await self._embed(await self._indexes.get(self._project.id), kinds, force=force)

    async def aclose(self) -> None:
        """End the relating process."""
        if self.relator is not None:
            await self.relator.aclose()
            self.relator = None

    async def _read(self, index: ProjectIndex, below: Sequence[str], force: bool, emptied: bool) -> None:
        root = ConfinedRoot(self._place.root, self._place.closed, real=True)
        stopped = asyncio.Event()
        try:
            found = await in_tool_thread(file_selection.scan, root, below, stopped.is_set, self._project.readable)
        except asyncio.CancelledError:
            stopped.set()
            raise
        known = await self._known(below, found)
        closed = [path for path, reason in found.left_out.items() if reason == file_selection.DENIED]
        there = {*found.files, *found.left_out}
        gone = sorted(
            path for path in set(known) - there if not is_address(path) and not (closed and _inside(path, closed))
        )
        lost = not found.cut and not emptied and any(known[path].kind for path in gone)
        if lost and not await in_tool_thread(file_selection.any_file, root, self._project.readable):
            # As for a missing folder: the empty mount point of a removed drive looks like deleted files.
            raise UsageError(EMPTIED, path=self._place.root, name=self._project.name)
        await self._leave_out(
            index, {path: why for path, why in found.left_out.items() if path not in closed or path not in known}, known
        )
        if not found.cut:
            await self._remove(index, gone)
        self._set_state(total=len(found.files), cut=found.cut)
        asked = [(path, "" if force or path not in known else known[path].hash) for path in found.files]
        chunks = [asked[start : start + CHUNK] for start in range(0, len(asked), CHUNK)]
        self._first = not known and not below
        if self._complete or self._first:
            self._complete = True  # everything is related at the end: differences are irrelevant
            await self.aclose()
        if self._first:
            self.relator = self._reader()
        readers = [self._reader() for _number in range(max(1, min(self._place.readers, len(chunks))))]
        if self.relator is not None and len(chunks) <= 1:
            readers = [self.relator]
        answers: asyncio.Queue[dict[str, object] | None] = asyncio.Queue(maxsize=4 * CHUNK)
        tasks = [asyncio.create_task(_ask(reader, chunks, answers)) for reader in readers]
        try:
            await self._write_all(index, answers, len(tasks), known)
            for task in tasks:
                await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for reader in readers:
                if reader is not self.relator:
                    await reader.aclose()

    async def _known(self, below: Sequence[str], found: file_selection.Scan) -> dict[str, FileState]:
        """Return what is known of the scanned files, and of those missing there."""
        paths = {*below, *found.files, *found.left_out}
        if below and len(paths) <= AT_ONCE:
            known = {each.path: each for each in await self._repo.files_at(self._project.id, sorted(paths))}
            if all(path in known or path in found.files or path in found.left_out for path in below):
                return known  # no folder among them, below which others may be missing
        return {each.path: each for each in await self._repo.files(self._project.id) if _inside(each.path, below)}

    async def _write_all(
        self,
        index: ProjectIndex,
        answers: asyncio.Queue[dict[str, object] | None],
        askers: int,
        known: dict[str, FileState],
    ) -> None:
        """Write results in batches, each while the next is read."""
        batch = _Batch()
        async with _Writing() as writing:
            while askers:
                answer = await answers.get()
                if answer is None:
                    askers -= 1
                    continue
                self._set_state(done=self.state.done + 1, path=answer["path"])
                if answer.get("same"):
                    self._set_state(unchanged=self.state.unchanged + 1)
                    continue
                if answer.get("gone"):
                    continue
                self._store_result(batch, answer)
                if batch.rows >= ROWS or asyncio.get_running_loop().time() - batch.begun > SAVE_S:
                    await writing.put(self._write(index, batch, known))
                    batch = _Batch()
            await writing.put(self._write(index, batch, known))

    def _store_result(self, batch: _Batch, answer: dict[str, Any]) -> None:
        path = answer["path"]
        problem = answer["problem"]
        reason = json.dumps(problem) if problem else ""
        state = FileState(
            path,
            answer.get("hash", ""),
            answer.get("size", 0),
            answer["kind"],
            answer["language"],
            False,
            reason,
            answer["skipped"],
        )
        entities = [entity_row(values) for values in answer["entities"]]
        batch.writes.append(FileWrite(state, answer["symbols"], entities))
        batch.symbols[path] = answer["symbols"] or None
        batch.rows += 1 + len(entities)
        self._set_state(changed=self.state.changed + 1, problems=self.state.problems + bool(reason))

    async def _write(self, index: ProjectIndex, batch: _Batch, known: dict[str, FileState]) -> None:
        if not batch.writes:
            return
        failed = any(write.state.problem and not write.state.hash for write in batch.writes)
        if failed and not await in_tool_thread(self._place.root.is_dir):
            # A removed drive: keep what is known of its files.
            raise UsageError(GONE, path=self._place.root, name=self._project.name)
        there = [write for write in batch.writes if write.state.path in known]
        for write in there:
            now = {entity.id for entity in write.entities}
            write.gone = [
                each for each in index.of_file(file_key(self._project.id, write.state.path)) if each not in now
            ]
        await self._warm()
        await self._repo.write_files(self._project.id, batch.writes, fresh=not there)
        await in_tool_thread(_change, index, batch.writes)
        self._written += list(batch.symbols)
        if self.relator is not None:
            await self.relator.update_symbols(batch.symbols)

    async def _leave_out(self, index: ProjectIndex, left_out: Mapping[str, str], known: dict[str, FileState]) -> None:
        """Record skipped files, and forget what earlier versions or rules indexed of them."""
        await self._remove(index, sorted(path for path in left_out if path in known and not known[path].skipped))
        reasons = {path: json.dumps([reason, {}]) for path, reason in left_out.items()}
        fresh = [
            path
            for path in left_out
            if path not in known or not known[path].skipped or known[path].problem != reasons[path]
        ]
        writes = [FileWrite(FileState(path, "", 0, "", "", True, reasons[path], True), "") for path in fresh]
        for start in range(0, len(writes), ROWS):
            await self._repo.write_files(self._project.id, writes[start : start + ROWS])
        self._set_state(problems=self.state.problems + len(left_out))

    async def _remove(self, index: ProjectIndex, gone: Sequence[str]) -> None:
        if gone:
            await self._warm()
        for path in gone:
            await self._repo.remove_files(self._project.id, [path])
            await in_tool_thread(index.remove, index.of_file(file_key(self._project.id, path)))
            self._removed.append(path)
            self._set_state(removed=self.state.removed + 1)
        if self.relator is not None and gone:
            await self.relator.update_symbols(dict.fromkeys(gone))

    async def _warm(self) -> None:
        """Send a process the symbols of all files before this run, so that it detects differences."""
        if not self._complete and self.relator is None:
            self.relator = self._reader()
            await self._load_relator(settled=True)

    async def _relate(self, index: ProjectIndex) -> None:
        if not (self._written or self._removed or self._complete):
            return
        if self.relator is None or self.relator.lost_symbols:
            await self.aclose()
            self._complete, self._first = True, False
            self.relator = self._reader()
            await self._load_relator(settled=False)
        sources: list[str] = []
        edges: list[Edge] = []
        packages: dict[str, str] = {}
        async with _Writing() as writing:
            async for answer in self.relator.relate():
                sources.append(answer["path"])
                edges += [Edge(*values) for values in answer["edges"]]
                packages.update(answer["packages"])
                self._set_state(done=self.state.done + 1, path=answer["path"])
                if len(edges) >= ROWS or len(sources) >= ROWS:
                    await writing.put(self._write_relations(index, sources, edges, packages))
                    sources, edges, packages = [], [], {}
            await writing.put(self._write_relations(index, sources, edges, packages))

    async def _sweep(self, index: ProjectIndex) -> None:
        """Delete packages that no file imports any more: a temporarily missing file may have been taken for one."""
        gone = await in_tool_thread(index.unreached, project_key(self._project.id) + NO_FILE)
        if gone:
            await self._repo.remove_packages(self._project.id, gone)
            await in_tool_thread(index.remove, gone)

    async def _load_relator(self, *, settled: bool) -> None:
        assert self.relator is not None
        symbols = await self._repo.symbols(self._project.id)
        if not settled:
            self._set_state(total=len(symbols))
        paths = list(symbols)
        for start in range(0, len(paths), FILES_PER_BATCH):
            batch = {path: symbols[path] for path in paths[start : start + FILES_PER_BATCH]}
            await self.relator.update_symbols(batch, settled=settled and start + FILES_PER_BATCH >= len(paths))

    async def _write_relations(
        self, index: ProjectIndex, sources: list[str], edges: list[Edge], packages: dict[str, str]
    ) -> None:
        if not sources:
            return
        fresh = [package_row(package, name) for package, name in packages.items() if index.get(package) is None]
        await self._repo.write_relations(self._project.id, sources, edges, fresh, first=self._first)
        keys = [file_key(self._project.id, path) for path in sources]
        await in_tool_thread(_relate, index, [light(each) for each in fresh], keys, edges)

    async def _embed(self, index: ProjectIndex, kinds: Sequence[EntityKind] = (), *, force: bool = False) -> None:
        """Make missing vectors; each batch is stored at once.

        If another embedder is chosen meanwhile, its vectors are made.
        """
        while (embedder := self._embedder()) is not None:
            await self._indexes.get(self._project.id)  # with the vectors of the embedder in use
            missing = await in_tool_thread(lambda: index.without_vector(kinds, also_with=force))
            self._set_state(stage=IngestStage.EMBEDDING, done=0, total=len(missing), path="")
            digests = list(missing)
            for start in range(0, len(digests), EMBEDDED):
                rows = {each: missing[each] for each in digests[start : start + EMBEDDED]}
                try:
                    await self._embed_texts(index, embedder, rows, force=force)
                except ProviderError:
                    if embedder is self._embedder():
                        raise
                    break  # it was closed, because another one was chosen
                self._set_state(done=min(start + EMBEDDED, len(digests)))
                if embedder is not self._embedder():
                    break
            else:
                return

    async def _embed_texts(
        self, index: ProjectIndex, embedder: Embedder, rows: dict[str, list[int]], *, force: bool
    ) -> None:
        """Embed texts (rows by digest), except stored ones unless ``force``."""
        known = {} if force else await self._repo.vectors(embedder.id, list(rows))
        await in_tool_thread(index.set_stored_vectors, embedder.id, rows, known)
        entries = {each: index.at(rows[each][0]) for each in rows if each not in known}
        ids = {entry.id: each for each, entry in entries.items() if entry is not None}
        texts = (
            {ids[each]: embedded_text(*said) for each, said in (await self._repo.vector_texts(list(ids))).items()}
            if ids
            else {}
        )
        if texts:
            vectors = await embedder.embed(list(texts.values()))
            await self._repo.save_vectors(
                embedder.id, dict(zip(texts, vectors, strict=True)), anew_for=self._project.id if force else ""
            )
            await in_tool_thread(index.set_vectors, embedder.id, [rows[each] for each in texts], list(texts), vectors)

    def _reader(self) -> Reader:
        return Reader(self._place.root, self._place.closed, project_key(self._project.id), self._project.readable)

    def _set_state(self, **fields: object) -> None:
        # not validated, because it is done for every file
        self.state = self.state.model_copy(update=fields)
        self._show(force="stage" in fields)

    def _show(self, *, force: bool = False) -> None:
        now = asyncio.get_running_loop().time()
        if force or now - self._reported_at >= SHOWN_S:
            self._reported_at = now
            self._on_state_changed(self.state)


async def _ask(
    reader: Reader, chunks: list[list[tuple[str, str]]], answers: asyncio.Queue[dict[str, object] | None]
) -> None:
    """Let one process read chunk after chunk until none is left."""
    try:
        while chunks:
            async for answer in reader.read(chunks.pop(0)):
                await answers.put(answer)
    except asyncio.CancelledError:
        raise  # nobody waits for the end
    except BaseException:
        await answers.put(None)
        raise
    await answers.put(None)


def _change(index: ProjectIndex, writes: Sequence[FileWrite]) -> None:
    """Add written files to the index. Runs in a thread."""
    index.remove([each for write in writes for each in write.gone])
    index.put([light(entity) for write in writes for entity in write.entities])


def _relate(index: ProjectIndex, packages: list[Any], keys: list[str], edges: list[Edge]) -> None:
    index.put(packages)
    index.relate(keys, edges)


def _inside(path: str, below: Sequence[str]) -> bool:
    return not below or any(not each or path == each or path.startswith(f"{each}/") for each in below)

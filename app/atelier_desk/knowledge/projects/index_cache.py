"""Maintain the indexes of projects: load them from files or the database, and write the files."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atelier_desk.knowledge import memory_index_file
from atelier_desk.knowledge.bm25_ranking import Postings, Segment
from atelier_desk.knowledge.memory_vectors import RowVectors
from atelier_desk.knowledge.projects.graph import COLUMNS, Edges
from atelier_desk.knowledge.projects.index import ProjectIndex
from atelier_desk.storage.project_graph_rows import LightRow, project_key
from atelier_desk.support.threads import in_tool_thread

if TYPE_CHECKING:
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.repositories import ProjectRepository

log = logging.getLogger(__name__)

FORM = "project-1"
FILE_FROM = 2_000
"""Number of entities from which a file is written: fewer are read from the database just as fast."""
_VECTORS = 1_000


class ProjectIndexes:
    """The indexes of all projects in use.

    Args:
        folder: where the files are stored.
        embedder: returns the one in use, None when vectors are off.
    """

    def __init__(self, repo: ProjectRepository, folder: Path, embedder: Callable[[], Embedder | None]) -> None:
        self._repo = repo
        self._folder = folder
        self._embedder = embedder
        self._indexes: dict[str, ProjectIndex] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._saved_states: dict[str, str] = {}

    async def get(self, project_id: str) -> ProjectIndex:
        """Return the index of a project; the first call loads it."""
        async with self._locks.setdefault(project_id, asyncio.Lock()):
            index = self._indexes.get(project_id)
            if index is None:
                index = await self._from_file(project_id) or await self._from_rows(project_id)
                self._indexes[project_id] = index
            if not self._same_embedder(index):
                await self._load_vectors(index)
                await in_tool_thread(index.prepare)
            return index

    def give_up(self, project_id: str) -> None:
        """Reload the index at the next search if most of its rows are abandoned."""
        index = self._indexes.get(project_id)
        if index is not None and index.wasteful:
            del self._indexes[project_id]

    async def delete(self, project_id: str) -> None:
        """Remove the index and the file of a deleted project."""
        self._indexes.pop(project_id, None)
        await in_tool_thread(lambda: self._path(project_id).unlink(missing_ok=True))

    async def save(self, project_id: str) -> None:
        """Write the file, unless it is up to date or the index is small. The project must not change meanwhile."""
        index = self._indexes.get(project_id)
        if index is None or len(index) < FILE_FROM:
            return
        stamp = await self._repo.stamp(project_id)
        if not stamp or self._saved_states.get(project_id) == stamp:
            return
        try:
            await in_tool_thread(lambda: memory_index_file.write(self._path(project_id), _parts(index), stamp))
            self._saved_states[project_id] = stamp
        except OSError as error:
            log.warning("the index of a project is not kept: %s", error)

    def _path(self, project_id: str) -> Path:
        return self._folder / f"project-index-{project_key(project_id)}.bin"

    def _same_embedder(self, index: ProjectIndex) -> bool:
        embedder = self._embedder()
        return (index.vectors.embedder if index.vectors is not None else None) == (
            embedder.id if embedder is not None else None
        )

    async def _from_file(self, project_id: str) -> ProjectIndex | None:
        stamp = await self._repo.stamp(project_id)
        if not stamp:
            return None
        index = await in_tool_thread(
            memory_index_file.read_parts, self._path(project_id), stamp, lambda head: head.get("form") == FORM, _index
        )
        if index is None:
            return None
        self._saved_states[project_id] = stamp
        if self._same_embedder(index):
            await self._fill(index)
        await in_tool_thread(index.prepare)
        return index

    async def _from_rows(self, project_id: str) -> ProjectIndex:
        index = ProjectIndex()
        after = ""
        while page := await self._repo.light(project_id, after=after):
            after = page[-1].id
            await in_tool_thread(index.load, page)
        await in_tool_thread(index.contain)
        after = ""
        while True:
            edges, after = await self._repo.edges(project_id, after=after)
            if not edges:
                break
            await in_tool_thread(index.add_edges, edges)
        await self._load_vectors(index)
        await in_tool_thread(index.prepare)
        return index

    async def _load_vectors(self, index: ProjectIndex) -> None:
        embedder = self._embedder()
        index.use(RowVectors(embedder.id, embedder.dimension) if embedder is not None else None)
        await self._fill(index)

    async def _fill(self, index: ProjectIndex) -> None:
        """Load the vectors from the database."""
        if index.vectors is None:
            return
        embedder = index.vectors.embedder
        missing = await in_tool_thread(index.without_vector)
        waiting = iter(missing)
        while digests := list(itertools.islice(waiting, _VECTORS)):
            found = await self._repo.vectors(embedder, digests)
            await in_tool_thread(index.set_stored_vectors, embedder, missing, found)


def _parts(index: ProjectIndex) -> memory_index_file.Parts:
    """Return the content of an index, without abandoned rows."""
    with index.lock:
        live = np.array([row for row, entry in enumerate(index.entries) if entry is not None], dtype=np.int64)
        new_row = np.full(len(index.entries), -1, dtype=np.int32)
        new_row[live] = np.arange(len(live), dtype=np.int32)
        words = index.postings.merged(index.live)
        entries = json.dumps([entry[:-1] for entry in index.entries if entry is not None], ensure_ascii=False)
        parts: dict[str, object] = {f"edge.{name}": column for name, column in index.edges.renumbered(new_row).items()}
        parts |= {"keys": words.keys, "starts": words.starts, "rows": new_row[words.rows], "counts": words.counts}
        parts |= {
            "entries": np.frombuffer(entries.encode("utf-8", "surrogatepass"), dtype=np.uint8),
            "length": index.length[live],
        }
        head: dict[str, object] = {"form": FORM, "embedder": None}
        if index.vectors is not None and len(index.vectors):
            head["embedder"] = [index.vectors.embedder, index.vectors.dimension]
            index.vectors.reserve(len(index.entries))
            parts["vectors"], parts["there"] = index.vectors.matrix[live], index.vectors.there[live]
        return {name: np.ascontiguousarray(part) for name, part in parts.items()}, head


def _index(kept: memory_index_file.Parts) -> ProjectIndex:
    parts, head = kept
    rows = json.loads(parts["entries"].tobytes().decode("utf-8", "surrogatepass"))
    entries = [LightRow._make([*row, b""]) for row in rows]
    if len(entries) != len(parts["length"]):
        raise ValueError("its parts do not fit each other")
    index = ProjectIndex()
    index.restore(entries, parts["length"], Edges({name: parts[f"edge.{name}"] for name in COLUMNS}))
    index.postings = Postings(Segment(parts["keys"], parts["starts"], parts["rows"], parts["counts"]))
    if head["embedder"]:
        vectors = index.vectors = RowVectors(*head["embedder"])
        vectors.matrix, vectors.there = parts["vectors"], parts["there"]
    return index

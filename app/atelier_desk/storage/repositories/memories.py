"""Memories, their vectors and the stems of their words."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.memory import RETRIEVED_MAX, Memory, MemoryScope, MemoryType, MergedInto
from atelier_desk.domain.workflow_branches import branch_of
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.language_detection import language
from atelier_desk.storage.memory_index_entry import MemoryTerms, Stems, is_current, pack
from atelier_desk.storage.repositories.base_repository import Repository, guard, page_size, some
from atelier_desk.storage.repositories.memory_bin import copy_to_bin, unbinned
from atelier_desk.storage.repositories.runs import RunRepository
from atelier_desk.storage.row_mapping import plain_time, record, to_json
from atelier_desk.storage.search.index_changes import RemovedDocument, document
from atelier_desk.storage.search.text_tokenizer import literal_tokens, query_tokens
from atelier_desk.storage.search_terms import content_text
from atelier_desk.storage.store import Statement, Store
from atelier_desk.storage.table_pages import rows_after
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    import numpy as np

LOAD_PAGE = 2_000
"""Rows read at a time: decoding blocks the interpreter for about 25 ms."""
STAMP = "memory_index"
"""Setting that every change of indexed data rewrites: an index file is valid while its value is the same."""
HEAD = 400
"""Characters of a memory used to detect its language."""

Stored = tuple[Memory, "np.ndarray | None"]
"""A memory and its vector, if it has one."""


class MemoryFollower(Protocol):
    """Receives every change of memories made by this repository; implemented by the in-process index."""

    def saved(self, entry: MemoryTerms) -> None: ...

    def deleted(self, memory_ids: Sequence[str]) -> None: ...

    def workflow_deleted(self, workflow_id: str) -> None: ...


class MemoryRepository(Repository[Memory]):
    """Memories. Lists skip expired ones; ``delete_expired`` removes them."""

    table = tables.MEMORIES
    what = "memory"
    absent = N_("There is no memory {id}.")

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._followers: list[MemoryFollower] = []
        self.writing = 0
        """Number of changes in progress: while it is not 0, followers may be behind the database."""

    def follow(self, follower: MemoryFollower) -> None:
        """Notify ``follower`` of every later change, after its commit."""
        self._followers.append(follower)

    async def save(self, memory: Memory, vector: np.ndarray | None = None) -> Memory:
        """Insert or replace a memory, with or without a vector.

        A vector belongs to ``memory.embedder``. Without one, unchanged content keeps its vectors and changed content
        loses them. Returns the memory as stored.

        Raises:
            NotFoundError: its workflow is gone.
            ValueError: a vector without the name of its embedder.
        """
        if vector is not None and not memory.embedder:
            raise ValueError("a vector needs the name of its embedder")
        before = await self._find(memory.id)
        same = before is not None and before.content == memory.content
        if vector is None:
            memory = memory.model_copy(update={"embedder": before.embedder if before is not None and same else ""})
        await self._write([(memory, vector, same)])
        return memory

    async def save_many(self, memories: Sequence[Stored]) -> builtins.list[Memory]:
        """Write new or changed memories, with or without vectors, in one transaction; return them as stored.

        Much faster than one by one: their words are stemmed together and share a commit.

        Raises:
            NotFoundError: a workflow of theirs is gone; then none is written.
        """
        kept = [
            (memory if vector is not None else memory.model_copy(update={"embedder": ""}), vector, False)
            for memory, vector in memories
        ]
        await self._write(kept)
        return [memory for memory, _vector, _same in kept]

    async def _write(self, memories: Sequence[tuple[Memory, np.ndarray | None, bool]]) -> None:
        """Write memories; the last item of each triple says whether the content is unchanged."""
        if not memories:
            return
        rows, entries = await self._prepared([memory for memory, _vector, _same in memories])
        statements = [unbinned([memory.id for memory, *_ in memories])]
        statements += [
            guard(workflow_id)
            for workflow_id in dict.fromkeys(memory.workflow_id for memory, *_ in memories)
            if workflow_id
        ]
        for (memory, vector, same), written in zip(memories, rows, strict=True):
            statements.append(written)
            kept = record("memory_vector", [memory.id, memory.embedder])
            # a row deleted and re-inserted in one transaction is lost in memory, so skip the row of the new vector
            if not same:
                gone = "DELETE memory_vector WHERE memory = $row AND id != $kept RETURN NONE"
                statements.append(
                    Statement(gone, {"row": self.table.record(memory.id), "kept": kept if vector is not None else None})
                )
            # Vectors of other embedders move too, or they would be deleted with a workflow that the memory has left.
            moved = "UPDATE memory_vector SET workflow = $home WHERE memory = $row AND workflow != $home RETURN NONE"
            home = record("workflow", memory.workflow_id) if memory.workflow_id else None
            statements.append(Statement(moved, {"row": self.table.record(memory.id), "home": home}))
            if vector is not None:
                statements.append(_vector_statement(memory, vector))
        with self.changing():
            await self._store.write(*statements, stamp())
            self.notify(entries)

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Encloses the transaction of a change and the notification of followers."""
        self.writing += 1
        try:
            yield
        finally:
            self.writing -= 1

    async def stamp(self) -> str:
        """Return the value that the newest change wrote; empty if there was none."""
        rows = await self._store.query("SELECT VALUE `value` FROM $row", row=record("setting", STAMP))
        return str(rows[0]) if rows else ""

    @contextlib.asynccontextmanager
    async def still(self) -> AsyncIterator[bool]:
        """Hold back changes of memories while the block runs.

        Yields False if one was in progress: followers may not know it yet.
        """
        async with self._store.quiet():
            yield self.writing == 0

    async def prepared(self, memories: Sequence[Memory]) -> tuple[builtins.list[Statement], builtins.list[MemoryTerms]]:
        """Return statements that write memories without vectors, for a larger transaction.

        Pass the entries to ``notify`` after it.
        """
        rows, entries = await self._prepared([memory.model_copy(update={"embedder": ""}) for memory in memories])
        return [*rows, stamp()], entries

    def notify(self, entries: Sequence[MemoryTerms]) -> None:
        """Notify followers of written memories."""
        for entry in entries:
            for follower in self._followers:
                follower.saved(entry)

    async def _prepared(
        self, memories: Sequence[Memory]
    ) -> tuple[builtins.list[Statement], builtins.list[MemoryTerms]]:
        rows, entries = [], []
        made = await self._terms([(memory.content, memory.tags) for memory in memories])
        for memory, terms in zip(memories, made, strict=True):
            content = {**self.table.encode(memory), "terms": terms}
            found = (document("memory", content),)
            rows.append(
                Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": content["id"], "content": content}, found)
            )
            entries.append(_entry(memory, terms))
        return rows, entries

    async def set_vectors(self, embedder: str, vectors: Sequence[tuple[Memory, np.ndarray]]) -> None:
        """Store vectors of one embedder in one transaction; vectors of others stay until ``drop_vectors``.

        Skips memories that are gone or whose content has changed since it was embedded.
        """
        pairs = []
        for memory, vector in vectors:
            made = _vector_statement(memory.model_copy(update={"embedder": embedder}), vector).params
            pairs.append({"memory": self.table.record(memory.id), "was": memory.content, **made})
        given = (
            "FOR $each IN $pairs { IF (SELECT VALUE content FROM ONLY $each.memory) = $each.was {"
            " UPDATE $each.memory SET embedder = $embedder RETURN NONE; UPSERT $each.row CONTENT $each.content "
            "RETURN NONE; }; }"
        )
        with self.changing():
            await self._store.write(Statement(given, {"pairs": pairs, "embedder": embedder}), stamp())

    async def list(
        self,
        *,
        workflow_id: str | None = None,
        scope: MemoryScope | None = MemoryScope.BOTH,
        type: MemoryType | None = None,
        tags: Sequence[str] = (),
        proposing: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Memory]:
        """Return unexpired memories, latest changed first; all of them without a ``limit``.

        Args:
            scope: see ``MemoryFilter``; ``both`` without a workflow means the general ones, None means all.
            proposing: the requesting workflow, if any: its memories that wait to become general count as general, and
                in no workflow do waiting ones count as its own.
        """
        conditions = ["(expires_at = NONE OR expires_at > $now)"]
        home = _home_condition(workflow_id, scope)
        if home and proposing:
            waiting = (
                "AND proposed != true"
                if scope is MemoryScope.WORKFLOW
                else "OR (workflow = $proposing AND proposed = true)"
            )
            home = f"({home} {waiting})"
        if home:
            conditions.append(home)
        if type is not None:
            conditions.append("type = $type")
        if tags:
            conditions.append("tags CONTAINSALL $tags")
        page, bounds = some(limit, offset)
        return await self._select(
            f"WHERE {' AND '.join(conditions)} ORDER BY recency, id{page}",
            now=self._store.clock.now(),
            workflow=record("workflow", workflow_id or ""),
            proposing=record("workflow", proposing),
            type=type.value if type is not None else "",
            tags=list(tags),
            **bounds,
        )

    async def get_many(self, memory_ids: Sequence[str]) -> builtins.list[Memory]:
        """Return those memories that exist, in the order of the ids."""
        statement = f"SELECT {self.table.columns} FROM $rows"  # noqa: S608
        rows = await self._store.query(
            statement,
            rows=[self.table.record(each) for each in memory_ids],
        )
        found = {memory.id: memory for memory in self.readable(rows)}
        return [found[each] for each in memory_ids if each in found]

    async def with_origin(self, memory: Memory) -> builtins.list[Memory]:
        """Return memories of the same type and scope that were saved with the same words, oldest first."""
        return await self._select(
            f"WHERE origin = $origin AND type = $type AND {_home(memory.workflow_id)} ORDER BY created_at, id",
            origin=memory.origin,
            type=memory.type.value,
            workflow=record("workflow", memory.workflow_id or ""),
        )

    async def of_turns(self, turn_ids: Sequence[str]) -> builtins.list[Memory]:
        """Return memories saved by the teams of these turns that still exist, oldest first."""
        return self.readable(await self._rows_of_each("turn_id", turn_ids, "created_at, id"))

    async def proposed(self, workflow_id: str | None = None, limit: int | None = None) -> builtins.list[Memory]:
        """Return memories that wait for approval, newest first, all without a ``limit``.

        Without a ``workflow_id``: those of all workflows outside the bin that have not expired.
        """
        home = (
            "workflow = $workflow"
            if workflow_id
            else "workflow.deleted = false AND (expires_at = NONE OR expires_at > $now)"
        )
        page, bounds = some(limit, 0)
        return await self._select(
            f"WHERE proposed = true AND {home} ORDER BY recency, id{page}",
            now=self._store.clock.now(),
            workflow=record("workflow", workflow_id or ""),
            **bounds,
        )

    async def left_behind(self, run_id: str, by: str, workflow_id: str) -> bool:
        """Whether ``run_id`` is a run of the workflow that is not on the branch of the run ``by``."""
        links = await RunRepository(self._store).links(workflow_id)
        return any(link.id == run_id for link in links) and run_id not in branch_of(links, by)

    async def delete(self, memory_id: str, merged: MergedInto | None = None) -> None:
        """Delete a memory and its vectors.

        It can be restored from the bin. ``merged``: the memory it was merged into.

        Raises:
            NotFoundError: there is none.
        """
        row = self.table.record(memory_id)
        await self._delete_rows(
            Statement(database_errors.throw_not_found(self.what), {"guarded": row}),
            copy_to_bin("id = $row", {"row": row}, self._store, to_json(merged) if merged is not None else None),
            Statement("DELETE memory_vector WHERE memory = $row RETURN NONE", {"row": row}),
            Statement("DELETE $row RETURN NONE", {"row": row}),
            changed=[memory_id],
        )

    async def clear(self, type: MemoryType, workflow_id: str | None, *, proposed: bool = False) -> int:
        """Move all memories of a type to the bin: a workflow's own, or for None the general ones.

        With ``proposed``, those of the workflow that wait to become general, which are not its own. Returns their
        number.
        """
        params = {"type": type.value, "workflow": record("workflow", workflow_id or "")}
        condition = f"type = $type AND {_home(workflow_id)} AND proposed {'=' if proposed else '!='} true"
        return await self._delete_where(condition, params, copy_to_bin(condition, params, self._store))

    async def delete_expired(self) -> int:
        """Delete memories that have expired. Returns their number."""
        return await self._delete_where("expires_at != NONE AND expires_at <= $now", {"now": self._store.clock.now()})

    async def has_workflow(self, workflow_id: str) -> bool:
        """Whether the workflow exists, so that memories can be saved in it."""
        return bool(await self._store.query("SELECT id FROM $workflow", workflow=record("workflow", workflow_id)))

    async def describe(self, workflow_id: str | None = None, *, proposing: str = "") -> dict[str, object]:
        """Count unexpired memories: ``total``, ``workflow``, ``general``, ``by_type`` and ``tags``.

        With a workflow, its memories and the general ones are counted, otherwise only the general ones. ``proposing``
        as for ``list``.
        """
        rows = await self._store.query(
            "SELECT workflow, type, tags, proposed FROM memory WHERE (workflow = NONE OR workflow = $workflow "
            "OR (workflow = $proposing AND proposed = true)) AND (expires_at = NONE OR expires_at > $now)",
            workflow=record("workflow", workflow_id or ""),
            proposing=record("workflow", proposing),
            now=self._store.clock.now(),
        )
        by_type = {kind.value: 0 for kind in MemoryType}
        tags: dict[str, int] = {}
        for row in rows:
            by_type[row["type"]] += 1
            for tag in row["tags"]:
                tags[tag] = tags.get(tag, 0) + 1
        own = sum(row.get("workflow") is not None and not (proposing and row.get("proposed")) for row in rows)
        ordered = dict(sorted(tags.items(), key=lambda item: (-item[1], item[0])))
        return {"total": len(rows), "workflow": own, "general": len(rows) - own, "by_type": by_type, "tags": ordered}

    async def count(self) -> int:
        """Return the number of memories, including expired ones."""
        rows = await self._store.query("SELECT count() AS n FROM memory GROUP ALL")
        return rows[0]["n"] if rows else 0

    async def mark_retrieved(self, found: Mapping[str, Sequence[str]]) -> None:
        """Record which memories each run retrieved: newest last, at most ``RETRIEVED_MAX`` runs per memory."""
        statements = [
            Statement(
                "UPDATE $rows SET retrieved_by = array::reverse(array::slice("
                "array::prepend(array::reverse(array::complement(retrieved_by, [$run])), $run), 0, $most)) RETURN NONE",
                {"rows": [self.table.record(each) for each in memory_ids], "run": run_id, "most": RETRIEVED_MAX},
            )
            for run_id, memory_ids in found.items()
            if memory_ids
        ]
        if statements:
            await self._store.write(*statements)

    async def vectors(
        self, embedder: str, *, after: str = "", limit: int = LOAD_PAGE
    ) -> tuple[builtins.list[str], np.ndarray]:
        """Return one page of an embedder's vectors: ids in order, and a float32 matrix of shape (ids, dimension).

        For the next page, set ``after`` to the last id, until no ids are returned.
        """
        import numpy as np

        rows = await self._store.query(
            (
                "SELECT memory, vector FROM memory_vector WHERE embedder = $embedder AND memory > $after ORDER BY "
                "memory "
                "LIMIT $limit"
            ),
            embedder=embedder,
            after=self.table.record(after),
            limit=limit,
        )
        if not rows:
            return [], np.empty((0, 0), dtype=np.float32)
        matrix = np.frombuffer(b"".join(row["vector"] for row in rows), dtype="<f4").reshape(len(rows), -1)
        return [row["memory"].id for row in rows], matrix.astype(np.float32, copy=False)

    async def without_vector(self, embedder: str, limit: int = 100, *, after: str = "") -> builtins.list[Memory]:
        """Return memories without a current vector of this embedder, by id from ``after`` on."""
        return await self._select(
            "WHERE id > $after AND embedder != $embedder ORDER BY id LIMIT $limit",
            after=self.table.record(after),
            embedder=embedder,
            limit=page_size(limit),
        )

    async def drop_vectors(self, keep: str) -> None:
        """Delete the vectors of all embedders except ``keep``."""
        await self._store.write(Statement("DELETE memory_vector WHERE embedder != $keep RETURN NONE", {"keep": keep}))

    async def count_without(self, embedder: str) -> int:
        """Return the number of memories without a current vector of the embedder."""
        rows = await self._store.query(
            "SELECT count() AS n FROM memory WHERE embedder != $embedder GROUP ALL", embedder=embedder
        )
        return rows[0]["n"] if rows else 0

    async def stems(self, query: str) -> Stems:
        """English and French stem of each word that is searched for, and the word itself; a symbol has no stem."""
        tokens = query_tokens(query)
        words = [token for token in tokens if token.isalnum()]
        stems = dict(zip(words, (await self._stems([words]))[0], strict=True))
        return [(*stems.get(token, ("", "")), token) for token in tokens]

    async def _terms(self, texts: Sequence[tuple[str, Sequence[str]]]) -> builtins.list[bytes]:
        """What rows keep of memories to be found by, of which each is told by its content and its tags."""
        joined = [(content, " ".join(sorted(tags))) for content, tags in texts]
        stems = await self._stems([content_text(text) for pair in joined for text in pair])
        return [
            pack(said, tags, literal_tokens("\n".join(pair)))
            for said, tags, pair in zip(stems[::2], stems[1::2], joined, strict=True)
        ]

    async def _stems(self, texts: Sequence[Sequence[str]]) -> builtins.list[builtins.list[tuple[str, str]]]:
        """Both stems of each word of many texts, in one question to the database."""
        flat = [word for words in texts for word in words]
        if not flat:
            return [[] for _each in texts]
        english, french = await self._store.query(
            "RETURN [search::analyze('english', $text), search::analyze('french', $text)]", text=" ".join(flat)
        )
        stems = iter(zip(english, french, strict=True))
        return [builtins.list(itertools.islice(stems, len(words))) for words in texts]

    async def entries(self, *, after: str = "", limit: int = LOAD_PAGE) -> builtins.list[MemoryTerms]:
        """Return one page of index entries, by id.

        For the next page, set ``after`` to the last id, until none are returned.
        """
        rows = await self._store.query(
            "SELECT id, workflow, type, tags, expires_at, terms, run_id, created_at, importance, agent_source,"  # noqa: S608
            " array::len(retrieved_by) AS uses, string::slice(content, 0, $head) AS head"
            f" FROM {rows_after('memory', after or None)} ORDER BY id LIMIT $limit",
            after=self.table.record(after),
            limit=limit,
            head=HEAD,
        )
        entries = [_entry_of_row(row) for row in rows]
        old = {entry.id for entry in entries if not is_current(entry.terms)}
        if not old:
            return entries
        contents = await self._store.query(
            "SELECT id, content, tags FROM $rows", rows=[self.table.record(each) for each in old]
        )
        made = await self._terms([(row["content"], row["tags"]) for row in contents])
        terms = {row["id"].id: each for row, each in zip(contents, made, strict=True)}
        return [replace(entry, terms=terms[entry.id]) if entry.id in terms else entry for entry in entries]

    def workflow_deleted(self, workflow_id: str) -> None:
        """Notify followers that a workflow's memories are gone."""
        for follower in self._followers:
            follower.workflow_deleted(workflow_id)

    def _removed(self, memory_ids: Sequence[str]) -> None:
        self._store.changed([RemovedDocument("memory", tuple(memory_ids))])
        for follower in self._followers:
            follower.deleted(memory_ids)

    async def _delete_where(self, condition: str, params: Mapping[str, object], *before: Statement) -> int:
        """Delete memories by a condition (a constant of the code) in one transaction that begins with ``before``."""
        with self.changing():
            ids, *_ = await self._store.transact(
                Statement(f"SELECT VALUE id FROM memory WHERE {condition}", params),  # noqa: S608
                *before,
                # Not as a condition of the DELETE: the engine would evaluate it for each vector, which takes minutes
                # for ten thousand.
                Statement(f"LET $gone = (SELECT VALUE id FROM memory WHERE {condition})", params),  # noqa: S608
                Statement("FOR $each IN $gone { DELETE memory_vector WHERE memory = $each RETURN NONE; }", {}),
                Statement(f"DELETE memory WHERE {condition} RETURN NONE", params),
                stamp(),
            )
            self._removed([each.id for each in ids])
        return len(ids)

    async def _delete_rows(self, *statements: Statement, changed: Sequence[str]) -> None:
        with self.changing():
            await self._store.write(*statements, stamp())
            self._removed(changed)


def stamp() -> Statement:
    """Statement that must be part of every transaction that changes memories or their vectors; see ``STAMP``."""
    content = {"value": json.dumps(new_id())}
    return Statement(
        "UPSERT $stamp CONTENT $stamped RETURN NONE", {"stamp": record("setting", STAMP), "stamped": content}
    )


def _home(workflow_id: str | None) -> str:
    return "workflow = NONE" if workflow_id is None else "workflow = $workflow"


def _home_condition(workflow_id: str | None, scope: MemoryScope | None) -> str:
    if scope is None:
        return ""
    if scope is MemoryScope.GENERAL or (scope is MemoryScope.BOTH and workflow_id is None):
        return "workflow = NONE"
    return "workflow = $workflow" if scope is MemoryScope.WORKFLOW else "(workflow = NONE OR workflow = $workflow)"


def _vector_statement(memory: Memory, vector: np.ndarray) -> Statement:
    data = vector.astype("<f4").reshape(-1)
    content = {
        "memory": record("memory", memory.id),
        "workflow": record("workflow", memory.workflow_id) if memory.workflow_id else None,
        "embedder": memory.embedder,
        "dimension": int(data.shape[0]),
        "vector": data.tobytes(),
    }
    row = record("memory_vector", [memory.id, memory.embedder])
    return Statement("UPSERT $row CONTENT $content RETURN NONE", {"row": row, "content": content})


def _entry(memory: Memory, terms: bytes) -> MemoryTerms:
    return MemoryTerms(
        memory.id,
        terms,
        memory.workflow_id,
        memory.type.value,
        frozenset(memory.tags),
        memory.expires_at.timestamp() if memory.expires_at else float("inf"),
        memory.run_id,
        memory.created_at.timestamp(),
        memory.importance,
        memory.agent_source if memory.turn else "",
        memory.turn,
        language(memory.content[:HEAD]),
        len(memory.retrieved_by),
    )


def _entry_of_row(row: dict[str, Any]) -> MemoryTerms:
    home, expires = row.get("workflow"), row.get("expires_at")
    turn = row["type"] == MemoryType.CONTEXT.value and bool(row["run_id"] and row["agent_source"])
    return MemoryTerms(
        row["id"].id,
        row["terms"],
        home.id if home is not None else None,
        row["type"],
        frozenset(row["tags"]),
        plain_time(expires).timestamp() if expires is not None else float("inf"),
        row["run_id"],
        plain_time(row["created_at"]).timestamp(),
        row["importance"],
        row["agent_source"] if turn else "",
        turn,
        language(row["head"]),
        row["uses"],
    )

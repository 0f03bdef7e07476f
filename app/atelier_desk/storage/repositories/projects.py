"""Projects, and the rows of their graph."""

# ruff: noqa: S608 - keys in statement texts are checked to be hexadecimal, the rest are constants of this file

from __future__ import annotations

import builtins
import itertools
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.errors import ConflictError, NotFoundError, StorageError
from atelier_desk.domain.project import Entity, EntityKind, FileProblem, Project, ProjectStatistics, RelationKind
from atelier_desk.storage import database_errors, tables
from atelier_desk.storage.project_graph_rows import (
    DIGITS,
    Edge,
    EntityRow,
    FileState,
    FileWrite,
    LightRow,
    file_key,
    project_key,
)
from atelier_desk.storage.repositories.base_repository import Repository, page_size
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from atelier_desk.storage.table_pages import rows_after
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    import numpy as np
    from surrealdb import RecordID

NAME_IN_USE = N_("There is already a project named {name}.")
PAGE = 2_000
"""Rows read at a time: decoding blocks the interpreter for about 60 ms."""
DELETED = 4_000
"""Approximate maximum of rows deleted at a time: other writes wait about 300 ms for it."""
_ENTITY = "id, kind, type, name, qualified, path, language, start_line, end_line, signature, docstring, parent"
_FILE = "id, path, hash, size, kind, language, related, problem, skipped"


class ProjectRepository(Repository[Project]):
    """Projects and their graph.

    A transaction writes whole files: a file in the database is complete, in its new or its old state.
    """

    table = tables.PROJECTS
    what = "project"
    absent = N_("There is no project {id}.")

    async def save(self, project: Project) -> None:
        """Insert or replace a project.

        Raises:
            ConflictError: another project has the name.
        """
        try:
            content = self.table.encode(project)
            await self._store.write(
                Statement("UPSERT $row MERGE $content RETURN NONE", {"row": content["id"], "content": content})
            )
        except StorageError as error:
            if "already contains" in str(error):
                raise ConflictError(NAME_IN_USE, name=project.name) from error
            raise

    async def list(self) -> list[Project]:
        """Return all projects by name, except those being deleted."""
        return await self._select("WHERE leaving != true ORDER BY folded")

    async def leaving(self) -> builtins.list[Project]:
        """Return projects whose deletion has begun."""
        return await self._select("WHERE leaving = true ORDER BY folded")

    async def delete(self, project_id: str) -> int:
        """Delete a project with all its rows, and the vectors that no other project needs. Returns the number of rows.

        From the first step on it is in no list and its name is free. Its own row goes last, with rows written
        meanwhile, so that an interrupted deletion can be completed: ``leaving`` names it.

        Raises:
            NotFoundError: there is none.
        """
        key, row = project_key(project_id), self.table.record(project_id)
        there = Statement(database_errors.throw_not_found(self.what), {"guarded": row})
        leaving = "UPDATE $row SET leaving = true, folded = $id, stamp = $stamp RETURN NONE"
        await self._store.write(there, Statement(leaving, {"row": row, "id": project_id, "stamp": new_id()}))
        counts = await self.counts(project_id)
        for table, count in reversed(counts.items()):  # relations before their sources
            for part in _parts(key, count):
                await self._store.write(_delete_below(table, part))
        unused = await self.drop_unused_vectors()
        await self._store.write(
            there,
            *(_delete_below(table, key) for table in counts),
            Statement("DELETE $row RETURN NONE", {"row": row}),
        )
        return sum(counts.values()) + unused + 1

    async def stamp(self, project_id: str) -> str:
        """Return a value that changes with the project's entities and relations.

        An index file is valid while it is the same.
        """
        found = await self._store.query("SELECT VALUE stamp FROM $row", row=self.table.record(project_id))
        return str(found[0] or "") if found else ""

    async def files(self, project_id: str) -> builtins.list[FileState]:
        """Return the states of all files read."""
        found: list[FileState] = []
        async for rows in self._pages("project_file", _FILE, project_key(project_id)):
            found += map(_file_state, rows)
        return found

    async def files_at(self, project_id: str, paths: Sequence[str]) -> builtins.list[FileState]:
        """Return the states of those of these files that were read."""
        wanted = [record("project_file", file_key(project_id, path)) for path in paths]
        return [_file_state(row) for row in await self._store.query(f"SELECT {_FILE} FROM $rows", rows=wanted)]

    async def symbols(self, project_id: str) -> dict[str, str]:
        """Return, by path, the symbols of files that others may refer to, as passed to ``write_files``."""
        found: dict[str, str] = {}
        async for rows in self._pages("project_file", "id, path, symbols", project_key(project_id)):
            found.update({row["path"]: row["symbols"] for row in rows if row["symbols"]})
        return found

    async def write_files(self, project_id: str, files: Sequence[FileWrite], *, fresh: bool = False) -> None:
        """Write the new states of files in one transaction.

        Write their relations afterwards. ``fresh``: none of them has rows yet.

        Raises:
            NotFoundError: the project is gone.
        """
        if not files:
            return
        statements = self._changing(project_id)
        home = self.table.record(project_id)
        gone = [record("entity", each) for file in files for each in file.gone]
        if gone:
            statements.append(Statement("DELETE $gone RETURN NONE", {"gone": gone}))
        about = [
            {
                **file.state._asdict(),
                "id": file_key(project_id, file.state.path),
                "project": home,
                "symbols": file.symbols,
            }
            for file in files
        ]
        statements.append(_insert("project_file", about, fresh=fresh))
        rows = [_entity_content(entity) for file in files for entity in file.entities]
        if rows:
            # Existing entities keep their relations: those of other files lead to them.
            statements.append(_insert("entity", rows, fresh=fresh))
        await self._store.write(*statements)

    async def remove_files(self, project_id: str, paths: Iterable[str]) -> None:
        """Delete files that no longer exist, with everything in them."""
        for path in paths:
            key = _hex(file_key(project_id, path))
            await self._store.write(
                *self._changing(project_id),
                _delete_below("relates", key),
                _delete_below("entity", key),
                Statement("DELETE $row RETURN NONE", {"row": record("project_file", key)}),
            )

    async def write_relations(
        self,
        project_id: str,
        sources: Iterable[str],
        edges: Sequence[Edge],
        packages: Sequence[EntityRow],
        *,
        first: bool = False,
    ) -> None:
        """Replace the relations that start in these files, in one transaction. ``first``: none of them has any yet."""
        keys = [_hex(file_key(project_id, path)) for path in sources]
        statements = self._changing(project_id)
        if not first:
            statements += [_delete_below("relates", key) for key in keys]
        if packages:
            rows = [_entity_content(each) for each in packages]
            statements.append(Statement("INSERT IGNORE INTO entity $rows RETURN NONE", {"rows": rows}))
        if edges:
            rows = [
                _edge_content(edge) for edge in {(each.source, each.kind, each.target): each for each in edges}.values()
            ]
            statements.append(Statement("INSERT RELATION INTO relates $rows RETURN NONE", {"rows": rows}))
        files = [record("project_file", key) for key in keys]
        statements.append(Statement("UPDATE $files SET related = true RETURN NONE", {"files": files}))
        await self._store.write(*statements)

    async def remove_packages(self, project_id: str, ids: Sequence[str]) -> None:
        """Delete packages that have no incoming relation."""
        rows = [record("entity", each) for each in ids]
        await self._store.write(*self._changing(project_id), Statement("DELETE $rows RETURN NONE", {"rows": rows}))

    async def problems(self, project_id: str, limit: int) -> builtins.list[FileProblem]:
        """Return files that were not or not completely read, earliest failure first."""
        key = _hex(project_key(project_id))
        rows = await self._store.query(
            (
                f"SELECT path, problem, skipped FROM project_file:⟨{key}⟩..⟨{key}g⟩ WHERE problem != '' ORDER BY "
                f"skipped, path LIMIT $limit"
            ),
            limit=page_size(limit),
        )
        return [_problem(row) for row in rows]

    async def problem(self, project_id: str, path: str) -> FileProblem | None:
        """Return why a file was not read; None if no problem is known."""
        row = record("project_file", file_key(project_id, path))
        rows = await self._store.query("SELECT path, problem, skipped FROM $row WHERE problem != ''", row=row)
        return _problem(rows[0]) if rows else None

    async def statistics(self, project_id: str) -> ProjectStatistics:
        """Count what a project contains, without vectors."""
        key = _hex(project_key(project_id))
        contained, entities, relations, files, languages, problems = await self._store.query_all(
            f"SELECT count() AS n FROM entity:⟨{key}⟩..⟨{key}g⟩ WHERE parent != NONE GROUP ALL;"
            f"SELECT kind, count() AS n FROM entity:⟨{key}⟩..⟨{key}g⟩ GROUP BY kind;"
            f"SELECT kind, count() AS n FROM relates:⟨{key}⟩..⟨{key}g⟩ GROUP BY kind;"
            f"SELECT count() AS n, math::sum(size) AS size FROM project_file:⟨{key}⟩..⟨{key}g⟩ WHERE kind != '' "
            f"GROUP ALL;"
            f"SELECT language, count() AS n FROM project_file:⟨{key}⟩..⟨{key}g⟩ WHERE kind != '' GROUP BY language;"
            f"SELECT count() AS n FROM project_file:⟨{key}⟩..⟨{key}g⟩ WHERE problem != '' GROUP ALL"
        )
        by_relation = {RelationKind(row["kind"]): row["n"] for row in relations}
        if contained:
            by_relation[RelationKind.CONTAINS] = by_relation.get(RelationKind.CONTAINS, 0) + contained[0]["n"]
        return ProjectStatistics(
            entities={EntityKind(row["kind"]): row["n"] for row in entities},
            relations=by_relation,
            languages=dict(
                sorted(((row["language"], row["n"]) for row in languages), key=lambda item: (-item[1], item[0]))
            ),
            files=files[0]["n"] if files else 0,
            size=files[0]["size"] if files else 0,
            problems=problems[0]["n"] if problems else 0,
        )

    async def entities(self, ids: Sequence[str], project_id: str, *, text: bool = False) -> builtins.list[Entity]:
        """Return those entities that exist, in the order of the ids; with ``text``, including their full text."""
        columns = f"{_ENTITY}, text" if text else _ENTITY
        rows = await self._store.query(f"SELECT {columns} FROM $rows", rows=[record("entity", each) for each in ids])
        found = {row["id"].id: _entity(row, project_id) for row in rows}
        return [found[each] for each in ids if each in found]

    async def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the text of entities by id."""
        rows = await self._store.query("SELECT id, text FROM $rows", rows=[record("entity", each) for each in ids])
        return {row["id"].id: row["text"] for row in rows}

    async def light(self, project_id: str, *, after: str = "", limit: int = PAGE) -> builtins.list[LightRow]:
        """Return one page of index entries, by id.

        For the next page, set ``after`` to the last id, until none are returned.
        """
        columns = ", ".join(LightRow._fields)
        rows = await self._page("entity", columns, project_key(project_id), after, limit)
        return [_light(row) for row in rows]

    async def edges(self, project_id: str, *, after: str = "", limit: int = PAGE) -> tuple[builtins.list[Edge], str]:
        """Return one page of relations and the value of ``after`` for the next; an empty page at the end."""
        rows = await self._page("relates", "id, in, out, kind, confidence, line", project_key(project_id), after, limit)
        edges = [Edge(row["in"].id, row["out"].id, row["kind"], row["confidence"], row["line"]) for row in rows]
        return edges, rows[-1]["id"].id if rows else ""

    async def vector_texts(self, ids: Sequence[str]) -> dict[str, tuple[str, str, str, str, str]]:
        """Return, by id, the parts of the embedded text: kind, qualified name, signature, docstring and text."""
        columns = ("kind", "qualified", "signature", "docstring", "text")
        rows = await self._store.query(
            f"SELECT id, {', '.join(columns)} FROM $rows", rows=[record("entity", each) for each in ids]
        )
        return {row["id"].id: tuple(row[name] for name in columns) for row in rows}

    async def vectors(self, embedder: str, digests: Sequence[str]) -> dict[str, bytes]:
        """Return existing vectors by the digest of their text."""
        if not digests:
            return {}
        wanted = [record("text_vector", [embedder, each]) for each in digests]
        rows = await self._store.query("SELECT digest, vector FROM $rows", rows=wanted)
        return {row["digest"]: row["vector"] for row in rows}

    async def save_vectors(self, embedder: str, vectors: Mapping[str, np.ndarray], *, anew_for: str = "") -> None:
        """Store vectors by the digest of their text. ``anew_for``: a project whose existing vectors they replace."""
        rows = [
            {
                "id": record("text_vector", [embedder, digest]),
                "embedder": embedder,
                "digest": digest,
                "vector": vector.astype("<f2").tobytes(),
            }
            for digest, vector in vectors.items()
        ]
        if rows:
            if not anew_for:
                await self._store.write(Statement("INSERT IGNORE INTO text_vector $rows RETURN NONE", {"rows": rows}))
                return
            text = "INSERT INTO text_vector $rows ON DUPLICATE KEY UPDATE vector = $input.vector RETURN NONE"
            await self._store.write(*self._changing(anew_for), Statement(text, {"rows": rows}))

    async def drop_unused_vectors(self) -> int:
        """Delete vectors of texts that no entity has any more. Returns their number."""
        # Vectors first: those made meanwhile belong to entities written earlier, and are not among these.
        vectors: list[tuple[RecordID, str]] = []
        async for rows in self._pages("text_vector", "id, digest", ""):
            vectors += [(row["id"], row["digest"]) for row in rows]
        used: set[str] = set()
        async for rows in self._pages("entity", "id, digest", ""):
            used.update(row["digest"] for row in rows)
        unused = [row for row, digest in vectors if digest not in used]
        for start in range(0, len(unused), PAGE):
            await self._store.write(Statement("DELETE $gone RETURN NONE", {"gone": unused[start : start + PAGE]}))
        return len(unused)

    async def counts(self, project_id: str) -> dict[str, int]:
        """Return the number of rows of a project by table."""
        key = _hex(project_key(project_id))
        names = ("project_file", "entity", "relates")
        results = await self._store.query_all(
            ";".join(f"SELECT count() AS n FROM {name}:⟨{key}⟩..⟨{key}g⟩ GROUP ALL" for name in names)
        )
        return {name: (rows[0]["n"] if rows else 0) for name, rows in zip(names, results, strict=True)}

    def _changing(self, project_id: str) -> builtins.list[Statement]:
        """Statements that begin a transaction which changes indexed data.

        They abort it if the project is gone, so that a late write leaves nothing behind, and give the project a new
        stamp.
        """
        row = self.table.record(project_id)
        return [
            Statement(database_errors.throw_not_found(self.what), {"guarded": row}),
            Statement("UPDATE $row SET stamp = $stamp RETURN NONE", {"row": row, "stamp": new_id()}),
        ]

    async def _page(self, table: str, columns: str, key: str, after: str, limit: int) -> builtins.list[dict[str, Any]]:
        start = f"⟨{_hex(after)}0⟩" if after else f"⟨{_hex(key)}⟩"  # "0" after an id: the next possible id
        reach = f"{table}:{start}..⟨{_hex(key)}g⟩"
        return await self._store.query(f"SELECT {columns} FROM {reach} LIMIT $limit", limit=limit)

    async def _pages(self, table: str, columns: str, key: str) -> AsyncIterator[builtins.list[dict[str, Any]]]:
        if not key:
            after: object = None
            while True:
                source = rows_after(table, after)
                rows = await self._store.query(f"SELECT {columns} FROM {source} ORDER BY id LIMIT {PAGE}", after=after)
                if not rows:
                    return
                yield rows
                after = rows[-1]["id"]
        last = ""
        while rows := await self._page(table, columns, key, last, PAGE):
            yield rows
            last = rows[-1]["id"].id


def _hex(key: str) -> str:
    """Return a key for a statement's text; only hexadecimal digits are allowed."""
    if not set(key) <= DIGITS:
        raise NotFoundError(N_("There is no entity {id}."), id=key[:80])
    return key


def _delete_below(table: str, key: str) -> Statement:
    """Delete all rows whose ids begin with a key."""
    return Statement(f"DELETE {table}:⟨{_hex(key)}⟩..⟨{_hex(key)}g⟩ RETURN NONE", {})


def _parts(key: str, rows: int) -> Iterator[str]:
    """Split a key range with about ``rows`` rows into keys for deletions of moderate size.

    The digits after a project's key are a hash, so they are evenly spread. Querying the ids and naming them took as
    long as the deletion.
    """
    digits = 0
    while rows > DELETED * 16**digits:
        digits += 1
    return (key + "".join(part) for part in itertools.product("0123456789abcdef", repeat=digits))


def _insert(table: str, rows: Sequence[Mapping[str, object]], *, fresh: bool) -> Statement:
    """Statement that writes whole rows, replacing existing ones unless all are ``fresh``.

    Ids are plain strings: the insertion implies the table, and encoding a record id takes the driver longer than half
    of the row.
    """
    updates = ", ".join(f"{name} = $input.{name}" for name in rows[0] if name != "id")
    then = "" if fresh else f"ON DUPLICATE KEY UPDATE {updates}"
    return Statement(f"INSERT INTO {table} $rows {then} RETURN NONE", {"rows": rows})


def _entity_content(row: EntityRow) -> dict[str, object]:
    content = row._asdict()
    content["parent"] = record("entity", row.parent) if row.parent else None
    return content


_KINDS = {"contains": "0", "imports": "1", "calls": "2", "inherits": "3", "mentions": "4", "links_to": "5"}


def _edge_content(edge: Edge) -> dict[str, object]:
    return {
        "id": f"{edge.source}{_KINDS[edge.kind]}{edge.target}",
        "in": record("entity", edge.source),
        "out": record("entity", edge.target),
        "kind": edge.kind,
        "confidence": float(edge.confidence),
        "line": edge.line,
    }


def _problem(row: Mapping[str, Any]) -> FileProblem:
    """Decode a pair of a sentence and its values; earlier versions stored the sentence in the person's language."""
    try:
        reason, values = json.loads(row["problem"])
    except ValueError:
        reason, values = row["problem"], {}
    return FileProblem(path=row["path"], reason=reason, values=values, skipped=row["skipped"])


def _file_state(row: Mapping[str, Any]) -> FileState:
    return FileState(*(row[name] for name in FileState._fields))


def _parent(row: Mapping[str, Any]) -> str:
    parent = row.get("parent")
    return parent.id if parent is not None else ""


def _light(row: Mapping[str, Any]) -> LightRow:
    return LightRow(
        row["id"].id, row["kind"], row["type"], row["name"], row["qualified"], row["path"], row["language"],
        row["start_line"], row["end_line"], _parent(row), row["digest"], row["terms"],
    )  # fmt: skip


def _entity(row: Mapping[str, Any], project_id: str) -> Entity:
    plain = {name: row[name] for name in Entity.model_fields if name in row and name not in ("id", "parent")}
    return Entity(id=row["id"].id, project_id=project_id, parent=_parent(row), **plain)

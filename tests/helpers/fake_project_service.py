"""A small project as the engine describes it: files, scopes, a package, a document, and relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import ConflictError
from atelier_desk.domain.project import (
    SECRET,
    Direction,
    Entity,
    EntityKind,
    Exploration,
    FileProblem,
    IngestState,
    Neighbour,
    Project,
    ProjectHit,
    ProjectOffer,
    ProjectStatistics,
    Relation,
    RelationKind,
)

STORE = '''"""Keeps notes."""

import sqlite3


class Store:
    """Notes in a file."""

    def save(self, note):
        """Write one note to the disk."""
        self._write(note)

    def _write(self, note):
        sqlite3.connect(self.path)
'''
APP = "from store import Store\n\n\ndef main():\n    Store().save('hello')\n"
README = "# Notes\n\nA place for notes.\n"
TEXTS = {"store.py": STORE, "app.py": APP, "README.md": README}


def entity(id: str, kind: EntityKind, name: str, path: str, first: int, last: int, **more: Any) -> Entity:
    return Entity(id=id, project_id="p1", kind=kind, name=name, path=path, start_line=first, end_line=last, **more)


ENTITIES = (
    entity("f1", EntityKind.FILE, "store.py", "store.py", 1, 14, type="file", language="python"),
    entity("f2", EntityKind.FILE, "app.py", "app.py", 1, 5, type="file", language="python"),
    entity(
        "c1",
        EntityKind.SCOPE,
        "Store",
        "store.py",
        6,
        14,
        type="class",
        parent="f1",
        signature="class Store",
        docstring="Notes in a file.",
    ),
    entity(
        "m1",
        EntityKind.SCOPE,
        "save",
        "store.py",
        9,
        11,
        type="method",
        parent="c1",
        qualified="Store.save",
        signature="def save(self, note)",
        docstring="Write one note to the disk.",
    ),
    entity("m2", EntityKind.SCOPE, "_write", "store.py", 13, 14, type="method", parent="c1", qualified="Store._write"),
    entity("s1", EntityKind.SCOPE, "main", "app.py", 4, 5, type="function", parent="f2", signature="def main()"),
    Entity(id="k1", project_id="p1", kind=EntityKind.PACKAGE, name="sqlite3"),
    entity("d1", EntityKind.DOCUMENT, "README.md", "README.md", 1, 3),
    entity("h1", EntityKind.SECTION, "Notes", "README.md", 1, 3, type="heading", parent="d1"),
)
RELATIONS = (
    Relation(source="f1", target="c1", kind=RelationKind.CONTAINS, line=6),
    Relation(source="c1", target="m1", kind=RelationKind.CONTAINS, line=9),
    Relation(source="c1", target="m2", kind=RelationKind.CONTAINS, line=13),
    Relation(source="f2", target="s1", kind=RelationKind.CONTAINS, line=4),
    Relation(source="d1", target="h1", kind=RelationKind.CONTAINS, line=1),
    Relation(source="f1", target="k1", kind=RelationKind.IMPORTS, line=3),
    Relation(source="f2", target="f1", kind=RelationKind.IMPORTS, line=1),
    Relation(source="s1", target="m1", kind=RelationKind.CALLS, line=5, confidence=0.6),
    Relation(source="m1", target="m2", kind=RelationKind.CALLS, line=11),
)
PROBLEMS = [
    FileProblem(path=".env", reason=SECRET, skipped=True),
    FileProblem(path="broken.pdf", reason="It is no PDF."),
]
STATISTICS = ProjectStatistics(
    entities={
        EntityKind.FILE: 2,
        EntityKind.SCOPE: 4,
        EntityKind.PACKAGE: 1,
        EntityKind.DOCUMENT: 1,
        EntityKind.SECTION: 1,
    },
    relations={RelationKind.CONTAINS: 5, RelationKind.IMPORTS: 2, RelationKind.CALLS: 2},
    languages={"python": 2, "markdown": 1},
    files=3,
    size=512,
    texts=6,
    vectors=6,
    problems=2,
)


class Projects:
    """The service's answers and their data. ``states`` are returned unchanged."""

    def __init__(self) -> None:
        self.stored = [
            Project(id="p1", name="notes", root="/home/me/notes", ingested_at=utc_now()),
            Project(id="p2", name="pages", watched=False),
        ]
        self.states: dict[str, IngestState] = {}
        self.answered: dict[str, bool] = {}
        self.entities = {each.id: each for each in ENTITIES}
        self.relations = list(RELATIONS)

    def answers(self) -> dict[str, Any]:
        """For ``FakeAtelier(projects=…)``."""
        return {
            "list": lambda: list(self.stored),
            "states": lambda: dict(self.states),
            "create": self.create,
            "change": self.change,
            "delete": self.delete,
            "ingest": None,
            "stop": None,
            "allow": self.allow,
            "statistics": lambda project_id: STATISTICS if project_id == "p1" else ProjectStatistics(),
            "problems": lambda project_id, **_more: [
                each for each in PROBLEMS if each.path not in self.stored[0].readable
            ],
            "files": lambda project_id, **_more: [
                each for each in self.entities.values() if each.kind is EntityKind.FILE
            ],
            "offers": self.offers,
            "answer": self.answer,
            "find": self.find,
            "explore": self.explore,
            "among": self.among,
            "entity": lambda id: self.entities[id],
            "source": lambda id: (
                TEXTS[self.entities[id].path],
                self.entities[id].start_line,
                self.entities[id].end_line,
            ),
        }

    def create(self, name: str, root: str = "", **more: Any) -> Project:
        if any(each.name == name for each in self.stored):
            raise ConflictError("There is a project {name} already.", name=name)
        self.stored.append(Project(id="p3", name=name, root=root, **more))
        return self.stored[-1]

    def change(self, project_id: str, **fields: Any) -> Project:
        self.stored = [each.model_copy(update=fields) if each.id == project_id else each for each in self.stored]
        return next(each for each in self.stored if each.id == project_id)

    def allow(self, project_id: str, path: str, *, yes: bool = True) -> Project:
        known = [each for each in self.stored[0].readable if each != path]
        return self.change(project_id, readable=(*known, path) if yes else tuple(known))

    def offers(self, folders: Sequence[str] = ()) -> list[ProjectOffer]:
        roots = [each.root for each in self.stored]
        return [
            ProjectOffer(folder=each, name=each.rpartition("/")[2])
            for each in folders
            if each not in roots and each not in self.answered
        ]

    def answer(self, folder: str, yes: bool) -> Project | None:
        self.answered[folder] = yes
        return self.create(folder.rpartition("/")[2], folder) if yes else None

    def delete(self, project_id: str) -> int:
        self.stored = [each for each in self.stored if each.id != project_id]
        return 21

    def find(self, query: str, *, kinds: Sequence[EntityKind] = (), **_more: Any) -> list[ProjectHit]:
        words = query.casefold().split()
        texts = {
            each: f"{each.signature}\n{each.docstring}"
            for each in self.entities.values()
            if not kinds or each.kind in kinds
        }
        hits = [each for each, text in texts.items() if all(word in f"{each.name} {text}".casefold() for word in words)]
        return [ProjectHit(entity=each, project="notes", score=0.9, preview=texts[each]) for each in hits]

    def among(self, entity_ids: Sequence[str], touching: Sequence[str] = ()) -> list[Relation]:
        among = [each for each in self.relations if each.source in entity_ids and each.target in entity_ids]
        return [each for each in among if not touching or each.source in touching or each.target in touching]

    def explore(
        self,
        entity_id: str,
        *,
        relations: Sequence[RelationKind] = (),
        direction: Direction = Direction.BOTH,
        depth: int = 1,
        **_more: Any,
    ) -> Exploration:
        found: dict[str, Neighbour] = {}
        edge = {entity_id}
        for far in range(1, depth + 1):
            after: set[str] = set()
            for each in self.relations:
                if relations and each.kind not in relations:
                    continue
                for here, there, way in (
                    (each.source, each.target, Direction.OUT),
                    (each.target, each.source, Direction.IN),
                ):
                    if (
                        direction in (way, Direction.BOTH)
                        and here in edge
                        and there not in found
                        and there != entity_id
                    ):
                        found[there] = Neighbour(entity=self.entities[there], depth=far, by=each)
                        after.add(there)
            edge = after
        inside = {entity_id, *found}
        among = tuple(each for each in self.relations if each.source in inside and each.target in inside)
        return Exploration(start=self.entities[entity_id], neighbours=tuple(found.values()), relations=among)

"""Projects: code and documents that agents can look things up in, as a graph of entities and the relations between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from pydantic import Field

from atelier_desk.domain.base import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_

FOUND_MAX = 100
"""Results of one search."""
FILES_MAX = 50_000
"""Files that are read of one project."""
SECRET = N_("Left out: it looks as if it held a secret.")
"""The reason of what may be read after all, once a person says so."""


class EntityKind(StrEnum):
    """What a node of the graph is; a scope is a class, a function or another named part of code, a section a part of a document."""

    FILE = "file"
    SCOPE = "scope"
    IMPORT = "import"
    PACKAGE = "package"
    DOCUMENT = "document"
    SECTION = "section"
    PAGE = "page"
    IMAGE = "image"


class RelationKind(StrEnum):
    """What an edge of the graph says; it leads from the one that contains, imports, calls, inherits, mentions or links."""

    CONTAINS = "contains"
    IMPORTS = "imports"
    CALLS = "calls"
    INHERITS = "inherits"
    MENTIONS = "mentions"
    LINKS_TO = "links_to"


class Direction(StrEnum):
    """Which edges of an entity are followed: those that leave it, those that reach it, or both."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class Project(Model):
    """A folder, or a set of fetched pages, that was or will be ingested.

    Attributes:
        name: unique among the projects, upper and lower case being the same.
        root: the absolute path of its folder; empty when it has none (pages alone).
        loaded: whether searches over all projects look at it.
        watched: whether changed files are ingested again by themselves.
        embedded: whether its texts get vectors.
        pending: whether an ingestion was begun and is not over: it is gone on with.
        readable: files and folders, from the root, that are read though they look like secrets: a person said so.
        cut: why not all of the folder was looked at the last time, ``files`` or ``looks``; empty when it was.
        leaving: whether it is being deleted; it is in no list any more.
    """

    id: str = Field(default_factory=new_id)
    name: str = Field(min_length=1, max_length=128)
    root: str = ""
    loaded: bool = True
    watched: bool = True
    embedded: bool = True
    pending: bool = False
    readable: tuple[str, ...] = ()
    cut: str = ""
    leaving: bool = False
    created_at: Timestamp = Field(default_factory=utc_now)
    updated_at: Timestamp = Field(default_factory=utc_now)
    ingested_at: Timestamp | None = None


class ProjectOffer(Model):
    """A folder that was granted to agents and is no project: whether it becomes one is asked once. ``name`` is what it would be called."""

    folder: str
    name: str


def free_name(wanted: str, known: Iterable[Project]) -> str:
    """A name like the wanted one (never empty) that no project has: with a number behind it where it is taken."""
    taken = {each.name.casefold() for each in known}
    name, number = wanted or "project", 2
    while name.casefold() in taken:
        name, number = f"{wanted or 'project'} {number}", number + 1
    return name


def is_address(path: str) -> bool:
    """Whether what stands in the place of a path is the address of a page."""
    return path.startswith(("http://", "https://"))


class Entity(Model):
    """A node of the graph.

    Attributes:
        id: stable over ingestions, as long as its file, kind and qualified name stay.
        type: what it is within its kind: ``class``, ``method``, ``function`` …; a section's says how deep it is, ``level 2``.
        name: its short name; a file's is its last part.
        qualified: its name from the top of its file or package, such as ``Store.save``.
        path: of its file, from the project's root, with ``/``; a page's is its address.
        start_line, end_line: from 1, both inclusive; 0 where there are no lines.
        signature: one line, as the source writes it, without its body.
        docstring: what the source says of it, without quotes or comment signs.
        text: what it says in full, for those that are read; empty in lists.
        parent: id of the entity that contains it.
    """

    id: str
    project_id: str
    kind: EntityKind
    type: str = ""
    name: str
    qualified: str = ""
    path: str = ""
    language: str = ""
    start_line: int = 0
    end_line: int = 0
    signature: str = ""
    docstring: str = ""
    text: str = ""
    parent: str = ""


class Relation(Model):
    """An edge of the graph.

    Attributes:
        source, target: ids of entities.
        confidence: 0–1, how sure it is that the target is meant; 1 for what the source says itself.
        line: where the source says so; 0 where there are no lines.
    """

    source: str
    target: str
    kind: RelationKind
    confidence: float = Field(default=1.0, ge=0, le=1)
    line: int = 0


class ProjectHit(Model):
    """A search result. ``score``, ``lexical`` and ``cosine`` are 0–1; ``cosine`` is None where there was no vector. ``preview`` is a part
    of its text."""

    entity: Entity
    project: str
    score: float
    lexical: float = 0.0
    cosine: float | None = None
    preview: str = ""


class Neighbour(Model):
    """One entity of an exploration: how far it is from where it began (1–5), and by which edge it was reached first."""

    entity: Entity
    depth: int
    by: Relation


class Exploration(Model):
    """What is around an entity: each neighbour once, the nearest first; all edges among those shown. ``cut`` when there was more than the
    limit."""

    start: Entity
    neighbours: tuple[Neighbour, ...] = ()
    relations: tuple[Relation, ...] = ()
    cut: bool = False


class FileProblem(Model):
    """A file that was not read, or not wholly.

    Attributes:
        reason: why, as an English sentence with named placeholders; ``values`` are what stands in them.
        skipped: on purpose (looks like a secret, too large, binary).
    """

    path: str
    reason: str
    values: dict[str, str | int | float] = Field(default_factory=dict)
    skipped: bool = False

    @property
    def secret(self) -> bool:
        """Whether it was left out because it looks like a secret."""
        return self.reason == SECRET

    def localized(self, translate: Callable[..., str]) -> str:
        """The reason in the reader's language; ``translate`` is ``atelier_desk.support.i18n._``."""
        said = AtelierError(self.reason)
        said.params = dict(self.values)
        return said.localized(translate)


class ProjectStatistics(Model):
    """What a project holds: entities by kind, relations by kind, files and bytes by language, and how many texts have a vector."""

    entities: dict[EntityKind, int] = Field(default_factory=dict)
    relations: dict[RelationKind, int] = Field(default_factory=dict)
    languages: dict[str, int] = Field(default_factory=dict)
    files: int = 0
    size: int = 0
    texts: int = 0
    vectors: int = 0
    problems: int = 0


class IngestStage(StrEnum):
    """Where an ingestion is. ``paused`` after a kill or a stop, until it is resumed; ``done`` and ``failed`` are its ends."""

    READING = "reading"
    RELATING = "relating"
    EMBEDDING = "embedding"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


class IngestState(Model):
    """How far an ingestion is: ``done`` of ``total`` files, or texts while embedding; the file it is at; what it changed so far.
    ``cut``: see ``Project``."""

    project_id: str
    stage: IngestStage
    done: int = 0
    total: int = 0
    path: str = ""
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    problems: int = 0
    cut: str = ""
    error: str = ""

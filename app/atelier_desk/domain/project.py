"""Projects: code and documents that agents can search, as a graph of entities and relations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from pydantic import Field

from atelier_desk.domain.base_model import Model, Timestamp, new_id, utc_now
from atelier_desk.domain.errors import AtelierError
from atelier_desk.support.i18n import N_

FOUND_MAX = 100
"""Maximum results of a search."""
FILES_MAX = 50_000
"""Maximum files read of a project."""
SECRET = N_("Skipped: it seems to contain a secret.")
"""Reason for a file that may be read once a person allows it."""


class EntityKind(StrEnum):
    """Kind of a graph node.

    A scope is a class, function or other named part of code, a section a part of a document.
    """

    FILE = "file"
    SCOPE = "scope"
    IMPORT = "import"
    PACKAGE = "package"
    DOCUMENT = "document"
    SECTION = "section"
    PAGE = "page"
    IMAGE = "image"


class RelationKind(StrEnum):
    """Kind of a graph edge; it starts at the entity that contains, imports, calls, inherits, mentions or links."""

    CONTAINS = "contains"
    IMPORTS = "imports"
    CALLS = "calls"
    INHERITS = "inherits"
    MENTIONS = "mentions"
    LINKS_TO = "links_to"


class Direction(StrEnum):
    """Which edges of an entity are followed: outgoing, incoming, or both."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


class Project(Model):
    """A folder, or a set of fetched pages, that is indexed.

    Attributes:
        name: unique among projects, ignoring case.
        root: absolute path of its folder; empty if it has none (pages only).
        loaded: included in searches over all projects.
        watched: changed files are indexed automatically.
        embedded: its texts get vectors.
        pending: an indexing run was started and is unfinished: it will be resumed.
        readable: relative files and folders that a person allowed to be read although they look like secrets.
        cut: why the last scan of the folder was incomplete, ``files`` or ``looks``; empty if complete.
        leaving: it is being deleted, and no longer listed.
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
    """A granted folder that is not a project.

    A person is asked once whether to make it one. ``name`` is the proposed name.
    """

    folder: str
    name: str


def free_name(wanted: str, known: Iterable[Project]) -> str:
    """Return the wanted name (never empty), with a number if it is taken."""
    names_in_use = {each.name.casefold() for each in known}
    name, number = wanted or "project", 2
    while name.casefold() in names_in_use:
        name, number = f"{wanted or 'project'} {number}", number + 1
    return name


def is_address(path: str) -> bool:
    """Whether a path is the address of a page."""
    return path.startswith(("http://", "https://"))


class Entity(Model):
    """A graph node.

    Attributes:
        id: stable across indexing runs, as long as file, kind and qualified name stay the same.
        type: type within its kind: ``class``, ``method``, ``function`` …; a section's is its depth, ``level 2``.
        name: its short name; a file's is its last part.
        qualified: its name from the top of its file or package, such as ``Store.save``.
        path: of its file, relative to the project with ``/``; a page's is its address.
        start_line, end_line: from 1, inclusive; 0 without lines.
        signature: its source without the body, on one line.
        docstring: its documentation, without quotes and comment signs.
        text: its full text when a single entity is read; empty in lists.
        parent: id of the containing entity.
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
    """A graph edge.

    Attributes:
        source, target: ids of entities.
        confidence: 0–1, how certain the target is; 1 if explicit in the source.
        line: line of the source; 0 without lines.
    """

    source: str
    target: str
    kind: RelationKind
    confidence: float = Field(default=1.0, ge=0, le=1)
    line: int = 0


class ProjectHit(Model):
    """A search result.

    ``score``, ``lexical`` and ``cosine`` are 0–1; ``cosine`` is None without a vector. ``preview`` is part of its text.
    """

    entity: Entity
    project: str
    score: float
    lexical: float = 0.0
    cosine: float | None = None
    preview: str = ""


class Neighbour(Model):
    """An entity of an exploration: its distance from the start (1–5), and the edge that reached it first."""

    entity: Entity
    depth: int
    by: Relation


class Exploration(Model):
    """The surroundings of an entity.

    Each neighbour once, nearest first; all edges among those shown. ``cut``: the limit was reached.
    """

    start: Entity
    neighbours: tuple[Neighbour, ...] = ()
    relations: tuple[Relation, ...] = ()
    cut: bool = False


class FileProblem(Model):
    """A file that was not, or not completely, read.

    Attributes:
        reason: an English sentence with named placeholders; ``values`` fill them.
        skipped: on purpose (looks like a secret, too large, binary).
    """

    path: str
    reason: str
    values: dict[str, str | int | float] = Field(default_factory=dict)
    skipped: bool = False

    @property
    def secret(self) -> bool:
        """Whether it was skipped because it looks like a secret."""
        return self.reason == SECRET

    def localized(self, translate: Callable[..., str]) -> str:
        """Return the reason in the reader's language; ``translate`` is ``atelier_desk.support.i18n._``."""
        error = AtelierError(self.reason)
        error.params = dict(self.values)
        return error.localized(translate)


class ProjectStatistics(Model):
    """Counts of a project: entities and relations by kind, files and bytes by language, and embedded texts."""

    entities: dict[EntityKind, int] = Field(default_factory=dict)
    relations: dict[RelationKind, int] = Field(default_factory=dict)
    languages: dict[str, int] = Field(default_factory=dict)
    files: int = 0
    size: int = 0
    texts: int = 0
    vectors: int = 0
    problems: int = 0


class IngestStage(StrEnum):
    """Stage of an indexing run. ``paused`` after a kill or a stop, until resumed; ``done`` and ``failed`` are final."""

    READING = "reading"
    RELATING = "relating"
    EMBEDDING = "embedding"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"


class IngestState(Model):
    """Progress of an indexing run: ``done`` of ``total`` files, or texts while embedding; the present file; changes so
    far.

    ``cut``: see ``Project``.
    """

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

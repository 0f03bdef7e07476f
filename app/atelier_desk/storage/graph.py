"""The rows of a project's graph and their ids, for who makes them and who keeps them. A process that reads files needs no more than this
of the storage."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from atelier_desk.domain.project import EntityKind

DIGITS = frozenset("0123456789abcdef")
"""What ids are made of."""
PROJECT_DIGITS, FILE_DIGITS, ENTITY_DIGITS = 8, 10, 8
NO_FILE = "0" * FILE_DIGITS
"""The file part of the ids of packages, which stand in no file."""


def project_key(project_id: str) -> str:
    """What the ids of everything in a project begin with."""
    return project_id[-PROJECT_DIGITS:]


def file_key(project_id: str, path: str) -> str:
    """What the ids of everything in a file begin with; the id of its row."""
    return file_key_of(project_key(project_id), path)


def file_key_of(key: str, path: str) -> str:
    """The same by the key of the project."""
    return key + _digest(path, FILE_DIGITS)


def file_entity(key: str) -> str:
    """The id of the entity that a file itself is."""
    return key + "0" * ENTITY_DIGITS


def entity_id(key: str, kind: str, qualified: str) -> str:
    """The id of an entity in a file."""
    return key + _digest(f"{kind}:{qualified}", ENTITY_DIGITS)


def package_of(key: str, name: str) -> str:
    """The id of a package that files of a project import; ``key`` is the project's."""
    return entity_id(key + NO_FILE, EntityKind.PACKAGE, name)


def is_entity_id(text: str) -> bool:
    """Whether a text has the shape of an entity's id."""
    return len(text) == PROJECT_DIGITS + FILE_DIGITS + ENTITY_DIGITS and set(text) <= DIGITS


def _digest(text: str, digits: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=digits // 2).hexdigest()


class FileState(NamedTuple):
    """What is known of a file that was looked at. ``related``: its relations are written. ``problem``: JSON of a pair, the English sentence
    and the values of its placeholders; empty without one."""

    path: str
    hash: str
    size: int
    kind: str
    language: str
    related: bool
    problem: str
    skipped: bool


class EntityRow(NamedTuple):
    """An entity with what a search needs: ``digest`` names the text that is embedded, ``terms`` are its words (see ``storage.stems``)."""

    id: str
    kind: str
    type: str
    name: str
    qualified: str
    path: str
    language: str
    start_line: int
    end_line: int
    signature: str
    docstring: str
    text: str
    parent: str
    digest: str
    terms: bytes


class Edge(NamedTuple):
    """A relation: ids of the entities, the kind, the confidence and the line."""

    source: str
    target: str
    kind: str
    confidence: float
    line: int


class LightRow(NamedTuple):
    """What an index is told of an entity."""

    id: str
    kind: str
    type: str
    name: str
    qualified: str
    path: str
    language: str
    start_line: int
    end_line: int
    parent: str
    digest: str
    terms: bytes


@dataclass(slots=True)
class FileWrite:
    """One file as it is now: its row, its entities, and the ids of those that it had and has no longer."""

    state: FileState
    symbols: str
    entities: list[EntityRow] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

"""Rows and ids of a project graph.

Separate from the repositories because processes that read files need nothing else of ``storage``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

from atelier_desk.domain.project import EntityKind

DIGITS = frozenset("0123456789abcdef")
"""Characters of ids."""
PROJECT_DIGITS, FILE_DIGITS, ENTITY_DIGITS = 8, 10, 8
NO_FILE = "0" * FILE_DIGITS
"""File part of the ids of packages, which belong to no file."""


def project_key(project_id: str) -> str:
    """Return the common prefix of all ids in a project."""
    return project_id[-PROJECT_DIGITS:]


def file_key(project_id: str, path: str) -> str:
    """Return the common prefix of all ids in a file; also the id of the file's row."""
    return file_key_of(project_key(project_id), path)


def file_key_of(key: str, path: str) -> str:
    """Like ``file_key``, from the key of the project."""
    return key + _digest(path, FILE_DIGITS)


def file_entity(key: str) -> str:
    """Return the id of the entity that represents a file."""
    return key + "0" * ENTITY_DIGITS


def entity_id(key: str, kind: str, qualified: str) -> str:
    """Return the id of an entity in a file."""
    return key + _digest(f"{kind}:{qualified}", ENTITY_DIGITS)


def package_of(key: str, name: str) -> str:
    """Return the id of a package that a project imports; ``key`` is the project's."""
    return entity_id(key + NO_FILE, EntityKind.PACKAGE, name)


def is_entity_id(text: str) -> bool:
    """Whether a text has the form of an entity id."""
    return len(text) == PROJECT_DIGITS + FILE_DIGITS + ENTITY_DIGITS and set(text) <= DIGITS


def _digest(text: str, digits: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=digits // 2).hexdigest()


class FileState(NamedTuple):
    """State of a file that was read.

    ``related``: its relations are stored. ``problem``: JSON pair of the English sentence and its placeholder values;
    empty if there is none.
    """

    path: str
    hash: str
    size: int
    kind: str
    language: str
    related: bool
    problem: str
    skipped: bool


class EntityRow(NamedTuple):
    """An entity with what a search needs.

    ``digest`` identifies the embedded text, ``terms`` are its words (see ``storage.memory_index_entry``).
    """

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
    """A relation: ids of both entities, kind, confidence and line."""

    source: str
    target: str
    kind: str
    confidence: float
    line: int


class LightRow(NamedTuple):
    """The part of an entity that an index needs."""

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
    """The new state of one file: its row, its entities, and the ids of entities it no longer has."""

    state: FileState
    symbols: str
    entities: list[EntityRow] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

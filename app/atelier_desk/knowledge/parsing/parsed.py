"""What is found in one file. All of it can be pickled; lines count from 1 and are inclusive, indexes from 0, and index -1 is the file
itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Scope(NamedTuple):
    """A class, function, method and so on.

    Attributes:
        type: ``class``, ``function``, ``method``, ``interface``, ``struct``, ``enum``, ``trait``, ``impl``, ``module``, ``namespace``,
            ``type``, ``constant``, ``table``, ``rule``, ``element`` …
        qualified: its name from the top of the file, parts joined by ``.``; unique within the file (``name#2`` where the source says it
            twice).
        parent: index of the scope that it stands in.
        start, end: its bytes in the text of the file as UTF-8 without a byte order mark, end exclusive.
        signature: one line as the source writes it, without its body; at most 500 characters.
        docstring: without quotes, indentation or comment signs; at most 4 000 characters.
    """

    type: str
    name: str
    qualified: str
    parent: int
    start_line: int
    end_line: int
    start: int
    end: int
    signature: str
    docstring: str


class Import(NamedTuple):
    """One imported name. ``module`` is as written (leading dots of relative ones kept); ``name`` is what is taken of it, ``*`` for all,
    empty for the module itself; ``alias`` is the name it has here, empty when nothing is bound."""

    module: str
    name: str
    alias: str
    scope: int
    line: int


class Reference(NamedTuple):
    """A use of something by its name, the first in its scope: ``kind`` is ``calls``, ``inherits`` or ``mentions``. ``chain`` is the dotted
    name as written (``self``, ``store``, ``save`` for ``self.store.save()``); ``f()`` is what calling ``f`` gives, ``items[]`` an element;
    a part that is nothing of these is an empty string."""

    kind: str
    chain: tuple[str, ...]
    scope: int
    line: int


class Binding(NamedTuple):
    """What a name stands for, where the source says it: ``chain`` is its value, ``Store()`` for an annotation ``Store`` as for a
    constructor call. ``name`` is ``self.store`` for an attribute, ``()`` for what the scope gives when called, ``default`` for what a
    script exports; ``items[]`` for each element of a collection."""

    name: str
    chain: tuple[str, ...]
    scope: int


class Section(NamedTuple):
    """A part of a document under its heading (or a page, a cell, a paragraph group where there are no headings). ``text`` without the
    sections below it."""

    title: str
    level: int
    parent: int
    start_line: int
    end_line: int
    text: str


class Link(NamedTuple):
    """A link or an embedded picture of a document: where it leads, as written, its words, the index of its section, and whether it is a
    picture."""

    target: str
    words: str
    section: int
    line: int
    picture: bool


@dataclass(slots=True)
class Parsed:
    """One file.

    Attributes:
        kind: ``code``, ``document`` or ``image``.
        language: such as ``python``, ``typescript``, ``markdown``, ``pdf``; ``text`` for other text.
        lines: how many there are.
        error_lines: where the grammar did not understand the source, the first 20.
        package: the package or module that the file says it belongs to (Java, Go, C#, PHP, …).
        text: what a picture says; of code, what the file says of itself.
        source: the code that the places of the scopes count in, where that is not the file itself (a notebook).
    """

    kind: str
    language: str
    lines: int = 0
    scopes: list[Scope] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    error_lines: list[int] = field(default_factory=list)
    package: str = ""
    text: str = ""
    source: str = ""

"""Result of parsing one file.

All classes can be pickled. Lines count from 1 and are inclusive, indexes count from 0; index -1 is the file itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Scope(NamedTuple):
    """A class, function, method and so on.

    Attributes:
        type: ``class``, ``function``, ``method``, ``interface``, ``struct``, ``enum``, ``trait``, ``impl``, ``module``,
            ``namespace``, ``type``, ``constant``, ``table``, ``rule``, ``element`` …
        qualified: its name from the top of the file, parts joined by ``.``; unique within the file (``name#2`` for a
            repeated name).
        parent: index of the enclosing scope.
        start, end: its bytes in the text of the file as UTF-8 without a byte order mark, end exclusive.
        signature: its source without the body, on one line; at most 500 characters.
        docstring: without quotes, indentation and comment signs; at most 4 000 characters.
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
    """One imported name.

    ``module`` is as written (with leading dots of relative imports); ``name`` is the imported name, ``*`` for all,
    empty for the module itself; ``alias`` is the local name, empty when nothing is bound.
    """

    module: str
    name: str
    alias: str
    scope: int
    line: int


class Reference(NamedTuple):
    """The first use of a name in a scope; ``kind`` is ``calls``, ``inherits`` or ``mentions``.

    ``chain`` is the dotted name as written (``self``, ``store``, ``save`` for ``self.store.save()``); ``f()`` is the
    result of calling ``f``, ``items[]`` an element; parts of any other form are empty strings.
    """

    kind: str
    chain: tuple[str, ...]
    scope: int
    line: int


class Binding(NamedTuple):
    """The value of a name, where the source tells it.

    ``chain`` is the value: ``Store()`` for an annotation ``Store`` as for a constructor call. ``name`` is
    ``self.store`` for an attribute, ``()`` for the return value of the scope, ``default`` for a script's default
    export, ``items[]`` for each element of a collection.
    """

    name: str
    chain: tuple[str, ...]
    scope: int


class Section(NamedTuple):
    """A part of a document under its heading (or a page, a cell, a group of paragraphs).

    ``text`` excludes its subsections.
    """

    title: str
    level: int
    parent: int
    start_line: int
    end_line: int
    text: str


class Link(NamedTuple):
    """A link or embedded picture of a document.

    Target as written, text, index of its section, and whether it is a picture.
    """

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
        lines: number of lines.
        error_lines: lines of the first 20 syntax errors.
        package: the package or module the file declares (Java, Go, C#, PHP, …).
        text: recognised text of an image; for code, the file's own documentation.
        source: the code that the positions of scopes refer to, if it is not the file itself (a notebook).
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

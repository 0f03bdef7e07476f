"""The part of a file that matters to other files: its definitions and references.

Small, so that those of a whole project fit into memory.
"""

from __future__ import annotations

import marshal
import re
from dataclasses import dataclass
from typing import NamedTuple

from atelier_desk.knowledge.parsing.parsed_file import Parsed, Reference

MENTIONS = 200
"""Maximum code names looked up per section."""
_QUOTED = re.compile(r"`{1,2}([^`\n]{2,120})`{1,2}")
_WORD = re.compile(r"(?<![\w./-])([A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*)(\(\))?(?![\w/-])")
_CAMEL = re.compile(r"[A-Z]\w*[a-z]\w*[A-Z]|[a-z]+[A-Z]")
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(?:\(.*\))?\Z")


class Symbol(NamedTuple):
    """A scope, or a section of a document (type ``section``), as a target of references.

    Its index is that in ``Parsed``.
    """

    type: str
    name: str
    qualified: str
    parent: int


class Imported(NamedTuple):
    module: str
    name: str
    alias: str
    scope: int
    line: int


class Bound(NamedTuple):
    name: str
    chain: tuple[str, ...]
    scope: int


class Target(NamedTuple):
    """A link as written."""

    target: str
    section: int
    line: int


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """The symbols of one file.

    Attributes:
        references: packed, see ``refers``; each kind, chain and scope once, with its first line.
        names: every name that the file uses, in any part of a chain.
    """

    path: str
    kind: str
    language: str
    package: str
    symbols: tuple[Symbol, ...]
    imports: tuple[Imported, ...]
    bindings: tuple[Bound, ...]
    links: tuple[Target, ...]
    references: bytes
    names: frozenset[str]

    @property
    def refers(self) -> list[Reference]:
        """Return its references."""
        return [
            Reference(kind, tuple(chain), scope, line)
            for kind, chain, scope, line in marshal.loads(self.references)  # noqa: S302
        ]


def symbols(path: str, parsed: Parsed) -> FileSymbols:
    """Return the symbols of a file for ``resolve``.

    ``path`` is relative to the project with ``/``, or a page's address.
    """
    # indexes in a document are those of its sections, so references of its code belong to the file
    code = parsed.kind == "code"
    references: dict[tuple[str, tuple[str, ...], int], int] = {}
    for reference in parsed.references:
        references.setdefault((reference.kind, reference.chain, reference.scope if code else -1), reference.line)
    known: tuple[Symbol, ...]
    if code:
        known = tuple(Symbol(scope.type, scope.name, scope.qualified, scope.parent) for scope in parsed.scopes)
    else:
        known = tuple(Symbol("section", section.title, section.title, section.parent) for section in parsed.sections)
        for index, section in enumerate(parsed.sections):
            for chain in _mentioned(section.title + "\n" + section.text):
                references.setdefault(("mentions", chain, index), section.start_line)
    names = {_bare(part) for _kind, chain, _scope in references for part in chain}
    names.update(_bare(part) for binding in parsed.bindings for part in binding.chain)
    for each in parsed.imports:
        names.update(re.split(r"[./\\:]+", each.module))
        names.add(each.name)
    names.discard("")
    packed = marshal.dumps([(kind, chain, scope, line) for (kind, chain, scope), line in references.items()])
    return FileSymbols(
        path, parsed.kind, parsed.language, parsed.package, known,
        tuple(Imported(*each) if code else Imported(*each)._replace(scope=-1) for each in parsed.imports),
        tuple(Bound(*each) for each in parsed.bindings if code or each.scope < 0),
        tuple(Target(link.target, link.section, link.line) for link in parsed.links), packed, frozenset(names),
    )  # fmt: skip


def _bare(part: str) -> str:
    return part.rstrip("()[]")


def _mentioned(text: str) -> list[tuple[str, ...]]:
    """Return possible code names in a text: quoted as code, called, dotted, or compound words."""
    found: dict[tuple[str, ...], None] = {}
    for match in _QUOTED.finditer(text):
        name = match[1].strip()
        if _PLAIN.match(name):
            found[tuple(re.split(r"\.|::|#", name.partition("(")[0]))] = None
    for match in _WORD.finditer(text[:50_000]):
        word = match[1]
        if len(word) > 3 and (match[2] or "_" in word.strip("_") or "." in word or ":" in word or _CAMEL.match(word)):
            found[tuple(re.split(r"\.|::", word))] = None
        if len(found) >= MENTIONS:
            break
    return list(found)

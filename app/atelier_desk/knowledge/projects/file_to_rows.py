"""Convert the bytes of one file to its stored rows. Pure, for a process that does nothing else."""

from __future__ import annotations

import base64
import hashlib
import marshal
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from atelier_desk.domain.project import EntityKind
from atelier_desk.knowledge.parsing.charset import decode
from atelier_desk.knowledge.parsing.parse import GRAMMARS_VERSION, language_of, parse, parse_image
from atelier_desk.knowledge.parsing.symbols import Bound, FileSymbols, Imported, Symbol, Target, symbols
from atelier_desk.knowledge.projects.entity_rows import to_json
from atelier_desk.knowledge.projects.entity_texts import WORDS, digest, terms
from atelier_desk.storage.project_graph_rows import EntityRow, entity_id, file_entity
from atelier_desk.storage.search_terms import words
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.knowledge.parsing.parsed_file import Parsed, Scope

NOT_UNDERSTOOD = N_("Lines that could not be parsed: {lines}; the rest was read.")
NO_TEXT = N_("No text was found: the pages may be images.")
MAX_STORED_CHARACTERS = 600
"""Characters stored of a scope's source, for previews and vectors; the rest is read from the file."""
BODY = 12 * WORDS
"""Characters of a section whose words are searchable."""
SECTION = 8_000
"""Characters stored of a document section: some documents cannot be read by line."""
FORM = 3
"""Change it when this module's output changes."""
_CALLED = frozenset({"function", "method"})
MOST = 20_000
"""Maximum entities per file."""


class StoredFile(NamedTuple):
    """Data needed to relate a file to others.

    The ids of its scopes (or document sections) by index, and its symbols.
    """

    ids: list[str]
    symbols: FileSymbols


def version() -> str:
    """Return the prefix of this version's hashes: a file is read again when its result would differ."""
    return hashlib.blake2b(f"{FORM}:{GRAMMARS_VERSION}".encode(), digest_size=4).hexdigest()


def hash_of(data: bytes) -> str:
    """Return the hash of a file's content for this version of the reader."""
    return version() + hashlib.blake2b(data, digest_size=16).hexdigest()


def is_read(path: str, data: bytes) -> bool:
    """Whether a file is text that can be read."""
    return language_of(path, data[:8_192]) is not None


def read(key: str, path: str, data: bytes) -> dict[str, Any]:
    """Return the stored data of a file as JSON values.

    Keys: ``kind``, ``language``, ``entities`` (``EntityRow``, terms in base64), ``symbols`` and, if not everything was
    understood, ``problem`` (a translatable text and its values).

    Args:
        key: prefix of the ids of its entities.

    Raises:
        ParseError: it cannot be read; the message says why.
    """
    return _rows(key, path, parse(path, data), data)


def read_page(key: str, address: str, title: str, data: bytes) -> dict[str, object]:
    """Like ``read`` for a web page, given as Markdown."""
    made = _rows(key, address, parse("page.md", data), data, page=title or address)
    return {**made, "kind": "page", "problem": None}


def read_picture(key: str, path: str, said: str) -> dict[str, object]:
    """Like ``read`` for an image, given its recognised text."""
    return _rows(key, path, parse_image(said), b"")


def _rows(key: str, path: str, found: Parsed, data: bytes, *, page: str = "") -> dict[str, object]:
    scopes = [entity_id(key, EntityKind.SCOPE, scope.qualified) for scope in found.scopes]
    sections = list(_section_ids(key, found))
    plain = (found.source or decode(data)).encode("utf-8", "replace")
    rows = [
        _file(key, path, found, page),
        *_scopes(key, path, found, plain, scopes),
        *_sections(key, path, found, sections),
    ]
    rows += _imports(key, path, found, scopes)
    unique = {row.id: row for row in rows[:MOST]}
    return {
        "kind": found.kind,
        "language": found.language,
        "entities": [to_json(row) for row in unique.values()],
        "symbols": packed(scopes if found.kind == "code" else sections, symbols(path, found)),
        "problem": _problem(found),
    }


def packed(ids: list[str], file: FileSymbols) -> str:
    """Serialise the symbols of a file. Never unpack untrusted input: ``marshal`` is not safe."""
    lists = [tuple(map(tuple, each)) for each in (file.symbols, file.imports, file.bindings, file.links)]
    values: Any = (ids, file.path, file.kind, file.language, file.package, *lists, file.references, file.names)
    return base64.b64encode(zlib.compress(marshal.dumps(values), 1)).decode()


def unpacked(text: str) -> StoredFile:
    """Inverse of ``packed``."""
    ids, path, kind, language, package, *lists, references, names = marshal.loads(  # noqa: S302
        zlib.decompress(base64.b64decode(text))
    )
    symbols_, imports, bindings, links = lists
    made = FileSymbols(
        path, kind, language, package, tuple(Symbol(*each) for each in symbols_),
        tuple(Imported(*each) for each in imports),
        tuple(Bound(*each) for each in bindings), tuple(Target(*each) for each in links), references, names,
    )  # fmt: skip
    return StoredFile(ids, made)


def _problem(found: Parsed) -> tuple[str, dict[str, object]] | None:
    """Return the message about syntax errors, if any."""
    if found.language == "pdf" and not any(section.text.strip() for section in found.sections):
        return NO_TEXT, {}
    return (NOT_UNDERSTOOD, {"lines": ", ".join(map(str, found.error_lines[:5]))}) if found.error_lines else None


def _file(key: str, path: str, found: Parsed, page: str) -> EntityRow:
    name = page[:500] or path.rsplit("/", 1)[-1]
    kind = {"image": EntityKind.IMAGE, "document": EntityKind.DOCUMENT}.get(found.kind, EntityKind.FILE)
    if page:
        kind = EntityKind.PAGE
    text = found.text[:SECTION] if found.kind == "image" else ""
    lines = 0 if found.kind == "image" else found.lines
    outline = " ".join(scope.name for scope in found.scopes if scope.parent < 0) or " ".join(
        section.title for section in found.sections
    )
    text_or_outline = text or outline[:2_000]
    vector = digest(kind, name, "", "", text_or_outline) if text_or_outline else ""
    return EntityRow(
        file_entity(key), kind, found.kind, name, path, path, found.language, 1 if lines else 0, lines,
        "", "", text_or_outline, "", vector, terms(name, path, "", words(text_or_outline)),
    )  # fmt: skip


def _scopes(key: str, path: str, found: Parsed, data: bytes, ids: list[str]) -> Iterator[EntityRow]:
    lines = [words(line) for line in data.decode("utf-8", "replace").split("\n")] if found.scopes else []
    members = _members(found)
    for index, (scope, own) in enumerate(zip(found.scopes, ids, strict=True)):
        text = data[scope.start : min(scope.end, scope.start + 4 * MAX_STORED_CHARACTERS)].decode("utf-8", "replace")[
            :MAX_STORED_CHARACTERS
        ]
        body = list(islice(chain.from_iterable(_own_lines(lines, scope, members.get(index, ()))), WORDS))
        parent = ids[scope.parent] if scope.parent >= 0 else file_entity(key)
        vector = digest("scope", scope.qualified, scope.signature, scope.docstring, text)
        yield EntityRow(
            own, EntityKind.SCOPE, scope.type, scope.name, scope.qualified, path, found.language, scope.start_line,
            scope.end_line,
            scope.signature, scope.docstring, text, parent, vector,
            terms(scope.name, path, scope.docstring, body, scope.qualified),
        )  # fmt: skip


def _members(found: Parsed) -> dict[int, list[Scope]]:
    """Return the members of each class-like scope by its index; nested functions stay part of their function's text."""
    members: dict[int, list[Scope]] = {}
    for scope in found.scopes:
        if scope.parent >= 0 and found.scopes[scope.parent].type not in _CALLED:
            members.setdefault(scope.parent, []).append(scope)
    return members


def _own_lines(lines: list[list[str]], scope: Scope, members: Sequence[Scope]) -> Iterator[list[str]]:
    """Yield the words of a scope's lines.

    Only the first line of each member counts; otherwise a class would rank above its own methods for all that they do.
    """
    at = scope.start_line
    for member in members:
        yield from islice(lines, at - 1, max(at - 1, member.start_line))
        at = max(at, member.end_line + 1, member.start_line + 1)
    yield from islice(lines, at - 1, max(at - 1, scope.end_line))


def _section_ids(key: str, found: Parsed) -> Iterator[str]:
    """Yield section ids; repeated headings get distinct ids."""
    seen: dict[str, int] = {}
    for section in found.sections:
        number = seen[section.title] = seen.get(section.title, 0) + 1
        yield entity_id(key, EntityKind.SECTION, section.title if number == 1 else f"{section.title}#{number}")


def _sections(key: str, path: str, found: Parsed, ids: list[str]) -> Iterator[EntityRow]:
    for section, own in zip(found.sections, ids, strict=True):
        name = " ".join(section.title.split()) or f"{path.rsplit('/', 1)[-1]}:{section.start_line}"
        parent = ids[section.parent] if section.parent >= 0 else file_entity(key)
        text = section.text[:SECTION]
        vector = digest("section", name, "", "", text) if text or section.title else ""
        yield EntityRow(
            own, EntityKind.SECTION, f"level {section.level}", name[:500], name[:500], path, found.language,
            section.start_line, section.end_line, "", "", text, parent, vector,
            terms(name, path, "", words(section.text[:BODY])),
        )  # fmt: skip


def _imports(key: str, path: str, found: Parsed, scopes: list[str]) -> Iterator[EntityRow]:
    seen: dict[str, int] = {}
    for each in found.imports:
        full = f"{each.module}.{each.name}" if each.name and each.name != "*" else each.module
        number = seen[full] = seen.get(full, 0) + 1
        own = entity_id(key, EntityKind.IMPORT, full if number == 1 else f"{full}#{number}")
        parent = scopes[each.scope] if 0 <= each.scope < len(scopes) else file_entity(key)
        statement = f"{full} as {each.alias}" if each.alias and each.alias != (each.name or each.module) else full
        yield EntityRow(
            own, EntityKind.IMPORT, "", each.alias or each.name or each.module, full, path, found.language, each.line,
            each.line,
            statement[:500], "", "", parent, "", b"",
        )  # fmt: skip

"""Resolve relations between the files of a project (imports, calls, inherits, mentions, links), with a confidence.

Confidence: 1 where the source is explicit (an import, a name defined in reach, a method of ``self``), .9 through
inheritance, less where only a name decides. Calls into other packages create no relation; their imports do, to the
package.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from atelier_desk.knowledge.parsing.import_targets import Places
from atelier_desk.knowledge.parsing.name_lookup_tables import CLASSES, FAMILIES, Value
from atelier_desk.knowledge.parsing.name_resolution import Evaluator
from atelier_desk.knowledge.parsing.parsed_file import Reference
from atelier_desk.knowledge.parsing.symbols import FileSymbols

MOST_GUESSES = 3
"""Maximum candidates for a call on an unknown value; with more, none is used."""
COMMON = frozenset((
    "get", "set", "add", "append", "pop", "remove", "clear", "copy", "update", "items", "keys", "values", "index",
    "count", "insert",
    "sort", "reverse", "extend", "join", "split", "strip", "replace", "find", "format", "encode", "decode", "read",
    "write", "close",
    "open", "flush", "seek", "start", "stop", "run", "send", "put", "push", "next", "length", "map", "filter", "reduce",
    "forEach",
    "slice", "concat", "then", "catch", "toString", "hasOwnProperty", "call", "apply", "bind", "test", "exec", "match",
    "log", "error",
    "warn", "info", "debug", "exception", "print", "len", "size", "len", "is_empty", "equals", "hashCode", "iter",
    "into", "unwrap",
    "clone", "from", "new", "default", "to_string", "as_str", "as_ref", "collect", "ok", "err", "expect", "Error",
    "String", "Close",
    "Read", "Write", "Lock", "Unlock", "Len", "begin", "end", "first", "last", "each", "inspect", "to_s", "include",
    "name",
))  # fmt: skip
"""Names common in libraries: a call on an unknown value does not suggest the project's own function."""


class Resolved(NamedTuple):
    """A relation.

    ``source_index`` and ``target_index`` are indexes of scopes, or of sections in a document; -1 is the file itself.
    Either ``target_path`` is a file of the project, or ``package`` is the name of an external package.
    """

    kind: str
    source_path: str
    source_index: int
    target_path: str
    target_index: int
    package: str
    confidence: float
    line: int


@dataclass(frozen=True)
class Resolution:
    """All outgoing relations of the files ``sources``; they replace earlier ones."""

    sources: frozenset[str]
    relations: Iterator[Resolved]


class _Add(Protocol):
    def __call__(self, kind: str, source: int, target: Value, line: int, sure: float = 1.0) -> None: ...


class Resolver:
    """The names of a project's files, kept between indexing runs. Not thread-safe."""

    def __init__(self, files: Iterable[FileSymbols] = ()) -> None:
        self.files: dict[str, FileSymbols] = {}
        self._places = Places()
        self._packages: dict[str, set[str]] = {}
        self._by_name: dict[str, set[tuple[str, int]]] = {}
        self._evaluator = Evaluator(self.files, self._places, self._packages)
        self._stale: set[str] = set()
        self._changed: set[str] = set()
        for file in files:
            self.update(file)

    def update(self, file: FileSymbols) -> None:
        """Add or replace a file."""
        before = self.files.get(file.path)
        self._changed |= _difference(before, file)
        if before is not None:
            self._drop(before)
        self.files[file.path] = file
        self._places.add(file.path)
        if file.package and file.kind == "document":
            self._evaluator.manifests[f"{posixpath.basename(file.path)}:{file.package}"] = posixpath.dirname(file.path)
        for package in _packages(file):
            self._packages.setdefault(package, set()).add(file.path)
        for index, symbol in enumerate(file.symbols):
            if symbol.type != "section":
                self._by_name.setdefault(symbol.name, set()).add((file.path, index))
        self._stale.add(file.path)
        self._evaluator.invalidate(file.path)

    def remove(self, path: str) -> None:
        """Remove a file."""
        before = self.files.get(path)
        if before is not None:
            self._changed |= _difference(before, None)
            self._drop(before)
            self._stale.discard(path)
            self._evaluator.invalidate(path)

    def _drop(self, file: FileSymbols) -> None:
        del self.files[file.path]
        self._places.remove(file.path)
        self._evaluator.manifests.pop(f"{posixpath.basename(file.path)}:{file.package}", None)
        for package in _packages(file):
            self._packages.get(package, set()).discard(file.path)
            if not self._packages.get(package):
                self._packages.pop(package, None)
        for index, symbol in enumerate(file.symbols):
            found = self._by_name.get(symbol.name)
            if found is not None:
                found.discard((file.path, index))
                if not found:
                    del self._by_name[symbol.name]

    def resolution(self) -> Resolution:
        """Return relations that may have changed since the last call.

        They are those of updated files, and of files that use a name that an updated file added, dropped or redefined.
        """
        sources = set(self._stale)
        if self._changed:
            changed = self._changed
            if len(sources) < len(self.files):
                sources.update(
                    path
                    for path, file in self.files.items()
                    if not file.names.isdisjoint(changed) or (file.links and _linked(file, changed))
                )
        self._stale, self._changed = set(), set()
        return Resolution(frozenset(sources), self._relations(sorted(sources)))

    def _relations(self, paths: Iterable[str]) -> Iterator[Resolved]:
        for path in paths:
            if path in self.files:
                yield from self.of(path)

    def of(self, path: str) -> list[Resolved]:
        """Return all outgoing relations of a file."""
        file = self.files[path]
        found: dict[tuple[str, int, str, int, str], Resolved] = {}

        def add(kind: str, source: int, target: Value, line: int, sure: float = 1.0) -> None:
            outside = target.kind == "outside"
            if target.kind in {"folder", "package"}:
                return
            if (outside and not target.path) or (
                not outside and target.path == path and target.scope == source and kind != "calls"
            ):
                return
            key = (kind, source, "" if outside else target.path, target.scope, target.path if outside else "")
            confidence = round(min(sure, target.sure), 2)
            if key not in found or found[key].confidence < confidence:
                found[key] = Resolved(kind, path, source, key[2], target.scope, key[4], confidence, line)

        self._imports(file, add)
        for reference in file.refers:
            if reference.kind == "mentions":
                for target, sure in self._mentioned(reference):
                    add("mentions", reference.scope, target, reference.line, sure)
                continue
            for target, sure in self._meant(file, reference):
                add(reference.kind, reference.scope, target, reference.line, sure)
        for link in file.links:
            target_value = self._linked(file, link.target)
            if target_value is not None:
                add("links_to", link.section, target_value, link.line)
        return list(found.values())

    def _imports(self, file: FileSymbols, add: _Add) -> None:
        evaluator = self._evaluator
        for each in file.imports:
            module = evaluator.module(file.path, each)
            if (module.kind == "module" and module.path != file.path) or module.kind == "outside":
                add("imports", each.scope, module, each.line)
            value = evaluator.imported(file.path, each) if each.name and each.name != "*" else None
            if value is not None and value.kind in {"scope", "module"} and value.path != file.path:
                add("imports", each.scope, value, each.line)
            if module.kind in {"folder", "package"} and not each.name:
                for path in sorted(self._inside(module))[:100]:
                    add("imports", each.scope, Value("module", path), each.line)

    def _inside(self, module: Value) -> set[str]:
        if module.kind == "package":
            return self._packages.get(module.path, set())
        return {
            path
            for path in self._places.folders.get(module.path.rstrip("/"), set())
            if self.files[path].language == "go" and not path.endswith("_test.go")
        }

    def _meant(self, file: FileSymbols, reference: Reference) -> list[tuple[Value, float]]:
        scope = reference.scope
        if reference.kind == "inherits" and scope >= 0:
            scope = file.symbols[scope].parent
        chain = reference.chain
        if len(chain) == 1 and chain[0] in {"cls", "Self", "static"} and reference.kind == "calls":
            own = self._evaluator.tables(file.path).owner(scope)
            return [(Value("scope", file.path, own), 1.0)] if own >= 0 else []
        value = self._evaluator.chain(file.path, scope, chain)
        if value is None and chain[-1].endswith("[]"):  # a generic class or function called with type arguments
            value = self._evaluator.chain(file.path, scope, (*chain[:-1], chain[-1][:-2]))
        if value is not None:
            if value.kind == "scope":
                return [(value, 1.0)]
            if value.kind == "outside":
                return []
            if value.kind == "instance" and len(chain) > 0 and reference.kind == "calls":
                called = self._evaluator.member(value, "__call__")
                return [(called, 0.9)] if called is not None and called.kind == "scope" else []
            return []
        if reference.kind != "calls" or len(chain) < 2:
            return []
        return self._guessed(file, reference)

    def _guessed(self, file: FileSymbols, reference: Reference) -> list[tuple[Value, float]]:
        """Return candidate methods by name when the called value is unknown."""
        chain = reference.chain
        name = chain[-1]
        if name in COMMON or len(name) < 3:
            return []
        before = self._evaluator.chain(file.path, reference.scope, chain[:-1])
        if before is not None and before.kind in {"outside", "module", "folder"}:
            return []
        family = FAMILIES.get(file.language, file.language)
        found = [
            (path, index)
            for path, index in self._by_name.get(name, ())
            if FAMILIES.get(self.files[path].language, self.files[path].language) == family
            and self.files[path].symbols[index].type in {"method", "function"}
            and (self.files[path].symbols[index].parent >= 0 or "." in self.files[path].symbols[index].qualified)
        ]
        if not 0 < len(found) <= MOST_GUESSES:
            return []
        return [(Value("scope", *each), 0.5 if len(found) == 1 else 0.3) for each in sorted(found)]

    def _mentioned(self, reference: Reference) -> list[tuple[Value, float]]:
        chain = reference.chain
        found = self._by_name.get(chain[-1], set())
        if len(chain) > 1:
            owner = chain[-2]
            found = {each for each in found if owner in self._around(*each)}
        if not found:
            return []
        tops = {each for each in found if self.files[each[0]].symbols[each[1]].parent < 0}
        if len(tops) == 1 and len(chain) == 1:
            found = tops
        if len(found) > MOST_GUESSES:
            return []
        return [(Value("scope", *each), 0.9 if len(found) == 1 else 0.5) for each in sorted(found)]

    def _around(self, path: str, index: int) -> set[str]:
        symbol = self.files[path].symbols[index]
        stem = posixpath.basename(path).split(".", 1)[0]
        return {*symbol.qualified.split(".")[:-1], stem, posixpath.basename(posixpath.dirname(path))}

    def _linked(self, file: FileSymbols, target: str) -> Value | None:
        address, _sharp, anchor = target.partition("#")
        if "://" in target:
            path = target if target in self.files else address if address in self.files else None
        elif not address:
            path = file.path
        else:
            path = self._places.file(address, file.path, ("", ".md", "/README.md", "/index.html", "/index.md"))
        if path is None or path not in self.files:
            return None
        if anchor and self.files[path].kind != "code":
            wanted = _slug(anchor)
            for index, symbol in enumerate(self.files[path].symbols):
                if _slug(symbol.name) == wanted:
                    return Value("scope", path, index)
        return None if path == file.path else Value("module", path)


def resolve(files: Mapping[str, FileSymbols], changed: Iterable[str] | None = None) -> Resolution:
    """Return all relations, or those of files affected by changes in ``changed``.

    Affected are the changed files (including deleted ones) and files that use their names. A reused ``Resolver`` knows
    the previous state of a changed file and does less work.
    """
    resolver = Resolver(files.values())
    if changed is None:
        return resolver.resolution()
    wanted = set(changed)
    resolver._stale = {path for path in wanted if path in files}
    resolver._changed = set()
    for path in wanted:
        file = files.get(path)
        resolver._changed |= _difference(None, file) if file is not None else _stems(path)
    return resolver.resolution()


def _packages(file: FileSymbols) -> Iterator[str]:
    """Yield the packages that contain a file, and their parents."""
    if file.package and file.kind == "code":
        family = FAMILIES.get(file.language, file.language)
        parts = file.package.split(".")
        for count in range(1, len(parts) + 1):
            yield f"{family}:{'.'.join(parts[:count])}"


def _difference(before: FileSymbols | None, after: FileSymbols | None) -> set[str]:
    """Return the names whose meaning for other files changed."""
    known = _surface(before) ^ _surface(after)
    names: set[str] = set()
    for each in known:
        names.update(part for part in re.split(r"[.\s/]+", each[1]) if part)
    either = before or after
    if either is not None and ((before is None) != (after is None) or (known and either.kind == "document")):
        names |= _stems(either.path)
    return {name.rstrip("()[]") for name in names} - {"", "self"}


def _stems(path: str) -> set[str]:
    stem = posixpath.basename(path).split(".", 1)[0]
    folder = posixpath.basename(posixpath.dirname(path))
    return {stem, folder, posixpath.basename(path)} - {""}


def _surface(file: FileSymbols | None) -> set[tuple[str, str, str]]:
    if file is None:
        return set()
    found = {("scope", symbol.qualified, symbol.type) for symbol in file.symbols}
    for name, chain, scope in file.bindings:
        home = file.symbols[scope].qualified if scope >= 0 else ""
        if name.startswith(("self.", "()")) or scope < 0 or file.symbols[scope].type in CLASSES:
            found.add(("bound", f"{home}.{name.removeprefix('self.')}", ".".join(chain)))
    for each in file.imports:
        if each.scope < 0:
            found.add(("import", each.alias or each.name, each.module))
    for reference in file.refers:
        if reference.kind == "inherits" and reference.scope >= 0:
            found.add(("base", file.symbols[reference.scope].qualified, ".".join(reference.chain)))
    found.add(("package", file.package, ""))
    return found


def _linked(file: FileSymbols, changed: set[str]) -> bool:
    return any(not changed.isdisjoint(re.split(r"[/#]", link.target)) for link in file.links)


def _slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")

"""Lookup tables of one file, and the possible meanings of a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from atelier_desk.knowledge.parsing.import_targets import Places
from atelier_desk.knowledge.parsing.symbols import FileSymbols, Imported

CLASSES = frozenset({"class", "interface", "struct", "trait", "enum", "record", "union", "object", "type"})
IMPLICIT = frozenset({"java", "csharp", "cpp", "c", "ruby"})
"""Languages in which members of a class are visible inside it without ``self``."""
FOLDERS = frozenset({"go"})
"""Languages whose package is a folder."""
PACKAGES = frozenset({"java", "csharp", "php"})
"""Languages whose package is a name, independent of folders."""
GLOBAL = frozenset({"ruby", "c", "cpp", "bash", "sql"})
"""Languages whose files see each other's names once loaded together."""
APART = frozenset({"go", "rust", "cpp", "ruby", "csharp"})
"""Languages that allow members of a type in other files."""
SELF = frozenset({"self", "cls", "this", "$this", "static", "Self", "@self"})
FAMILIES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}


class Value(NamedTuple):
    """The meaning of a name.

    ``module``: a file; ``folder``: a folder (``path`` ends with ``/``) or package; ``scope``: a definition;
    ``instance``: an instance of the class; ``above``: an instance seen as its base classes; ``outside``: part of
    another package (``path`` is its name).
    """

    kind: str
    path: str
    scope: int = -1
    sure: float = 1.0


class Tables:
    """Lookup tables of one file, built on first use."""

    def __init__(self, file: FileSymbols) -> None:
        self.file = file
        self.family = FAMILIES.get(file.language, file.language)
        self.children: dict[int, dict[str, int]] = {}
        for index, symbol in enumerate(file.symbols):
            home = self.children.setdefault(symbol.parent, {})
            if symbol.name not in home or file.symbols[home[symbol.name]].type in {"variable", "constant"}:
                home[symbol.name] = index
        self.bound: dict[int, dict[str, list[tuple[str, ...]]]] = {}
        for name, chain, scope in file.bindings:
            self.bound.setdefault(scope, {}).setdefault(name, []).append(chain)
        self.imported: dict[int, dict[str, list[Imported]]] = {}
        self.stars: list[Imported] = []
        for each in file.imports:
            if each.alias:
                self.imported.setdefault(each.scope, {}).setdefault(each.alias, []).append(each)
            elif each.name == "*" or file.language in {"c", "cpp", "ruby", "bash"}:
                self.stars.append(each)
        self.bases: dict[int, list[tuple[str, ...]]] = {}
        for reference in file.refers:
            if reference.kind == "inherits":
                self.bases.setdefault(reference.scope, []).append(reference.chain)
        self._attributes: dict[int, dict[str, list[tuple[tuple[str, ...], int]]]] | None = None

    def attributes(self, index: int) -> dict[str, list[tuple[tuple[str, ...], int]]]:
        """Return a class's attributes.

        The chains they are bound to in its body or methods, each with the scope to resolve it in.
        """
        if self._attributes is None:
            self._attributes = {}
            for name, chain, scope in self.file.bindings:
                owned = name.startswith("self.")
                home = self.owner(scope) if owned else scope
                if home >= 0 and (owned or self.file.symbols[home].type in CLASSES):
                    self._attributes.setdefault(home, {}).setdefault(name.removeprefix("self."), []).append(
                        (chain, scope)
                    )
        return self._attributes.get(index, {})

    def owner(self, scope: int) -> int:
        """Return the class around a scope, or the object that a function is assigned to; -1 outside all."""
        symbols = self.file.symbols
        at = scope
        while at >= 0:
            if symbols[at].type in CLASSES or symbols[at].type == "impl":
                return self._class(at)
            at = symbols[at].parent
        while scope >= 0 and symbols[scope].type != "method":
            scope = symbols[scope].parent
        return symbols[scope].parent if scope >= 0 else -1

    def _class(self, index: int) -> int:
        if self.file.symbols[index].type != "impl":
            return index
        wanted = self.file.symbols[index].name.rpartition(" ")[2]
        return next(
            (at for at, symbol in enumerate(self.file.symbols) if symbol.name == wanted and symbol.type in CLASSES),
            index,
        )


class Names(Protocol):
    """Interface of a project's names for the rules of a language."""

    files: dict[str, FileSymbols]
    places: Places
    packages: dict[str, set[str]]
    manifests: dict[str, str]

    def tables(self, path: str) -> Tables: ...

    def member(self, value: Value, name: str, depth: int) -> Value | None: ...

    def apart(self, family: str) -> Mapping[str, list[tuple[str, int]]]: ...

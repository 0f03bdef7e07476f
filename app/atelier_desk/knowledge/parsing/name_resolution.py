"""Resolve a dotted name in its context to a module, class, function or value."""

from __future__ import annotations

import posixpath

from atelier_desk.knowledge.parsing import import_targets_by_language
from atelier_desk.knowledge.parsing.import_targets import SCRIPTS, Places
from atelier_desk.knowledge.parsing.name_lookup_tables import (
    APART,
    CLASSES,
    FAMILIES,
    FOLDERS,
    GLOBAL,
    IMPLICIT,
    PACKAGES,
    SELF,
    Tables,
    Value,
)
from atelier_desk.knowledge.parsing.symbols import FileSymbols, Imported

DEPTH = 24
"""Maximum number of names followed one after the other."""


class Evaluator:
    """Resolves names in the files of one project. Results are cached until ``invalidate``."""

    def __init__(self, files: dict[str, FileSymbols], places: Places, packages: dict[str, set[str]]) -> None:
        self.files, self.places, self.packages = files, places, packages
        self._tables: dict[str, Tables] = {}
        self._names: dict[tuple[str, int, str], Value | None] = {}
        self._members: dict[tuple[Value, str], Value | None] = {}
        self._modules: dict[tuple[str, str], Value] = {}
        self._lines: dict[tuple[str, int], tuple[Value, ...]] = {}
        self._globals: dict[str, dict[str, list[tuple[str, int]]]] | None = None
        self._apart: dict[str, dict[str, list[tuple[str, int]]]] | None = None
        self.manifests: dict[str, str] = {}

    def invalidate(self, path: str) -> None:
        self._tables.pop(path, None)
        self._names.clear()
        self._members.clear()
        self._modules.clear()
        self._lines.clear()
        self._globals = self._apart = None

    def tables(self, path: str) -> Tables:
        found = self._tables.get(path)
        if found is None:
            found = self._tables[path] = Tables(self.files[path])
        return found

    def chain(self, path: str, scope: int, chain: tuple[str, ...], depth: int = DEPTH) -> Value | None:
        """Return what a chain refers to."""
        if depth <= 0 or not chain:
            return None
        value = self._first(path, scope, chain[0], depth - 1)
        for at, part in enumerate(chain[1:], 1):
            if value is None or not part:
                return None
            value = self._step(value, part, depth - 1, last=at == len(chain) - 1)
        return value

    def _first(self, path: str, scope: int, part: str, depth: int) -> Value | None:
        name, called = (part[:-2], True) if part.endswith("()") else (part, False)
        if part.endswith("()[]"):
            given = self.name(path, scope, part[:-4], depth)
            return self._called(given, depth, "()[]") if given is not None else None
        if (name in SELF or name in {"super", "parent", "base"}) and not (
            name == "super" and self.files[path].language == "rust"
        ):
            index = self.tables(path).owner(scope)
            if index < 0:
                return None
            if name in {"super", "parent", "base"} and (called or self.tables(path).family not in {"python", "rust"}):
                return Value("above", path, index)
            if name in SELF:
                return Value("instance", path, index)
        if name in {"crate", "super"} and self.files[path].language == "rust":
            return import_targets_by_language.rust_root(self, path, scope, name)
        value = self.name(path, scope, name, depth)
        return self._called(value, depth) if called and value is not None else value

    def _step(self, value: Value, part: str, depth: int, *, last: bool) -> Value | None:
        name, called = (part[:-2], True) if part.endswith("()") else (part, False)
        if value.kind == "outside":
            return value
        if part.endswith("()[]"):
            given = self.member(value, part[:-4], depth)
            return self._called(given, depth, "()[]") if given is not None else None
        found = self.member(value, name, depth)
        if found is None:
            return None
        if called:
            return self._called(found, depth)
        if not last and found.kind == "scope" and self._type(found) in {"method", "function"}:
            return self._called(found, depth)  # a property: its value
        return found

    def _type(self, value: Value) -> str:
        return self.files[value.path].symbols[value.scope].type if value.scope >= 0 else ""

    def _called(self, value: Value, depth: int, what: str = "()") -> Value | None:
        """Return the result of calling a value, or with ``()[]`` each element of the result."""
        if value.kind in {"outside", "instance"}:
            return value if value.kind == "outside" else None
        if value.kind != "scope":
            return None
        type_ = self._type(value)
        if type_ in CLASSES and what == "()":
            return Value("instance", value.path, value.scope, value.sure)
        for chain in self.tables(value.path).bound.get(value.scope, {}).get(what, ()):
            found = self.chain(value.path, value.scope, chain, depth - 1)
            if found is not None:
                return found
        return None

    def name(self, path: str, scope: int, name: str, depth: int = DEPTH) -> Value | None:
        key = (path, scope, name)
        if key in self._names:
            return self._names[key]
        if depth <= 0:
            return None
        self._names[key] = None  # a name that refers to itself has no meaning
        found = self._names[key] = self._name(path, scope, name, depth)
        return found

    def _name(self, path: str, scope: int, name: str, depth: int) -> Value | None:
        tables = self.tables(path)
        symbols = tables.file.symbols
        implicit = tables.file.language in IMPLICIT
        at = scope
        while True:
            is_class = at >= 0 and symbols[at].type in CLASSES
            if not is_class or at == scope or implicit or name.endswith("[]"):
                found = self._within(tables, at, name, depth)
                if found is not None:
                    return found
            if is_class and implicit:
                found = self.member(Value("instance", path, at), name, depth - 1)
                if found is not None:
                    return found
            if at < 0:
                break
            if symbols[at].type == "method" and implicit and symbols[at].parent < 0:
                owner = self._owner_elsewhere(tables, at, depth)
                found = self.member(owner, name, depth - 1) if owner is not None else None
                if found is not None:
                    return found
            at = symbols[at].parent
        return self._beyond(tables, name, depth)

    def _owner_elsewhere(self, tables: Tables, index: int, depth: int) -> Value | None:
        """Return the class of a method that is written outside it, in another file."""
        owner = tables.file.symbols[index].qualified.rpartition(".")[0].rpartition(".")[2]
        found = self._beyond(tables, owner, depth - 1) if owner else None
        return Value("instance", found.path, found.scope) if found is not None and found.kind == "scope" else None

    def _within(self, tables: Tables, scope: int, name: str, depth: int) -> Value | None:
        """Return the meaning of a name that this scope itself defines."""
        path = tables.file.path
        for chain in tables.bound.get(scope, {}).get(name, ()):
            found = self.chain(path, scope, chain, depth - 1)
            if found is not None:
                return found
        index = tables.children.get(scope, {}).get(name)
        if index is not None:
            return Value("scope", path, index)
        for each in tables.imported.get(scope, {}).get(name, ()):
            found = self.imported(path, each, depth - 1)
            if found is not None:
                return found
        return None

    def _beyond(self, tables: Tables, name: str, depth: int) -> Value | None:
        """Return the meaning of a name from outside the file: of its package, or from a star import."""
        file = tables.file
        for each in tables.stars:
            module = self.module(file.path, each)
            found = self.member(module, name, depth - 1) if module.kind in {"module", "folder", "scope"} else None
            if found is not None and found.kind != "outside":
                return found
        if file.language in FOLDERS:
            return self.member(Value("folder", posixpath.dirname(file.path) + "/"), name, depth - 1)
        if file.language in PACKAGES:
            package = file.package
            while True:
                found = self.member(Value("package", f"{tables.family}:{package}"), name, depth - 1)
                if found is not None or not package:
                    return found
                package = package.rpartition(".")[0] if file.language == "csharp" else ""
        if file.language in GLOBAL:
            found_at = [(path, index) for path, index in self.globals(tables.family).get(name, ()) if path != file.path]
            if found_at:
                return Value("scope", *found_at[0], 0.8 if len(found_at) == 1 else 0.6)
        return None

    def globals(self, family: str) -> dict[str, list[tuple[str, int]]]:
        """Return the top-level names of all files of a language family."""
        if self._globals is None:
            self._globals = {}
            for path, file in self.files.items():
                if file.language in GLOBAL:
                    home = self._globals.setdefault(FAMILIES.get(file.language, file.language), {})
                    for index, symbol in enumerate(file.symbols):
                        if symbol.parent < 0 or (
                            file.symbols[symbol.parent].type in {"module", "namespace"} and symbol.type in CLASSES
                        ):
                            home.setdefault(symbol.name, []).append((path, index))
        return self._globals.get(family, {})

    def module(self, path: str, each: Imported) -> Value:
        """Return the module of an import."""
        key = (path, each.module)
        found = self._modules.get(key)
        if found is None:
            found = self._modules[key] = self._module(path, each.module)
        return found

    def _module(self, path: str, module: str) -> Value:
        file = self.files[path]
        if file.language == "python":
            place = self.places.python(module, path)
            name = module.split(".", 1)[0]
        elif file.language in SCRIPTS or file.language in {"html", "css"}:
            place = self.places.script(module, path)
            parts = module.split("/")
            name = "/".join(parts[:2]) if module.startswith("@") else parts[0]
            root = self.manifests.get("package.json:" + name)
            if place is None and root is not None:
                rest = module[len(name) :].lstrip("/")
                place = next(
                    (
                        found
                        for inner in ("src", "lib", "")
                        if (found := self.places.script_at(posixpath.join(root, inner, rest)))
                    ),
                    None,
                )
        else:
            place, name = import_targets_by_language.located(self, file, module)
        if place is None:
            return Value("outside", name if not module.startswith(".") else "")
        if ":" in place and place not in self.files:
            return Value("package", place)
        return Value("folder" if place.endswith("/") else "module", place)

    def imported(self, path: str, each: Imported, depth: int = DEPTH) -> Value | None:
        """Return what the alias of an import refers to."""
        file = self.files[path]
        if (
            file.language == "python"
            and not each.name
            and "." in each.module
            and each.alias == each.module.split(".", 1)[0]
        ):
            each = each._replace(module=each.alias)  # ``import a.b`` binds ``a``
        if file.language == "rust":
            return import_targets_by_language.rust(self, file, each, depth)
        module = self.module(path, each)
        if module.kind == "outside" or not each.name or each.name == "*":
            if not each.name and module.kind == "module" and file.language in SCRIPTS:
                return self._default(module, depth) or module
            return module
        if each.name == "default" and file.language in SCRIPTS:
            return self._default(module, depth) or module
        return self.member(module, each.name, depth - 1)

    def _default(self, module: Value, depth: int) -> Value | None:
        """Return the default export of a script, if it is a single value."""
        for chain in self.tables(module.path).bound.get(-1, {}).get("default", ()):
            found = self.chain(module.path, -1, chain, depth - 1)
            if found is not None:
                return found
        for each in self.tables(module.path).imported.get(-1, {}).get("default", ()) if depth > 0 else ():
            found = self.imported(module.path, each, depth - 1)
            if found is not None:
                return found
        return None

    def member(self, value: Value, name: str, depth: int = DEPTH) -> Value | None:
        key = (value, name)
        if key in self._members:
            return self._members[key]
        if depth <= 0:
            return None
        self._members[key] = None
        found = self._members[key] = self._member(value, name, depth)
        return found

    def _member(self, value: Value, name: str, depth: int) -> Value | None:
        if value.kind == "outside":
            return value
        if value.kind == "module":
            return self._of_module(value.path, name, depth) or import_targets_by_language.submodule(
                self, value.path, name
            )
        if value.kind == "folder":
            return self._of_folder(value.path, name, depth)
        if value.kind == "package":
            return self._of_package(value.path, name)
        type_ = self._type(value)
        if value.kind == "scope" and type_ not in CLASSES:
            index = self.tables(value.path).children.get(value.scope, {}).get(name)
            if index is not None:
                return Value("scope", value.path, index, value.sure)
            return None
        line = self.line(value.path, value.scope)
        for number, each in enumerate(line[1:] if value.kind == "above" else line):
            found = self._own_member(each, name, depth)
            if found is not None:
                return found._replace(sure=min(found.sure, value.sure, 1.0 if number == 0 else 0.9))
        return None

    def _own_member(self, of: Value, name: str, depth: int) -> Value | None:
        tables = self.tables(of.path)
        index = tables.children.get(of.scope, {}).get(name)
        if index is not None and tables.file.symbols[index].type not in {"variable", "constant"}:
            return Value("scope", of.path, index)
        for chain, scope in tables.attributes(of.scope).get(name, ()):
            found = self.chain(of.path, scope, chain, depth - 1)
            if found is not None:
                return found
        if tables.file.language in APART:
            return import_targets_by_language.elsewhere(self, of, tables.file.symbols[of.scope].name, name)
        return None

    def apart(self, family: str) -> dict[str, list[tuple[str, int]]]:
        """Return members by ``Type.member``, for languages that define them outside the type."""
        if self._apart is None:
            self._apart = {}
            for path, file in self.files.items():
                if file.language in APART:
                    home = self._apart.setdefault(FAMILIES.get(file.language, file.language), {})
                    for index, symbol in enumerate(file.symbols):
                        if symbol.type in {"method", "property", "constant"} and "." in symbol.qualified:
                            owner = symbol.qualified.split(".")[-2].partition("#")[0]
                            home.setdefault(f"{owner}.{symbol.name}", []).append((path, index))
        return self._apart.get(family, {})

    def _of_module(self, path: str, name: str, depth: int) -> Value | None:
        tables = self.tables(path)
        found = self._within(tables, -1, name, depth)
        if found is not None:
            return found
        for each in tables.stars:
            module = self.module(path, each)
            if module.kind in {"module", "folder"} and module.path != path:
                found = self.member(module, name, depth - 1)
                if found is not None and found.kind != "outside":
                    return found
        if posixpath.basename(path).startswith("__init__."):
            return self._of_folder(posixpath.dirname(path) + "/", name, depth)
        if tables.family == "javascript":
            whole = self._default(Value("module", path), depth)
            if whole is not None and whole.kind == "scope":
                return self.member(whole, name, depth - 1)
        return None

    def _of_folder(self, folder: str, name: str, depth: int) -> Value | None:
        inside = self.places.folders.get(folder.rstrip("/"), set())
        for path in sorted(inside):
            file = self.files[path]
            if file.language in FOLDERS:
                index = self.tables(path).children.get(-1, {}).get(name)
                if index is not None:
                    return Value("scope", path, index)
                for chain in self.tables(path).bound.get(-1, {}).get(name, ()):
                    found = self.chain(path, -1, chain, depth - 1)
                    if found is not None:
                        return found
        for end in (".py", ".pyi", "/__init__.py"):
            if folder.lstrip("/") + name + end in self.places.paths:
                return Value("module", folder.lstrip("/") + name + end)
        if folder + name in self.places.folders:
            return Value("folder", folder + name + "/")
        return None

    def _of_package(self, package: str, name: str) -> Value | None:
        family, _colon, said = package.partition(":")
        for path in sorted(self.packages.get(package, ())):
            tables = self.tables(path)
            for parent, inside in tables.children.items():
                if (parent < 0 or tables.file.symbols[parent].type == "namespace") and name in inside:
                    return Value("scope", path, inside[name])
        inner = f"{family}:{said}.{name}" if said else f"{family}:{name}"
        return Value("package", inner) if inner in self.packages else None

    def line(self, path: str, index: int) -> tuple[Value, ...]:
        """Return a class and its base classes within the project, nearest first."""
        key = (path, index)
        if key in self._lines:
            return self._lines[key]
        self._lines[key] = (Value("scope", path, index),)
        order: dict[tuple[str, int], None] = {(path, index): None}
        waiting = [(path, index)]
        while waiting and len(order) < 200:
            at, which = waiting.pop(0)
            symbols = self.files[at].symbols
            for chain in self.tables(at).bases.get(which, ()):
                found = self.chain(at, symbols[which].parent, chain)
                if found is not None and found.kind == "scope" and (found.path, found.scope) not in order:
                    order[found.path, found.scope] = None
                    waiting.append((found.path, found.scope))
        self._lines[key] = tuple(Value("scope", *each) for each in order)
        return self._lines[key]

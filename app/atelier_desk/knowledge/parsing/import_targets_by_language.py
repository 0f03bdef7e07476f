"""Find the target of an import in languages other than Python and JavaScript."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from atelier_desk.knowledge.parsing.name_lookup_tables import Names, Value
from atelier_desk.knowledge.parsing.symbols import FileSymbols, Imported

_ROOTS = ("lib.rs", "main.rs")


def located(names: Names, file: FileSymbols, module: str) -> tuple[str | None, str]:
    """Return the file, ``folder/`` or ``language:package`` of an import (None outside the project), and its package
    name.
    """
    places, path = names.places, file.path
    match file.language:
        case "go":
            return _go_package(names, module)
        case "rust":
            found = rust_path(names, file, -1, module.split("::"), 12)
            first = module.split("::", 1)[0]
            outside = (
                ""
                if first in {"crate", "self", "super", ""} or (found is not None and found.kind == "scope")
                else first
            )
            return (found.path if found is not None and found.kind == "module" else None), outside
        case "java" | "csharp" | "php":
            package = f"{file.language}:{module}"
            if package in names.packages:
                return package, module
            return None, ".".join(module.split(".")[:2]) if file.language == "java" else module.split(".", 1)[0]
        case "c" | "cpp":
            return places.file(module, path) or places.ending(module, path), module
        case "ruby":
            found_at = places.file(module, path, (".rb", "")) or places.ending(module + ".rb", path)
            return found_at, "" if module.startswith(".") else module.split("/", 1)[0]
        case "bash":
            return places.file(module, path) or places.ending(module, path), ""
        case "css" | "html":
            return places.file(module, path), "" if module.startswith((".", "/")) else module
    return places.file(module, path), module


def _go_package(names: Names, module: str) -> tuple[str | None, str]:
    """Resolve a package by its module path in ``go.mod``, otherwise by the folders its path ends with."""
    parts = module.split("/")
    for count in range(len(parts), 0, -1):
        root = names.manifests.get("go.mod:" + "/".join(parts[:count]))
        if root is not None:
            return posixpath.join(root, *parts[count:]) + "/", module
    if "." not in parts[0] or any(each.startswith("go.mod:") for each in names.manifests):
        return None, module if "." not in parts[0] else "/".join(parts[:3])
    return names.places.folder("/".join(parts[3:]), "") if len(parts) > 3 else None, "/".join(parts[:3])


def elsewhere(names: Names, of: Value, type_: str, name: str) -> Value | None:
    """Return a member defined outside its type: in the same folder for Go, otherwise anywhere, nearest first."""
    language = names.files[of.path].language
    found: Sequence[tuple[str, int]] = names.apart("c" if language == "cpp" else language).get(f"{type_}.{name}", ())
    if language == "go":
        found = [each for each in found if posixpath.dirname(each[0]) == posixpath.dirname(of.path)]
    if not found:
        return None
    path, index = min(
        found, key=lambda each: (each[0] != of.path, -len(posixpath.commonprefix([each[0], of.path])), each)
    )
    return of._replace(kind="scope", path=path, scope=index, sure=1.0 if len(found) == 1 or path == of.path else 0.8)


def rust(names: Names, file: FileSymbols, each: Imported, depth: int) -> Value | None:
    """Return what a ``use`` or ``mod`` binds."""
    parts = [*each.module.split("::"), *([each.name] if each.name and each.name != "*" else [])]
    return rust_path(names, file, each.scope, parts, depth)


def rust_path(names: Names, file: FileSymbols, scope: int, parts: list[str], depth: int) -> Value | None:
    value: Value | None
    first = parts[0]
    if depth <= 0:
        return None
    if first in {"crate", "self", "super"}:
        value = rust_root(names, file.path, scope, first)
    else:
        folder = names.manifests.get(
            "Cargo.toml:" + first.replace("_", "-"), names.manifests.get("Cargo.toml:" + first)
        )
        root = next(
            (
                posixpath.join(folder or "", "src", name)
                for name in _ROOTS
                if posixpath.join(folder or "", "src", name) in names.files
            ),
            None,
        )
        if folder is not None and root is not None:
            value = Value("module", root)
        else:
            value = submodule(names, file.path, first)
            index = names.tables(file.path).children.get(-1, {}).get(first)
            if value is None and index is not None:
                value = Value("scope", file.path, index)
            if value is None:
                return Value("outside", first)
    for part in parts[1:]:
        if value is None:
            return None
        value = (
            rust_root(names, value.path, value.scope, "super")
            if part == "super"
            else names.member(value, part, depth - 1)
        )
    return value


def rust_root(names: Names, path: str, scope: int, name: str) -> Value | None:
    """Return the module that ``crate``, ``self`` or ``super`` means in a scope of a file."""
    if name == "crate":
        folder = posixpath.dirname(path)
        while True:
            for root in _ROOTS:
                if posixpath.join(folder, root) in names.files:
                    return Value("module", posixpath.join(folder, root))
            if not folder:
                return Value("module", path)
            folder = posixpath.dirname(folder)
    symbols = names.files[path].symbols
    inner = []
    while scope >= 0:
        if symbols[scope].type == "module":
            inner.append(scope)
        scope = symbols[scope].parent
    if name == "self":
        return Value("scope", path, inner[0]) if inner else Value("module", path)
    if inner:
        return Value("scope", path, inner[1]) if len(inner) > 1 else Value("module", path)
    folder, base = posixpath.split(path)
    if base in {"mod.rs", *_ROOTS}:
        folder = posixpath.dirname(folder)
    for above in (*(posixpath.join(folder, root) for root in ("mod.rs", *_ROOTS)), folder + ".rs"):
        if above in names.files:
            return Value("module", above)
    return None


def submodule(names: Names, path: str, name: str) -> Value | None:
    """Return the file of a module that a Rust file declares."""
    if not path.endswith(".rs"):
        return None
    folder, base = posixpath.split(path)
    if base not in {"mod.rs", *_ROOTS}:
        folder = posixpath.join(folder, base.removesuffix(".rs"))
    for end in (".rs", "/mod.rs"):
        if posixpath.join(folder, name) + end in names.files:
            return Value("module", posixpath.join(folder, name) + end)
    return None

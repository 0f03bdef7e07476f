"""Find the file or folder of a project that an import refers to, by the rules of its language."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

SCRIPTS = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
_TRIED = ("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", "/index.ts", "/index.tsx",
"/index.js",
          "/index.jsx", "/index.mjs", "/index.cjs", "/index.d.ts")  # fmt: skip
_PYTHON = (".py", ".pyi", ".pyw")


class Places:
    """The paths of a project's files, indexed by their ends."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.folders: dict[str, set[str]] = {}
        self._by_stem: dict[str, set[str]] = {}

    def add(self, path: str) -> None:
        self.paths.add(path)
        self.folders.setdefault(posixpath.dirname(path), set()).add(path)
        self._by_stem.setdefault(_stem(path), set()).add(path)

    def remove(self, path: str) -> None:
        self.paths.discard(path)
        folder = posixpath.dirname(path)
        for index, key in ((self.folders, folder), (self._by_stem, _stem(path))):
            found = index.get(key)
            if found is not None:
                found.discard(path)
                if not found:
                    del index[key]

    def python(self, module: str, importer: str) -> str | None:
        """Return the file of a dotted module, or ``folder/`` for a package without ``__init__.py``."""
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module[dots:].split(".") if part]
        if dots:
            base = posixpath.dirname(importer)
            for _level in range(dots - 1):
                base = posixpath.dirname(base)
            return self._module(posixpath.join(base, *parts))
        if not parts:
            return None
        for root in self._roots(parts, importer):
            found = self._module(posixpath.join(root, *parts))
            if found is not None:
                return found
        return None

    def _roots(self, parts: list[str], importer: str) -> Iterator[str]:
        """Yield folders that may contain the top package.

        Those above the importing file, then any that is no package itself.
        """
        folder = posixpath.dirname(importer)
        while True:
            if folder == posixpath.dirname(importer) or not self._is_package(folder):
                yield folder
            if not folder:
                break
            folder = posixpath.dirname(folder)
        for path in sorted(self._by_stem.get(parts[0], ()), key=len):
            if path.endswith(_PYTHON) and posixpath.basename(path).startswith("__init__."):
                root = posixpath.dirname(posixpath.dirname(path))
                if not self._is_package(root):
                    yield root
        for root in ("src", "lib", "app", "python"):
            yield root

    def _is_package(self, folder: str) -> bool:
        return posixpath.join(folder, "__init__.py") in self.paths

    def _module(self, path: str) -> str | None:
        for end in _PYTHON:
            if path + end in self.paths:
                return path + end
        package = posixpath.join(path, "__init__")
        for end in _PYTHON:
            if package + end in self.paths:
                return package + end
        return (
            path + "/" if path in self.folders and any(each.endswith(_PYTHON) for each in self.folders[path]) else None
        )

    def script(self, module: str, importer: str) -> str | None:
        if module.startswith("."):
            return self._script(posixpath.normpath(posixpath.join(posixpath.dirname(importer), module)))
        if module.startswith(("@/", "~/", "/")):
            folder = posixpath.dirname(importer)
            while True:
                for base in ("src", ""):
                    found = self._script(posixpath.normpath(posixpath.join(folder, base, module.split("/", 1)[1])))
                    if found is not None:
                        return found
                if not folder:
                    return None
                folder = posixpath.dirname(folder)
        return None

    def script_at(self, path: str) -> str | None:
        """Return the script, or the index of the folder, for a path without extension."""
        return self._script(posixpath.normpath(path) if path else ".")

    def _script(self, path: str) -> str | None:
        if path.startswith(".."):
            return None
        path = "" if path == "." else path
        for end in _TRIED:
            if path + end in self.paths or (not path and end[1:] in self.paths):
                return path + end if path else end[1:]
        stem, extension = posixpath.splitext(path)
        if extension in {".js", ".jsx", ".mjs", ".cjs"}:  # TypeScript imports name the compiled file
            for end in (".ts", ".tsx", ".mts", ".cts"):
                if stem + end in self.paths:
                    return stem + end
        return None

    def file(self, written: str, importer: str, ends: Iterable[str] = ("",)) -> str | None:
        """Return the file of an include or link.

        Relative to its folder, to the root, or the only (or nearest) with that path end.
        """
        written = unquote(written.split("#", 1)[0].split("?", 1)[0])
        if not written:
            return None
        tried = [
            posixpath.normpath(posixpath.join(posixpath.dirname(importer), written)),
            posixpath.normpath(written.lstrip("/")),
        ]
        for end in ends:
            for path in tried:
                if path + end in self.paths:
                    return path + end
        return None

    def ending(self, written: str, importer: str) -> str | None:
        """Return the file whose path ends with ``written`` and shares the longest prefix with the importer."""
        written = re.sub(r"^(\.\./|\./)+", "", written)
        found = [
            path for path in self._by_stem.get(_stem(written), ()) if path == written or path.endswith("/" + written)
        ]
        return (
            min(found, key=lambda path: (-len(posixpath.commonprefix([path, importer])), len(path), path))
            if found
            else None
        )

    def folder(self, written: str, importer: str) -> str | None:
        """Return the folder whose path ends with the most parts of ``written``."""
        parts = written.strip("/").split("/")
        for begin in range(len(parts)):
            wanted = "/".join(parts[begin:])
            if wanted in self.folders:
                return wanted + "/"
        del importer
        return None


def _stem(path: str) -> str:
    name = posixpath.basename(path)
    if name.startswith("__init__."):
        name = posixpath.basename(posixpath.dirname(path))
    return name.split(".", 1)[0] or name

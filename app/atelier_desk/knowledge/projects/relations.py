"""Compute the relations of a project's files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from atelier_desk.knowledge.parsing.relation_resolution import Resolved, Resolver
from atelier_desk.knowledge.projects.file_to_rows import unpacked
from atelier_desk.storage.project_graph_rows import file_entity, file_key_of, package_of


class Relator:
    """The symbols of all files of a project; ``key`` is the prefix of its ids."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._ids: dict[str, list[str]] = {}
        self._resolver = Resolver()

    def update_symbols(self, path: str, symbols: str | None) -> None:
        """Set the symbols of a file (from ``reading.read``); None removes it."""
        if symbols:
            found = unpacked(symbols)
            self._ids[path] = found.ids
            self._resolver.update(found.symbols)
        else:
            self._ids.pop(path, None)
            self._resolver.remove(path)

    def settle(self) -> None:
        """Treat everything set so far as already related."""
        self._resolver.resolution()

    def relate(self) -> Iterator[dict[str, object]]:
        """Yield each file whose relations may have changed.

        Keys: ``path``, ``edges`` (source, target, kind, confidence, line) and ``packages`` among the targets (name by
        id).
        """
        resolution = self._resolver.resolution()
        left = set(resolution.sources)
        answer = _empty("")
        for each in resolution.relations:
            if each.source_path != answer["path"]:
                if answer["path"]:
                    yield answer
                answer = _empty(each.source_path)
                left.discard(each.source_path)
            self._add(answer, each)
        if answer["path"]:
            yield answer
        for path in sorted(left):
            yield _empty(path)

    def _add(self, answer: dict[str, Any], each: Resolved) -> None:
        source = self._id(each.source_path, each.source_index)
        if each.target_path:
            target = self._id(each.target_path, each.target_index)
        else:
            target = package_of(self._key, each.package)
            answer["packages"][target] = each.package
        if source and target and (source != target or each.kind == "calls"):
            answer["edges"].append((source, target, each.kind, each.confidence, each.line))

    def _id(self, path: str, index: int) -> str:
        if index < 0:
            return file_entity(file_key_of(self._key, path))
        ids = self._ids.get(path, ())
        return ids[index] if index < len(ids) else ""


def _empty(path: str) -> dict[str, object]:
    return {"path": path, "edges": [], "packages": {}}

"""The graph's data: entities and relations as numbers, visibility of kinds, and positions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.projects.graph.layout import Bools, Floats, Ints
from atelier_desk.domain.project import Entity, EntityKind, Relation, RelationKind

KINDS = tuple(EntityKind)
RELATIONS = tuple(RelationKind)
MOST_NODES = 5_000
"""Maximum number of nodes: larger graphs are not useful."""
MOST_EDGES = 20_000
"""Maximum number of edges drawn, for smooth interaction."""


class GraphModel(QObject):
    """Nodes are numbered in the order they were added. A node without a position has NaN until it is laid out.

    Attributes:
        entities: by node.
        places: (n, 2).
        kinds: index into ``KINDS`` by node.
        edges: (m, 2), from source to target.
        edge_kinds: index into ``RELATIONS`` by edge.
        hidden_kinds, hidden_relations: those not shown.
        expanded: ids of nodes whose neighbours were loaded.

    Signals:
        changed: nodes, edges or their visibility changed.
        moved: positions changed.
    """

    changed = Signal()
    moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # One per statement: they add nothing to the edges between files.
        self.hidden_kinds: set[EntityKind] = {EntityKind.IMPORT}
        self.hidden_relations: set[RelationKind] = set()
        self._empty()

    def _empty(self) -> None:
        self.entities: list[Entity] = []
        self.number: dict[str, int] = {}
        self.places: Floats = np.zeros((0, 2))
        self.kinds: Ints = np.zeros(0, dtype=np.int64)
        self.edges: Ints = np.zeros((0, 2), dtype=np.int64)
        self.edge_kinds: Ints = np.zeros(0, dtype=np.int64)
        self._known: set[tuple[int, int, int]] = set()
        self._waiting: dict[tuple[str, str, RelationKind], Relation] = {}
        self.expanded: set[str] = set()
        self._only: Bools | None = None
        self._count()

    def __len__(self) -> int:
        return len(self.entities)

    def clear(self) -> None:
        """Remove everything."""
        self._empty()
        self.changed.emit()

    def add(self, entities: Iterable[Entity], relations: Iterable[Relation]) -> int:
        """Add entities and relations; returns the number of new nodes.

        A relation waits until both ends exist; what exceeds the limits is ignored.
        """
        new = [entity for entity in {entity.id: entity for entity in entities}.values() if entity.id not in self.number]
        new = new[: max(0, MOST_NODES - len(self.entities))]
        for entity in new:
            self.number[entity.id] = len(self.entities)
            self.entities.append(entity)
        if new:
            self.places = np.vstack([self.places, np.full((len(new), 2), np.nan)])
            self.kinds = np.concatenate([self.kinds, [KINDS.index(entity.kind) for entity in new]]).astype(np.int64)
            if self._only is not None:
                self._only = np.concatenate([self._only, np.ones(len(new), dtype=bool)])
        for relation in relations:
            self._waiting[relation.source, relation.target, relation.kind] = relation
        pairs, kinds = [], []
        for key in list(self._waiting):
            source, target = self.number.get(key[0]), self.number.get(key[1])
            if source is None or target is None:
                continue
            del self._waiting[key]
            known = (source, target, RELATIONS.index(key[2]))
            if source != target and known not in self._known and len(self._known) < MOST_EDGES:
                self._known.add(known)
                pairs.append((source, target))
                kinds.append(known[2])
        if pairs:
            self.edges = np.vstack([self.edges, np.array(pairs, dtype=np.int64)])
            self.edge_kinds = np.concatenate([self.edge_kinds, kinds]).astype(np.int64)
        if new or pairs:
            self._count()
            self.changed.emit()
        return len(new)

    def place(self, places: Floats) -> None:
        """Set the positions; a layout started before nodes were added has fewer rows."""
        self.places[: len(places)] = places
        self.moved.emit()

    def show_kind(self, kind: EntityKind, on: bool) -> None:
        """Show or hide the nodes of a kind."""
        (self.hidden_kinds.discard if on else self.hidden_kinds.add)(kind)
        self._count()
        self.changed.emit()

    def show_relation(self, kind: RelationKind, on: bool) -> None:
        """Show or hide the edges of a kind."""
        (self.hidden_relations.discard if on else self.hidden_relations.add)(kind)
        self._count()
        self.changed.emit()

    def show_only(self, nodes: Iterable[int] | None) -> None:
        """Show only these nodes; None for all."""
        self._only = None
        if nodes is not None:
            self._only = np.zeros(len(self), dtype=bool)
            self._only[list(nodes)] = True
        self._count()
        self.changed.emit()

    @property
    def narrowed(self) -> bool:
        """Whether only some nodes are shown, see ``show_only``."""
        return self._only is not None

    def _count(self) -> None:
        hidden = np.array([kind in self.hidden_kinds for kind in KINDS])
        shown = ~hidden[self.kinds] if len(self.kinds) else np.zeros(0, dtype=bool)
        self.node_shown: Bools = shown if self._only is None else shown & self._only
        without = np.array([kind in self.hidden_relations for kind in RELATIONS])
        if len(self.edges):
            ends = self.node_shown[self.edges[:, 0]] & self.node_shown[self.edges[:, 1]]
            self.edge_shown: Bools = ends & ~without[self.edge_kinds]
            self.degree: Ints = np.bincount(self.edges[self.edge_shown].ravel(), minlength=len(self))
        else:
            self.edge_shown = np.zeros(0, dtype=bool)
            self.degree = np.zeros(len(self), dtype=np.int64)

    @property
    def placed(self) -> Bools:
        """The visible nodes with a position."""
        return np.asarray(self.node_shown & np.isfinite(self.places[:, 0]))

    def kind_counts(self) -> dict[EntityKind, int]:
        """The number of nodes of each kind, including hidden ones."""
        counts = (
            np.bincount(self.kinds, minlength=len(KINDS)) if len(self.kinds) else np.zeros(len(KINDS), dtype=np.int64)
        )
        return {kind: int(counts[at]) for at, kind in enumerate(KINDS)}

    def relation_counts(self) -> dict[RelationKind, int]:
        """The number of edges of each kind, including hidden ones."""
        counts = (
            np.bincount(self.edge_kinds, minlength=len(RELATIONS))
            if len(self.edge_kinds)
            else np.zeros(len(RELATIONS), dtype=np.int64)
        )
        return {kind: int(counts[at]) for at, kind in enumerate(RELATIONS)}

    def neighbours(self, node: int) -> Ints:
        """The nodes connected with this one by a visible edge."""
        edges = self.edges[self.edge_shown]
        out, into = edges[edges[:, 0] == node, 1], edges[edges[:, 1] == node, 0]
        return np.unique(np.concatenate([out, into])).astype(np.int64)

    def around(self, node: int, steps: int = 1) -> set[int]:
        """This node and those at most this many edges away."""
        found, edge = {node}, {node}
        for _step in range(steps):
            edge = {int(other) for one in edge for other in self.neighbours(one)} - found
            found |= edge
        return found

    def toward(self, node: int, x: float, y: float) -> int | None:
        """The node that an arrow key selects, or None if there is nothing on that side.

        It is the neighbour best aligned with the direction, else the nearest node there.
        """
        for among in (self.neighbours(node), np.flatnonzero(self.node_shown)):
            near = among[np.isfinite(self.places[among, 0]) & (among != node)]
            if not len(near):
                continue
            across = self.places[near] - self.places[node]
            long = np.maximum(1e-9, np.hypot(across[:, 0], across[:, 1]))
            along = (across @ np.array([x, y])) / long
            ahead = along > 0.5
            if ahead.any():
                return int(near[np.argmin(np.where(ahead, long * (2 - along), np.inf))])
        return None

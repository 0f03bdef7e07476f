"""Computes the layout in a thread: positioned nodes stay, new ones are placed nearby."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QObject, Signal

from atelier_desk.desktop.projects.graph.layout import Ints, lay_out
from atelier_desk.desktop.projects.graph.model import GraphModel

REPORT_EVERY = 0.02
"""Share of the work between two progress reports."""


class LayoutThread(QObject):
    """One layout at a time, of one model.

    Signals:
        progress: from 0 to 1.
    """

    progress = Signal(float)

    def __init__(self, model: GraphModel) -> None:
        super().__init__(model)
        self._model = model
        self._reported = 0.0

    async def settle(self, *, restart: bool = False) -> None:
        """Position every node; ``restart`` recomputes visible nodes from visible edges. Cancelling changes nothing."""
        model = self._model
        if restart:
            await self._lay(np.flatnonzero(model.node_shown), model.edges[model.edge_shown], keep_positions=False)
        if not np.isfinite(model.places).all():
            await self._lay(np.arange(len(model)), model.edges, keep_positions=True)

    async def _lay(self, nodes: Ints, edges: Ints, *, keep_positions: bool) -> None:
        if not len(nodes):
            return
        row = np.full(len(self._model), -1, dtype=np.int64)
        row[nodes] = np.arange(len(nodes))
        start = fixed = None
        if keep_positions and np.isfinite(self._model.places[:, 0]).any():
            start = self._model.places[nodes]
            fixed = np.isfinite(start[:, 0])
        stopped = False
        self._reported = 0.0
        on_progress = self._teller(lambda: stopped)
        try:
            places = await asyncio.to_thread(
                lay_out, len(nodes), row[edges], start=start, fixed=fixed, on_progress=on_progress
            )
        finally:
            stopped = True
        positions = self._model.places.copy()
        if nodes[-1] < len(positions):  # the graph was cleared meanwhile
            positions[nodes] = places
            self._model.place(positions)

    def _teller(self, stopped: Callable[[], bool]) -> Callable[[float], bool]:
        def report(share: float) -> bool:
            if share - self._reported >= REPORT_EVERY:
                self._reported = share
                self.progress.emit(share)
            return not stopped()

        return report

"""Graph layout: connected nodes are close, others apart, fixed ones stay, and it can be cancelled."""

from __future__ import annotations

import numpy as np
import pytest

from atelier_desk.desktop.projects.graph.layout import Ints, LayoutStopped, lay_out


def clusters(count: int, size: int) -> Ints:
    """Stars with their centres in a row."""
    edges = [(cluster * size, cluster * size + leaf) for cluster in range(count) for leaf in range(1, size)]
    edges += [(cluster * size, (cluster + 1) * size) for cluster in range(count - 1)]
    return np.array(edges, dtype=np.int64)


def test_connected_nodes_are_closer_than_others_and_none_overlap() -> None:
    edges = clusters(30, 20)  # enough for the grid and coarser copies
    places = lay_out(600, edges)
    assert np.isfinite(places).all()
    joined = np.hypot(*(places[edges[:, 0]] - places[edges[:, 1]]).T)
    random = np.random.default_rng(3).integers(0, 600, (2000, 2))
    others = np.hypot(*(places[random[:, 0]] - places[random[:, 1]]).T)
    assert np.median(joined) * 4 < np.median(others)
    apart = np.hypot(*(places[:, None] - places[None, :]).transpose(2, 0, 1)) + np.eye(600)
    assert (apart.min(axis=1) > 0.15).mean() > 0.95


def test_the_same_graph_gets_the_same_layout() -> None:
    edges = clusters(4, 6)
    assert (lay_out(24, edges) == lay_out(24, edges)).all()


def test_fixed_nodes_stay_and_new_ones_are_placed_beside_their_neighbour() -> None:
    start = np.array([[0.0, 0.0], [5.0, 0.0], [np.nan, np.nan], [np.nan, np.nan]])
    fixed = np.array([True, True, False, False])
    places = lay_out(4, np.array([[0, 1], [1, 2]]), start=start, fixed=fixed)
    assert (places[:2] == start[:2]).all()
    assert np.hypot(*(places[2] - places[1])) < np.hypot(*(places[2] - places[0]))
    assert np.isfinite(places[3]).all()


def test_empty_and_unconnected_graphs_are_laid_out() -> None:
    assert lay_out(0, np.zeros((0, 2), dtype=np.int64)).shape == (0, 2)
    alone = lay_out(300, np.zeros((0, 2), dtype=np.int64))
    assert np.isfinite(alone).all()


def test_progress_is_reported_in_order_and_stops_the_layout() -> None:
    shares: list[float] = []

    def report_progress(share: float) -> bool:
        shares.append(share)
        return share < 0.5

    with pytest.raises(LayoutStopped):
        lay_out(120, clusters(6, 20), on_progress=report_progress)
    assert shares == sorted(shares)
    assert shares[-1] >= 0.5

"""Force-directed graph layout: springs along edges, repulsion between all nodes, multilevel from coarse to fine.

Lengths are in units of an edge: connected nodes are about 1 apart. The repulsion of distant nodes is computed on a
grid by a Fourier transform, so a step takes time proportional to the number of nodes, not its square.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COARSEST: Final = 40
"""A graph with at most this many nodes starts from a circle; a larger one from its coarser copy."""
EXACT: Final = 250
"""Up to this many nodes, repulsion is computed for every pair."""
GRID: Final = 128
"""Cells per side of the grid."""
STEPS: Final = 90
"""Iterations for the largest graph; coarser copies, which are cheap, get more."""
COARSE_STEPS: Final = 160
PUSH: Final = 0.09
PULL_IN: Final = 0.012
"""Strength of gravity towards the centre: it keeps disconnected parts near."""
ALONE: Final = 10.0
"""Factor of gravity for isolated nodes, which repulsion would push out of sight."""
WEAKER: Final = 0.8
"""How much springs between two high-degree nodes are weakened: 0 not at all, 1 by the smaller degree."""
NEAR: Final = 0.9
"""Nodes closer than this repel each other directly, besides the grid."""
NEAR_PUSH: Final = 0.7
FASTEST: Final = 2.0
"""Maximum movement of a node per step."""


class LayoutStopped(Exception):
    """The layout was cancelled."""


OnProgress = Callable[[float], bool]
"""Receives the progress (0–1), and returns whether to continue."""


def lay_out(
    count: int,
    edges: Ints,
    *,
    start: Floats | None = None,
    fixed: Bools | None = None,
    on_progress: OnProgress = lambda _share: True,
    seed: int = 1,
) -> Floats:
    """Positions of ``count`` nodes as an array of (count, 2).

    Args:
        edges: (n, 2) of node numbers; loops and duplicates are ignored.
        start: current positions. A row of NaN: the node starts beside a positioned neighbour.
        fixed: nodes that stay exactly at ``start``.

    Raises:
        LayoutStopped: ``on_progress`` returned False.
    """
    if count == 0:
        return np.zeros((0, 2))
    edges = _clean(edges)
    random = np.random.default_rng(seed)
    if start is None or not np.isfinite(start).all(axis=1).any():
        levels = _levels(count, edges, random)
        return _from_coarse(levels, random, on_progress)
    places = _place_near(start, edges, random)
    return _settle(places, edges, np.ones(count), fixed, STEPS, 0.5, on_progress, 0.0, 1.0)


def _clean(edges: Ints) -> Ints:
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    edges = np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1)
    return np.unique(edges, axis=0)


def _levels(count: int, edges: Ints, random: np.random.Generator) -> list[tuple[int, Ints, Floats, Ints]]:
    """The levels from the full graph to its coarsest copy.

    Each has its number of nodes, its edges, the mass of each node, and each node's node in the next copy.
    """
    levels: list[tuple[int, Ints, Floats, Ints]] = []
    mass: Floats = np.ones(count)
    while count > COARSEST:
        groups = _grouped(count, edges, random)
        fewer = int(groups.max()) + 1
        levels.append((count, edges, mass, groups))
        if fewer > 0.92 * count:  # mostly isolated nodes
            break
        mass = np.bincount(groups, weights=mass, minlength=fewer).astype(np.float64)
        count, edges = fewer, _clean(groups[edges])
    else:
        levels.append((count, edges, mass, np.arange(count)))
    return levels


def _grouped(count: int, edges: Ints, random: np.random.Generator) -> Ints:
    """Match each node with a neighbour that chose it too; remaining ones join a neighbour's group."""
    group = np.full(count, -1, dtype=np.int64)
    if len(edges):
        degree = np.bincount(edges.ravel(), minlength=count)
        both = np.vstack([edges, edges[:, ::-1]])
        for _round in range(3):
            free = both[(group[both[:, 0]] < 0) & (group[both[:, 1]] < 0)]
            if not len(free):
                break
            # Low degree first: otherwise a hub would block its thousand leaves.
            order = np.lexsort((random.random(len(free)) + degree[free[:, 1]], free[:, 0]))
            first = order[np.unique(free[order, 0], return_index=True)[1]]
            chosen = np.full(count, -1, dtype=np.int64)
            chosen[free[first, 0]] = free[first, 1]
            some = np.flatnonzero(chosen >= 0)
            mutual = some[chosen[chosen[some]] == some]
            group[mutual] = np.minimum(mutual, chosen[mutual])
        rest = both[(group[both[:, 0]] < 0) & (group[both[:, 1]] >= 0)]
        group[rest[:, 0]] = group[rest[:, 1]]
    alone = np.flatnonzero(group < 0)
    group[alone] = alone
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _from_coarse(
    levels: list[tuple[int, Ints, Floats, Ints]], random: np.random.Generator, on_progress: OnProgress
) -> Floats:
    count, edges, mass, _groups = levels[-1]
    turn = np.arange(count) * 2.399963  # the golden angle: evenly distributed over a disc for any number
    radius = np.sqrt(np.arange(count) + 0.5) * np.sqrt(mass.mean())
    places = np.column_stack([radius * np.cos(turn), radius * np.sin(turn)])
    costs = np.array(
        [float(level[0]) * (STEPS if number == 0 else COARSE_STEPS) for number, level in enumerate(levels)]
    )
    ends = np.cumsum(costs[::-1]) / costs.sum()
    share_start = 0.0
    for place, (number, end) in enumerate(zip(reversed(range(len(levels))), ends, strict=True)):
        count, edges, mass, groups = levels[number]
        if place:
            coarse_mass = levels[number + 1][2]
            scatter = random.normal(size=(count, 2)) * 0.35 * np.sqrt(coarse_mass[groups])[:, None]
            places = places[groups] + scatter
        steps = STEPS if number == 0 else COARSE_STEPS
        places = _settle(
            places, edges, mass, None, steps, 1.0 if place == 0 else 0.45, on_progress, share_start, float(end)
        )
        share_start = float(end)
    return np.asarray(places - places.mean(axis=0))


def _place_near(start: Floats, edges: Ints, random: np.random.Generator) -> Floats:
    """Place nodes without a position beside a neighbour, on the side away from the centre."""
    places = np.array(start, dtype=np.float64)
    known: Bools = np.isfinite(places[:, 0])
    middle = places[known].mean(axis=0)
    both = np.vstack([edges, edges[:, ::-1]]) if len(edges) else np.zeros((0, 2), dtype=np.int64)
    while not known.all():
        reach = both[~known[both[:, 0]] & known[both[:, 1]]]
        if not len(reach):
            break
        new, first = np.unique(reach[:, 0], return_index=True)
        near = places[reach[first, 1]]
        away = near - middle
        away /= np.maximum(1e-6, np.linalg.norm(away, axis=1))[:, None]
        places[new] = near + 0.8 * away + random.normal(size=(len(new), 2)) * 0.5
        known[new] = True
    left = np.flatnonzero(~known)
    places[left] = middle + random.normal(size=(len(left), 2)) * np.sqrt(len(places))
    return places


def _settle(
    places: Floats,
    edges: Ints,
    mass: Floats,
    fixed: Bools | None,
    steps: int,
    heat: float,
    on_progress: OnProgress,
    share_start: float,
    end: float,
) -> Floats:
    """Iterate until cooled down; ``mass`` is the repulsion of each node."""
    count = len(places)
    free = np.ones(count, dtype=bool) if fixed is None else ~fixed
    source, target = (edges[:, 0], edges[:, 1]) if len(edges) else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    degree = np.bincount(edges.ravel(), minlength=count) if len(edges) else np.zeros(count)
    # A spring is weaker if both ends have high degrees, and moves the end with the lower degree more: leaves follow
    # hubs.
    strength = np.maximum(1.0, np.minimum(degree[source], degree[target])) ** -WEAKER if len(edges) else np.zeros(0)
    share = degree[source] / np.maximum(1.0, degree[source] + degree[target]) if len(edges) else np.zeros(0)
    length = 0.5 * (np.sqrt(mass[source]) + np.sqrt(mass[target]))
    speed = np.zeros_like(places)
    pull_in = np.where(degree > 0, PULL_IN, ALONE * PULL_IN)[:, None]
    for step in range(steps):
        if step % 4 == 0 and not on_progress(share_start + (end - share_start) * step / steps):
            raise LayoutStopped
        now = heat * (1.0 - step / steps) ** 1.2 + 0.015
        force = PUSH * _push(places, mass) - pull_in * places
        if len(edges):
            across = places[target] - places[source]
            distance = np.maximum(1e-6, np.hypot(across[:, 0], across[:, 1]))
            pull = across * ((distance - length) / distance * strength)[:, None]
            for axis in (0, 1):
                force[:, axis] += np.bincount(source, weights=pull[:, axis] * (1 - share), minlength=count)
                force[:, axis] -= np.bincount(target, weights=pull[:, axis] * share, minlength=count)
        speed = (speed + force * now) * 0.6
        fast = np.hypot(speed[:, 0], speed[:, 1])
        speed *= np.minimum(1.0, FASTEST * np.sqrt(mass) / np.maximum(1e-9, fast))[:, None]
        places[free] += speed[free]
    return places


def _push(places: Floats, mass: Floats) -> Floats:
    """The repulsion on each node by all others: proportional to mass, inversely to distance."""
    if len(places) <= EXACT:
        across = places[:, None, :] - places[None, :, :]
        square = (across**2).sum(axis=2) + 0.02
        return np.asarray((across * (mass[None, :] / square)[:, :, None]).sum(axis=1))
    return _push_by_grid(places, mass)


_kernel: list[object] = []


def _kernels() -> Any:
    """The repulsion of a cell on its surroundings, as the Fourier transform of the padded grid; in cells."""
    if not _kernel:
        side = np.fft.fftfreq(2 * GRID, 1 / (2 * GRID))
        x, y = np.meshgrid(side, side, indexing="ij")
        square = x**2 + y**2
        square[0, 0] = 1.0
        _kernel.append((np.fft.rfft2(x / square), np.fft.rfft2(y / square)))
    return _kernel[0]


def _push_by_grid(places: Floats, mass: Floats) -> Floats:
    low, high = places.min(axis=0), places.max(axis=0)
    cell = max(float((high - low).max()) / (GRID - 2), 1e-6)
    at = (places - low) / cell
    cells = at.astype(np.int64)
    part = at - cells
    # Each node's mass is distributed to the four cells around it, and its repulsion is interpolated from the same
    # four.
    corners = [
        (
            (cells[:, 0] + i) * GRID + cells[:, 1] + j,
            (part[:, 0] if i else 1 - part[:, 0]) * (part[:, 1] if j else 1 - part[:, 1]),
        )
        for i in (0, 1)
        for j in (0, 1)
    ]
    grid = np.zeros(GRID * GRID)
    for index, weight in corners:
        grid += np.bincount(index, weights=mass * weight, minlength=GRID * GRID)
    spread = np.fft.rfft2(grid.reshape(GRID, GRID), s=(2 * GRID, 2 * GRID))
    result = np.zeros_like(places)
    for axis, kernel in enumerate(_kernels()):
        field = np.fft.irfft2(spread * kernel, s=(2 * GRID, 2 * GRID))[:GRID, :GRID].ravel()
        for index, weight in corners:
            result[:, axis] += field[index] * weight
    result /= cell
    _push_near(places, result)
    return result


def _push_near(places: Floats, result: Floats) -> None:
    """Add repulsion between close nodes, which the grid cannot resolve.

    Compared are successive nodes in rows of small squares, and in rows of squares shifted by half.
    """
    for offset in (0.0, 0.5):
        square = np.floor(places / NEAR + offset).astype(np.int64)
        order = np.lexsort((places[:, 0], square[:, 0], square[:, 1]))
        for shift in (1, 2, 3, 5):
            one, other = order[:-shift], order[shift:]
            across = places[one] - places[other]
            distance = np.hypot(across[:, 0], across[:, 1])
            close = distance < NEAR
            if not close.any():
                continue
            one, other, across, distance = one[close], other[close], across[close], np.maximum(0.05, distance[close])
            push = across * (NEAR_PUSH / PUSH * (NEAR - distance) / distance)[:, None]
            np.add.at(result, one, push)
            np.add.at(result, other, -push)

"""Garbage collection in one thread alone, instead of whichever allocates past a threshold.

A collection in another thread than the window's destroys Qt objects of abandoned reference cycles there, and Qt then
crashes.
"""

from __future__ import annotations

import gc

THRESHOLDS = (20_000, 20, 50)
"""Objects allocated before the youngest of Python's three generations is collected, then collections of one generation
before the next is. Python's own 700 (2 000 from 3.12 on) cost a tenth of a command's time: nearly all objects of the
first seconds stay.
"""

WINDOW_THRESHOLDS = (4_000, 1, 3_000)
"""The same for an open window, which waits while they are collected: each is small and the generations are collected in
turn, because an object takes half a microsecond or more (30 000 objects took 15 to 25 ms in ``bench_desktop``).
"""


def collect_due() -> None:
    """Collect what is due, as automatic collection does, which is switched off: ``gc.disable``.

    Called regularly, by the thread that owns the objects. A full collection comes after a fixed number of allocations;
    CPython 3.11 would also wait until the heap grew by a quarter.
    """
    counts = gc.get_count()
    for generation in (2, 1, 0):
        if counts[generation] > WINDOW_THRESHOLDS[generation]:
            gc.collect(generation)
            return

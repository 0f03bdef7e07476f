"""Return freed memory to the system."""

from __future__ import annotations

import ctypes
import sys

ARENAS = -8
"""``M_ARENA_MAX`` of glibc's ``mallopt``."""


def share_arenas() -> None:
    """Let all threads take memory from two pools. Call it before the threads are there.

    glibc gives each of the database's 30 threads one of its own, up to 8 a core, and what is freed in one is not used
    by the others. Elsewhere it does nothing.
    """
    if sys.platform == "linux":
        function = getattr(ctypes.CDLL(None), "mallopt", None)
        if function is not None:
            function(ARENAS, 2)


def trim() -> None:
    """Return freed memory that Linux's C library (glibc) would keep, because it is fragmented.

    Takes 4 ms, after gigabytes about 0.1 s. Does nothing on other systems.
    """
    if sys.platform == "linux":
        function = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has no such function
        if function is not None:
            function(0)

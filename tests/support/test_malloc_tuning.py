"""Freed memory returns to the system."""

from __future__ import annotations

import ctypes
import sys

import psutil
import pytest

from atelier_desk.support import malloc_tuning

PIECES, BYTES = 60_000, 2_000


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="a C library that keeps nothing"
)
def test_small_freed_blocks_return_to_the_system() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    pieces = [libc.malloc(BYTES) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, BYTES)
    last = libc.malloc(BYTES)  # memory above the rest keeps the C library from returning it by itself
    for piece in pieces:
        libc.free(piece)
    before = psutil.Process().memory_info().rss
    malloc_tuning.trim()
    libc.free(last)
    assert before - psutil.Process().memory_info().rss > PIECES * BYTES / 2


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_need_no_call(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", None)
    malloc_tuning.trim()
    malloc_tuning.share_arenas()

"""Processes that a command left behind."""

from __future__ import annotations

import os

import psutil


def left(mark: str) -> list[int]:
    """The processes with a mark among their arguments."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE and mark in " ".join(process.info["cmdline"] or ()):
            found.append(process.pid)
    return [pid for pid in found if pid != os.getpid()]

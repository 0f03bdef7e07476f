"""Paths as text: for rules and marks, which compare thousands of them without looking at a disk."""

from __future__ import annotations


def within(root: str, path: str) -> bool:
    """Whether an absolute path is the folder or below it; both are spelled with ``/`` and without ``..``."""
    return path == root or path.startswith(root.rstrip("/") + "/")

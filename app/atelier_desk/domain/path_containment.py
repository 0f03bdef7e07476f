"""Textual operations on paths: rules and marks compare thousands without accessing the disk."""

from __future__ import annotations


def within(root: str, path: str) -> bool:
    """Whether an absolute path is the folder or below it; both with ``/`` separators and without ``..``."""
    return path == root or path.startswith(root.rstrip("/") + "/")

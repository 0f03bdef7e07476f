"""Finds a part of a window that has to be there."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QObject

Q = TypeVar("Q", bound=QObject)


def child(parent: QObject, kind: type[Q], name: str = "") -> Q:
    """An existing widget, menu or action inside another one; ``findChild`` for one that may be missing."""
    found = parent.findChild(kind, name) if name else parent.findChild(kind)
    assert found is not None, f"{parent.objectName()} has no {name or kind.__name__}"
    return found

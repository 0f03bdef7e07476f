"""Texts of the rows of a list."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractItemView


def titles(view: QAbstractItemView) -> list[str]:
    """The first text of each row, including headings."""
    model = view.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]

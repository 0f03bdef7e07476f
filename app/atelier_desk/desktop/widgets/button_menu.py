"""Menus opened by a button."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget


def popup_from(button: QWidget, menu: QMenu, at: QPoint) -> None:
    """Open a button's menu at a point of the screen."""
    paint_after(button, menu)
    menu.popup(at)


def paint_after(button: QWidget, menu: QMenu) -> None:
    """Paint a button again once its menu is closed.

    Qt takes the pointer from the button when the menu opens, without painting it: after a click outside the menu it
    would stay highlighted until the pointer passes over it.
    """
    menu.aboutToHide.connect(button.update)

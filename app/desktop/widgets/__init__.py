"""Small widgets that every part of the desktop shares."""

from __future__ import annotations

from app.desktop.widgets.basic import Card, ElidedLabel, IconButton, Line, Pill, Translated, label
from app.desktop.widgets.empty import EmptyState
from app.desktop.widgets.flow import FlowLayout
from app.desktop.widgets.spinner import Spinner
from app.desktop.widgets.toast import Toast, ToastHost

__all__ = [
    "Card",
    "ElidedLabel",
    "EmptyState",
    "FlowLayout",
    "IconButton",
    "Line",
    "Pill",
    "Spinner",
    "Toast",
    "ToastHost",
    "Translated",
    "label",
]

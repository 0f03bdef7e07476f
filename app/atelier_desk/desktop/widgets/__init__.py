"""Small widgets that every part of the desktop shares."""

from __future__ import annotations

from atelier_desk.desktop.widgets.basic import (
    Card,
    ElidedLabel,
    IconButton,
    Line,
    Pill,
    PlainLabel,
    fill,
    label,
    show_pixmap,
    tint,
)
from atelier_desk.desktop.widgets.empty import EmptyState
from atelier_desk.desktop.widgets.flow import FlowLayout
from atelier_desk.desktop.widgets.spinner import Spinner
from atelier_desk.desktop.widgets.toast import Toast, ToastHost
from atelier_desk.desktop.widgets.words import bind, control, say

__all__ = [
    "Card",
    "ElidedLabel",
    "EmptyState",
    "FlowLayout",
    "IconButton",
    "Line",
    "Pill",
    "PlainLabel",
    "Spinner",
    "Toast",
    "ToastHost",
    "bind",
    "control",
    "fill",
    "label",
    "say",
    "show_pixmap",
    "tint",
]

"""Widgets shared by all parts of the desktop."""

from __future__ import annotations

from atelier_desk.desktop.widgets.cards_buttons_labels import (
    Card,
    ElidedButton,
    ElidedLabel,
    IconButton,
    Line,
    Pill,
    PlainLabel,
    fill,
    fit_window,
    fitting,
    hbox,
    label,
    show_pixmap,
    tint,
    vbox,
)
from atelier_desk.desktop.widgets.empty_state import EmptyState
from atelier_desk.desktop.widgets.flow_layout import FlowLayout
from atelier_desk.desktop.widgets.language_theme_bindings import bind, bind_text, control
from atelier_desk.desktop.widgets.spinner import Spinner
from atelier_desk.desktop.widgets.toast import Toast, ToastHost

__all__ = [
    "Card",
    "ElidedButton",
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
    "bind_text",
    "control",
    "fill",
    "fit_window",
    "fitting",
    "hbox",
    "label",
    "show_pixmap",
    "tint",
    "vbox",
]

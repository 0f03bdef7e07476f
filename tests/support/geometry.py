"""Where the controls of a window are, so that two ways to the same window can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from PySide6.QtWidgets import QAbstractScrollArea, QDockWidget, QWidget

from tests.support.access import path
from tests.support.fit import CONTROLS

Places = dict[str, tuple[int, int, int, int]]
"""Of each control x, y, width and height inside its parent, by its path."""
NEAR = 2
"""Pixels by which the digits of a time of day may move what stands beside them."""
_ID = re.compile(r"[0-9a-f]{32}")


def places(windows: Iterable[QWidget]) -> Places:
    """All controls in sight that have an object name. How far something is scrolled does not count."""
    found: Places = {}
    seen: Counter[str] = Counter()
    for window in windows:
        # other panes lie before it
        behind = {each for each in window.findChildren(QDockWidget) if each.visibleRegion().isEmpty()}
        found[path(window)] = (0, 0, window.width(), window.height())
        for each in window.findChildren(QWidget):
            if (
                not isinstance(each, CONTROLS)
                or not each.objectName()
                or not each.isVisible()
                or each.window() is not window
            ):
                continue
            if any(dock.isAncestorOf(each) for dock in behind):
                continue
            seen[name := _ID.sub("…", path(each))] += 1
            parent = each.parentWidget()
            area = parent.parentWidget() if parent is not None else None
            scrolls = isinstance(area, QAbstractScrollArea) and area.viewport() is parent
            box = each.geometry()
            found[f"{name} [{seen[name]}]"] = (
                0 if scrolls else box.x(),
                0 if scrolls else box.y(),
                box.width(),
                box.height(),
            )
    return found


def differences(wanted: Places, got: Places) -> list[str]:
    """A line for each control that is elsewhere, missing or too many; empty where none is."""

    def same(name: str) -> bool:
        one, other = wanted.get(name), got.get(name)
        return (
            one is not None and other is not None and all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))
        )

    return [f"{name}: {wanted.get(name)} → {got.get(name)}" for name in sorted({*wanted, *got}) if not same(name)]

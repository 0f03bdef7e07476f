"""Positions of the controls in a window, to compare two ways of opening it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from PySide6.QtWidgets import QAbstractScrollArea, QDockWidget, QWidget

from tests.helpers.accessibility import path
from tests.helpers.layout_problems import CONTROLS

Places = dict[str, tuple[int, int, int, int]]
"""By path of each control: x, y, width and height inside its parent."""
NEAR = 2
"""Pixels by which the digits of a time of day may move its neighbours."""
_ID = re.compile(r"[0-9a-f]{32}")


def places(windows: Iterable[QWidget]) -> Places:
    """All visible controls with an object name, regardless of scrolling."""
    found: Places = {}
    seen: Counter[str] = Counter()
    for window in windows:
        # covered by another pane
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


def differences(expected: Places, actual: Places) -> list[str]:
    """A line for each control that moved, is missing or is new; empty if there is none."""

    def same(name: str) -> bool:
        first, second = expected.get(name), actual.get(name)
        return (
            first is not None
            and second is not None
            and all(abs(a - b) <= NEAR for a, b in zip(first, second, strict=True))
        )

    return [
        f"{name}: {expected.get(name)} → {actual.get(name)}" for name in sorted({*expected, *actual}) if not same(name)
    ]

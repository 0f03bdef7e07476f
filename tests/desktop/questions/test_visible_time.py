"""The counter of visible time."""

from __future__ import annotations

from PySide6.QtCore import QObject

from atelier_desk.desktop.questions.visible_time import VisibleTime


def test_time_counts_from_the_moment_an_item_is_visible() -> None:
    now, shown, reported = [0.0], ["a"], list[tuple[str, int]]()
    owner = QObject()
    clock = VisibleTime(owner, lambda: now[0], lambda: shown, lambda key, ms: reported.append((key, ms)), 2_000)
    clock.update_visibility()
    now[0] = 1.5
    shown.append("b")
    clock.count()
    assert reported == [("a", 1_500)]  # b was not visible before
    now[0] = 2.5
    shown.remove("a")
    clock.count()
    assert reported[1:] == [("b", 1_000)]
    now[0] = 60.0  # the machine was suspended
    shown.append("a")
    clock.count()
    assert reported[2:] == [("b", 2_000)]
    clock.halt()
    now[0] = 61.0
    clock.count()
    assert len(reported) == 3

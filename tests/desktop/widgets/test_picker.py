"""The menu of a picker: search, arrows, Enter, Esc, favourites; and the wheel, which does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.picker import Picker, PickerItem, PickerMenu, matching

MODELS = [
    PickerItem("s/a", "Alpha", "Favourites", "128 k", (("wrench", "tools"),), True),
    *(PickerItem(f"s/m{number}", f"Modèle {number}", "server", starred=False) for number in range(9)),
]


@pytest.fixture
def picker(qtbot: QtBot) -> Iterator[Picker]:
    window = QWidget()
    qtbot.addWidget(window)
    made = Picker()
    made.setObjectName("model-select")
    QVBoxLayout(window).addWidget(made)
    made.set_choices(MODELS, "s/a")
    window.resize(300, 60)
    window.show()
    yield made
    window.close()


def opened(picker: Picker) -> PickerMenu:
    picker.open()
    menu = picker.menu_open
    assert menu is not None
    return menu


def lines(menu: PickerMenu) -> list[str]:
    model = menu.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def test_groups_are_above_their_choices_and_the_chosen_one_is_current(picker: Picker) -> None:
    menu = opened(picker)
    assert lines(menu)[:4] == ["Favourites", "Alpha", "server", "Modèle 0"]
    assert menu.current == "s/a"
    spoken = menu.list.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Alpha, 128 k, tools, favourite"


def test_search_arrows_and_enter_choose(qtbot: QtBot, picker: Picker) -> None:
    menu = opened(picker)
    QTest.keyClicks(menu.field, "modele")
    assert lines(menu) == ["server", *(f"Modèle {number}" for number in range(9))]
    QTest.keyClick(menu.field, Qt.Key.Key_Down)
    QTest.keyClick(menu.field, Qt.Key.Key_Down)
    QTest.keyClick(menu.field, Qt.Key.Key_Up)
    with qtbot.waitSignal(picker.chosen) as signal:
        QTest.keyClick(menu.field, Qt.Key.Key_Return)
    assert signal.args == ["s/m1"]
    assert picker.menu_open is None


def test_up_from_the_first_goes_to_the_last_and_headings_are_skipped(picker: Picker) -> None:
    menu = opened(picker)
    QTest.keyClick(menu.field, Qt.Key.Key_Up)
    assert menu.current == "s/m8"
    QTest.keyClick(menu.field, Qt.Key.Key_Down)
    QTest.keyClick(menu.field, Qt.Key.Key_Down)
    assert menu.current == "s/m0"


def test_escape_closes_without_a_choice(qtbot: QtBot, picker: Picker) -> None:
    chosen: list[str] = []
    picker.chosen.connect(chosen.append)
    menu = opened(picker)
    with qtbot.waitSignal(picker.closed):
        QTest.keyClick(menu.field, Qt.Key.Key_Escape)
    assert (chosen, picker.menu_open) == ([], None)


def test_a_favourite_is_set_by_key_and_removed_by_click(qtbot: QtBot, picker: Picker) -> None:
    menu = opened(picker)
    QTest.keyClick(menu.field, Qt.Key.Key_Down)
    with qtbot.waitSignal(picker.starred) as signal:
        QTest.keyClick(menu.field, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    assert signal.args == ["s/m0", True]
    row = menu.list.visualRect(menu.list.model().index(1, 0))
    with qtbot.waitSignal(picker.starred) as signal:
        QTest.mouseClick(
            menu.list.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(row.right() - theme().px(20), row.center().y())
        )
    assert signal.args == ["s/a", False]
    assert picker.menu_open is menu, "a star closes nothing"


def test_a_click_on_a_line_chooses_it_and_one_on_a_heading_does_nothing(picker: Picker) -> None:
    chosen: list[str] = []
    picker.chosen.connect(chosen.append)
    menu = opened(picker)
    for row in (0, 3):
        line = menu.list.visualRect(menu.list.model().index(row, 0))
        QTest.mouseClick(menu.list.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, line.center().y()))
    assert chosen == ["s/m0"]


def test_few_choices_have_no_search_field_but_are_used_by_keyboard(qtbot: QtBot, picker: Picker) -> None:
    picker.set_choices(
        [PickerItem("queue", "Queue", detail="later"), PickerItem("note", "Note", detail="quietly")], "queue"
    )
    menu = opened(picker)
    assert menu.field.isHidden()
    QTest.keyClick(menu, Qt.Key.Key_Down)
    with qtbot.waitSignal(picker.chosen) as signal:
        QTest.keyClick(menu, Qt.Key.Key_Return)
    assert signal.args == ["note"]


def test_letters_search_among_few_choices_too(qtbot: QtBot, picker: Picker) -> None:
    picker.set_choices([PickerItem("alpha", "Alpha"), PickerItem("beta", "Beta")], "alpha")
    menu = opened(picker)
    assert menu.field.isHidden()
    QTest.keyClick(menu, Qt.Key.Key_B)
    QTest.keyClicks(menu.field, "et")
    assert lines(menu) == ["Beta"]
    with qtbot.waitSignal(picker.chosen) as signal:
        QTest.keyClick(menu.field, Qt.Key.Key_Return)
    assert signal.args == ["beta"]
    assert opened(picker).field.isHidden(), "opened again, nothing is searched"


def test_the_wheel_changes_nothing(picker: Picker) -> None:
    chosen: list[str] = []
    picker.chosen.connect(chosen.append)
    position = QPointF(picker.rect().center())
    none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    wheel = QWheelEvent(
        position,
        QPointF(picker.mapToGlobal(position.toPoint())),
        QPoint(),
        QPoint(0, -120),
        *none,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(picker, wheel)
    assert (chosen, picker.key) == ([], "s/a")


@pytest.mark.parametrize("scale", [100, 150])
def test_the_text_is_full_if_it_fits_and_elided_otherwise(qtbot: QtBot, picker: Picker, scale: int) -> None:
    theme().set_scale(scale)
    picker.set_choices(MODELS, "s/a", "a-model-with-a-name")
    picker.window().resize(500, 80)
    qtbot.waitUntil(lambda: picker.text().startswith("a-model-with-a-name "))
    picker.resize(picker.minimumSizeHint())
    assert picker.text().startswith("a-")
    assert "…" in picker.text()


def test_every_word_must_be_there_in_any_order_without_accents() -> None:
    assert [each.key for each in matching(MODELS, "3 modele")] == ["s/m3"]
    assert [each.key for each in matching(MODELS, "tools")] == ["s/a"]
    assert matching(MODELS, "nothing") == []


def test_a_search_without_results_shows_it(picker: Picker) -> None:
    menu = opened(picker)
    assert menu.list.nothing.isHidden()
    QTest.keyClicks(menu.field, "xyzzy")
    assert menu.list.nothing.isVisible()
    assert menu.list.nothing.text() == "No results"
    QTest.keyClick(menu.field, Qt.Key.Key_Return)
    assert menu.isVisible()
    menu.field.clear()
    assert menu.list.nothing.isHidden()
    assert menu.list.isVisible()


def test_a_picker_without_items_shows_it(picker: Picker) -> None:
    picker.set_choices((), "")
    menu = opened(picker)
    assert menu.list.nothing.text() == "No options."
    assert menu.list.nothing.isVisible()
    assert menu.height() >= menu.list.nothing.sizeHint().height()

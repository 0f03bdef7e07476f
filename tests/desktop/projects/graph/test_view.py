"""The graph view by pointer, wheel and keys."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QImage, QPainter, QPainterPath, QStaticText, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.projects.graph.model import GraphModel
from atelier_desk.desktop.projects.graph.view import GraphView
from atelier_desk.desktop.theme import theme
from tests.helpers.child_widgets import child
from tests.helpers.fake_project_service import ENTITIES, RELATIONS

PLACES = {
    "f1": (0, 0),
    "c1": (2, 0),
    "m1": (4, 0),
    "m2": (4, 1.5),
    "s1": (6, 0),
    "f2": (6, -2),
    "k1": (-2, 0),
    "d1": (0, 4),
    "h1": (1, 4),
}


@pytest.fixture
def view(qtbot: QtBot) -> GraphView:
    around = QWidget()
    qtbot.addWidget(around)
    around.resize(700, 560)
    model = GraphModel(around)
    made = GraphView(model, around)
    made.setGeometry(0, 0, 700, 500)
    QLineEdit(around).setGeometry(0, 510, 100, 30)
    model.add(ENTITIES, RELATIONS)
    around.show()
    model.place(np.array([PLACES[each.id] for each in ENTITIES], dtype=float))
    made.around = around  # type: ignore[attr-defined]  # kept alive
    return made


def position_of(view: GraphView, name: str) -> QPoint:
    x, y = view.points()[view.model.number[name]]
    return QPoint(round(x), round(y))


def wheel(view: GraphView, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    point = QPointF(view.rect().center())
    event = QWheelEvent(
        point,
        view.mapToGlobal(point),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


def test_a_click_chooses_and_a_double_click_expands(view: GraphView, qtbot: QtBot) -> None:
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=position_of(view, "m1"))
    assert view.chosen == view.model.number["m1"]
    assert view.accessibleDescription() == "Store.save, method, store.py:9, 3 neighbours"
    with qtbot.waitSignal(view.expand_requested) as expanded:
        QTest.mouseDClick(view, Qt.MouseButton.LeftButton, pos=position_of(view, "c1"))
    assert expanded.args == [view.model.number["c1"]]
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert view.chosen == -1


def test_the_wheel_zooms_at_the_pointer_only_with_focus_or_ctrl(view: GraphView) -> None:
    other = child(view.window(), QLineEdit)
    other.setFocus()
    before = view.scale
    wheel(view)
    assert view.scale == before
    wheel(view, Qt.KeyboardModifier.ControlModifier)
    assert view.scale > before
    view.setFocus()
    initial_scale = view.scale
    wheel(view)
    assert view.scale > initial_scale


def test_the_point_under_the_pointer_stays_when_zooming(view: GraphView) -> None:
    point = position_of(view, "c1")
    view.zoom_by(2.0, QPointF(point))
    assert (position_of(view, "c1") - point).manhattanLength() <= 2


def test_dragging_moves_the_view_or_a_node(view: GraphView) -> None:
    corner, node = QPoint(10, 10), position_of(view, "k1")
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=corner)
    QTest.mouseMove(view, corner + QPoint(30, 20))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=corner + QPoint(30, 20))
    assert position_of(view, "k1") == node + QPoint(30, 20)
    still = position_of(view, "c1")
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=position_of(view, "k1"))
    QTest.mouseMove(view, node + QPoint(50, 60))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=node + QPoint(50, 60))
    assert (position_of(view, "k1") - (node + QPoint(50, 60))).manhattanLength() <= 2
    assert position_of(view, "c1") == still


def test_every_node_is_reached_by_keyboard(view: GraphView, qtbot: QtBot) -> None:
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert view.model.entities[view.chosen].id in ("c1", "m1", "f1")
    view.choose(view.model.number["c1"])
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.model.entities[view.chosen].id == "m1"
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.model.entities[view.chosen].id == "m2"
    with qtbot.waitSignal(view.expand_requested):
        QTest.keyClick(view, Qt.Key.Key_Return)
    with qtbot.waitSignal(view.open_requested):
        QTest.keyClick(view, Qt.Key.Key_Space)
    with qtbot.waitSignal(view.menu_requested):
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1))
        QApplication.sendEvent(view, event)
    scale = view.scale
    QTest.keyClick(view, Qt.Key.Key_Plus)
    assert view.scale > scale
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.fitted
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert view.chosen == -1


def test_overlapping_names_are_hidden_and_selected_ones_have_priority(view: GraphView) -> None:
    view.choose(view.model.number["m1"])
    view.grab()
    names = {view.model.entities[node].id for node in view.painter.labelled}
    assert names == {"m1", "c1", "m2", "s1"}  # only the selected node and its neighbours
    view.choose(-1)
    view.grab()
    all_names = len(view.painter.labelled)
    view.zoom_by(0.02)
    view.grab()
    assert len(view.painter.labelled) < all_names


def test_it_follows_the_theme_and_the_size_of_text(view: GraphView) -> None:
    def ground() -> str:
        image: QImage = view.grab().toImage()
        return image.pixelColor(5, 5).name().upper()

    assert ground() == theme().tokens.surface
    theme().set_mode("dark")
    theme().set_scale(150)
    assert ground() == theme().tokens.surface
    assert theme().tokens.dark


@pytest.mark.parametrize(("x", "y"), [(698, 250), (2, 250), (300, 2), (300, 498)])
def test_no_name_is_clipped_at_the_border(view: GraphView, x: int, y: int) -> None:
    """Without room on the right of a node, its name is on the left."""
    node = view.model.number["m1"]
    place = view.model.places[node]
    view.centre = (place[0] - (x - view.width() / 2) / view.scale, place[1] - (y - view.height() / 2) / view.scale)
    drawn: dict[str, QRectF] = {}

    class Watched(QPainter):
        def drawStaticText(self, *given: QPoint | QPointF | QPainterPath.Element | QStaticText | int) -> None:
            position_of, text = given
            assert isinstance(position_of, QPointF)
            assert isinstance(text, QStaticText)
            drawn[text.text()] = QRectF(position_of, text.size())
            super().drawStaticText(position_of, text)

    picture = QImage(view.size(), QImage.Format.Format_RGB32)
    painter = Watched(picture)
    view.painter.paint(painter, view.model, view.view())
    painter.end()
    assert QRectF(view.rect()).contains(drawn[view.model.entities[node].name])


def test_a_name_is_left_of_its_node_if_another_node_is_right_of_it(view: GraphView) -> None:
    nodes = {name: view.model.number[name] for name in ("c1", "m1")}
    view.model.places[:] = np.nan
    view.model.place(
        np.array([{"c1": (0.0, 0.0), "m1": (0.2, 0.0)}.get(each.id, (np.nan, np.nan)) for each in ENTITIES])
    )
    view.grab()
    assert set(view.painter.labelled) == set(nodes.values())

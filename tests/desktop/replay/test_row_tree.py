"""Rows are updated between moments without being recreated."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.replay.row_tree import Row, RowTree
from atelier_desk.desktop.widgets.list_rows import RowRole
from tests.helpers.list_texts import titles


@pytest.fixture
def tree(qtbot: QtBot) -> RowTree:
    holder = QWidget()
    qtbot.addWidget(holder)
    made = RowTree("rows", holder)
    made._holder = holder  # type: ignore[attr-defined]  # kept alive with the tree
    holder.show()
    return made


def row(key: str, facts: str = "", *below: Row) -> Row:
    return Row(key, key.title(), facts, "circle", "muted", below)


def listed(tree: RowTree) -> list[str]:
    return [item.text(0) for item in tree.findItems("", Qt.MatchFlag.MatchContains | Qt.MatchFlag.MatchRecursive)]


def test_only_rows_with_visible_changes_are_signalled(tree: RowTree) -> None:
    tree.show_rows([row("ada", "", row("bea", "1 s"), row("cid", "1 s"))])
    bea, cid = tree.row_of("bea"), tree.row_of("cid")
    signals: list[str] = []
    tree.model().dataChanged.connect(lambda first, _last: signals.append(first.data()))
    tree.show_rows([row("ada", "", row("bea", "1 s"), row("cid", "2 s"))])
    assert set(signals) == {"Cid"}
    assert (tree.row_of("bea"), tree.row_of("cid")) == (bea, cid)
    assert cid is not None
    assert cid.data(0, RowRole).facts == "2 s"
    signals.clear()
    tree.show_rows([row("ada", "", row("bea", "1 s"), row("cid", "2 s"))])
    assert signals == []


def test_rows_are_inserted_and_removed_at_their_positions(tree: RowTree) -> None:
    tree.show_rows([row("ada", "", row("cid"))])
    cid = tree.row_of("cid")
    tree.show_rows([row("ada", "", row("bea", "", row("dot")), row("cid"))])
    assert sorted(listed(tree)) == ["Ada", "Bea", "Cid", "Dot"]
    model = tree.model()
    assert [model.index(row, 0, model.index(0, 0)).data() for row in range(2)] == ["Bea", "Cid"]
    assert tree.row_of("cid") is cid
    dot = tree.row_of("dot")
    assert dot is not None
    assert not tree.visualItemRect(dot).isEmpty(), "new rows are open"
    tree.show_rows([row("ada", "", row("cid"))])
    assert sorted(listed(tree)) == ["Ada", "Cid"]
    assert tree.row_of("dot") is None
    tree.show_rows([])
    assert listed(tree) == []
    assert tree.row_of("ada") is None


def test_rows_change_positions_and_parents(tree: RowTree) -> None:
    tree.show_rows([row("ada", "", row("bea")), row("cid")])
    tree.show_rows([row("cid", "", row("bea")), row("ada")])
    assert titles(tree) == ["Cid", "Ada"]
    top = tree.topLevelItem(0)
    assert top is not None
    assert top.child(0) is tree.row_of("bea")
    assert sorted(listed(tree)) == ["Ada", "Bea", "Cid"]


def test_the_selection_stays(tree: RowTree) -> None:
    tree.show_rows([row("ada"), row("bea")])
    bea = tree.row_of("bea")
    assert bea is not None
    tree.setCurrentItem(bea)
    tree.show_rows([row("ada"), row("bea", "3 s"), row("cid")])
    assert tree.currentItem() is tree.row_of("bea")
    tree.setCurrentIndex(QModelIndex())
    assert tree.currentItem() is None

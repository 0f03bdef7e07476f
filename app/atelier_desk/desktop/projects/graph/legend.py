"""The legend of the graph, with a check box for each kind of node and relation present."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QCheckBox, QWidget

from atelier_desk.desktop.projects.entity_icons import KIND_COLOURS, KIND_ICONS, RELATION_COLOURS
from atelier_desk.desktop.projects.graph.model import KINDS, RELATIONS
from atelier_desk.desktop.theme import icons, theme
from atelier_desk.desktop.widgets import bind, control, label, vbox
from atelier_desk.domain.project import EntityKind, RelationKind
from atelier_desk.presentation.project_text import KIND_WORDS, RELATION_WORDS
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import number


class GraphLegend(QWidget):
    """``graph-legend``. Kinds not in the graph have no box.

    Signals:
        kind_switched, relation_switched: a kind, and whether to show it.
    """

    kind_switched = Signal(object, bool)
    relation_switched = Signal(object, bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("graph-legend")
        self.kinds: dict[EntityKind, QCheckBox] = {}
        self.relations: dict[RelationKind, QCheckBox] = {}
        self._counts: dict[str, int] = {}
        column = vbox(self, spacing=2)
        self._first = control(label("", "heading", self), "", N_("Nodes"))
        column.addWidget(self._first)
        for kind in KINDS:
            box = self.kinds[kind] = QCheckBox(self)
            box.setObjectName(f"graph-kind-{kind}")
            box.toggled.connect(lambda on, kind=kind: self.kind_switched.emit(kind, on))
            column.addWidget(box)
        column.addSpacing(8)
        self._second = control(label("", "heading", self), "", N_("Relations"))
        column.addWidget(self._second)
        for relation in RELATIONS:
            box = self.relations[relation] = QCheckBox(self)
            box.setObjectName(f"graph-relation-{relation}")
            box.toggled.connect(lambda on, relation=relation: self.relation_switched.emit(relation, on))
            column.addWidget(box)
        for box in (*self.kinds.values(), *self.relations.values()):
            box.setChecked(box is not self.kinds[EntityKind.IMPORT])  # the model's default
        bind(self._apply_style)

    def show_counts(self, kinds: Mapping[EntityKind, int], relations: Mapping[RelationKind, int]) -> None:
        """Show the number of each kind; absent kinds are omitted."""
        self._counts = {str(kind): count for counted in (kinds, relations) for kind, count in counted.items()}
        self._update_texts()

    def _update_texts(self) -> None:
        for kind, box in self.kinds.items():
            self._row(box, _(KIND_WORDS[kind]), self._counts.get(str(kind), 0))
        for relation, box in self.relations.items():
            self._row(box, _(RELATION_WORDS[relation]), self._counts.get(str(relation), 0))
        self._first.setVisible(any(not box.isHidden() for box in self.kinds.values()))
        self._second.setVisible(any(not box.isHidden() for box in self.relations.values()))

    @staticmethod
    def _row(box: QCheckBox, words: str, count: int) -> None:
        box.setText(f"{words} · {number(count)}")
        box.setAccessibleName(_("Show: {what} ({number})", what=words, number=number(count)))
        box.setVisible(count > 0)

    def _apply_style(self) -> None:
        style, ratio = theme(), self.devicePixelRatioF()
        side = style.px(14)
        for kind, box in self.kinds.items():
            box.setIcon(icons.tinted(KIND_ICONS[kind], getattr(style.tokens, KIND_COLOURS[kind]), side, (ratio,)))
            box.setIconSize(QSize(side, side))
        for relation, box in self.relations.items():
            picture = QPixmap(round(side * ratio), round(side * ratio))
            picture.setDevicePixelRatio(ratio)
            picture.fill(Qt.GlobalColor.transparent)
            painter = QPainter(picture)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(style.colour(RELATION_COLOURS[relation]), 2.2))
            painter.drawLine(0, side // 2, side, side // 2)
            painter.end()
            box.setIcon(QIcon(picture))
            box.setIconSize(QSize(side, side))
        self._update_texts()

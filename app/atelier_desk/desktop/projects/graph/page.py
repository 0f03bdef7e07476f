"""The graph page: toolbar, graph, and a column with details and legend."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QPushButton, QScrollArea, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.projects.graph.layout_thread import LayoutThread
from atelier_desk.desktop.projects.graph.legend import GraphLegend
from atelier_desk.desktop.projects.graph.loading import fetch_around, fetch_project
from atelier_desk.desktop.projects.graph.model import MOST_NODES, GraphModel
from atelier_desk.desktop.projects.graph.node_details import NodeDetails, has_source
from atelier_desk.desktop.projects.graph.view import ZOOM, GraphView
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import (
    ElidedLabel,
    EmptyState,
    IconButton,
    Line,
    bind,
    bind_text,
    control,
    hbox,
    vbox,
)
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.project import Entity, Project
from atelier_desk.presentation.project_text import place_word
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import number

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

SIDE = 236
"""Width of the column beside the graph, in pixels at 100 %."""
SIDE_FROM = 620
"""Width from which the column is shown by default."""
SURROUNDINGS = 2
"""Edges between a node and those that "only its surroundings" leaves."""


class GraphPage(QWidget):
    """``graph-page``.

    Signals:
        source_requested: open the source of this ``Entity`` at its line.
    """

    source_requested = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("graph-page")
        self.bridge = bridge
        self.jobs = Jobs(self, lambda text: toast(self, text))
        self.project: Project | None = None
        self.model = GraphModel(self)
        self.view = GraphView(self.model, self)
        self.settler = LayoutThread(self.model)
        self.details = NodeDetails()
        self.legend = GraphLegend()
        self.busy = Busy(self)
        self._side_wanted: bool | None = None
        self.empty = EmptyState("waypoints", parent=self)
        self.empty.button.setObjectName("graph-whole-first")
        self.empty.button.clicked.connect(lambda *_on: self.show_project_graph())
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._build_body())
        vbox(self, self._build_top(), (self._stack, 1), self.busy, margins=(16, 8, 16, 12), spacing=8)
        self._connect()
        self._show_state()

    def _build_top(self) -> QHBoxLayout:
        about = N_("All files with their contents and imports; “Expand” shows the next level")
        self.whole_project = control(
            QPushButton(self), "graph-whole", N_("Whole project"), tip=about, on=self.show_project_graph
        )
        self.all = control(
            QPushButton(self), "graph-all", N_("Show all"), look="ghost", on=lambda: self.model.show_only(None)
        )
        self.again = control(
            IconButton("refresh-cw", parent=self), "graph-again", tip=N_("Redo the layout"), on=self.lay_out_again
        )
        self.clear = control(
            IconButton("trash-2", parent=self), "graph-clear", tip=N_("Clear the graph"), on=self.empty_picture
        )
        self.count = control(ElidedLabel("", self), "graph-count", look="muted")
        closer = control(
            IconButton("zoom-in", parent=self),
            "graph-closer",
            tip=N_("Zoom in"),
            keys="+",
            on=lambda: self.view.zoom_by(ZOOM),
        )
        away = control(
            IconButton("zoom-out", parent=self),
            "graph-away",
            tip=N_("Zoom out"),
            keys="-",
            on=lambda: self.view.zoom_by(1 / ZOOM),
        )
        fit = control(
            IconButton("maximize", parent=self), "graph-fit", tip=N_("Fit to view"), keys="0", on=self.view.fit
        )
        self.side_button = control(
            IconButton("list-filter", parent=self),
            "graph-side",
            tip=N_("Show or hide the node details and the legend"),
            on=self._switch_side,
        )
        self._tools = (closer, away, fit, self.again, self.clear, self.side_button)
        return hbox(None, self.whole_project, self.all, (self.count, 1), *self._tools, spacing=6)

    def _build_body(self) -> QWidget:
        body = QWidget(self)
        inside = control(QWidget(body), look="plain")
        vbox(inside, self.details, self.legend, 1, margins=(12, 0, 4, 0), spacing=0)
        self.side = QScrollArea(body)
        self.side.setObjectName("graph-side-column")
        self.side.setWidgetResizable(True)
        self.side.setFrameShape(QFrame.Shape.NoFrame)
        self.side.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.setWidget(inside)
        self._line = Line(body, vertical=True)
        hbox(body, (self.view, 1), self._line, self.side, spacing=0)
        return body

    def _connect(self) -> None:
        self.view.node_chosen.connect(self._on_chosen)
        self.view.expand_requested.connect(self.expand)
        self.view.open_requested.connect(self.open_source)
        self.view.menu_requested.connect(self._menu)
        self.details.open_requested.connect(lambda: self.open_source(self.view.chosen))
        self.details.expand_requested.connect(lambda: self.expand(self.view.chosen))
        self.details.only_requested.connect(lambda: self.show_surroundings(self.view.chosen))
        self.legend.kind_switched.connect(self.model.show_kind)
        self.legend.relation_switched.connect(self.model.show_relation)
        self.model.changed.connect(self._show_state)
        self.settler.progress.connect(lambda share: self.busy.set_progress(round(share * 100), 100))
        bind(self._fit_side)

    def show_project(self, project: Project | None) -> None:
        """Another project was selected: clear the graph."""
        if (project.id if project else "") != (self.project.id if self.project else ""):
            self.jobs.cancel()
            self.busy.drop()
            self.view.choose(-1)
            self.model.show_only(None)
            self.model.clear()
        self.project = project
        self._show_state()

    def show_entity(self, entity: Entity) -> None:
        """Add an entity with its neighbours, select and centre it."""

        async def work() -> None:
            if entity.id not in self.model.expanded:
                await fetch_around(self.bridge, self.model, entity.id)
                await self.settler.settle()
            node = self.model.number.get(entity.id, -1)
            if node >= 0:
                self.legend.kinds[entity.kind].setChecked(True)
                if self.model.narrowed and not self.model.node_shown[node]:
                    self.model.show_only(None)
                self.view.choose(node, reveal=False)
                if self.view.fitted:
                    self.view.fit()
                else:
                    self.view.centre_on(node)

        self._run(work(), N_("Loading neighbours…"))
        self.view.setFocus()

    def expand(self, node: int) -> None:
        """Load the neighbours of a node."""
        if not 0 <= node < len(self.model):
            return
        entity = self.model.entities[node]

        async def work() -> None:
            before = len(self.model)
            found = await fetch_around(self.bridge, self.model, entity.id)
            await self.settler.settle()
            self.view.choose(self.model.number[entity.id])
            new = len(self.model) - before
            if found.cut:
                toast(self, _("{name} has more neighbours than can be shown at once.", name=entity.name))
            elif not new:
                toast(self, _("All neighbours of {name} are already shown.", name=entity.name))

        self._run(work(), N_("Loading neighbours…"))

    def show_project_graph(self) -> None:
        """Load the project's files with their contents and imports, within the limits of the graph."""
        if self.project is None:
            return
        project = self.project

        async def work() -> None:
            self.model.show_only(None)
            self.view.choose(-1)
            self.view.fitted = True
            complete = await fetch_project(self.bridge, self.model, project.id, self.busy.set_progress)
            await self.settler.settle(restart=True)
            self.view.fit()
            if not complete:
                toast(
                    self,
                    _(
                        "The project is too large to show in full: at most {number} nodes are shown.",
                        number=number(MOST_NODES),
                    ),
                )

        self._run(work(), N_("Loading the project…"))

    def lay_out_again(self) -> None:
        """Recompute the positions of all visible nodes."""

        async def work() -> None:
            await self.settler.settle(restart=True)
            self.view.fit()

        self._run(work(), N_("Laying out the graph…"))

    def show_surroundings(self, node: int) -> None:
        """Show only this node and those up to two edges away."""
        if 0 <= node < len(self.model):
            self.model.show_only(self.model.around(node, SURROUNDINGS))
            self.view.fit()

    def empty_picture(self) -> None:
        """Remove everything."""
        self.jobs.cancel()
        self.busy.drop()
        self.view.choose(-1)
        self.model.show_only(None)
        self.model.clear()
        self.view.fitted = True

    def open_source(self, node: int) -> None:
        """Request the source of a node."""
        if 0 <= node < len(self.model) and has_source(self.model.entities[node]):
            self.source_requested.emit(self.model.entities[node])

    def _run(self, work: Coroutine[Any, Any, None], what: str) -> None:
        self.busy.watch(self.jobs.start(work, "graph"), what)

    def _on_chosen(self, node: int) -> None:
        if node < 0:
            self.details.show_entity(None)
            return
        entity = self.model.entities[node]
        self.details.show_entity(entity, len(self.model.neighbours(node)))
        if not (entity.signature or entity.docstring):
            self.jobs.start(self._load_details(node, entity.id), "details")

    async def _load_details(self, node: int, entity_id: str) -> None:
        """Load signature and docstring, which are not loaded with the graph's many nodes."""
        with suppress(AtelierError):  # it may have been deleted
            entity: Entity = await self.bridge.engine.projects.entity(entity_id)
            if self.view.chosen == node and self.model.number.get(entity_id) == node:
                self.details.show_entity(entity, len(self.model.neighbours(node)))

    def _show_state(self) -> None:
        there = bool(len(self.model))
        self._stack.setCurrentIndex(1 if there else 0)
        self.legend.show_counts(self.model.kind_counts(), self.model.relation_counts())
        self._fit_side()
        nodes, edges = int(self.model.node_shown.sum()), int(self.model.edge_shown.sum())
        bind_text(
            self.count,
            lambda: (
                ", ".join(
                    (
                        ngettext("{number} node", "{number} nodes", nodes, number=number(nodes)),
                        ngettext("{number} relation", "{number} relations", edges, number=number(edges)),
                    )
                )
                if there
                else ""
            ),
        )
        for tool in self._tools:
            tool.setEnabled(there)
        self.whole_project.setVisible(there)
        self.whole_project.setEnabled(self.project is not None)
        self.all.setVisible(self.model.narrowed)
        if self.project is None:
            self.empty.set_texts(N_("No project chosen"), N_("Choose one on the left."))
        else:
            self.empty.set_texts(
                N_("Graph is empty"),
                N_("Start from a search result, a source file or the whole project."),
                N_("Whole project"),
            )

    def _menu(self, at: QPoint) -> None:
        node = self.view.chosen
        entity = self.model.entities[node]
        style = theme()
        menu = QMenu(self)
        menu.setObjectName("graph-menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if has_source(entity):
            menu.addAction(style.icon("file-text"), _("Open the source"), partial(self.open_source, node))
        menu.addAction(style.icon("plus"), _("Expand"), partial(self.expand, node))
        menu.addAction(style.icon("filter"), _("Show only neighbours"), partial(self.show_surroundings, node))
        menu.addAction(style.icon("maximize"), _("Centre on this node"), partial(self.view.centre_on, node))
        if place_word(entity):
            menu.addSeparator()
            menu.addAction(
                style.icon("copy"),
                _("Copy path and line"),
                lambda: QGuiApplication.clipboard().setText(place_word(entity)),
            )
        menu.popup(at)

    def _switch_side(self) -> None:
        self._side_wanted = self.side.isHidden()
        self._fit_side()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_side()

    def _fit_side(self) -> None:
        on = self._side_wanted if self._side_wanted is not None else self.width() >= theme().px(SIDE_FROM)
        self.side.setVisible(on)
        self._line.setVisible(on)
        needed = self.legend.sizeHint().width() + theme().px(32)
        self.side.setFixedWidth(max(theme().px(SIDE), min(needed, round(self.width() * 0.45))))

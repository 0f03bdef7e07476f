"""The source page: text, outline, and callers and callees of the selected entity."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSplitter, QStackedWidget, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.file_dialogs.opening import show_not_opened
from atelier_desk.desktop.panes.pane_base import toast, toasts_of
from atelier_desk.desktop.projects.code.open_in_editor import open_text
from atelier_desk.desktop.projects.code.outline import Outline, PlaceList
from atelier_desk.desktop.projects.code.source_text import SourceText
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, EmptyState, IconButton, bind, bind_text, control, hbox, vbox
from atelier_desk.desktop.widgets.find_bar import FindBar
from atelier_desk.desktop.widgets.untrusted_links import open_address
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.project import Direction, Entity, EntityKind, Project, RelationKind
from atelier_desk.presentation.project_text import describe, place_word
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

SIDE = 250
"""Width of the column beside the text, in pixels at 100 %."""
SIDE_FROM = 600
PARTS = 1_000
"""Maximum entities of a file in the outline."""
CALLS = 100
BACK = 50
"""Size of the history for Back."""
HOLDERS = (EntityKind.FILE, EntityKind.DOCUMENT, EntityKind.PAGE)


class CodePage(QWidget):
    """``code-page``. Alt+Left goes back.

    Signals:
        graph_requested: show this ``Entity`` in the graph.
    """

    graph_requested = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("code-page")
        self.bridge = bridge
        self.jobs = Jobs(self, lambda text: toast(self, text))
        self.entity: Entity | None = None
        self.projects: dict[str, Project] = {}
        self._file = ""
        """Path of the file that is shown, with its project before it."""
        self._holder: Entity | None = None
        """What is shown as a whole."""
        self._before: list[Entity] = []
        self._side_wanted: bool | None = None
        self.text = SourceText(self)
        self.finder = FindBar("code-find", N_("Find in this file"), self)
        self.finder.needle_changed.connect(lambda _needle: self._find())
        self.finder.reached.connect(self.text.show_match)
        self.finder.closed.connect(self.text.setFocus)
        self.outline = Outline(self)
        self.callers = PlaceList("code-callers", N_("Called by"), self)
        self.callees = PlaceList("code-callees", N_("Calls"), self)
        self.empty = EmptyState(
            "braces", N_("No source file open"), N_("Open a source file from the search or the graph."), parent=self
        )
        self.side = QWidget(self)
        vbox(self.side, (self.outline, 1), self.callers, self.callees, margins=(10, 0, 0, 0), spacing=8)
        self.body = QSplitter(Qt.Orientation.Horizontal, self)
        self.body.setChildrenCollapsible(False)
        self.body.addWidget(self.text)
        self.body.addWidget(self.side)
        self.body.setStretchFactor(0, 1)
        self._shown = QWidget(self)
        vbox(self._shown, self._build_top(), self.finder, (self.body, 1), margins=(16, 8, 16, 12), spacing=8)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._shown)
        vbox(self, (self._stack, 1))
        for list_ in (self.callers, self.callees):
            list_.entity_chosen.connect(self.show_entity)
        self.outline.entity_chosen.connect(self.show_entity)
        self.text.line_reached.connect(self._on_line)
        bind(self._fit_side)

    def _build_top(self) -> QHBoxLayout:
        self.back = control(
            IconButton("chevron-left", parent=self), "code-back", tip=N_("Back"), keys="Alt+Left", on=self.go_back
        )
        self.back.setShortcut("Alt+Left")
        self.back.setEnabled(False)
        self.place = control(ElidedLabel("", self, Qt.TextElideMode.ElideLeft), "code-place", look="strong")
        layout_button = control(
            IconButton("search", parent=self),
            "code-find-open",
            tip=N_("Find in this file"),
            keys="Ctrl+F",
            on=self.open_find_bar,
        )
        self.graph = control(QPushButton(self), "code-graph", N_("Graph"), on=self._show_graph)
        self.editor = control(
            QPushButton(self),
            "code-editor",
            N_("Open in editor"),
            tip=N_("Opens the file in the system editor"),
            on=self.open_in_editor,
        )
        copy = control(IconButton("copy", parent=self), "code-copy-place", tip=N_("Copy path and line"), on=self._copy)
        self.side_button = control(
            IconButton("panel-right", parent=self),
            "code-side",
            tip=N_("Show or hide the outline and calls"),
            on=self._switch_side,
        )
        return hbox(
            None,
            self.back,
            (self.place, 1),
            layout_button,
            copy,
            self.graph,
            self.editor,
            self.side_button,
            spacing=6,
        )

    def show_projects(self, projects: Sequence[Project]) -> None:
        """Set the projects; a source of a deleted one is closed."""
        self.projects = {each.id: each for each in projects}
        self._before = [each for each in self._before if each.project_id in self.projects]
        self.back.setEnabled(bool(self._before))
        if self.entity is not None and self.entity.project_id not in self.projects:
            self.jobs.cancel()
            self.entity, self._holder, self._file = None, None, ""
            self._stack.setCurrentWidget(self.empty)

    def open_find_bar(self) -> None:
        """Open the find bar with the selected text of a line."""
        chosen = self.text.textCursor().selectedText()
        self.finder.enter("" if "\u2029" in chosen else chosen)

    def _find(self, *, move: bool = True) -> None:
        """Highlight matches and go to the first one below the top of the view, unless the view should stay."""
        found = self.text.places_of(self.finder.needle)
        self.text.show_found(found)
        top = self.text.firstVisibleBlock().position()
        at = next((row for row, place in enumerate(found) if place.selectionStart() >= top), 0)
        if found and not move:
            self.text.show_match(at, move=False)
        self.finder.show_found(len(found), at, more=self.text.found_more, move=move)

    def show_entity(self, entity: Entity, *, remember: bool = True) -> None:
        """Open an entity's file at its lines."""
        if remember and self.entity is not None and self.entity.id != entity.id:
            self._before = [*self._before[1 - BACK :], self.entity]
        self.jobs.start(self._open(entity), "open")

    def go_back(self) -> None:
        """Go back to the previous place."""
        if self._before:
            self.show_entity(self._before.pop(), remember=False)

    async def _open(self, entity: Entity) -> None:
        text, first, last = await self._read(entity)
        self.entity = entity
        self._stack.setCurrentWidget(self._shown)
        complete = entity.kind in HOLDERS
        coloured = f"{entity.path}.py" if entity.language == "notebook" else entity.path  # cells are shown, not JSON
        self.text.show_source(text, coloured, 0 if complete else first, 0 if complete else last)
        self._find(move=False)
        self._update_place()
        self.back.setEnabled(bool(self._before))
        file = f"{entity.project_id}:{entity.path}"
        if file != self._file:
            self._file = file
            self.outline.show_entities(await self._parts(entity))
        self.outline.mark_entity(entity.id)
        await self._show_calls(entity)

    def refresh(self) -> None:
        """Reload the file if its text changed."""
        if self.entity is not None and self.isVisible():
            self.jobs.once(("refresh", self.entity.id), self._renew)

    async def _renew(self) -> None:
        entity = self.entity
        if entity is None:
            return
        holder = self._holder or entity
        try:
            text, first, last = await self._read(entity)
        except AtelierError:  # the selected entity, or its file, no longer exists
            try:
                text, first, last = (await self._read(holder))[0], 0, 0
            except AtelierError:
                return
        if entity is not self.entity or text == self.text.toPlainText():
            return
        complete = entity.kind in HOLDERS
        self.text.renew(text, 0 if complete else first, 0 if complete else last)
        if first and not complete:
            self.entity = entity = entity.model_copy(update={"start_line": first, "end_line": last})
            self._update_place()
        self._find(move=False)
        with suppress(AtelierError):
            self.outline.show_entities(await self._parts(holder))
            self.outline.mark_entity(entity.id)
            await self._show_calls(entity)

    async def _read(self, entity: Entity) -> tuple[str, int, int]:
        """The text of its file with the entity's lines; for a web page or PDF, the extracted text."""
        try:
            text, first, last = await self.bridge.engine.projects.source(entity.id)
        except UsageError:
            read = await self.bridge.engine.projects.entity(entity.id)
            if not read.text:
                raise
            return read.text, 0, 0
        return text, first, last

    async def _parts(self, entity: Entity) -> list[Entity]:
        """The entities in an entity's file."""
        projects, holder = self.bridge.engine.projects, entity
        if entity.kind not in HOLDERS:
            above = await projects.explore(
                entity.id, relations=(RelationKind.CONTAINS,), direction=Direction.IN, depth=5, limit=20
            )
            holder = next((each.entity for each in above.neighbours if each.entity.kind in HOLDERS), entity)
        self._holder = holder
        below = await projects.explore(
            holder.id, relations=(RelationKind.CONTAINS,), direction=Direction.OUT, depth=5, limit=PARTS
        )
        return [each.entity for each in below.neighbours]

    async def _show_calls(self, entity: Entity) -> None:
        for list_, direction in ((self.callers, Direction.IN), (self.callees, Direction.OUT)):
            found = None
            if entity.kind is EntityKind.SCOPE:
                found = await self.bridge.engine.projects.explore(
                    entity.id, relations=(RelationKind.CALLS,), direction=direction, depth=1, limit=CALLS
                )
            list_.show_places(
                [(each.entity, each.by.confidence) for each in found.neighbours] if found is not None else []
            )

    def _on_line(self, line: int) -> None:
        """Select the entity at the cursor in the outline, and load its calls."""
        entity = self.outline.at_line(line)
        if entity is not None and (self.entity is None or entity.id != self.entity.id):
            self.entity = entity
            self.outline.mark_entity(entity.id)
            self.text.first, self.text.last = entity.start_line, entity.end_line
            self.text._mark()
            self._update_place()
            self.jobs.start(self._show_calls(entity), "open")

    @property
    def path(self) -> Path | None:
        """The local file; None if there is none."""
        entity = self.entity
        project = self.projects.get(entity.project_id) if entity is not None else None
        here = entity is not None and project is not None and project.root and not self._address
        return Path(project.root) / entity.path if here else None  # type: ignore[union-attr]

    def open_in_editor(self) -> None:
        """Open the file in the system's editor, or a fetched page in the browser."""
        if self._address:
            if not open_address(self._address):
                show_not_opened(toasts_of(self), self._address)
        elif self.path is not None and not open_text(self.path):
            show_not_opened(toasts_of(self), str(self.path))

    @property
    def _address(self) -> str:
        """The address of a fetched page."""
        path = self.entity.path if self.entity is not None else ""
        return path if path.startswith(("http://", "https://")) else ""

    def _copy(self) -> None:
        if self.entity is not None:
            QGuiApplication.clipboard().setText(place_word(self.entity))

    def _show_graph(self) -> None:
        if self.entity is not None:
            self.graph_requested.emit(self.entity)

    def _update_place(self) -> None:
        entity = self.entity
        if entity is not None:
            self.place.setText(place_word(entity))
            bind_text(self.text, about=lambda: describe(entity))
            self.editor.setVisible(self.path is not None or bool(self._address))
            bind_text(self.editor, N_("Open in the browser") if self._address else N_("Open in editor"))

    def _switch_side(self) -> None:
        self._side_wanted = self.side.isHidden()
        self._fit_side()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_side()

    def _fit_side(self) -> None:
        on = self._side_wanted if self._side_wanted is not None else self.width() >= theme().px(SIDE_FROM)
        if (on and self.side.isHidden()) or self.side.width() < theme().px(120):
            wide = theme().px(SIDE)
            self.body.setSizes([max(1, self.width() - wide), wide])
        self.side.setVisible(on)

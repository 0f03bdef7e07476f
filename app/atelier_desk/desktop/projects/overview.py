"""The overview page of a project: contents, indexing progress, options, and skipped files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from atelier_desk.desktop.file_dialogs.opening import open_path
from atelier_desk.desktop.panes.pane_base import toasts_of
from atelier_desk.desktop.panes.time_format import ago, number, size
from atelier_desk.desktop.projects.code_language_bar import LanguageBar
from atelier_desk.desktop.projects.indexing_progress import IngestProgress
from atelier_desk.desktop.projects.skipped_files import ProblemList
from atelier_desk.desktop.settings.setting_rows_and_footer import Row
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import (
    Card,
    ElidedLabel,
    FlowLayout,
    IconButton,
    bind,
    bind_text,
    control,
    fill,
    hbox,
    label,
    vbox,
)
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.scroll_bar_space import SteadyWidth
from atelier_desk.domain.project import FileProblem, IngestState, Project, ProjectStatistics
from atelier_desk.presentation.project_text import KIND_WORDS, RELATION_WORDS, RUNNING, cut_word, folder_word
from atelier_desk.support.i18n import N_, _

COLUMN = 760
FIGURES = (
    ("files", N_("Files")),
    ("entities", N_("Entities")),
    ("relations", N_("Relations")),
    ("vectors", N_("Embeddings")),
    ("size", N_("Size")),
    ("read", N_("Last indexed")),
)
SWITCHES = (
    ("loaded", N_("Searched by agents"), N_("Used by agents and by searches across all projects.")),
    ("watched", N_("Watch for changes"), N_("Changed files are re-indexed automatically.")),
    ("embedded", N_("Search by meaning"), N_("Computes embeddings; without them, search matches words only.")),
)


class OverviewPage(QWidget):
    """``project-overview``.

    Attributes:
        statistics: the project's contents, once ``counted``.

    Signals:
        switched: name of the option and its new state.
        read_requested: index the project; True: re-index everything, including unchanged files.
        allowed: index a path that looks like a secret (True), or skip it (False).
        pause_requested, rename_requested, delete_requested, search_requested, graph_requested: the button was
            pressed.
    """

    switched = Signal(str, bool)
    read_requested = Signal(bool)
    allowed = Signal(str, bool)
    pause_requested = Signal()
    rename_requested = Signal()
    delete_requested = Signal()
    search_requested = Signal()
    graph_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("project-overview")
        self.project: Project | None = None
        self.statistics = ProjectStatistics()
        self.counted = False
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        vbox(self, (area, 1))
        content = control(QWidget(area), look="plain")
        area.setWidget(content)
        self._inner = QWidget(content)
        SteadyWidth(area, hbox(content, (self._inner, 1), 0, margins=(24, 16, 24, 24)))
        column = vbox(self._inner, spacing=12)
        self.progress = IngestProgress(self)
        self.languages = LanguageBar(self)
        self.problems = ProblemList(self)
        self._parts = control(label("", "muted", self, wrap=True), "project-parts")
        self._relations = control(label("", "muted", self, wrap=True), "project-relations")
        self.cut = control(label("", "warn", self, wrap=True), "project-cut")
        self._problem_title = control(label("", "heading", self), "", N_("Not indexed"))
        fill(
            column,
            self._build_head(),
            self._build_buttons(),
            self.progress,
            self.cut,
            self._build_figures(),
            self.languages,
        )
        fill(column, self._parts, self._relations, self._build_switches(), self._problem_title, self.problems, 1)
        self.problems.allowed.connect(self.allowed)
        self.progress.pause_requested.connect(self.pause_requested)
        self.progress.resume_requested.connect(lambda: self.read_requested.emit(False))
        bind(self._inner.setMaximumWidth, lambda: theme().px(COLUMN))
        bind(self._update_texts)
        MinuteClock(self, self._update_texts)

    def _build_head(self) -> QVBoxLayout:
        self.name = control(ElidedLabel("", self), "project-title", look="title")
        self.rename = control(
            IconButton("pencil", parent=self), "project-rename", tip=N_("Rename"), on=self.rename_requested.emit
        )
        self.folder = control(ElidedLabel("", self, Qt.TextElideMode.ElideMiddle), "project-root", look="muted")
        self.show_folder = control(
            IconButton("folder-open", parent=self), "project-show-folder", tip=N_("Open the folder"), on=self._show
        )
        first = hbox(None, (self.name, 1), self.rename, spacing=6)
        return vbox(None, first, hbox(None, (self.folder, 1), self.show_folder, spacing=6), spacing=2)

    def _build_buttons(self) -> FlowLayout:
        self.read = control(QPushButton(self), "project-read", on=lambda: self.read_requested.emit(False))
        self.search = control(QPushButton(self), "project-search", N_("Search"), on=self.search_requested.emit)
        self.graph = control(QPushButton(self), "project-graph", N_("Graph"), on=self.graph_requested.emit)
        self.reindex_button = control(
            QPushButton(self),
            "project-read-anew",
            N_("Re-index everything"),
            look="ghost",
            tip=N_("Also reads unchanged files again, and removes from the index files that no longer exist"),
            on=lambda: self.read_requested.emit(True),
        )
        self.delete = control(
            QPushButton(self), "project-delete", N_("Delete…"), look="ghost", on=self.delete_requested.emit
        )
        line = FlowLayout(spacing=8)
        for button in (self.read, self.search, self.graph, self.reindex_button, self.delete):
            line.addWidget(button)
        return line

    def _build_figures(self) -> Card:
        card = Card(self)
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(10)
        self.figures: dict[str, QLabel] = {}
        for place, (name, words) in enumerate(FIGURES):
            value = self.figures[name] = control(label("", "strong", card, wrap=True), f"project-figure-{name}")
            cell = vbox(None, control(label("", "small", card), "", words), value, spacing=2)
            grid.addLayout(cell, place // 3, place % 3)
            grid.setColumnStretch(place % 3, 1)
        card.body.addLayout(grid)
        return card

    def _build_switches(self) -> Card:
        card = Card(self)
        card.body.setSpacing(4)
        self.switches: dict[str, QCheckBox] = {}
        for name, caption, hint in SWITCHES:
            box = self.switches[name] = control(QCheckBox(card), f"project-{name}")
            row = Row(box, card)
            row.set_texts(caption, hint)
            card.body.addWidget(row)
            box.clicked.connect(lambda on, name=name: self.switched.emit(name, on))
        return card

    def show_project(
        self, project: Project, counted: ProjectStatistics | None, problems: Sequence[FileProblem]
    ) -> None:
        """Show this project; without figures until they are counted."""
        self.counted = counted is not None
        self.project, self.statistics = project, (statistics := counted or ProjectStatistics())
        self.name.setText(project.name)
        bind_text(self.folder, lambda: folder_word(project))
        self.show_folder.setVisible(bool(project.root))
        for name, box in self.switches.items():
            box.setChecked(getattr(project, name))
        self.languages.show_languages(statistics.languages)
        bind_text(self.cut, lambda: cut_word(project.cut))
        self.cut.setVisible(bool(project.cut))
        self.problems.show_problems(problems, statistics.problems, project.readable)
        self._problem_title.setVisible(bool(problems or project.readable))
        for button in (self.search, self.graph):
            button.setVisible(bool(statistics.entities))
        self._update_texts()

    def show_state(self, state: IngestState | None) -> None:
        """Show its indexing progress."""
        self.progress.show_state(state)
        self._update_texts()

    def _update_texts(self) -> None:
        project, found = self.project, self.statistics
        if project is None:
            return
        running = self.progress.state is not None and self.progress.state.stage in RUNNING
        self.read.setEnabled(bool(project.root) and not running)
        self.reindex_button.setVisible(
            bool(project.root) and (project.ingested_at is not None or found.files > 0) and not running
        )
        bind_text(self.read, N_("Update index") if project.ingested_at is not None else N_("Index the folder"))
        vectors = f"{number(found.vectors)} / {number(found.texts)}" if found.texts else number(found.vectors)
        values = {
            "files": number(found.files),
            "entities": number(sum(found.entities.values())),
            "relations": number(sum(found.relations.values())),
            "vectors": vectors if project.embedded or found.vectors else _("off"),
            "size": size(found.size),
            "read": ago(project.ingested_at) if project.ingested_at is not None else _("never"),
        }
        for name, value in values.items():
            self.figures[name].setText(value if self.counted or name == "read" else "…")
        self._list(self._parts, [(_(KIND_WORDS[kind]), count) for kind, count in found.entities.items()])
        self._list(self._relations, [(_(RELATION_WORDS[kind]), count) for kind, count in found.relations.items()])

    @staticmethod
    def _list(text: QLabel, parts: list[tuple[str, int]]) -> None:
        words = " · ".join(_("{type}: {number}", type=words, number=number(count)) for words, count in parts if count)
        text.setText(words)
        text.setVisible(bool(words))

    def _show(self) -> None:
        if self.project is not None and self.project.root:
            open_path(toasts_of(self), Path(self.project.root))

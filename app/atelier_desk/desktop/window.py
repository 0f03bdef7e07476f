"""The main window: three columns, one registry of actions, and the wiring between them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6 import QtGui  # for QKeySequence: importing it makes its class before the first paint
from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QApplication, QFrame, QMenu, QStackedWidget, QWidget

from atelier_desk.desktop.file_dialogs.start_folder import remember_folder, start_folder
from atelier_desk.desktop.main_window.action_registry import ActionRegistry, shortcut_text
from atelier_desk.desktop.main_window.child_windows import deferred_dialog_imports
from atelier_desk.desktop.main_window.focus_order import step
from atelier_desk.desktop.main_window.loading_page import OpeningPage
from atelier_desk.desktop.main_window.window_actions import WindowActions
from atelier_desk.desktop.panes.pane_docks import OPENINGS, Rail
from atelier_desk.desktop.sidebar.sidebar import Sidebar
from atelier_desk.desktop.sidebar.sidebar_dock import SideColumn
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.icons import app_icon
from atelier_desk.desktop.widgets import ToastHost, bind, bind_text, control
from atelier_desk.desktop.widgets.button_menu import popup_from
from atelier_desk.desktop.widgets.enter_key import EnterPresses
from atelier_desk.domain.setting_subscribers import SettingSubscribers
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.lazy_module import LateModule

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.main_window import deferred_imports as deferred_imports
    from atelier_desk.desktop.main_window.closing_question import ClosingQuestion
    from atelier_desk.desktop.main_window.startup_error_page import StartupErrorPage
    from atelier_desk.desktop.settings.pages.providers_and_models import ProvidersPage
    from atelier_desk.domain.settings import Settings
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow
else:
    deferred_imports = LateModule("atelier_desk.desktop.main_window.deferred_imports")

LAYOUT_VERSION = 1
TITLE_BAR = 40
"""Largest expected height of a title bar in pixels: GNOME's is 37, openbox's about 20."""


def first_view(workflows: Sequence[Workflow], last: str) -> str:
    """The workflow to show at startup; empty for none.

    A running one, else the last in view, else one that was interrupted or waits.
    """
    statuses = deferred_imports.WorkflowStatus
    newest = {workflow.status: workflow.id for workflow in sorted(workflows, key=lambda each: each.updated_at)}
    known = {workflow.id for workflow in workflows}
    waiting = newest.get(statuses.INTERRUPTED) or newest.get(statuses.WAITING, "")
    return newest.get(statuses.RUNNING) or (last if last in known else waiting)


class MainWindow(WindowActions):
    """``main-window``. Shown before the engine is open; ``start`` is called afterwards."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self.bridge = bridge
        self.setObjectName("main-window")
        self.setAnimated(False)
        # Before the panes are laid out for its height; the title bar's height is known only once the window is shown.
        self.resize(QSize(1360, 860).boundedTo(self.screen().availableSize() - QSize(0, TITLE_BAR)))
        self.toasts = ToastHost(self, bottom=128)
        self.side = SideColumn(self)
        self.sidebar = Sidebar(bridge, self.toasts, self.side.dock)
        self.middle = QStackedWidget(self)
        self.pages = control(QStackedWidget(self), look="middle")
        # Without a frame the style sheet's lines at the sides are not drawn.
        self.pages.setFrameShape(QFrame.Shape.StyledPanel)
        self.opening = OpeningPage(self)
        self.pages.addWidget(self.opening)
        self.pages.addWidget(self.middle)
        self.setCentralWidget(self.pages)
        self.opening.setFocus()
        self.side.hold(self.sidebar, self.pages, (self.opening, self.middle))
        self.rail = Rail(self, bridge)
        self.rail.drawer.overlay(self.pages, self.middle, self.sidebar, self.rail.strip)
        self.rail.docks_made.connect(self._restore_docks)
        self._layout: dict[str, str] = {}
        """The stored layout of the docks."""
        self.pages.installEventFilter(self)
        self.installEventFilter(self)
        self.toasts.stand_over(self.pages)
        EnterPresses(self)
        self.presenter: Any = None
        self.settings = SettingSubscribers()
        self.settings.subscribe(self.set_shortcuts, "shortcuts")
        self._error_page: StartupErrorPage | None = None
        self._asks = True
        self._closing_question: ClosingQuestion | None = None
        self._connect()
        self._size_columns()
        self._sized_for = theme().scale
        bind(self._on_theme)
        bind_text(self, name=N_("Atelier, main window"))
        self.setWindowTitle("Atelier")

    def _connect(self) -> None:
        self.sidebar.workflow_gone.connect(self._on_gone)
        self.sidebar.hit_chosen.connect(self._on_hit)
        self.sidebar.foot.palette_requested.connect(self.command_palette)
        self.sidebar.foot.menu_requested.connect(self.main_menu)
        self.bridge.failed.connect(self.toasts.show)

    def _connect_chat(self) -> None:
        self.sidebar.workflow_chosen.connect(self.chat.open_workflow)
        self.chat.workflow_made.connect(self.sidebar.select)
        self.chat.workflow_shown.connect(self._on_shown)
        self.chat.commands.status_changed.connect(self.toasts.show)
        self.chat.sending.status_changed.connect(self.toasts.show)
        self.chat.host.files_requested.connect(self._show_changes)
        self.chat.host.report_requested.connect(self._show_report)
        self.chat.host.provider_requested.connect(self._open_providers)
        self.chat.host.price_requested.connect(self._open_prices)
        self.chat.commands.deleted.connect(self.toasts.offer_undo)
        self.chat.commands.workflow_made.connect(self.chat.open_workflow)
        self.chat.commands.workflow_made.connect(self.sidebar.select)
        self.chat.better_models_requested.connect(self._choose_model)
        self.chat.run_changed.connect(lambda *_: self._refresh_actions())
        self.chat.workflow_refreshed.connect(self._refresh_actions)
        self.chat.header.left.clicked.connect(self.toggle_sidebar)
        self.chat.header.right.clicked.connect(self.toggle_panes)

    def _show_changes(self, ids: tuple[str, ...]) -> None:
        self.rail.show_pane("files")
        if isinstance(pane := self.rail.panes.get("files"), deferred_imports.FilesPane):
            pane.open(*ids)

    def _show_report(self, name: str) -> None:
        self.rail.show_pane("reports")
        if isinstance(pane := self.rail.panes.get("reports"), deferred_imports.ReportsPane):
            pane.open(name)

    def prepare(self) -> None:
        """Create what the first paint did not need: actions, chat, panes and the question presenter."""
        if self.presenter is not None:
            return
        self._make_actions()
        self.sidebar.list.show()
        self._make_chat()
        self.setWindowIcon(app_icon())
        deferred_imports.warm_up()
        self.presenter = deferred_imports.QuestionPresenter(self.bridge, self)
        self.presenter.workflow_requested.connect(self.chat.open_workflow)
        self.presenter.opened.connect(self.rail.drawer.shut)
        self.presenter.notice.connect(self.toasts.show)
        self.presenter.presented.connect(self.toasts.watch)
        self.chat.question_requested.connect(self.presenter.open)
        self.presenter.inbox_requested.connect(lambda: self.rail.show_pane("questions"))
        self.presenter.price_requested.connect(self._open_prices)
        waiting_runs = self.presenter.waiting_runs
        for shown in (waiting_runs.changed, self.chat.workflow_shown):
            shown.connect(lambda *_: self.chat.pages.show_stopped(waiting_runs.stopped()))
        self.rail.fill(self.presenter)
        self.conductor = deferred_imports.RunViewController(self)
        self.chat.return_focus(self)
        self._make_offers()
        self._background = deferred_imports.BackgroundWatch(self)
        self._status = deferred_imports.StatusWatch(self)
        self.system = deferred_imports.SystemLink(self)
        self._update_shortcut_texts()

    def _make_actions(self) -> None:
        self.actions_ = ActionRegistry(self)
        self.actions_.hold()
        self._add_pane_actions()
        self.actions_["keep-panes-closed"].setChecked(self.rail.opens == "never")
        self.sidebar.new_requested.connect(self.actions_["new-workflow"].trigger)
        self.sidebar.foot.settings_requested.connect(self.actions_["settings"].trigger)
        self.toasts.undo.changed.connect(self.actions_["undo-delete"].setEnabled)
        self.actions_["undo-delete"].setEnabled(False)
        self.actions_.shortcuts_changed.connect(self._update_shortcut_texts)

    def _make_offers(self) -> None:
        offer = deferred_imports.OfferBar(self.bridge, self.chat.folders, self)
        offer.begun.connect(lambda text: self.toasts.show(text, _("Show"), self.actions_["projects"].trigger))
        self.chat.above_composer.addWidget(offer)

        self.bridge.changed.connect(self._on_usage)
        self.bridge.changed.connect(self._on_embedding_offer)

    def _on_usage(self, topic: Topic, _month: str) -> None:
        """Warn once when most of the monthly limit is used, with a link to the limit."""
        if topic != "usage":
            return

        async def warn() -> None:
            words = deferred_imports.warning_text(await self.bridge.engine.usage.month())
            self.toasts.show(words, _("Change limit"), lambda: self.show_settings("usage"), duration_ms=15_000)

        self.bridge.jobs.start(warn())

    def _on_embedding_offer(self, topic: Topic, id: str) -> None:
        """Ask before creating embeddings that may cost something."""
        if topic != "memory" or id != deferred_imports.EMBEDDING_OFFER:
            return

        async def ask() -> None:
            memories = self.bridge.engine.memories
            if (offer := await memories.offer()) is not None:

                def embed() -> None:
                    self.bridge.jobs.start(memories.embed_now())

                def dismiss() -> None:
                    toast.dismiss()

                words, other = deferred_imports.embedding_offer_text(offer), (_("Not now"), dismiss)
                toast = self.toasts.show(words, _("Embed now"), embed, second=other, lasting=True)

        self.bridge.jobs.start(ask())

    def _make_chat(self) -> None:
        self.chat = deferred_imports.ChatPanel(self.bridge, self)
        self.middle.addWidget(self.chat)
        self.toasts.stand_over(self.pages, self._clear_of_toasts, watched=self.chat.bottom)
        self.chat.commands.register(self.actions_)
        deferred_imports.FolderDrop(
            self, self.chat.folders.grant, self._handle_dropped, self.chat.composer.field, self.chat
        )
        self._connect_chat()

    def _clear_of_toasts(self) -> int:
        """Pixels at the lower edge of the pages that no toast may cover: an open question, else the composer."""
        dialog = self.presenter.dialog if self.presenter is not None else None
        if dialog is None or not dialog.isVisible():
            return self.chat.clear_of()
        return int(self.pages.height() - dialog.mapTo(self.pages, QPoint()).y())

    def _handle_dropped(self, files: list[str]) -> None:
        """Import dropped workflows and exported chats; attach other files to the message."""

        async def add_files() -> None:
            if others := await self.sidebar.workflow_actions.importer.import_dropped(files):
                self.chat.composer.attach_files(others)

        self.bridge.jobs.start(add_files())

    async def start(self, settings: Settings) -> None:
        """The engine is open: fill all parts and show the workflow from ``first_view``."""
        self.prepare()
        await self.settings.publish(settings)
        self.presenter.set_view("", None)
        await self.chat.choices.load()
        await self.sidebar.load()
        view = first_view(self.sidebar.model.workflows, settings.window.get("workflow", ""))
        if not view:
            self.new_workflow()
        elif (reading := self.chat.open_workflow(view)) is not None:
            await asyncio.wait((reading,))  # or the start page stood there first, with its own folder and agent
        self.pages.setCurrentWidget(self.middle)
        self.chat.composer.field.setFocus()
        self.presenter.start()
        self.sidebar.foot.show_connection("ready")
        self._refresh_actions()
        self.actions_.release()

    def hold(self, on: bool) -> None:
        """Suppress hints while the guide of the first start is shown, which says the same."""
        self.chat.empty.hold(on)
        self.sidebar.hold(on)
        self.chat.bottom.setVisible(not on)
        if not on:
            self.chat.composer.field.setFocus()

    def show_engine_error(self, error: BaseException, data_dir: str, retry: Callable[[], object]) -> None:
        """Replace the window's content by an error page."""
        if self._error_page is None:
            made = deferred_dialog_imports.StartupErrorPage(self)
            made.retry_requested.connect(lambda: retry())
            made.quit_requested.connect(self.close)
            self.pages.addWidget(made)
            self._error_page = made
        self.sidebar.foot.show_connection("failed")
        self.rail.set_aside(True)
        self._error_page.show_error(error, data_dir)
        self.pages.setCurrentWidget(self._error_page)

    def leave_engine_error(self) -> None:
        """Remove the error page: the engine is being opened again."""
        self.sidebar.foot.show_connection("opening")
        self.rail.set_aside(False)
        self.pages.setCurrentWidget(self.opening)
        self.opening.setFocus()

    def layout_state(self) -> dict[str, str]:
        """Geometry and layout as stored in ``settings.window``."""
        beside = self.rail.drawer.docked_panes()
        shown = {name for name, dock in self.rail.docks.items() if not dock.isHidden()}
        return {
            "geometry": _text(self.saveGeometry()),
            "state": _text(self.saveState(LAYOUT_VERSION)),
            "panes": "\n".join(sorted(beside)),
            "open": "\n".join(sorted(beside | shown)),
            "rows": str(self.rail.rows),
            "rail": self.rail.opens,
            "sidebar": "hidden" if self.sidebar.isHidden() else "shown",
            "workflow": self.chat.workflow_id,
            "commands": self.ran_last,
            "closed": "\n".join(sorted(self.sidebar.closed)),
            "folder": str(start_folder()),
        }

    def restore_layout(self, state: dict[str, str]) -> None:
        """Restore geometry and layout; unreadable parts are left unchanged."""
        if state.get("geometry"):
            self.restoreGeometry(_bytes(state["geometry"]))
        if state.get("state"):
            self._layout = state
            if self.rail.docks or state.get("open") == "":
                self._restore_docks()
            else:  # some are in the first picture, or it is unknown: a layout of an earlier version
                self.rail.make_docks()
        self.ran_last = state.get("commands", "")
        self.sidebar.setVisible(state.get("sidebar") != "hidden")
        if "closed" in state:
            self.sidebar.set_closed(frozenset(state["closed"].split("\n")) - {""})
        if state.get("folder"):
            remember_folder(Path(state["folder"]))

    def _restore_docks(self) -> None:
        """Restore the stored layout, if any; again once the docks of the panes are made."""
        if state := self._layout:
            if self.restoreState(_bytes(state["state"]), LAYOUT_VERSION):
                self.rail.use_stored_heights()
            self.side.repair_layout()
            rows = state.get("rows", "")
            shown = set(state["panes"].split("\n")) - {""} if "panes" in state else None
            self.rail.repair_layout(shown, int(rows) if rows.isdecimal() else 0)
            opens = state.get("rail", "done")  # layouts of earlier versions were set by the user
            self.rail.opens = opens if opens in OPENINGS else "done"
            if self.presenter is not None:
                self.actions_["keep-panes-closed"].setChecked(self.rail.opens == "never")

    def _on_theme(self) -> None:
        """A change of text size resizes the columns; a change of colour keeps the widths the user set."""
        if self._sized_for != theme().scale:
            self._sized_for = theme().scale
            self._size_columns()

    def _size_columns(self) -> None:
        """Side columns grow less than the text, so that the chat keeps its room."""
        grown = 1 + (theme().scale - 1) * 0.5
        self.sidebar.setMinimumWidth(round(190 * grown))
        self.sidebar.setMaximumWidth(round(460 * grown))
        self.rail.drawer.size_middle(round(400 * grown))
        self.rail.fit()
        self.side.size_column(grown)
        self.rail.size_column()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.pages and event.type() in (QEvent.Type.Move, QEvent.Type.Resize):
            self._draw_edges()
        elif watched is self and event.type() == QEvent.Type.ThemeChange:
            QTimer.singleShot(0, theme().restore_fonts)
        elif watched is self and event.type() == QEvent.Type.DevicePixelRatioChange:
            # Images are redrawn for the new screen as for a new colour scheme.
            QTimer.singleShot(0, theme().changed.emit)
        return False

    def _draw_edges(self) -> None:
        """Draw a line at either side of the middle, but not at the window's own edge."""
        left, right = self.pages.x() > 0, self.pages.geometry().right() < self.width() - 1
        sides = {(True, False): "middle-left", (False, True): "middle-right", (False, False): "middle-none"}
        variant = sides.get((left, right), "middle")
        if self.pages.property("variant") != variant:
            mark(self.pages, variant)
            self.pages.setFrameShape(QFrame.Shape.StyledPanel)  # recomputes the lines

    def set_shortcuts(self, chosen: Mapping[str, str]) -> None:
        """Apply the user's shortcuts, by action."""
        self.actions_.set_shortcuts(chosen)
        self._update_shortcut_texts()

    def _update_shortcut_texts(self) -> None:
        """Update tool tips and texts that mention shortcuts."""
        self.sidebar.foot.show_palette_keys(shortcut_text(self.actions_["command-palette"]))
        self.sidebar.show_search_keys(shortcut_text(self.actions_["search-everywhere"]))
        foot = self.sidebar.foot
        buttons: dict[str, QWidget] = {
            "new-workflow": self.sidebar.new,
            "settings": foot.settings,
            "command-palette": foot.palette_button,
        }
        if self.presenter is not None:
            header = self.chat.header
            buttons |= {"toggle-sidebar": header.left, "toggle-panes": header.right}
            buttons |= {"stop-run": self.chat.composer.stop}
        portable = QtGui.QKeySequence.SequenceFormat.PortableText
        for spec, made in self.actions_:
            if spec.name in buttons:
                bind_text(buttons[spec.name], tip=spec.text.removesuffix("…"), keys=made.shortcut().toString(portable))

    def main_menu(self) -> None:
        """The menu of all actions, below the left column."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.actions_.fill(menu)
        button = self.sidebar.foot.menu
        popup_from(button, menu, button.mapToGlobal(button.rect().topLeft()) - QPoint(0, menu.sizeHint().height()))

    def _on_shown(self, workflow_id: str) -> None:
        self.sidebar.select(workflow_id)
        self.rail.set_workflow(workflow_id)
        if self.presenter is not None:
            self.presenter.set_view(workflow_id, self.chat)
        self._refresh_actions()
        if self._palette is not None:
            # Opened earlier: more commands are available now.
            QTimer.singleShot(0, self._palette, self._palette.collect_again)

    def _open_providers(self, provider: str = "") -> None:
        """Open the list of providers, or the API key field of the one named."""
        settings = self._open_settings()
        settings.show_page("providers")
        if provider:
            settings.page("providers").show_item(provider)

    def _open_prices(self, run_id: str) -> None:
        """Open the settings at the price of a run's model."""

        async def open_() -> None:
            provider, model = await self.bridge.engine.teams.model_of(run_id)
            settings = self._open_settings()
            settings.show_page("providers")
            cast("ProvidersPage", settings.page("providers")).show_price(provider, model)

        self.bridge.jobs.start(open_())

    def _on_gone(self, workflow_id: str) -> None:
        if workflow_id == self.chat.workflow_id:
            self.new_workflow()

    def focusNextPrevChild(self, forward: bool) -> bool:
        onward = partial(super().focusNextPrevChild, forward)
        leaving = QApplication.focusWidget()
        if self.presenter is None or (leaving is not None and not leaving.isVisible()):
            return onward()  # Tab was not pressed: the focused widget was hidden, and the composer will get the focus
        return step(self, onward)

    def end(self) -> None:
        """Close without asking about running agents: the user answered already, or cannot."""
        self._asks = False
        self.close()

    def _agents_may_work(self) -> bool:
        """Whether agents run, as far as the window knows; then the engine is asked.

        Other agents of a waiting team may run.
        """
        listed = any(each.status.value in ("running", "waiting") for each in self.sidebar.model.workflows)
        return self.bridge.ready and self.presenter is not None and (listed or self.chat.sending.running)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._asks and self._agents_may_work():
            event.ignore()
            self._closing_question = self._closing_question or deferred_imports.ClosingQuestion(self, self.end)
            self._closing_question.ask()
            return
        event.accept()
        self.save_draft()
        self.closing.emit()

    def save_draft(self) -> None:
        """Store the typed message; nothing can be typed before the chat exists."""
        if self.presenter is not None:
            self.chat.sending.save_draft()


def _text(data: QByteArray) -> str:
    return base64.b64encode(bytes(data.data())).decode()


def _bytes(text: str) -> QByteArray:
    try:
        return QByteArray(base64.b64decode(text))
    except ValueError:
        return QByteArray()

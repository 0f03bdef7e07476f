"""The user's actions in the main window: every method here appears in menus, shortcuts and the command palette."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QApplication

from atelier_desk.desktop.main_window.action_registry import ActionSpec, action
from atelier_desk.desktop.main_window.child_windows import ChildWindows, deferred_dialog_imports
from atelier_desk.desktop.main_window.focus_order import move_focus
from atelier_desk.desktop.panes.registry import panes
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.desktop.widgets.text_selection import selected_text
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.lazy_module import LateModule

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.search.search_everywhere import SearchEverywhere
    from atelier_desk.desktop.main_window.step_and_replay_controller import RunViewController
    from atelier_desk.desktop.main_window.user_guide_window import GuideWindow
    from atelier_desk.desktop.questions.pending_item_navigation import WaitingGuide
    from atelier_desk.desktop.system import tray_icon
else:
    tray_icon = LateModule("atelier_desk.desktop.system.tray_icon")


class WindowActions(ChildWindows):
    """The window's actions.

    Signals:
        language_requested: switch the program's language.
        closing: the user closes the window; the program ends after the engine did.
    """

    language_requested = Signal(str)
    closing = Signal()

    conductor: RunViewController | None = None
    _search_dialog: SearchEverywhere | None = None
    _guide: WaitingGuide | None = None
    _guide_window: GuideWindow | None = None
    _tray: tray_icon.Tray | None = None

    def _refresh_actions(self) -> None:
        """Enable only actions that are possible now; those that switch something say what they will do."""
        there = bool(self.chat.workflow_id)
        for name in ("rename", "title", "pin", "move", "archive", "duplicate", "export", "print", "delete"):
            self.actions_[f"{name}-workflow"].setEnabled(there)
        shown = self.chat.pages.workflow
        pinned, archived = (shown.pinned, shown.archived) if shown is not None else (False, False)
        bind_text(self.actions_["pin-workflow"], N_("Unpin workflow") if pinned else N_("Pin workflow"))
        bind_text(self.actions_["archive-workflow"], N_("Unarchive workflow") if archived else N_("Archive workflow"))
        self.actions_["find"].setEnabled(there)
        self.actions_["stop-run"].setEnabled(not self.chat.composer.stop.isHidden())
        self.actions_["pause-run"].setEnabled(self.chat.sending.running)

    def _with_current(self, run: Callable[[str], object]) -> None:
        if self.chat.workflow_id:
            self.sidebar.workflow_actions.with_one(self.chat.workflow_id, run)

    def _set(self, **fields: object) -> None:
        self.bridge.jobs.start(self.bridge.engine.settings.update(**fields))

    def _size_columns(self) -> None:
        """Set every column to its default width at the current text size."""
        raise NotImplementedError

    @action("new-workflow", N_("New workflow"), group="workflow", shortcut="Ctrl+N", icon="plus", early="later")
    def new_workflow(self) -> None:
        self.rail.drawer.shut()  # it would cover the requested page
        self.chat.close_workflow()
        self.sidebar.select("")
        self.rail.set_workflow("")
        if self.presenter is not None:
            self.presenter.set_view("", None)
        if self.conductor is not None:
            self.conductor.nothing_shown()
        self._refresh_actions()

    @action("rename-workflow", N_("Rename workflow"), group="workflow", shortcut="F2", icon="pencil")
    def rename_workflow(self) -> None:
        self.sidebar.show()
        self.sidebar.rename_current()

    @action("pin-workflow", N_("Pin or unpin workflow"), group="workflow", icon="pin")
    def pin_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.pin([key]))

    @action("duplicate-workflow", N_("Duplicate workflow"), group="workflow", icon="copy")
    def duplicate_workflow(self) -> None:
        self._with_current(self.sidebar.workflow_actions.duplicate)

    @action(
        "export-workflow",
        N_("Export workflow…"),
        group="workflow",
        shortcut="Ctrl+E",
        icon="download",
        keywords="json markdown word pdf html docx",
    )
    def export_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.export([key]))

    @action("print-workflow", N_("Print workflow…"), group="workflow", icon="printer")
    def print_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.print_(key))

    @action(
        "import-workflow",
        N_("Import workflows or chats…"),
        group="workflow",
        icon="import",
        keywords="chatgpt claude open webui librechat",
    )
    def import_workflow(self) -> None:
        self.sidebar.workflow_actions.importer.ask()

    @action("title-workflow", N_("Suggest a title"), group="workflow", icon="sparkles", keywords="name rename")
    def title_workflow(self) -> None:
        self._with_current(self.sidebar.workflow_actions.suggest_title)

    @action("move-workflow", N_("Move workflow to a new folder…"), group="workflow", icon="folder")
    def move_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.move_to_new([key]))

    @action("archive-workflow", N_("Archive or unarchive workflow"), group="workflow", icon="archive")
    def archive_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.archive([key]))

    @action(
        "workflow-settings",
        N_("Workflow settings…"),
        group="workflow",
        icon="sliders-horizontal",
        keywords="budget instructions limits",
    )
    def workflow_settings(self) -> None:
        self.chat.open_settings()

    @action(
        "choose-profile",
        N_("Choose agent permissions…"),
        group="workflow",
        icon="shield",
        keywords="permissions profile plan ask edit free approval",
    )
    def choose_profile(self) -> None:
        self.chat.composer.profiles.open()

    @action(
        "grant-folder",
        N_("Grant folder access…"),
        group="workflow",
        icon="folder-open",
        keywords="workspace files directory project",
    )
    def grant_folder(self) -> None:
        self.chat.folders.ask()

    @action("delete-workflow", N_("Delete workflow"), group="workflow", icon="trash-2")
    def delete_workflow(self) -> None:
        self._with_current(lambda key: self.sidebar.workflow_actions.delete([key]))

    @action(
        "undo-delete",
        N_("Undo last deletion"),
        group="workflow",
        shortcut="Ctrl+Z",
        icon="undo-2",
        keywords="restore bring back",
    )
    def undo_delete(self) -> None:
        self.toasts.undo.undo()

    @action(
        "recently-deleted",
        N_("Recently deleted…"),
        group="workflow",
        icon="trash-2",
        keywords="bin trash restore bring back",
        early="later",
    )
    def recently_deleted(self) -> None:
        dialog = deferred_dialog_imports.DeletedDialog(self.bridge, self)
        dialog.opened.connect(self.sidebar.workflow_actions.made)
        dialog.open()

    @action("find", N_("Find in workflow"), group="workflow", shortcut="Ctrl+F", icon="search")
    def find_in_workflow(self) -> None:
        if self.presenter is not None:
            self.presenter.put_off()  # it would cover the requested page
        self.chat.find_bar.enter()

    @action("search-everywhere", N_("Search everywhere"), group="workflow", shortcut="Ctrl+Shift+F", icon="search")
    def search_everywhere(self) -> None:
        if self._search_dialog is None:
            made = deferred_dialog_imports.SearchEverywhere(self.bridge, self)
            made.chosen.connect(self._on_hit)
            self._search_dialog = made
        self._search_dialog.popup(self.sidebar.search.text())

    @action("pinned-messages", N_("Pinned messages"), group="message", icon="pin")
    def pinned_messages(self) -> None:
        self.chat.pinned.open()

    @action(
        "stop-run",
        N_("Stop the agent"),
        group="run",
        shortcut="Ctrl+.",
        icon="circle-stop",
        unavailable=N_("Nothing is running"),
    )
    def stop_run(self) -> None:
        self.chat.stop()

    @action("pause-run", N_("Pause the agent"), group="run", icon="pause", unavailable=N_("Nothing is running"))
    def pause_run(self) -> None:
        if self.conductor is not None:
            self.conductor.step_bar.pause()

    @action(
        "step-mode",
        N_("Step mode"),
        group="run",
        shortcut="Ctrl+F10",
        icon="footprints",
        keywords="debug",
        checkable=True,
    )
    def step_mode(self, on: bool) -> None:
        if self.conductor is not None:
            self.conductor.set_step_mode(on)

    @action(
        "next-step",
        N_("Next step"),
        group="run",
        shortcut="F10",
        icon="step-forward",
        unavailable=N_("No agent is waiting for its next step"),
    )
    def next_step(self) -> None:
        if self.conductor is not None:
            self.conductor.step_bar.take_step()

    @action(
        "run-on",
        N_("Continue the agent"),
        group="run",
        shortcut="F5",
        icon="play",
        unavailable=N_("Nothing is paused"),
    )
    def run_on(self) -> None:
        if self.conductor is not None:
            self.conductor.step_bar.run_on()

    @action(
        "replay-run",
        N_("Replay the run"),
        group="run",
        shortcut="Ctrl+Shift+R",
        icon="history",
        keywords="scrubber fork",
    )
    def replay_run(self) -> None:
        if self.conductor is not None:
            self.conductor.open_replay()

    @action("focus-composer", N_("Write a message"), group="run", shortcut="Ctrl+L", icon="pencil")
    def focus_composer(self) -> None:
        self.chat.composer.field.setFocus()

    @action(
        "go-to-waiting",
        N_("Go to the next item waiting for you"),
        group="run",
        shortcut="Ctrl+J",
        icon="inbox",
        keywords="approval question permission allow deny card decide next",
    )
    def focus_pending(self) -> None:
        if self.presenter is None:
            return
        self._guide = self._guide or deferred_dialog_imports.WaitingGuide(self)
        self._guide.focus_next()

    @action("next-part", N_("Focus next pane"), group="view", shortcut="F6", keywords="keyboard focus pane")
    def next_part(self) -> None:
        move_focus(self, 1)

    @action(
        "previous-part", N_("Focus previous pane"), group="view", shortcut="Shift+F6", keywords="keyboard focus pane"
    )
    def previous_part(self) -> None:
        move_focus(self, -1)

    @action("attach-pictures", N_("Attach files"), group="run", icon="paperclip")
    def attach_pictures(self) -> None:
        self.chat.composer.pick()

    @action("attach-folder", N_("Attach a folder"), group="run", icon="folder")
    def attach_folder(self) -> None:
        self.chat.composer.pick_folder()

    @action(
        "quote-selection",
        N_("Quote the selected text"),
        group="run",
        shortcut="Ctrl+Shift+L",
        icon="quote",
        keywords="selection cite",
    )
    def quote_selection(self) -> None:
        """Insert the text selected in a message, diff, file or report into the message as a quote."""
        text = selected_text(QApplication.focusWidget())
        if text:
            self.chat.composer.quote(text)
        else:
            self.toasts.show(_("Select some text first: in a message, a diff or a report."))

    @action("jump-to-latest", N_("Jump to the latest message"), group="view", shortcut="Ctrl+End", icon="arrow-down")
    def jump_to_latest(self) -> None:
        self.chat.view.scroll_to_end()

    @action(
        "toggle-sidebar",
        N_("Show or hide the list of workflows"),
        group="view",
        shortcut="Ctrl+B",
        icon="panel-left",
        early="now",
    )
    def toggle_sidebar(self) -> None:
        self.sidebar.setVisible(self.sidebar.isHidden())

    @action(
        "toggle-panes",
        N_("Show or hide the panes"),
        group="view",
        shortcut="Ctrl+Shift+B",
        icon="panel-right",
        early="now",
    )
    def toggle_panes(self) -> None:
        self.rail.set_visible(not self.rail.visible)

    @action(
        "keep-panes-closed",
        N_("Keep the panes closed"),
        group="view",
        keywords="rail right column quiet hide",
        checkable=True,
    )
    def set_panes_stay_closed(self, on: bool) -> None:
        self.rail.set_stay_closed(on)

    def _add_pane_actions(self) -> None:
        """Add an action for each pane, in their order, that shows it."""
        after = "toggle-panes"
        for entry in panes():
            spec = ActionSpec(f"show-{entry.name}", entry.command, "view", entry.shortcut, entry.icon, entry.keywords)
            self.actions_.add(spec, partial(self.rail.show_pane, entry.name), after)
            after = spec.name

    @action("reset-layout", N_("Reset the layout"), group="view", icon="rotate-ccw")
    def reset_layout(self) -> None:
        self.sidebar.show()
        self.rail.reset()
        self.actions_["keep-panes-closed"].setChecked(False)
        self._size_columns()

    @action("theme-light", N_("Light theme"), group="view", icon="sun")
    def theme_light(self) -> None:
        self._set(theme="light")

    @action("theme-dark", N_("Dark theme"), group="view", icon="moon")
    def theme_dark(self) -> None:
        self._set(theme="dark")

    @action("theme-system", N_("System theme"), group="view", icon="monitor")
    def theme_system(self) -> None:
        self._set(theme="system")

    @action("larger-text", N_("Larger text"), group="view", shortcut="Ctrl++", icon="plus")
    def larger_text(self) -> None:
        self._set(font_scale=lambda percent: min(200, percent + 10))  # of the last one asked for, applied or not

    @action("smaller-text", N_("Smaller text"), group="view", shortcut="Ctrl+-", icon="minus")
    def smaller_text(self) -> None:
        self._set(font_scale=lambda percent: max(80, percent - 10))

    @action("normal-text", N_("Normal text size"), group="view", shortcut="Ctrl+0")
    def normal_text(self) -> None:
        self._set(font_scale=100)

    @action("command-palette", N_("Command palette"), group="program", shortcut="Ctrl+K", icon="command", early="now")
    def command_palette(self) -> None:
        if self._palette is None:
            made = deferred_dialog_imports.CommandPalette(
                self.actions_,
                self,
                lambda: deferred_dialog_imports.commands(
                    self, self.settings_pages, self.show_settings, self.archived, self.prompts
                ),
            )
            made.recent = self.ran_last.split("\n") if self.ran_last else []
            made.ran.connect(self._on_ran)
            self.chat.choices.shown.connect(made.collect_again)  # the models may be loaded now
            self._palette = made
        self._palette.popup()
        if not self.settings_pages:
            self.bridge.jobs.start(self._find_pages(), "settings pages")
        if self.bridge.ready:
            self.bridge.jobs.start(self._find_more(), "archived workflows and prompts")

    @action(
        "quick-ask",
        N_("Quick ask"),
        group="program",
        shortcut="Ctrl+Shift+K",
        icon="zap",
        keywords="tray background",
        early="later",
    )
    def quick_ask(self) -> None:
        """Open quick ask, from any window; not before the engine is open."""
        if self.presenter is None:
            return
        if self._quick is None:
            made = deferred_dialog_imports.QuickAsk(self.bridge, self.chat.choices)
            made.open_requested.connect(self._on_quick_opened)
            self.closing.connect(made.close)
            self._share_actions(made)
            self._quick = made
        self._quick.popup()

    def _on_tray_clicked(self) -> None:
        """Bring back a window that was closed while its agents work, else open quick ask."""
        if self.isHidden():
            self.raise_up()
        else:
            self.quick_ask()

    def _new_from_tray(self) -> None:
        self.raise_up()
        self.new_workflow()

    def show_tray(self, on: bool) -> None:
        """Show or hide the tray icon as set, if the desktop has a notification area."""
        if self._tray is None and on and tray_icon.there_is_a_tray() and self.presenter is not None:
            entries = [
                (N_("Quick ask"), self.quick_ask),
                (N_("Show Atelier"), self.raise_up),
                (N_("New workflow"), self._new_from_tray),
                (N_("Quit"), self.quit),
            ]
            made = tray_icon.Tray(self, entries, self._on_tray_clicked)
            self.presenter.attention.use(made.icon)
            self._tray = made
        if self._tray is not None:
            self._tray.set_shown(on)

    @action(
        "projects",
        N_("Projects"),
        group="program",
        shortcut="Ctrl+Shift+O",
        icon="folder-search",
        keywords="code graph knowledge ingest folder index",
        early="later",
    )
    def open_projects(self) -> None:
        self.projects_window()

    @action(
        "search-projects",
        N_("Search in projects"),
        group="program",
        icon="folder-search",
        keywords="code function class find",
        early="later",
    )
    def search_projects(self) -> None:
        self.projects_window().open_search()

    @action("settings", N_("Settings"), group="program", shortcut="Ctrl+,", icon="settings", early="later")
    def open_settings(self) -> None:
        self._open_settings().focus_search()

    @action("language-french", N_("French"), group="program", icon="languages", keywords="français langue")
    def language_french(self) -> None:
        self.language_requested.emit("fr")

    @action("language-english", N_("English"), group="program", icon="languages", keywords="anglais language")
    def language_english(self) -> None:
        self.language_requested.emit("en")

    @action(
        "first-steps",
        N_("First steps"),
        group="help",
        icon="sparkles",
        keywords="welcome help guide model key start",
        early="later",
    )
    def first_steps(self) -> None:
        self.show_first_steps()

    @action("quit", N_("Quit"), group="program", shortcut="Ctrl+Q", icon="power", early="now")
    def quit(self) -> None:
        self.close()

    @action("user-guide", N_("User guide"), group="help", shortcut="F1", icon="book-open", early="now")
    def open_guide(self) -> None:
        if self._guide_window is None:
            made = deferred_dialog_imports.GuideWindow(self)
            self._share_actions(made)
            self._guide_window = made
        self._guide_window.show()
        self._guide_window.raise_()
        self._guide_window.activateWindow()

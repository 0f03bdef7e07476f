"""The windows that the main window opens, and what they ask of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from atelier_desk.desktop.main_window.window_interface import WindowParts
from atelier_desk.desktop.theme.icons import app_icon
from atelier_desk.support.lazy_module import LateModule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtWidgets import QWidget

    from atelier_desk.desktop.chat.quick_ask import QuickAsk
    from atelier_desk.desktop.command_palette.palette import CommandPalette
    from atelier_desk.desktop.first_start import dialog
    from atelier_desk.desktop.main_window import deferred_dialog_imports as deferred_dialog_imports
    from atelier_desk.desktop.projects import window
    from atelier_desk.desktop.settings.registry import PageEntry
    from atelier_desk.desktop.settings.window import SettingsWindow
    from atelier_desk.domain.prompt import Prompt
    from atelier_desk.domain.workflow import Workflow
else:
    dialog = LateModule("atelier_desk.desktop.first_start.dialog")
    deferred_dialog_imports = LateModule("atelier_desk.desktop.main_window.deferred_dialog_imports")
    window = LateModule("atelier_desk.desktop.projects.window")

TEXT_SIZE = ("larger-text", "smaller-text", "normal-text")
ANYWHERE = (
    "quit",
    "settings",
    "projects",
    "quick-ask",
    "user-guide",
    *TEXT_SIZE,
)
"""Actions of the whole program, whose shortcuts work in all its windows."""


class ChildWindows(WindowParts):
    """Base of ``WindowActions``: the windows and the palette that actions open, each created on first use."""

    _palette: CommandPalette | None = None
    ran_last: str = ""
    settings_pages: tuple[PageEntry, ...] = ()
    archived: tuple[Workflow, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    _settings_window: SettingsWindow | None = None
    _quick: QuickAsk | None = None
    _first_steps: dialog.FirstStart | None = None
    _projects: window.ProjectsWindow | None = None

    def _open_settings(self) -> SettingsWindow:
        if self._settings_window is None:
            made = deferred_dialog_imports.SettingsWindow(self.bridge, self, self._agent_in_view)
            made.setWindowIcon(app_icon())
            made.place_requested.connect(self._show_place)
            self._share_actions(made)
            self._settings_window = made
        self._settings_window.show()
        self._settings_window.raise_()
        self._settings_window.activateWindow()
        return self._settings_window

    def _agent_in_view(self) -> str:
        agent = self.chat.choices.agent
        return agent.id if agent is not None else ""

    def _share_actions(self, widget: QWidget, names: Iterable[str] = ANYWHERE) -> None:
        """Let shortcuts of the whole program work in another window, too, with the keys that the user chose."""
        widget.addActions([self.actions_[name] for name in names])

    def show_settings(self, page: str) -> None:
        """Open the settings at a page."""
        self._open_settings().show_page(page)

    def projects_window(self) -> window.ProjectsWindow:
        """Show the projects window and bring it to the front."""
        if self._projects is None:
            self._projects = window.ProjectsWindow(self.bridge, self)
            self._projects.setWindowIcon(app_icon())
            self._share_actions(self._projects)
        self._projects.show()
        self._projects.raise_()
        self._projects.activateWindow()
        return self._projects

    def show_first_steps(self, step: int = 0, *, first: bool = False) -> None:
        """Show the first-start guide at a step, with values entered since the program started.

        At the ``first`` start, other hints are suppressed.
        """
        if self.presenter is None:
            return
        if self._first_steps is None:
            made = dialog.FirstStart(self.bridge, self)
            self._share_actions(made, TEXT_SIZE)
            made.started.connect(self.chat.open_workflow)
            made.finished.connect(lambda *_: self.hold(False))
            self._first_steps = made
        self.hold(first)
        self._first_steps.begin(step)

    def _choose_model(self) -> None:
        self.show_first_steps(dialog.MODEL)

    def hold(self, on: bool) -> None:
        """Suppress hints while the guide of the first start is shown, which says the same."""
        raise NotImplementedError

    def watched_outside(self, workflow_id: str) -> bool:
        return self._quick is not None and self._quick.isActiveWindow() and self._quick.workflow_id == workflow_id

    def _on_quick_opened(self, workflow_id: str) -> None:
        self.raise_up()
        self.chat.open_workflow(workflow_id)

    def _show_place(self, workflow_id: str, kind: str, row_id: str, message_id: str) -> None:
        """Show a place requested by another window of the program."""
        self.raise_up()
        self._on_hit(workflow_id, kind, row_id, message_id)

    def _on_hit(self, workflow_id: str, kind: str, row_id: str, message_id: str = "") -> None:
        if workflow_id:
            self.chat.open_workflow(workflow_id)
        if kind == "tool_execution":
            self.chat.host.state.open_calls.add(row_id)
        if kind == "message" or message_id:
            self.chat.finder.reveal(message_id or row_id)
        if kind in {"report", "memory"}:
            self.rail.show_pane("reports" if kind == "report" else "memory")

    def _on_ran(self, _key: str) -> None:
        if self._palette is not None:
            self.ran_last = "\n".join(self._palette.recent)

    async def _find_more(self) -> None:
        """Load commands from outside the window: archived workflows are listed only while the archive is open."""
        found = tuple(await self.bridge.engine.workflows.list(limit=None, archived=True))
        prompts = tuple(await self.bridge.engine.prompts.list())
        if (found, prompts) != (self.archived, self.prompts):
            self.archived, self.prompts = found, prompts
            if self._palette is not None:
                self._palette.collect_again()

    async def _find_pages(self) -> None:
        """Import the settings pages, which takes half a second; this thread only waits."""
        self.settings_pages = tuple(await asyncio.to_thread(deferred_dialog_imports.sections))
        if self._palette is not None:
            self._palette.collect_again()

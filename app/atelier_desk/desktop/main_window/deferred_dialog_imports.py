# ruff: noqa: F401 - for others
"""The windows, dialogs and pages that the main window opens, loaded with the first of them.

Not the projects and the first steps, which take longer.
"""

from __future__ import annotations

from atelier_desk.desktop.chat.quick_ask import QuickAsk
from atelier_desk.desktop.chat.search.search_everywhere import SearchEverywhere
from atelier_desk.desktop.command_palette.command_sources import commands
from atelier_desk.desktop.command_palette.palette import CommandPalette
from atelier_desk.desktop.main_window.startup_error_page import StartupErrorPage
from atelier_desk.desktop.main_window.user_guide_window import GuideWindow
from atelier_desk.desktop.questions.pending_item_navigation import WaitingGuide
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.desktop.settings.window import SettingsWindow
from atelier_desk.desktop.sidebar.deleted_workflows_and_memories_dialog import DeletedDialog

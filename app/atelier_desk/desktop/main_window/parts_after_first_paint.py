"""Parts of the window that the first paint does not need: imported at once by ``MainWindow.prepare``."""

from __future__ import annotations

from atelier_desk.desktop.chat.markdown.syntax_highlighter import warm_up
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.chat.transcript import message_widgets
from atelier_desk.desktop.main_window.background_run_notices import BackgroundWatch
from atelier_desk.desktop.main_window.cost_notices import CostNotices
from atelier_desk.desktop.main_window.status_line import StatusWatch
from atelier_desk.desktop.main_window.step_and_replay_controller import RunViewController
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.system.notifications_tray_shortcut import SystemLink
from atelier_desk.desktop.workspace_folders.drag_and_drop import FolderDrop

__all__ = [
    "BackgroundWatch",
    "ChatPanel",
    "CostNotices",
    "FolderDrop",
    "QuestionPresenter",
    "RunViewController",
    "StatusWatch",
    "SystemLink",
    "message_widgets",  # so that the first message is drawn at once
    "warm_up",
]

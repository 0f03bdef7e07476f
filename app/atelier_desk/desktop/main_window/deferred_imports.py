# ruff: noqa: F401 - for others
"""What the main window needs after the first paint only."""

from __future__ import annotations

from atelier_desk.desktop.chat.cards.open_in_browser import clear_left
from atelier_desk.desktop.chat.markdown.syntax_highlighter import warm_up
from atelier_desk.desktop.chat.panel import ChatPanel
from atelier_desk.desktop.chat.transcript import message_widgets  # so that the first message is drawn at once
from atelier_desk.desktop.main_window.background_run_notices import BackgroundWatch
from atelier_desk.desktop.main_window.closing_question import ClosingQuestion
from atelier_desk.desktop.main_window.status_line import StatusWatch
from atelier_desk.desktop.main_window.step_and_replay_controller import RunViewController
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.reports_pane import ReportsPane
from atelier_desk.desktop.projects.index_offer import OfferBar
from atelier_desk.desktop.questions.presenter import QuestionPresenter
from atelier_desk.desktop.system.notifications_tray_shortcut import SystemLink
from atelier_desk.desktop.widgets.message_box import MessageBox
from atelier_desk.desktop.workspace_folders.drag_and_drop import FolderDrop
from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.workflow import WorkflowStatus
from atelier_desk.presentation.cost_text import embedding_offer_text, warning_text

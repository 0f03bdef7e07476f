# ruff: noqa: F401 - for others
"""The panes of the program, loaded together after the first paint: ``registry.pane_classes``."""

from __future__ import annotations

from atelier_desk.desktop.panes.activity.pane import ActivityPane
from atelier_desk.desktop.panes.context.pane import ContextPane
from atelier_desk.desktop.panes.files.pane import FilesPane
from atelier_desk.desktop.panes.inbox.pane import InboxPane
from atelier_desk.desktop.panes.memory.pane import MemoryPane
from atelier_desk.desktop.panes.reports_pane import ReportsPane
from atelier_desk.desktop.panes.tasks.pane import TaskPane
from atelier_desk.desktop.panes.timeline.pane import TimelinePane

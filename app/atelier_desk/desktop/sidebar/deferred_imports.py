# ruff: noqa: F401 - for others
"""What the sidebar needs after the first paint only: the list and what changes its workflows."""

from __future__ import annotations

from dataclasses import replace

from atelier_desk.desktop.sidebar.list_model import ARCHIVE, ListState, SearchMatch, WorkflowModel
from atelier_desk.desktop.sidebar.list_view import WorkflowListView
from atelier_desk.desktop.sidebar.workflow_actions import WorkflowActions
from atelier_desk.desktop.widgets.hover_freeze import HoverGate

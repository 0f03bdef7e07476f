"""Calls in a workflow with a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles
from tests.tools.conftest import Calls, MakeCalls


@pytest.fixture
def files(tmp_path: Path) -> WorkspaceFiles:
    return WorkspaceFiles(tmp_path / "data" / "checkpoints", (tmp_path / "data",))


@pytest.fixture
def call(calls_with: MakeCalls, services: ToolServices, files: WorkspaceFiles, ws: Path) -> Calls:
    return calls_with(files=files, workspace=ws, roots=(ws,))

"""The folders whose images a transcript may show."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from atelier_desk.domain.workflow import Workflow


def picture_folders(workflow: Workflow, data_dir: Path | None) -> list[str | Path]:
    """The folders whose images a transcript may show: its workspace folders, and the attachments."""
    return [*workflow.workspace, *([data_dir / "attachments"] if data_dir is not None else [])]

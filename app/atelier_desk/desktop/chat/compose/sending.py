"""What goes with a message: its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from atelier_desk.domain.workflow import Workflow


async def encoded(images: Any) -> list[dict[str, str]]:
    """Make pictures ready to send, off the UI thread."""
    import asyncio

    from atelier_desk.desktop.chat.compose.attachments import encode

    return [await asyncio.to_thread(encode, image) for image in images]


def picture_folders(workflow: Workflow, data_dir: Path | None) -> list[str | Path]:
    """Where pictures of a conversation may come from: its workspace, and what was attached."""
    return [*workflow.workspace, *([data_dir / "attachments"] if data_dir is not None else [])]

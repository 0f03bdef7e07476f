"""What goes with a message: its pictures, and who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from atelier_desk.domain.agent import AgentConfig
    from atelier_desk.domain.workflow import Workflow


async def send_message(
    atelier: Any,
    workflow_id: str,
    text: str,
    images: list[dict[str, str]],
    config: AgentConfig | None,
    agent_id: str,
    strategy: str,
    stepping: bool = False,
) -> None:
    """On the engine's loop: send the message."""
    from atelier_desk.domain.chat import ImagePart
    from atelier_desk.domain.events import Dispatch
    from atelier_desk.domain.workflow import RunMode

    parts = tuple(ImagePart(**image) for image in images)
    how = {"mode": RunMode.STEPPING} if stepping else {}
    await atelier.runs.send(workflow_id, text, agent=config, agent_id=agent_id, images=parts, strategy=Dispatch(strategy), **how)


async def encoded(images: Any) -> list[dict[str, str]]:
    """Make pictures ready to send, off the UI thread."""
    import asyncio

    from atelier_desk.desktop.chat.attachments import encode

    return [await asyncio.to_thread(encode, image) for image in images]


def picture_folders(workflow: Workflow, data_dir: Path | None) -> list[str | Path]:
    """Where pictures of a conversation may come from: its workspace, and what was attached."""
    return [*workflow.folders, *([data_dir / "attachments"] if data_dir is not None else [])]

"""Opens the engine for the window; imported on the engine's thread, so that the window is painted first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.ipc.server import IpcServer
from atelier_desk.llm import secrets
from atelier_desk.support import logs


@asynccontextmanager
async def open_for_window(
    data_dir: Path | None,
    log_level: str,
    *,
    accept_loss: bool,
    upgrading: Callable[..., None],
    on_raise: Callable[[], bool],
    on_quick: Callable[[], bool],
) -> AsyncIterator[Atelier]:
    """Open the engine, log to its folder, and serve other processes of the same user."""
    async with Atelier.open(data_dir, accept_loss=accept_loss, upgrading=upgrading) as atelier:
        logs.add_redactor(secrets.redact)
        logs.set_up(Path(atelier.datadir.logs), log_level)
        async with IpcServer(atelier, atelier.datadir, on_raise=on_raise, on_quick=on_quick):
            yield atelier

"""Executor of command lines for other processes: registered by the command line, which the engine must not import."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from atelier_desk.engine.ipc.remote_terminal import RemoteOutput

CommandHandler = Callable[[Any, Sequence[str], RemoteOutput], Awaitable[int]]
"""``(atelier, argv, output) -> exit status``; cancelling it stops the command."""

_handler: CommandHandler | None = None


def set_command_handler(handler: CommandHandler | None) -> None:
    """Register the executor of command lines from other processes."""
    global _handler
    _handler = handler


def command_handler() -> CommandHandler | None:
    """Return the registered executor."""
    return _handler

"""Who executes the command lines of other processes: registered from outside, because the engine knows no command line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from atelier_desk.engine.ipc.output import RemoteOutput

CommandHandler = Callable[[Any, Sequence[str], RemoteOutput], Awaitable[int]]
"""``(atelier, argv, output) -> exit status``; cancelling it stops the command."""

_handler: CommandHandler | None = None


def set_command_handler(handler: CommandHandler | None) -> None:
    """Say who executes command lines that come from other processes."""
    global _handler
    _handler = handler


def command_handler() -> CommandHandler | None:
    """The registered executor."""
    return _handler

"""One process holds a data folder's database; every other process of the same user reaches it through a local socket.

The holder executes command lines for the others and sends their output back, and raises its window when asked. The executor is
registered from outside (``set_command_handler``), because the engine knows no command line.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atelier_desk.engine.ipc.server import RemoteOutput

CommandHandler = Callable[[Any, Sequence[str], "RemoteOutput"], Awaitable[int]]
"""``(atelier, argv, output) -> exit status``; cancelling it stops the command."""

_handler: CommandHandler | None = None


def set_command_handler(handler: CommandHandler | None) -> None:
    """Say who executes command lines that come from other processes."""
    global _handler
    _handler = handler


def command_handler() -> CommandHandler | None:
    """The registered executor."""
    return _handler

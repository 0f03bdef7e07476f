"""The one way to run a command, for this process and for the local socket's server."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from atelier_desk.cli.command_result import Result, report
from atelier_desk.cli.id_prefixes import complete_ids
from atelier_desk.cli.parser import ENGINE, FAILED, OK, TOOLS, USAGE, HelpShown, Usage, parse
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import AtelierError, CancelledByUser, UsageError
from atelier_desk.engine.ipc.command_line_executor import set_command_handler
from atelier_desk.support.i18n import LANGUAGES, _, spoken
from atelier_desk.support.shutdown import CANCELLED

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier

log = logging.getLogger(__name__)
Handler = Callable[[object, Namespace, Output], Awaitable[Result | int]]


async def execute(atelier: Atelier, argv: Sequence[str], out: Output) -> int:
    """Parse and run another process's command line; returns the exit status.

    A command without ``--lang`` answers in the language of its own process, not in that of this one.
    """
    if out.request.language:
        return await _execute(atelier, argv, out)
    chosen = (await atelier.settings.get()).language
    with spoken(chosen if chosen in LANGUAGES else out.request.locale):
        return await _execute(atelier, argv, out)


async def _execute(atelier: Atelier, argv: Sequence[str], out: Output) -> int:
    try:
        arguments = parse(argv)
    except HelpShown as shown:
        out.write(shown.text)
        return OK
    except Usage as wrong:
        out.note(wrong.text.rstrip("\n"), "error")
        return USAGE
    if arguments.command is None or getattr(arguments, "offline", False):
        out.note(_("Another process is using the data folder; close it first."), "error")
        return FAILED
    arguments.holder = True
    return await perform(atelier, arguments, out)


async def perform(atelier: Atelier | None, arguments: Namespace, out: Output) -> int:
    """Run a parsed command; an error becomes one line on standard error and an exit status.

    Cancellation is passed on.
    """
    handler = _handler(arguments.handler)
    try:
        if atelier is not None:
            await _prepare(atelier, arguments.needs)
            await complete_ids(atelier, arguments)
        done = await handler(atelier, arguments, out)
        return report(out, done) if isinstance(done, Result) else done
    except CancelledByUser as error:
        out.note(error.localized(_), "warn")
        return CANCELLED
    except UsageError as error:
        out.note(_("Error: {problem}", problem=error.localized(_)), "error")
        return USAGE
    except AtelierError as error:
        out.note(_("Error: {problem}", problem=error.localized(_)), "error")
        return FAILED
    except OSError as error:
        out.note(_("Error: {problem}", problem=str(error)), "error")
        return FAILED


async def _prepare(atelier: Atelier, needs: str) -> None:
    """Start what the command needs of an engine that was opened for less.

    A listing opens only the database, and serves other processes meanwhile.
    """
    if needs == ENGINE:
        await atelier.start()
    elif needs == TOOLS:
        await atelier.load_tools()


def _handler(name: str) -> Handler:
    module, _colon, function = name.partition(":")
    handler: Handler = getattr(import_module(f"atelier_desk.cli.commands.{module}"), function)
    return handler


def register_commands() -> None:
    """Let the process that holds a data folder run other processes' command lines."""
    set_command_handler(execute)

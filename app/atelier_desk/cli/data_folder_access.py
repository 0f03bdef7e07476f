"""Find or become the process that holds the data folder, and run a command there."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from atelier_desk.cli.dispatch import perform
from atelier_desk.cli.logging_setup import start_logging
from atelier_desk.cli.parser import FAILED
from atelier_desk.cli.signals import ending_by_signal
from atelier_desk.cli.startup import early_language, utf8_streams
from atelier_desk.cli.terminal_io import ReaderGone, Terminal
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.domain.limits import PROGRAM_ENDS_S
from atelier_desk.engine.ipc.address import HolderNote, read_note
from atelier_desk.engine.ipc.client import HolderConnection, find_holder
from atelier_desk.storage.data_folder.datadir import default_data_dir
from atelier_desk.support.i18n import N_, _, system_language
from atelier_desk.support.shutdown import CANCELLED, EndWatch

HOLDER_PAUSE_S = 0.1
HOLDER_CHECKS = 10
"""Attempts to find the holder: one that is opening or closing the database has no socket."""
HOLDER_SILENT_S = 120.0
"""Seconds without an answer after which the person must check.

On a busy machine dozens of processes may be starting at once.
"""
HOLDER_NOTE_S = 3.0
SERVED_COMMANDS = frozenset({"run", "resume", "chat"})
"""Commands that follow a run: any process can continue them from the journal.

Their exit status is that of the run.
"""
ONLY_READ = frozenset({"list", "show", "search", "export", "replay", "schema"})
"""Commands of groups that change nothing, so they can be run again."""


def run_command(arguments: Namespace, argv: Sequence[str]) -> int:
    """Run a command in this process, or in another that holds the data folder."""
    utf8_streams()
    watch = EndWatch(CANCELLED, PROGRAM_ENDS_S)
    try:
        return asyncio.run(_session(arguments, argv, watch))
    finally:
        watch.returned()


async def _session(arguments: Namespace, argv: Sequence[str], watch: EndWatch) -> int:
    terminal = Terminal(json=arguments.json, cwd=str(Path.cwd()))
    terminal.request.language, terminal.request.locale = early_language(argv), system_language()
    with ending_by_signal(terminal, watch):
        try:
            return await _perform_somewhere(arguments, argv, terminal, watch)
        except asyncio.CancelledError:
            return CANCELLED
        except ReaderGone:
            # Buffered output could not be written when the process ends either.
            sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: ASYNC230, PTH123, SIM115
            return CANCELLED if arguments.command in SERVED_COMMANDS else FAILED


async def _perform_somewhere(arguments: Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch) -> int:
    try:
        root = default_data_dir(arguments.data_dir)
        start_logging(arguments.log_level)
        if getattr(arguments, "offline", False):
            arguments.data_root = root
            return await perform(None, arguments, terminal)
        try:
            return await _here_or_there(root, arguments, argv, terminal, watch)
        except StorageError as error:
            if arguments.command != "doctor" or error.code == "holder_gone":
                raise
            # ``doctor`` is for exactly this: it reports other problems too.
            arguments.data_root, arguments.problem = root, error
            return await perform(None, arguments, terminal)
    except AtelierError as error:
        problem = _("Error: {problem}", problem=error.localized(_))
        if problem != terminal.last_error:
            terminal.note(problem, "error")
        return FAILED


async def _here_or_there(
    root: Path, arguments: Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch
) -> int:
    """Run the command in the process that holds the data folder, or become that process.

    If that process ends, the next one is used. Between two holders there is a moment when the first no longer
    answers but still has the folder; then the search is repeated.
    """
    since, reported = time.monotonic(), False
    while True:
        known = read_note(root)
        holder = await find_holder(root)
        if holder is not None:
            status = await _served(holder, arguments, argv, terminal)
            if status is not None:
                return status
            since = time.monotonic()
        from atelier_desk.cli.data_folder_server import hold  # loads the engine

        try:
            return await hold(root, arguments, argv, terminal, watch)
        except StorageError as error:
            if error.code != "locked":
                raise
        if time.monotonic() - since > HOLDER_SILENT_S:
            terminal.note(
                _(
                    "Another process has the data folder {path} open and is not responding. Close it and try again.",
                    path=root,
                ),
                "error",
            )
            return FAILED
        if not reported and time.monotonic() - since > HOLDER_NOTE_S:
            reported = True
            terminal.note(_("Waiting for the process that is using the data folder…"))
        await _until_holder(root, known)


async def _until_holder(root: Path, known: HolderNote | None) -> None:
    """Wait until a new holder is announced, or one second: the folder may be free then."""
    for _time in range(HOLDER_CHECKS):
        await asyncio.sleep(HOLDER_PAUSE_S)
        note = read_note(root)
        if note is not None and note != known:
            return


async def _served(
    holder: HolderConnection, arguments: Namespace, argv: Sequence[str], terminal: Terminal
) -> int | None:
    """Let the holder run the command; None when it ended and the command can continue elsewhere.

    Raises:
        StorageError: the holder refused, or it ended and it is unknown whether the command took effect (code
            ``holder_gone``).
    """
    try:
        return await holder.run_command(argv, terminal, terminal.request)
    except StorageError as error:
        if error.code != "holder_gone":
            raise
        if not holder.begun:
            return None
        if arguments.command in SERVED_COMMANDS:
            terminal.request.again = True
            terminal.note(_("The process that was using the data folder has ended. Continuing without it."), "warn")
            return None
        if not holder.wrote and getattr(arguments, f"{arguments.command}_command", "") in ONLY_READ:
            return None
        raise StorageError(
            N_(
                "The process that was using the data folder ended before this command finished. Check whether the "
                "command took effect before you run it again."
            ),
            code="holder_gone",
        ) from error
    finally:
        holder.close()

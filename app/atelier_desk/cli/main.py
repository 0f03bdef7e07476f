"""The headless program: parse, find or become the holder of the data folder, perform, and give the exit status."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.dispatch import FAILED, OK, USAGE, execute, perform
from atelier_desk.cli.ending import ending_by_signal
from atelier_desk.cli.output import ReaderGone, Terminal
from atelier_desk.cli.parser import ENGINE, HelpShown, Usage, parse
from atelier_desk.ending import CANCELLED, EndWatch
from atelier_desk.i18n import LANGUAGES, N_, _, set_language, system_language

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.engine.ipc.address import HolderNote
    from atelier_desk.engine.ipc.client import HolderConnection
    from atelier_desk.engine.ipc.server import IpcServer
    from atelier_desk.storage.folder.version import UpgradeStep

HOLDER_PAUSE_S = 0.1
HOLDER_LOOKS = 10
"""A holder that is just opening the database has no socket yet, and one that is closing it has none any more: it is looked for again."""
HOLDER_SILENT_S = 120.0
"""After this long without an answer the person has to look. On a busy machine dozens of processes may be starting at once."""
HOLDER_NOTE_S = 3.0
STAY_NOTE_S = 1.0
TAKEN_UP = frozenset({"run", "resume", "chat"})
"""Commands that follow a run. The journal has it, so any process can go on with them; their status is that of the run."""
ONLY_READ = frozenset({"list", "show", "search", "export", "replay", "schema"})
"""Commands of groups that change nothing, and so can be performed again."""

_redactor: Any = None


def early_language(argv: Sequence[str]) -> str:
    """The language ``--lang`` names, else ATELIER_LANG; looked up before the grammar (whose own texts are translated) exists."""
    for index, argument in enumerate(argv):
        if argument == "--lang" and index + 1 < len(argv):
            return argv[index + 1]
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
    named = os.environ.get("ATELIER_LANG", "")
    return named if named in LANGUAGES else ""


def parse_or_exit(argv: Sequence[str]) -> argparse.Namespace | int:
    """The arguments, or the exit status when help, the version or an error was printed."""
    open_streams()
    set_language(early_language(argv))
    try:
        return parse(argv)
    except HelpShown as shown:
        sys.stdout.write(shown.text)
        return OK
    except Usage as wrong:
        sys.stderr.write(wrong.text)
        return USAGE


def run_command(arguments: argparse.Namespace, argv: Sequence[str]) -> int:
    """Perform a command in this process or, when another one holds the data folder, in that one."""
    utf8_streams()
    watch = EndWatch(CANCELLED)
    try:
        return asyncio.run(_session(arguments, argv, watch))
    finally:
        watch.returned()


def working_folder_gone() -> bool:
    """Whether the current folder was deleted: no path could be told from it, and no program be started there."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def open_streams() -> None:
    """A standard stream that was closed (``>&-``, a program without a console) is empty, or takes everything in silence."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def utf8_streams() -> None:
    """JSON and answers are UTF-8 on every platform; what a terminal cannot show is replaced, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def data_root(arguments: argparse.Namespace) -> Path:
    """The data folder of this call: ``--data-dir``, ``ATELIER_DATA_DIR`` or the platform's place."""
    if arguments.data_dir:
        return Path(arguments.data_dir).expanduser().absolute()
    from atelier_desk.storage.folder.datadir import default_data_dir

    return default_data_dir()


async def _session(arguments: argparse.Namespace, argv: Sequence[str], watch: EndWatch) -> int:
    terminal = Terminal(json=arguments.json, cwd=str(Path.cwd()))
    terminal.request.language, terminal.request.locale = early_language(argv), system_language()
    with ending_by_signal(terminal, watch):
        try:
            return await _perform_somewhere(arguments, argv, terminal, watch)
        except asyncio.CancelledError:
            return CANCELLED
        except ReaderGone:
            # What stands in the buffers cannot be written when the process ends either.
            sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: ASYNC230, PTH123, SIM115
            return CANCELLED if arguments.command in TAKEN_UP else FAILED


async def _perform_somewhere(arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch) -> int:
    from atelier_desk.domain.errors import AtelierError, StorageError

    try:
        root = data_root(arguments)
        start_logging(arguments.log_level)
        if getattr(arguments, "offline", False):
            arguments.data_root = root
            return await perform(None, arguments, terminal)
        try:
            return await _here_or_there(root, arguments, argv, terminal, watch)
        except StorageError as error:
            if arguments.command != "doctor" or error.code == "holder_gone":
                raise
            # The check-up is for exactly this: it says what is wrong with everything else too.
            arguments.data_root, arguments.problem = root, error
            return await perform(None, arguments, terminal)
    except AtelierError as error:
        problem = _("Error: {problem}", problem=error.localized(_))
        if problem != terminal.last_error:
            terminal.note(problem, "error")
        return FAILED


async def _here_or_there(root: Path, arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch) -> int:
    """Perform the command in the process that holds the data folder, or become that process; where one ends, with the next.

    Between two holders there is a moment at which the one does not answer any more and still has the folder: then it is tried again.
    """
    from atelier_desk.domain.errors import StorageError
    from atelier_desk.engine.ipc.address import read_note
    from atelier_desk.engine.ipc.client import find_holder

    since, told = time.monotonic(), False
    while True:
        known = read_note(root)
        holder = await find_holder(root)
        if holder is not None:
            status = await _served(holder, arguments, argv, terminal)
            if status is not None:
                return status
            since = time.monotonic()
        try:
            return await _hold(root, arguments, argv, terminal, watch)
        except StorageError as error:
            if error.code != "locked":
                raise
        if time.monotonic() - since > HOLDER_SILENT_S:
            terminal.note(
                _("Another process has the data folder {path} open and does not answer. Close it and try again.", path=root), "error"
            )
            return FAILED
        if not told and time.monotonic() - since > HOLDER_NOTE_S:
            told = True
            terminal.note(_("Waiting for the process that has the data folder open …"))
        await _until_holder(root, known)


async def _until_holder(root: Path, known: HolderNote | None) -> None:
    """Until another note than the known one says who serves the data folder; after a second the folder may be free."""
    from atelier_desk.engine.ipc.address import read_note

    for _time in range(HOLDER_LOOKS):
        await asyncio.sleep(HOLDER_PAUSE_S)
        note = read_note(root)
        if note is not None and note != known:
            return


async def _served(holder: HolderConnection, arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal) -> int | None:
    """Have the holder perform the command; None when it ended and the command can go on elsewhere.

    Raises:
        StorageError: the holder ended, and nobody knows whether the command took effect (code ``holder_gone``); or it refused.
    """
    from atelier_desk.domain.errors import StorageError

    try:
        return await holder.run_command(argv, terminal, terminal.request)
    except StorageError as error:
        if error.code != "holder_gone":
            raise
        if not holder.begun:
            return None
        if arguments.command in TAKEN_UP:
            terminal.request.again = True
            terminal.note(_("The process that had the data folder open ended. Continuing without it."), "warn")
            return None
        if not holder.wrote and getattr(arguments, f"{arguments.command}_command", "") in ONLY_READ:
            return None
        raise StorageError(
            N_("The process that had the data folder open ended before this finished. Check whether it took effect, then run it again."),
            code="holder_gone",
        ) from error
    finally:
        holder.close()


async def _hold(root: Path, arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal, watch: EndWatch) -> int:
    """Open the data folder here, perform the command, and stay until what is done for other processes is done too."""
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.file_words import upgrade_words

    def upgrading(step: UpgradeStep) -> None:
        terminal.note(upgrade_words(step))

    start, loss = arguments.needs == ENGINE, arguments.accept_loss
    async with Atelier.open(root, language=early_language(argv), accept_loss=loss, start=start, upgrading=upgrading) as atelier:
        start_logging(arguments.log_level, Path(atelier.datadir.logs))
        async with serving(atelier) as server:
            try:
                watch.status = await perform(atelier, arguments, terminal)
                await _tidy(atelier, watch.status, started=start)
                return watch.status
            finally:
                await _stay(server, terminal)


async def _tidy(atelier: Atelier, status: int, *, started: bool) -> None:
    """What the window does in the background: once a day, and not after a command that was interrupted."""
    from atelier_desk.engine.housekeeping import once_a_day

    task = asyncio.current_task()
    if status == CANCELLED or (task is not None and task.cancelling()):
        return
    with suppress(asyncio.CancelledError):  # the command itself is done, and its status stays
        await once_a_day(atelier, started=started)


async def _stay(server: IpcServer, terminal: Terminal) -> None:
    """Serve other processes until they need nothing any more; being asked to end hands them over."""
    task = asyncio.current_task()
    assert task is not None
    if task.cancelling():
        return
    unused = asyncio.create_task(server.until_unused())
    try:
        await asyncio.wait({unused}, timeout=STAY_NOTE_S)
        if not unused.done():
            with suppress(ReaderGone):
                terminal.note(_("Done. This process keeps serving other commands; Ctrl-C hands them over."))
            await unused
    except asyncio.CancelledError:
        # The command itself is done, and its status stays.
        task.uncancel()
    finally:
        unused.cancel()


@asynccontextmanager
async def serving(atelier: Atelier) -> AsyncIterator[IpcServer]:
    """Serve other processes while this one holds the data folder; a machine that gives no socket is no reason to refuse the command."""
    from atelier_desk.domain.errors import AtelierError
    from atelier_desk.engine.ipc.server import IpcServer

    register_commands()
    server = IpcServer(atelier, atelier.datadir)
    try:
        await server.start()
    except (AtelierError, OSError) as error:
        logging.getLogger(__name__).warning("other processes cannot be served: %s", error)
    try:
        yield server
    finally:
        await server.aclose()


def register_commands() -> None:
    """Let the holder of a data folder execute other processes' command lines."""
    from atelier_desk.engine.ipc.commands import set_command_handler

    set_command_handler(execute)


def start_logging(level: str | None, directory: Path | None = None) -> None:
    """Log to the file in the data folder, once this process holds it, and to standard error when ``level`` was asked for.

    Without ``--log-level`` standard error is for people: what concerns them is said to them, in their language. Keys are hidden in both.
    """
    from atelier_desk import logs
    from atelier_desk.llm import secrets

    global _redactor
    if _redactor is None:
        _redactor = logs.add_redactor(secrets.redact)
    logs.set_up(directory, level or "warning", stderr=level is not None)

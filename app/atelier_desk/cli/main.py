"""The headless program: parse, find or become the holder of the data folder, perform, and give the exit status."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.dispatch import CANCELLED, FAILED, OK, USAGE, execute, perform
from atelier_desk.cli.output import ReaderGone, Terminal
from atelier_desk.cli.parser import ENGINE, HelpShown, Usage, parse
from atelier_desk.i18n import LANGUAGES, _, set_language

if TYPE_CHECKING:
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.engine.ipc.client import HolderConnection

HOLDER_TRIES = 20
HOLDER_PAUSE_S = 0.25
"""A holder that is just opening the database has no socket yet: it is looked for again for five seconds."""

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
    return asyncio.run(_session(arguments, argv))


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
    from atelier_desk.storage.datadir import default_data_dir

    return default_data_dir()


async def _session(arguments: argparse.Namespace, argv: Sequence[str]) -> int:
    terminal = Terminal(json=arguments.json, cwd=str(Path.cwd()))
    with interrupts(terminal):
        try:
            return await _perform_somewhere(arguments, argv, terminal)
        except asyncio.CancelledError:
            return CANCELLED
        except ReaderGone:
            # What stands in the buffers cannot be written when the process ends either.
            sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: ASYNC230, PTH123, SIM115
            return FAILED


async def _perform_somewhere(arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal) -> int:
    from atelier_desk.domain.errors import AtelierError, StorageError

    try:
        root = data_root(arguments)
        start_logging(arguments.log_level)
        if getattr(arguments, "offline", False):
            arguments.data_root = root
            return await perform(None, arguments, terminal)
        try:
            return await _local_or_remote(root, arguments, argv, terminal)
        except StorageError as error:
            if error.code != "locked":
                if arguments.command != "doctor":
                    raise
                # The check-up is for exactly this: it says what is wrong with everything else too.
                arguments.data_root, arguments.problem = root, error
                return await perform(None, arguments, terminal)
        holder = await _wait_for_holder(root)
        if holder is None:
            terminal.note(
                _("Another process has the data folder {path} open and does not answer. Close it and try again.", path=root), "error"
            )
            return FAILED
        return await _remote(holder, argv, terminal)
    except AtelierError as error:
        terminal.note(_("Error: {problem}", problem=error.localized(_)), "error")
        return FAILED


async def _local_or_remote(root: Path, arguments: argparse.Namespace, argv: Sequence[str], terminal: Terminal) -> int:
    from atelier_desk.engine.ipc.client import find_holder

    holder = await find_holder(root)
    if holder is not None:
        return await _remote(holder, argv, terminal)
    from atelier_desk.engine.atelier import Atelier

    if arguments.accept_loss:
        await accept_loss(root)
    async with Atelier.open(root, language=early_language(argv), start=arguments.needs == ENGINE) as atelier:
        start_logging(arguments.log_level, Path(atelier.datadir.logs))
        async with serving(atelier):
            return await perform(atelier, arguments, terminal)


async def accept_loss(root: Path) -> None:
    """Take note that acknowledged changes are gone, so that the database opens from now on."""
    from atelier_desk.storage.datadir import DataDir
    from atelier_desk.storage.store import Store

    store = await Store.open(DataDir(root).ensure().database, accept_loss=True)
    await store.close()


@asynccontextmanager
async def serving(atelier: Atelier) -> AsyncIterator[None]:
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
        yield
    finally:
        await server.aclose()


async def _remote(holder: HolderConnection, argv: Sequence[str], terminal: Terminal) -> int:
    try:
        return await holder.run_command(argv, terminal)
    finally:
        holder.close()


async def _wait_for_holder(root: Path) -> HolderConnection | None:
    from atelier_desk.engine.ipc.client import find_holder

    for _attempt in range(HOLDER_TRIES):
        holder = await find_holder(root)
        if holder is not None:
            return holder
        await asyncio.sleep(HOLDER_PAUSE_S)
    return None


def register_commands() -> None:
    """Let the holder of a data folder execute other processes' command lines."""
    from atelier_desk.engine.ipc import set_command_handler

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


@contextmanager
def interrupts(terminal: Terminal) -> Iterator[None]:
    """The first Ctrl-C cancels the running command, which saves and ends with 130; the second kills at once."""
    task = asyncio.current_task()
    assert task is not None
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    count = 0

    def cancel() -> None:
        task.cancel()
        with suppress(ReaderGone):
            terminal.note(_("Cancelling and saving. Press Ctrl-C again to kill."), "warn")

    def interrupt() -> None:
        nonlocal count
        if not terminal.interrupted():
            count += 1
            cancel()

    def on_signal(number: int, frame: Any) -> None:
        nonlocal count
        if terminal.catches_interrupts:
            loop.call_soon_threadsafe(interrupt)
            return
        count += 1
        if count > 1:
            os._exit(CANCELLED)
        loop.call_soon_threadsafe(cancel)

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)

"""``atelier`` and ``python -m atelier_desk``: run a command, or open the desktop without one."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from atelier_desk.cli.main import parse_or_exit, utf8_streams, working_folder_gone
from atelier_desk.cli.parser import FAILED
from atelier_desk.domain.errors import AtelierError, StorageError
from atelier_desk.support.garbage_collection import THRESHOLDS
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from pathlib import Path

    from atelier_desk.storage.data_folder.lock import FolderLock

OPENING_S = 60.0
"""Seconds to wait for another window to open or close."""
EXAMPLE_GOAL = "What is 12*7? Use the calculator."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    gc.set_threshold(*THRESHOLDS)
    given = list(sys.argv[1:] if argv is None else argv)
    arguments = parse_or_exit(given)
    if isinstance(arguments, int):
        return arguments
    if working_folder_gone():
        sys.stderr.write(
            _(
                "Error: {problem}",
                problem=_("The folder you are in was deleted. Change to another one, then try again."),
            )
            + "\n"
        )
        return FAILED
    if arguments.command == "quick":
        return open_something(arguments, given, quick=True)
    if arguments.command is not None:
        from atelier_desk.cli.data_folder_access import run_command

        return run_command(arguments, given)
    return open_something(arguments, given)


def open_something(arguments: argparse.Namespace, argv: list[str], *, quick: bool = False) -> int:
    """Open the desktop or its quick ask; without a display the chat in the terminal.

    Without a terminal either, run one example.
    """
    from atelier_desk.storage.data_folder.datadir import default_data_dir
    from atelier_desk.support.display_check import desktop_problem

    problem = desktop_problem()
    if problem is None:
        root = default_data_dir(arguments.data_dir)
        window = the_one_window(root, quick=quick)
        if isinstance(window, int):
            return window
        from atelier_desk.desktop.app import main as desktop

        try:
            return desktop(root, argv, quick=quick, painted=register_commands)
        finally:
            if window is not None:
                window.release()
    from atelier_desk.cli.data_folder_access import run_command

    utf8_streams()
    if quick:
        sys.stderr.write(_("Quick ask cannot be opened. {reason}", reason=_(problem.template, **problem.params)) + "\n")
        return 1
    sys.stderr.write(
        _("The desktop app cannot be opened. {reason}", reason=_(problem.template, **problem.params)) + "\n"
    )
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(_("Opening the chat in this terminal instead (atelier chat).") + "\n")
        command = ["chat"]
    else:
        sys.stderr.write(
            _("There is no terminal either. Running an example with the starter model: {goal}", goal=EXAMPLE_GOAL)
            + "\n"
        )
        command = ["run", EXAMPLE_GOAL]
    parsed = parse_or_exit([*argv, *command])
    return parsed if isinstance(parsed, int) else run_command(parsed, [*argv, *command])


def register_commands() -> None:
    """Let the window's process run other processes' command lines."""
    from atelier_desk.cli.dispatch import register_commands

    register_commands()


def the_one_window(root: Path, *, quick: bool = False) -> FolderLock | int | None:
    """Become the only window of a data folder, or have the existing one shown.

    While another window is opening or closing, wait for it: it holds the folder already, and does not answer
    yet.

    Returns:
        A lock that keeps others from opening a second window, to be released at the end; an exit status when
            another window was asked; None when that one neither answers nor ends, or the folder is not
            writable: opening then reports why.
    """
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.data_folder.lock import POLL_S, FolderLock

    until = time.monotonic() + OPENING_S
    while time.monotonic() < until:
        raised = ask_holder_to_raise(root, quick=quick)
        if raised is not None:
            return raised
        try:
            # A folder that always exists and is never replaced; the data's own is locked by its readers and
            # writers.
            claimed = FolderLock.claim(DataDir(root).ensure().logs)
        except StorageError:
            return None
        if claimed is not None:
            return claimed
        time.sleep(POLL_S)
    return None


def ask_holder_to_raise(root: Path, *, quick: bool = False) -> int | None:
    """Ask the process that holds the data folder to show its window, or its quick ask.

    Returns:
        0 when it does, 1 when it has no window, None when nobody holds the folder.
    """
    from atelier_desk.engine.ipc.address import read_note

    if read_note(root) is None:
        return None
    import asyncio

    from atelier_desk.engine.ipc.client import find_holder

    async def ask() -> int | None:
        holder = await find_holder(root)
        if holder is None:
            return None
        try:
            if await holder.raise_window(quick=quick):
                return 0
            sys.stderr.write(
                _("A command is using the data folder {path} at the moment; try again when it has ended.", path=root)
                + "\n"
            )
            return 1
        finally:
            holder.close()

    try:
        return asyncio.run(ask())
    except AtelierError as error:
        sys.stderr.write(error.localized(_) + "\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())

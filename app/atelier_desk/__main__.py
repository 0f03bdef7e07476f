"""``atelier`` and ``python -m atelier_desk``: run a command, or open the desktop without one."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from atelier_desk.cli.parser import FAILED
from atelier_desk.cli.startup import parse_or_exit, utf8_streams, working_folder_gone
from atelier_desk.support.garbage_collection import THRESHOLDS
from atelier_desk.support.i18n import _

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
        return run(arguments, given)
    return open_something(arguments, given)


def run(arguments: argparse.Namespace, argv: list[str]) -> int:
    """Run a command; returns its exit status."""
    from atelier_desk.cli.data_folder_access import run_command

    return run_command(arguments, argv)


def open_something(arguments: argparse.Namespace, argv: list[str], *, quick: bool = False) -> int:
    """Open the desktop or its quick ask; without a display the chat in the terminal.

    Without a terminal either, run one example.
    """
    from atelier_desk.engine.ipc import single_window

    problem = single_window.desktop_problem()
    if problem is None:
        root = single_window.default_data_dir(arguments.data_dir)
        window = single_window.the_one_window(root, quick=quick)
        if isinstance(window, int):
            return window
        gc.disable()  # what is made until the first paint stays; the window collects later, by a timer
        from atelier_desk.desktop.app import main as desktop

        try:
            return desktop(root, argv, quick=quick, painted=register_commands)
        finally:
            if window is not None:
                window.release()
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
    return parsed if isinstance(parsed, int) else run(parsed, [*argv, *command])


def register_commands() -> None:
    """Let the window's process run other processes' command lines."""
    from atelier_desk.cli.dispatch import register_commands

    register_commands()


if __name__ == "__main__":
    sys.exit(main())

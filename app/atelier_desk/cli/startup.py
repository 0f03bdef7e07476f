"""Start of the program: streams, language and arguments.

Nothing else is loaded to answer ``--help`` or to open the window.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from atelier_desk.cli.parser import OK, USAGE, HelpShown, Usage, parse
from atelier_desk.support.i18n import LANGUAGES, set_language


def early_language(argv: Sequence[str]) -> str:
    """The language of ``--lang``, else of ATELIER_LANG.

    Read before the parser exists, because its own texts are translated.
    """
    for index, argument in enumerate(argv):
        if argument == "--lang" and index + 1 < len(argv):
            return argv[index + 1]
        if argument.startswith("--lang="):
            return argument.partition("=")[2]
    named = os.environ.get("ATELIER_LANG", "")
    return named if named in LANGUAGES else ""


def parse_or_exit(argv: Sequence[str]) -> Namespace | int:
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


def working_folder_gone() -> bool:
    """Whether the current folder was deleted: no path works then, and no program starts."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def open_streams() -> None:
    """Replace a closed standard stream (``>&-``, no console) with one that is empty or discards."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def utf8_streams() -> None:
    """Use UTF-8 for JSON and answers on every platform; replace what a terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")

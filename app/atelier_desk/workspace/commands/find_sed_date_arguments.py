"""Programs with a language of their own: ``find`` expressions, ``sed`` scripts, ``date`` formats and a few more."""

from __future__ import annotations

import re
from collections.abc import Callable

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands.option_parsing import UnknownOptionError

_FIND_PLAIN = frozenset({
    "-print", "-print0", "-prune", "-empty", "-not", "-a", "-and", "-o", "-or", "-depth", "-xdev", "-mount", "-true",
    "-false", "-daystart",
    "-readable", "-writable", "-executable", "-nouser", "-nogroup", "-quit", "-ls", "-noleaf", "-warn", "-nowarn", "(",
    ")", "!", ",",
})  # fmt: skip
_FIND_VALUE = frozenset({
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-lname", "-ilname", "-regex", "-iregex",
    "-regextype", "-type",
    "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newermt", "-perm", "-user", "-group",
    "-uid", "-gid",
    "-maxdepth", "-mindepth", "-links", "-inum", "-used", "-fstype", "-printf",
})  # fmt: skip
_FIND_FILE = frozenset({"-newer", "-anewer", "-cnewer", "-samefile"})
_SED_SCRIPT = re.compile(r"(\d+|\$)(,(\d+|\$))?p(;(\d+|\$)(,(\d+|\$))?p)*", re.ASCII)


def find_options() -> tuple[str, ...]:
    """Return the harmless words of ``find`` expressions; ``X`` stands for a value."""
    plain = [word for word in _FIND_PLAIN if word.startswith("-")]
    return (*sorted(["-H", "-P", *plain]), *(f"{word} X" for word in sorted(_FIND_VALUE | _FIND_FILE)))


def find(arguments: tuple[str, ...]) -> list[str]:
    """Return the folders that ``find`` searches. Links are not followed (no ``-L``); nothing is executed, removed or
    written.

    Source: https://www.gnu.org/software/findutils/manual/html_mono/find.html ("Finding Files" and "Actions").
    """
    no_zone_file(arguments)
    waiting = list(reversed(arguments))
    files: list[str] = []
    while waiting and waiting[-1] in ("-H", "-P"):
        waiting.pop()
    while waiting and not waiting[-1].startswith("-") and waiting[-1] not in ("(", "!", ")", ","):
        files.append(waiting.pop())
    while waiting:
        word = waiting.pop()
        if word in _FIND_PLAIN:
            continue
        if word not in _FIND_VALUE and word not in _FIND_FILE:
            raise UnknownOptionError(N_("one of its options may be unsafe"), word)
        if not waiting:
            raise UnknownOptionError(N_("an option has no value"), word)
        value = waiting.pop()
        if word in _FIND_FILE:
            files.append(value)
    return files or ["."]


def sed(arguments: tuple[str, ...]) -> list[str]:
    """Return the files whose lines ``sed -n 1,20p`` prints; no other script is accepted.

    ``w``, ``e`` and ``-i`` write and execute (CVE-2025-64755). Source: https://www.gnu.org/software/sed/manual/sed.html
    ("Command-Line Options", "Reporting").
    """
    scripts: list[str] = []
    operands: list[str] = []
    quiet = False
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            operands += reversed(waiting)
            break
        if word in ("-n", "--quiet", "--silent"):
            quiet = True
        elif word == "-e" and waiting:
            scripts.append(waiting.pop())
        elif word.startswith("-") and word != "-":
            raise UnknownOptionError(N_("one of its options may be unsafe"), word)
        else:
            operands.append(word)
    if not scripts and operands:
        scripts.append(operands.pop(0))
    for script in scripts:
        if not _SED_SCRIPT.fullmatch(script):
            raise UnknownOptionError(N_("its script may be unsafe"), script)
    if not quiet or not scripts:
        raise UnknownOptionError(N_("its script may be unsafe"), "sed")
    return operands


def date(operands: tuple[str, ...]) -> None:
    """Accept a format for ``date``; any other operand would set the clock."""
    for word in operands:
        if not word.startswith("+"):
            raise UnknownOptionError(N_("it sets the clock"), word)


def printf(operands: tuple[str, ...]) -> None:
    """Accept a plain ``printf`` format.

    The shell's own evaluates array subscripts in ``%n``-like formats and sets variables with ``-v``.
    """
    if not operands or "%n" in operands[0] or "%(" in operands[0]:
        raise UnknownOptionError(N_("its output format may be unsafe"), operands[0] if operands else "")


def jq(operands: tuple[str, ...]) -> None:
    """Accept a ``jq`` filter without modules, which are files it would read."""
    if not operands or re.search(r"\b(import|include|modulemeta)\b", operands[0]):
        raise UnknownOptionError(N_("its script may be unsafe"), operands[0] if operands else "jq")


def strings(arguments: tuple[str, ...]) -> None:
    """Refuse words that begin with ``@``: they name a file with more arguments.

    Source: https://sourceware.org/binutils/docs/binutils/strings.html ("@file").
    """
    for word in arguments:
        if word.startswith("@"):
            raise UnknownOptionError(N_("it reads more arguments from a file"), word)


_XXD = re.compile(r"-[a-zA-Z]|-[cglnos][+-]?[0-9a-fx]*", re.ASCII)
_TREE = re.compile(r"--.*|-L[0-9]*|-[PI]|-[^LPI]*", re.ASCII)


def xxd(arguments: tuple[str, ...]) -> None:
    """Refuse ambiguous options: ``xxd`` reads only the first letter, so for ``-ac in out`` it takes no value and writes
    ``out``.

    Source: https://github.com/vim/vim/blob/master/src/xxd/xxd.c (``main``).
    """
    _alone(arguments, _XXD)


def tree(arguments: tuple[str, ...]) -> None:
    """Refuse ambiguous options: ``tree`` takes the next argument as a value and continues in the word: ``-Lo 2 out``
    writes ``out``.

    Source: https://github.com/Old-Man-Programmer/tree/blob/master/tree.c (``main``).
    """
    _alone(arguments, _TREE)


def _alone(arguments: tuple[str, ...], known: re.Pattern[str]) -> None:
    for word in arguments:
        if word.startswith("-") and word not in ("-", "--") and not known.fullmatch(word):
            raise UnknownOptionError(N_("one of its options may be unsafe"), word)


def no_zone_file(arguments: tuple[str, ...]) -> None:
    """Refuse dates that open a file as a time zone: ``-d 'TZ="/a/file" now'``.

    Source: https://www.gnu.org/software/coreutils/manual/html_node/Specifying-time-zone-rules.html
    """
    for word in arguments:
        if "TZ=" in word:
            raise UnknownOptionError(N_("it reads a time zone from a file"), word)


ARGUMENTS: dict[str, Callable[[tuple[str, ...]], None]] = {
    "date": no_zone_file, "touch": no_zone_file, "strings": strings, "tree": tree, "xxd": xxd,
}  # fmt: skip
"""Checks of all arguments, in addition to the table, for programs that parse them unusually."""

OPERANDS: dict[str, Callable[[tuple[str, ...]], None]] = {"date": date, "printf": printf, "jq": jq}
"""Checks of operands, in addition to the table."""

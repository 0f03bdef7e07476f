"""Option rules of a program: known options, which take a value, and which operands are files.

An allow list, never a deny list: an unknown or abbreviated option makes a command ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from atelier_desk.support.i18n import N_


class Operands(StrEnum):
    """Operands of a program."""

    FILES = "files"
    PATTERN = "pattern"
    """A pattern first (none if an option gave it), then files."""
    WORDS = "words"
    """Texts; none of them is a file."""
    NONE = "none"


class UnknownOptionError(Exception):
    """A word that the rules of a program do not know.

    ``reason`` is English, marked for translation, ``part`` the word.
    """

    def __init__(self, reason: str, part: str) -> None:
        super().__init__(reason, part)
        self.reason = reason
        self.part = part


@dataclass(frozen=True, slots=True)
class Rules:
    """Harmless options of a program.

    Attributes:
        source: their documentation: manual page or web address.
        flags: letters without a value; ``values``: with one; ``files``: with one that names a file to read.
        long, long_values, long_files: the same for ``--names``; one in ``long`` ending with ``=`` may have a value
            after ``=``.
        gives_pattern: options whose value replaces the pattern operand.
        most: maximum operands; None: any number.
        number: ``-20`` is an option.
        writes: operands are files that it writes or removes, instead of reads.
    """

    source: str
    flags: str = ""
    values: str = ""
    files: str = ""
    long: tuple[str, ...] = ()
    long_values: tuple[str, ...] = ()
    long_files: tuple[str, ...] = ()
    gives_pattern: tuple[str, ...] = ()
    operands: Operands = Operands.FILES
    most: int | None = None
    number: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class ParsedOptions:
    """Arguments sorted by the rules: option names, files from options, and operands."""

    options: tuple[str, ...]
    files: tuple[str, ...]
    operands: tuple[str, ...]


def parse_options(rules: Rules, arguments: tuple[str, ...]) -> ParsedOptions:
    """Parse the arguments; raises ``UnknownOptionError``."""
    options: list[str] = []
    files: list[str] = []
    operands: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            operands += reversed(waiting)
            break
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif word.startswith("--"):
            _long(rules, word, waiting, options, files)
        else:
            _short(rules, word, waiting, options, files)
    if rules.most is not None and len(operands) > rules.most:
        raise UnknownOptionError(N_("it has arguments that may be unsafe"), operands[rules.most])
    return ParsedOptions(tuple(options), tuple(files), tuple(operands))


def _long(rules: Rules, word: str, waiting: list[str], options: list[str], files: list[str]) -> None:
    name, equals, value = word.partition("=")
    options.append(name)
    plain = name.removeprefix("--")
    if not equals and plain in rules.long:
        return
    if f"{plain}=" in rules.long:
        return
    if plain in rules.long_values or plain in rules.long_files:
        if not equals:
            value = _next(word, waiting)
        if plain in rules.long_files:
            files.append(value)
        return
    raise UnknownOptionError(N_("one of its options may be unsafe"), name)


def _short(rules: Rules, word: str, waiting: list[str], options: list[str], files: list[str]) -> None:
    if rules.number and word[1:].isascii() and word[1:].isdigit():
        return
    for index, letter in enumerate(word[1:], 1):
        options.append(f"-{letter}")
        if letter in rules.flags:
            continue
        if letter in rules.values or letter in rules.files:
            value = word[index + 1 :] or _next(word, waiting)
            if letter in rules.files:
                files.append(value)
            return
        raise UnknownOptionError(N_("one of its options may be unsafe"), f"-{letter}")


def _next(word: str, waiting: list[str]) -> str:
    if not waiting:
        raise UnknownOptionError(N_("an option has no value"), word)
    return waiting.pop()

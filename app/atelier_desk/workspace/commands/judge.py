"""Assess a command line by the table of commands: reads, writes these files, or may do anything.

Pure: only the text is used. Where files really lie after resolving links is checked by ``link_resolution``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from posixpath import join, normpath

from atelier_desk.support.i18n import N_
from atelier_desk.workspace.commands import find_sed_date_arguments, git_safety, git_settings_changes
from atelier_desk.workspace.commands.command_table import DELETES, READS, UNKNOWN_COMMAND, WRAPPERS, WRITES
from atelier_desk.workspace.commands.option_parsing import Operands, Rules, UnknownOptionError, parse_options
from atelier_desk.workspace.commands.parsing import Line, Simple, UnreadableError, read

MOST_COMMANDS = 50
"""Maximum commands per line; longer lines ask (exceeding a limit never permits a line)."""
DISCARDED = "/dev/null"


class Kind(StrEnum):
    READS = "reads"
    """Only reads the files it names and prints."""
    WRITES = "writes"
    """Changes only the files it names."""
    RUNS = "runs"
    """May do anything: a program of the project, one outside the table, or with an unknown option."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that a command names, as written, relative to the ``cd`` folder; ``globs``: a pattern of names."""

    name: str
    globs: bool = False

    @property
    def outside(self) -> bool:
        """Whether it may lie outside the folder judging by its spelling: absolute, or with ``..``."""
        return (
            self.name.startswith("/")
            or ".." in self.name.split("/")
            or (self.globs and "/" in self.name[self.first_glob :])
        )

    @property
    def first_glob(self) -> int:
        return min((index for mark in "*?[" if (index := self.name.find(mark)) >= 0), default=0)


@dataclass(frozen=True, slots=True)
class JudgedCommand:
    """One command of a line.

    Attributes:
        reason: why it is not known to be read-only: an English ``N_`` text, empty if it is; ``about``: the word
            concerned.
        redirected, fed: those of ``writes`` that receive its output, and of ``reads`` that are its input: its words do
            not name them.
        wraps: it runs other programs, so a rule for its first words is meaningless.
        folder: where it runs, relative to the line's folder, after preceding ``cd`` commands; None if uncertain.
    """

    command: Simple
    kind: Kind
    reads: tuple[File, ...] = ()
    writes: tuple[File, ...] = ()
    reason: str = ""
    about: str = ""
    wraps: bool = False
    redirected: tuple[File, ...] = ()
    fed: tuple[File, ...] = ()
    folder: str | None = ""

    @property
    def inside(self) -> bool:
        """Whether every file lies in the folder judging by its spelling."""
        return not any(file.outside for file in (*self.reads, *self.writes))

    @property
    def safe(self) -> bool:
        """Whether it may run without asking: it only reads, and only below the folder."""
        return self.kind is Kind.READS and self.inside

    @property
    def contained(self) -> bool:
        """Whether it may run unasked where files may be written: it is safe, or changes only the files it names, below
        the folder.

        Excludes deletions and patterns of names, whose matches are not visible.
        """
        named = not any(file.globs for file in self.writes) and self.command.arguments[0] not in DELETES
        return self.safe or (self.kind is Kind.WRITES and self.inside and named)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The assessment of a line.

    ``line`` is None if it cannot be parsed, ``reason`` says why; ``wraps``: see ``JudgedCommand``.
    """

    text: str
    line: Line | None = None
    commands: tuple[JudgedCommand, ...] = ()
    reason: str = ""
    about: str = ""

    @property
    def safe(self) -> bool:
        """Whether every part may run without asking."""
        return bool(self.commands) and all(command.safe for command in self.commands)

    @property
    def asks_always(self) -> bool:
        """Whether no rule can cover it: it cannot be parsed, or runs programs that are not visible."""
        return self.line is None or any(command.wraps for command in self.commands)

    @property
    def kind(self) -> Kind:
        """The most powerful kind among its parts."""
        kinds = {command.kind for command in self.commands}
        if not kinds or Kind.RUNS in kinds:
            return Kind.RUNS
        return Kind.WRITES if Kind.WRITES in kinds else Kind.READS

    @property
    def files(self) -> tuple[File, ...]:
        """Every file it names, once."""
        return tuple(dict.fromkeys(file for command in self.commands for file in (*command.reads, *command.writes)))

    @property
    def writes(self) -> tuple[File, ...]:
        return tuple(dict.fromkeys(file for command in self.commands for file in command.writes))

    @property
    def changes_repositories(self) -> bool:
        """Whether it only changes repository settings and otherwise reads.

        The approval then covers the resulting settings.
        """
        git = [one.command.arguments[1:] for one in self.commands if one.command.arguments[0] == "git" and not one.safe]
        others = all(one.safe for one in self.commands if one.command.arguments[0] != "git")
        if self.line is None or self.redirected:
            return False
        return others and bool(git) and all(map(git_settings_changes.changes_settings, git))

    def folders(self, command: JudgedCommand) -> tuple[str, ...]:
        """Return the folders where one of the commands may run.

        Its own, or if uncertain, all that the line changes to.
        """
        if command.folder is not None:
            return (command.folder,)
        went = (file.name for one in self.commands if one.command.arguments[0] == "cd" for file in one.reads)
        return tuple(dict.fromkeys(("", *went)))

    @property
    def redirected(self) -> tuple[File, ...]:
        return tuple(dict.fromkeys(file for command in self.commands for file in command.redirected))


@lru_cache(maxsize=64)
def judge(text: str, home: str = "") -> Judgement:
    """Assess a line; never raises. ``home`` replaces ``~``.

    Cached, because a call's line is assessed when it is described, decided about and run.
    """
    try:
        line = read(text, home)
    except UnreadableError as error:
        return Judgement(text, reason=error.reason, about=error.part)
    if len(line.commands) > MOST_COMMANDS:
        return Judgement(text, reason=N_("it contains too many commands"))
    judged: list[JudgedCommand] = []
    folder: str | None = ""
    folders = [""]
    followed = ""
    for index, command in enumerate(line.commands):
        goes = command.arguments[0] == "cd"
        if (followed not in ("", "&&") and folder) or (goes and followed in ("||", "|")):
            # The folder is one of several, and stays uncertain. A ``cd`` after ``||`` may not run at all, one in a pipe
            # has no effect on others.
            folder = None
        one = _judged(command, folder) if folder is not None else _anywhere(command, folders)
        judged.append(one)
        if goes:
            folders += [file.name for file in one.reads]
            folder = one.reads[0].name if folder is not None and one.kind is Kind.READS else None
        followed = line.operators[index] if index < len(line.operators) else ""
    return Judgement(text, line, tuple(judged))


def _anywhere(command: Simple, folders: list[str]) -> JudgedCommand:
    """Assess a command that runs in one of these folders: it may affect the files it names in any of them."""
    each = [_judged(command, folder) for folder in dict.fromkeys(folders)]
    return replace(
        each[0],
        kind=Kind.RUNS,
        reads=tuple(dict.fromkeys(file for one in each for file in one.reads)),
        writes=tuple(dict.fromkeys(file for one in each for file in one.writes)),
        reason=N_("the folder it runs in is unclear"),
        about="",
        redirected=tuple(dict.fromkeys(file for one in each for file in one.redirected)),
        fed=tuple(dict.fromkeys(file for one in each for file in one.fed)),
        folder=None,
    )


def _judged(command: Simple, folder: str) -> JudgedCommand:
    kind, reads, writes, reason, about, wraps = program(command)
    redirected = [
        redirect for redirect in command.redirects if redirect.file is not None and redirect.file.text != DISCARDED
    ]
    read_from = [redirect.file.text for redirect in redirected if redirect.file is not None and not redirect.writes]
    written = [redirect.file.text for redirect in redirected if redirect.file is not None and redirect.writes]
    if written and kind is Kind.READS:
        kind, reason, about = Kind.WRITES, N_("it writes a file"), written[0]
    redirects = tuple(_file(word, command, folder) for word in written)
    fed = tuple(_file(word, command, folder) for word in read_from)
    return JudgedCommand(
        command,
        kind,
        (*(_file(word, command, folder) for word in reads if word not in ("-", DISCARDED)), *fed),
        (*(_file(word, command, folder) for word in writes if word != DISCARDED), *redirects),
        reason,
        about,
        wraps,
        redirects,
        fed,
        folder,
    )


def program(command: Simple) -> tuple[Kind, list[str], list[str], str, str, bool]:
    """Assess its words without redirections.

    Returns kind, files read, files written, why not harmless, the word concerned, and whether it runs other programs.
    """
    name, *rest = command.arguments
    arguments = tuple(rest)
    if name.rpartition("/")[2] in WRAPPERS:
        return Kind.RUNS, [], [], N_("it runs other programs"), name, True
    if any(word.globs and word.text.startswith("-") for word in command.words):
        return Kind.RUNS, [], [], N_("a pattern may expand to an option"), name, False
    try:
        match name:
            case "cd":
                if len(arguments) != 1 or arguments[0].startswith("-") or command.words[1].globs:
                    raise UnknownOptionError(N_("it does not name exactly one folder"), name)
                return Kind.READS, [arguments[0]], [], "", "", False
            case "find":
                return Kind.READS, find_sed_date_arguments.find(arguments), [], "", "", False
            case "sed":
                return Kind.READS, find_sed_date_arguments.sed(arguments), [], "", "", False
            case "git":
                return Kind.READS, git_safety.reads(arguments), [], "", "", False
        rules = READS.get(name) or WRITES.get(name)
        if rules is None:
            return Kind.RUNS, [], [], UNKNOWN_COMMAND, name, False
        files = _files(name, rules, arguments)
    except UnknownOptionError as error:
        settings = (
            [git_settings_changes.SETTINGS]
            if name == "git" and git_settings_changes.changes_settings(arguments)
            else []
        )
        return (
            Kind.RUNS,
            [],
            settings,
            error.reason,
            error.part,
            name == "find" or (name == "git" and error.part.startswith("-")),
        )
    if rules.writes:
        return Kind.WRITES, [], files, N_("it changes files"), name, False
    return Kind.READS, files, [], "", "", False


def _files(name: str, rules: Rules, arguments: tuple[str, ...]) -> list[str]:
    options = parse_options(rules, arguments)
    if name in find_sed_date_arguments.ARGUMENTS:
        find_sed_date_arguments.ARGUMENTS[name](arguments)
    if name in find_sed_date_arguments.OPERANDS:
        find_sed_date_arguments.OPERANDS[name](options.operands)
    operands = list(options.operands)
    match rules.operands:
        case Operands.WORDS | Operands.NONE:
            operands = []
        case Operands.PATTERN if not set(rules.gives_pattern) & set(options.options):
            operands = operands[1:]
    return [*options.files, *operands]


def _file(name: str, command: Simple, folder: str) -> File:
    globs = any(word.globs and word.text == name for word in command.words)
    if ".." in name.split("/"):
        # Not normalised: with links, only the file system knows what a path with ".." means.
        return File(join(folder, name), globs)
    return File(normpath(join(folder, name)) if name else name, globs)

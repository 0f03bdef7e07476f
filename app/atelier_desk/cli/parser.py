"""The argument parser of the command line.

Imports nothing heavy, so that ``--version``, ``--help`` and usage errors answer at once.
"""

from __future__ import annotations

import argparse
import builtins
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from keyword import iskeyword
from math import inf, nan
from typing import Any, NoReturn

from atelier_desk import __version__
from atelier_desk.cli import argparse_translation
from atelier_desk.cli.id_prefixes import ids_of
from atelier_desk.support.i18n import LANGUAGES, N_, _
from atelier_desk.support.visible_and_shortened_text import readable_name

GROUPS = {
    "run": N_("run one turn in a new or existing workflow"),
    "chat": N_("chat in the terminal"),
    "resume": N_("continue interrupted, paused or waiting runs"),
    "workflows": N_("workflows and their contents"),
    "agents": N_("agents, with their models and tools"),
    "skills": N_("instructions for particular tasks (SKILL.md), and prompts called with /name"),
    "prompts": N_("your own prompts with {{variables}}, called with /name"),
    "models": N_("models of the configured providers"),
    "providers": N_("model servers"),
    "tools": N_("tools that agents can use"),
    "tasks": N_("tasks planned by you and your agents"),
    "queue": N_("queued messages"),
    "memory": N_("memories that you and your agents saved"),
    "projects": N_("folders and pages that you and your agents can search"),
    "reports": N_("reports written by agents as Markdown files"),
    "files": N_("changes that agents made to files in a workflow's folders, and how to undo them"),
    "commands": N_("commands that agents left running in the background; they stop when Atelier exits"),
    "questions": N_("questions asked by agents and MCP servers"),
    "approvals": N_("tool calls waiting for approval"),
    "permissions": N_("rules for what agents may do without asking, only after asking, or not at all"),
    "mcp": N_("MCP servers: tools from other programs"),
    "web": N_("web search, and the pages that agents fetched"),
    "media": N_("services that describe images, and generate images and 3D models"),
    "usage": N_("tokens used by runs, and their cost and duration"),
    "quick": N_("open quick ask, for use with a desktop shortcut; starts Atelier if needed"),
    "settings": N_("program settings"),
    "backup": N_("copies of the database (with all settings), reports, your own tools and attachments"),
    "doctor": N_("check the installation and suggest fixes"),
    "completion": N_("print a shell completion script"),
}
"""Help of each command or group, in the order of the help page.

``cli.command_arguments.<name>.register(add)`` adds its arguments.
"""
OK, FAILED, USAGE, ABANDONED, LIMITED, WAITING = 0, 1, 2, 3, 4, 5
"""Exit statuses, with ``signals.CANCELLED``."""
DATABASE, TOOLS, ENGINE = "database", "tools", "engine"
"""How much of the engine a command needs.

A listing that opens only the database is a third faster.
"""
LOG_LEVELS = ("debug", "info", "warning", "error")


class Usage(Exception):
    """The command line is wrong; ``text`` says how, ready for standard error."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class HelpShown(Exception):
    """Help or the version was asked for; ``text`` is the output."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Parser(argparse.ArgumentParser):
    """An argument parser that raises instead of printing and exiting.

    A command may run for another process's terminal.
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(**options)

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        """Add an argument; one without a metavariable shows its name in capitals."""
        if names and not names[0].startswith("-") and "choices" not in options:
            options.setdefault("metavar", names[0].upper())
        return super().add_argument(*names, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; the namespace's ``ids`` says which arguments take which kind of id."""
        found, rest = super().parse_known_args(args, namespace)
        found.ids = {**getattr(found, "ids", {}), **ids_of(self)}
        return found, rest

    def error(self, message: str) -> NoReturn:
        raise Usage(self.format_usage() + _("{program}: error: {problem}", program=self.prog, problem=message) + "\n")

    def print_help(self, file: object = None) -> NoReturn:
        raise HelpShown(self.format_help())


class _Version(argparse.Action):
    def __call__(self, *given: object, **named: object) -> NoReturn:
        raise HelpShown(f"Atelier {__version__}\n")


def global_options() -> Parser:
    """The options of every command, before or after its name.

    A missing option leaves no value, so neither place overrides the other.
    """
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group(_("global options"))
    group.add_argument(
        "--data-dir", metavar="PATH", help=_("folder for the database, models and reports (ATELIER_DATA_DIR)")
    )
    group.add_argument("--lang", choices=LANGUAGES, help=_("language of messages"))
    group.add_argument("--log-level", choices=LOG_LEVELS, help=_("also log to standard error, from this level up"))
    group.add_argument(
        "--accept-loss", action="store_true", help=_("open a damaged database with the data that can still be read")
    )
    group.add_argument("--json", action="store_true", help=_("print JSON only"))
    return common


class AddCommands:
    """Adds a group's commands; each accepts the global options."""

    def __init__(self, subparsers: Any, common: Parser, module: str = "") -> None:
        """``module`` contains the commands' functions, each with the command's own name."""
        self._subparsers = subparsers
        self._common = common
        self._module = module

    def command(self, name: str, help: str = "", *, handler: str = "", needs: str = ENGINE, **options: Any) -> Parser:
        """Add a command; outside a group its help is in ``GROUPS``.

        Args:
            handler: ``module:function`` under ``atelier_desk.cli.commands``, imported when it runs. By
                default the function with the command's name, with an underscore appended to a Python keyword.
            needs: ``DATABASE`` to read stored data only, ``TOOLS`` to read the tools too.
        """
        help = help or _(GROUPS[name])
        parser: Parser = self._subparsers.add_parser(
            name, help=help, description=help, parents=[self._common], **options
        )
        function = name.replace("-", "_") + "_" * (iskeyword(name) or hasattr(builtins, name))
        parser.set_defaults(handler=handler or f"{self._module or name}:{function}", needs=needs)
        return parser

    def mention(self, name: str, help: str) -> None:
        """List a command in the help without adding it to this parser."""
        self._subparsers.add_parser(name, help=help, add_help=False)

    def group(self, name: str, help: str = "", *, module: str = "") -> AddCommands:
        """Add a group of commands (``workflows list``)."""
        parser = self.command(name, help)
        return AddCommands(
            parser.add_subparsers(dest=f"{name}_command", metavar=_("COMMAND"), required=True),
            self._common,
            module or name,
        )


def build_parser(argv: Sequence[str] = tuple(GROUPS)) -> Parser:
    """The parser in the current language.

    It has the commands that ``argv`` names in full, and only the help of all others.
    """
    argparse_translation.translate()
    common = global_options()
    parser = Parser(
        prog="atelier",
        description=_("Atelier, the workbench for teams of LLM agents. Without a command it opens the desktop app."),
        parents=[common],
    )
    parser.add_argument("--version", action=_Version, nargs=0, help=_("show the version and exit"))
    adder = AddCommands(parser.add_subparsers(dest="command", metavar=_("COMMAND")), common)
    for name, help in GROUPS.items():
        if name in argv:
            import_module(f"atelier_desk.cli.command_arguments.{name}").register(adder)
        else:
            adder.mention(name, _(help))
    return parser


def parse(argv: Sequence[str]) -> Namespace:
    """Parse arguments; the global options always have a value.

    Raises:
        Usage: the command line is wrong.
        HelpShown: ``--help`` or ``--version`` was given.
    """
    if (opening := _only_global(argv)) is not None:
        return opening
    parser = build_parser(argv)
    argv = [
        readable_name(given) if given.startswith("--attach=") or (index and argv[index - 1] == "--attach") else given
        for index, given in enumerate(argv)
    ]
    for given in argv:
        try:
            given.encode()
        except UnicodeEncodeError:
            parser.error(_("an argument is not valid in this system's encoding: {text}", text=ascii(given)))
    return _complete(parser.parse_args(list(argv)))


def _only_global(argv: Sequence[str]) -> Namespace | None:
    """The arguments if they are only global options, as for opening the window; else None.

    The commands need not be built for those. None also when something is wrong.
    """
    if any(not given.isascii() for given in argv):
        return None
    try:
        found, rest = global_options().parse_known_args(list(argv))
    except Usage:
        return None
    found.command = None
    return None if rest else _complete(found)


def _complete(arguments: Namespace) -> Namespace:
    for name, default in (
        ("data_dir", None),
        ("lang", None),
        ("log_level", None),
        ("json", False),
        ("accept_loss", False),
    ):
        if not hasattr(arguments, name):
            setattr(arguments, name, default)
    return arguments


def flag(to: argparse._ActionsContainer, name: str, help: str) -> None:
    """Add an option without a value."""
    to.add_argument(name, action="store_true", help=help)


def several(to: argparse._ActionsContainer, name: str, metavar: str, help: str) -> None:
    """Add an option that can be repeated; its value is a list, empty without it."""
    to.add_argument(name, metavar=metavar, action="append", default=[], help=help)


def limit(to: argparse._ActionsContainer, default: int, help: str | None = None) -> None:
    """Add ``--limit``: the maximum number of entries."""
    to.add_argument("--limit", metavar="N", type=number(int, least=1), default=default, help=help)


def number(kind: Callable[[str], float], *, least: float) -> Callable[[str], float]:
    """An argument type: a number of ``kind`` of at least ``least``.

    argparse puts the option's name before the error text.
    """

    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = nan
        if value != value or value in (inf, -inf):  # NaN or infinite
            raise argparse.ArgumentTypeError(_("must be a number, not {text}", text=repr(text)))
        if value < least:
            raise argparse.ArgumentTypeError(_("must be at least {least}, not {text}", least=least, text=text))
        return value

    return convert


def names(text: str) -> list[str]:
    """An argument type: names separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]

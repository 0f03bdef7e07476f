"""Parse the text of a rule: which tools it covers, and which of their calls.

Forms (docs/permissions.md): ``name``, ``name(argument)``, ``section:id`` and ``*``. The meaning of an argument follows
from the call: ``domain:`` is a host, otherwise it is matched against the call's commands, paths or agents.

A rule for commands applies in the workspace folder, or in the one it begins with: ``run_command(cd vendor && make)``,
``cd packages/* && …``. A star matches any words except those a rule must spell out: options that run another program or
that the table of commands does not know, and files outside the workspace. ``run_command`` and ``run_command(*)`` cover
every command in every folder; literal words cover just these.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.path_containment import within
from atelier_desk.policy.permissions import normalise, word_patterns
from atelier_desk.policy.permissions.call_facts import CallFacts, CommandFact, Path
from atelier_desk.policy.permissions.normalise import folded as _folded
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_NAME = re.compile(r"[\w.*-]+(?:\(.+\))?|section:[\w.-]+", re.DOTALL)
_HOST = re.compile(r"(?:(?:\*\.)?(?:[\w-]+\.)*[\w-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)
_HOSTS = ("domain:", "local:")
"""Prefixes of a host argument; ``local:`` marks a host of the user's own network."""
ANY_WORDS = "*"
PREFIX = ":*"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed rule; ``argument`` is None when the rule covers every call of the named tools."""

    name: str = ""
    section: str = ""
    argument: str | None = None

    def names(self, facts: CallFacts) -> bool:
        """Whether the call's tool, section or server is the one the rule names."""
        if self.section:
            return facts.section == self.section
        if word_patterns.word_covers(self.name, facts.tool) or (facts.section != "" and facts.section == self.name):
            return True
        return facts.server != "" and self.name == f"mcp__{facts.server}"


@lru_cache(maxsize=4096)
def parse(text: str) -> Pattern:
    """Parse a rule; ``UsageError`` says what is wrong and what is allowed."""
    if not _NAME.fullmatch(text):
        raise UsageError(
            N_(
                "“{rule}” is not a rule. Write tool, tool(argument), section:name, mcp__server or *, for "
                "example run_command(git log:*)."
            ),
            rule=text,
        )
    if text.startswith("section:"):
        return Pattern(section=text.removeprefix("section:"))
    name, bracket, rest = text.partition("(")
    if not bracket:
        return Pattern(name=name)
    argument = rest[:-1]
    _check(text, argument)
    return Pattern(name=name, argument=argument)


def _check(rule: str, argument: str) -> None:
    if argument.startswith(_HOSTS):
        if not _HOST.fullmatch(argument.partition(":")[2]):
            raise UsageError(
                N_(
                    "“{rule}” does not contain a valid host name. Write domain:python.org, or domain:*.python.org "
                    "to include its subdomains."
                ),
                rule=rule,
            )
        return
    if argument.startswith("!"):
        raise UsageError(
            N_(
                "“{rule}” begins with an exclamation mark. A rule cannot exclude paths from another rule; write a "
                "separate rule for these paths."
            ),
            rule=rule,
        )
    if ".." in re.split(r"[/\\]", argument):
        raise UsageError(
            N_(
                "“{rule}” contains “..”, which is not allowed. Paths in rules start at the workspace folder, at // "
                "or at ~/."
            ),
            rule=rule,
        )
    if argument.strip() in ("", PREFIX):
        raise UsageError(
            N_("“{rule}” has nothing between its parentheses. Leave them out to cover every call of the tool."),
            rule=rule,
        )


def covers_command(argument: str, command: CommandFact, home: str = "", *, strictly: bool) -> bool:
    """Whether an argument covers one simple command.

    ``git log:*`` covers the words ``git log`` and any after them, ``git * main`` any words at the star, anything else
    the whole command. For allowing (``strictly``), a star does not match words that must be spelled out
    (``CommandFact.spelled_out``), and the command must run in the workspace folder or in the one that the argument
    begins with: ``cd vendor && make``. A star alone covers every command. For forbidding, any folder matches if none is
    named, the program also matches by its last name (``/bin/rm`` is ``rm``), and a word that is a path by each of its
    spellings, ignoring case. ``~`` and ``$HOME`` of the argument are ``home``.
    """
    wanted = _line_of(_with_home(argument, home))
    if not _in_folder(wanted, command.folder, strictly=strictly):
        return False
    if _fits(wanted.words, command.words):
        return not strictly or command.spelled_out <= wanted.plain
    if strictly or not command.words:
        return False
    if _fits(wanted.words, (*programs(command)[1:], *command.words[1:])):
        return True
    return word_patterns.covers(_tidy(argument, home), _spellings(command, home), _is_spelled)


def _in_folder(wanted: _Line, folder: str | None, *, strictly: bool) -> bool:
    if not strictly:
        return (
            wanted.folder is None
            or folder is None
            or word_patterns.word_covers(_folded(wanted.folder), _folded(folder))
        )
    if wanted.folder is None:
        return folder == "" or all(word is word_patterns.STAR for word in wanted.words)
    return folder is not None and word_patterns.word_covers(wanted.folder, folder)


def _with_home(argument: str, home: str) -> str:
    if not home or ("~" not in argument and "$" not in argument):
        return argument
    # Quoted text is literal as in a shell, except for the variable in double quotes.
    return _AT_HOME.sub(
        lambda found: found[1] + (home if '"' in found[1] else re.sub(r"([\s\\*'\"])", r"\\\1", home)), argument
    )


_AT_HOME = re.compile(r"""(^|\s|\s"|=)(?:~(?=/|\s|$)|\$HOME(?![A-Za-z0-9_])|\$\{HOME\})""")


@lru_cache(maxsize=4096)
def _tidy(argument: str, home: str) -> tuple[object, ...]:
    """Return the words of a command pattern as compared for forbidding."""
    words = _line_of(_with_home(argument, home)).words
    return tuple(normalise.word(each, home) if isinstance(each, str) else each for each in words)


@lru_cache(maxsize=512)
def _spellings(command: CommandFact, home: str) -> tuple[tuple[str, ...], ...]:
    """Return, for each word of a command, its possible spellings; the program also by its last name."""
    also = command.also or ((),) * len(command.words)
    found = [(word, *more) for word, more in zip(command.words, also, strict=True)]
    found[0] = tuple(name for each in found[0] for name in (each, each.rpartition("/")[2]))
    return tuple(tuple(dict.fromkeys(normalise.word(each, home) for each in word)) for word in found)


def _is_spelled(piece: object, said: tuple[str, ...]) -> bool:
    if not isinstance(piece, str):
        return False
    # Case matters for options and words of programs, but not for file names on every system.
    files = [each for each in said if ("/" in each or "." in each) and not each.startswith("-")]
    return any(word_patterns.word_covers(piece, each) for each in said) or any(
        word_patterns.word_covers(_folded(piece), _folded(each)) for each in files
    )


def programs(command: CommandFact) -> tuple[str, ...]:
    """Return the names of a command's program: as written, and its last name. Empty for a command without words."""
    return (command.words[0], command.words[0].rpartition("/")[2]) if command.words else ()


def program(argument: str) -> str:
    """Return the lower-case last name of the program that every covered command runs.

    Empty if there is no single one.
    """
    first = next(iter(_line_of(argument).words), "")
    return _last(first) if isinstance(first, str) and not word_patterns.is_pattern(first) else ""


def last_names(command: CommandFact) -> set[str]:
    """Return the last names of a command's program, links resolved, as spelled by ``program``."""
    return {_last(each) for each in (*command.words[:1], *(command.also[0] if command.also else ()))}


def _last(program: str) -> str:
    return _folded(program.rstrip("/").rpartition("/")[2])


def _fits(wanted: tuple[object, ...], words: tuple[str, ...]) -> bool:
    return word_patterns.covers(
        wanted, words, lambda piece, said: isinstance(piece, str) and word_patterns.word_covers(piece, said)
    )


class _Line(NamedTuple):
    """The pattern of a command.

    ``folder``: pattern of where it runs, None if not named; ``plain``: number of words before the first one with a
    star, infinite if there are only stars.
    """

    words: tuple[object, ...]
    folder: str | None
    plain: float


_CD = re.compile(r"""cd\s+((?:[^\s'"\\&]|'[^']*'|"[^"]*"|\\.)+)\s+&&\s+(.+)""", re.DOTALL)


@lru_cache(maxsize=4096)
def _line_of(argument: str) -> _Line:
    """Parse an argument about a command: a leading ``cd FOLDER && `` is where it runs."""
    folder = None
    if there := _CD.fullmatch(argument):
        (word,) = _words(there[1])
        written = ANY_WORDS if word is word_patterns.STAR else str(word)
        folder = "/".join(part for part in (written.rstrip("/") or written[:1]).split("/") if part != ".")
        argument = there[2]
    words = _words(argument)
    if all(word is word_patterns.STAR for word in words):
        return _Line(words, folder, math.inf)
    stars = (
        index
        for index, word in enumerate(words)
        if word is word_patterns.STAR or word_patterns.STAR in word_patterns.word(str(word))
    )
    return _Line(words, folder, next(stars, len(words)))


def in_its_folder(argument: str) -> str:
    """Return an argument about a command without its leading folder: ``make`` for ``cd vendor && make``."""
    there = _CD.fullmatch(argument)
    return there[2] if there else argument


def _words(argument: str) -> tuple[object, ...]:
    """Return the words of a command pattern without quotes: quoted text is literal."""
    prefix = argument.endswith(PREFIX)
    words: list[object] = []
    word: list[str] | None = None
    quote = ""
    characters = iter(argument.removesuffix(PREFIX) if prefix else argument)
    for character in characters:
        if quote:
            if character == quote:
                quote = ""
            elif word is not None:
                word.append(word_patterns.literal(character))
        elif character in "'\"":
            quote, word = character, word or []
        elif character.isspace():
            if word is not None:
                words.append(_piece(word))
            word = None
        elif character == "\\":
            word = [*(word or []), "\\" + next(characters, "\\")]
        else:
            word = [*(word or []), character]
    if word is not None:
        words.append(_piece(word))
    return (*words, word_patterns.STAR) if prefix else tuple(words)


def _piece(word: list[str]) -> object:
    text = "".join(word)
    return word_patterns.STAR if text == ANY_WORDS else text


def command_text(words: tuple[str, ...]) -> str:
    """Return a command as text: the argument of a rule that covers only this command, in the workspace folder."""
    return " ".join(_quoted(one) for one in words)


def folder_text(folder: str) -> str:
    """Return the prefix for a rule that applies only in this folder.

    ``cd vendor && ``; empty for the workspace folder.
    """
    return f"cd {_quoted(folder)} && " if folder else ""


def _quoted(word: str) -> str:
    if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) and not word.endswith(PREFIX):
        return word
    if "'" not in word:
        return f"'{word}'"
    return "".join(f"'{part}'" if part != "'" else "\\'" for part in re.split("(')", word) if part)


def covers_path(argument: str, path: Path, home: str, *, strictly: bool) -> bool:
    """Whether an argument covers a path, in .gitignore syntax.

    For allowing (``strictly``) every spelling of the path must match, including case; for forbidding one spelling is
    enough, ignoring case and Unicode form, because some file systems treat them as the same name.
    """
    seen = _seen(path, home, folded=not strictly)
    if strictly:
        return all(_covers_spelling(argument, each) for each in seen)
    argument = _folded(argument)
    return any(_covers_spelling(argument, each) for each in seen)


class _Spelling(NamedTuple):
    """One spelling of a path.

    Relative to the file system's root, to home, and to each granted folder that contains it.
    """

    full: str
    at_home: str | None
    below: tuple[str, ...]


@lru_cache(maxsize=256)
def _seen(path: Path, home: str, *, folded: bool) -> tuple[_Spelling, ...]:
    """Return the spellings of a path, computed once for all rules."""
    as_written = _folded if folded else str
    home, roots = as_written(home), [as_written(root) for root in path.roots]
    found = []
    for each in map(as_written, path.spellings):
        at_home = each[len(home) :].lstrip("/") if home and within(home, each) else None
        below = tuple(each[len(root) :].lstrip("/") for root in roots if within(root, each))
        found.append(_Spelling(each.lstrip("/"), at_home, below))
    return tuple(found)


def _covers_spelling(argument: str, seen: _Spelling) -> bool:
    start, line = _placed(argument)
    if start == "top":
        return _line_covers(line, seen.full)
    if start == "home":
        return seen.at_home is not None and _line_covers(line, seen.at_home)
    read = _line(line)
    return read is not None and any(read.match_file(name) is not None for name in seen.below)


@lru_cache(maxsize=4096)
def _placed(argument: str) -> tuple[Start, str]:
    """Return the folder that an argument is relative to, and its .gitignore line there."""
    said = normalise.from_home(argument)
    if said.startswith("//"):
        return "top", normalise.tidy("/" + said.lstrip("/"))
    if said == "~" or said.startswith("~/"):
        return "home", normalise.tidy(said[1:]) if said.strip("~/") else "/**"
    return "workspace", normalise.tidy(said.removeprefix(".") if said.startswith("./") else said)


Start = Literal["workspace", "home", "top"]


class PathPattern(NamedTuple):
    """An argument about paths; ``matches`` tells whether its line covers a path below ``start``, ignoring case."""

    start: Start
    line: str
    matches: Callable[[str], bool]


def placed(argument: str) -> PathPattern | None:
    """Parse an argument about paths; None for one that names none."""
    start, line = _placed(argument)
    read = _line(_folded(line))
    if read is None or read.regex is None:
        return None
    fits = read.regex.match
    return PathPattern(start, line, lambda path: fits(_folded(path)) is not None)


def folder(argument: str) -> str:
    """Return the leading folder, in lower case, of every path that an argument covers below a granted folder.

    ``src`` for ``src/**``, all of ``/src/a.py``; empty if uncertain. A .gitignore line with a slash before its end is
    anchored at the top (gitignore(5)).
    """
    line = argument.removeprefix(".") if argument.startswith("./") else argument
    start = line.removeprefix("/")
    if "/" not in line.rstrip("/"):
        return ""
    plain = _PLAIN.match(start)
    head = plain[0] if plain else ""
    head = head.removesuffix("/") if head == start else head.rpartition("/")[0]
    return "" if {"", ".", ".."} & set(head.split("/")) else _folded(head)


_PLAIN = re.compile(r"[\w./-]+", re.ASCII)


def folders(path: Path) -> set[str]:
    """Return all leading folders of a path below its granted folders, in all spellings, as in ``folder``."""
    roots = [_folded(root) for root in path.roots]
    below = {
        each[len(root) :].lstrip("/") for each in map(_folded, path.spellings) for root in roots if within(root, each)
    }
    return {"/".join(parts[: end + 1]) for each in below for parts in (each.split("/"),) for end in range(len(parts))}


def _line_covers(line: str, path: str) -> bool:
    read = _line(line)
    return read is not None and read.match_file(path) is not None


@lru_cache(maxsize=4096)
def _line(line: str) -> GitIgnoreSpecPattern | None:
    """Compile one .gitignore line; a leading number sign and trailing spaces belong to the name.

    None for a line that names no path, such as a command that ends with a backslash; git ignores it too.
    """
    from pathspec.patterns.gitignore import base, spec

    stripped = line.rstrip(" ")
    escaped = stripped + "\\ " * (len(line) - len(stripped))
    try:
        return spec.GitIgnoreSpecPattern(f"\\{escaped}" if escaped.startswith("#") else escaped)
    except base.GitIgnorePatternError:
        return None


def path_text(path: Path, home: str) -> str:
    """Return the argument of a rule that covers only this path.

    Relative to its granted folder it would cover the same name in every other granted folder.
    """
    spelling = path.spellings[-1]
    if home and within(home, spelling) and spelling != home:
        return "~/" + _escaped(spelling[len(home.rstrip("/")) + 1 :])
    return "//" + _escaped(spelling.lstrip("/"))


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[\]!#])", r"\\\1", path)


def is_about_hosts(argument: str) -> bool:
    return argument.startswith(_HOSTS)


def covers_host(argument: str, host: str) -> bool:
    """Whether an argument covers a host; a port restricts it to that port. Case is ignored.

    ``domain:python.org`` covers that host, ``domain:*.python.org`` also all its subdomains. ``host`` includes an
    unusual port.
    """
    wanted, wanted_port = _with_port(argument.partition(":")[2])
    said, port = _with_port(host)
    if wanted_port and not (wanted_port == port or (not port and wanted_port in _USUAL)):
        return False
    if wanted.startswith("*."):
        return said == wanted[2:] or said.endswith(wanted[1:])
    return said == wanted


_USUAL = ("80", "443")


def is_for_port(argument: str) -> bool:
    """Whether the argument of a host rule names a port."""
    return bool(_with_port(argument.partition(":")[2])[1])


def _with_port(text: str) -> tuple[str, str]:
    """Split into host and port (empty if none); an IPv6 address is in brackets or has no port."""
    text = text.casefold()
    if text.startswith("["):
        name, _bracket, port = text[1:].partition("]")
        return name, port.removeprefix(":")
    name, colon, port = text.rpartition(":")
    return (name.rstrip("."), port) if colon and ":" not in name else (text.rstrip("."), "")

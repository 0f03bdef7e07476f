"""git and denied paths: what to exclude, what to refuse, and whether a repository's history contains them."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.workspace.commands import git_safety
from atelier_desk.workspace.commands.option_parsing import UnknownOptionError
from atelier_desk.workspace.denied_file_search import real, slashed
from atelier_desk.workspace.processes import command_environment, git_pointer_files

EXCLUDES = frozenset({"diff", "log", "show", "status"})
"""Read-only git commands that print file contents; all accept excluded paths."""
_OFF = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_SECONDS = 3.0
_REFS = 2_000
"""Maximum files of references that are checked for changes."""


def patterns(bans: Iterable[DeniedPattern], top: str, roots: Sequence[str], home: str) -> tuple[str, ...]:
    """Return the denied paths as globs below ``top``, which may be above or below where a rule begins.

    ``**`` denies everything.
    """
    found: dict[str, None] = {}
    for ban in bans:
        for start in ban.starts(roots, home) if ban.reads else ():
            for each in _below(ban, real(start), top):
                found[each] = None
    return tuple(found)


def _below(ban: DeniedPattern, start: str, top: str) -> list[str]:
    line = ban.line.strip("/")
    if top == start or top.startswith(start.rstrip("/") + "/"):
        rest = [part for part in top[len(start.rstrip("/")) :].split("/") if part]
        if rest and ban.covers_all("/".join(rest)):
            return ["**"]
        if not ban.anchored:
            return [f"**/{line}"]
        parts = line.split("/")
        while rest and parts:
            if parts[0] == "**":
                return ["/".join(parts)]
            if not fnmatch.fnmatchcase(rest[0].casefold(), parts[0].casefold()):
                return []
            rest, parts = rest[1:], parts[1:]
        return ["/".join(parts)] if parts else ["**"]
    if start.startswith(top.rstrip("/") + "/"):
        lead = _escaped(start[len(top.rstrip("/")) + 1 :])
        return [f"{lead}/{line}" if ban.anchored else f"{lead}/**/{line}"]
    return []


def _escaped(path: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[\\" else letter for letter in path)


def pathspecs(globs: Iterable[str], *, without: bool) -> tuple[str, ...]:
    """Return globs in git's syntax (gitglossary(7), "pathspec"), relative to the top of the work tree, ignoring
    case."""
    magic = "top,exclude,icase,glob" if without else "top,icase,glob"
    return tuple(f":({magic}){each}" for glob in globs for each in ((glob,) if glob == "**" else (glob, f"{glob}/**")))


def named(words: Sequence[str]) -> list[str]:
    """Return the paths in revisions that a git command names: ``src/a`` for ``HEAD:src/a`` and ``:0:src/a``."""
    found: list[str] = []
    for word in words:
        for part in word.split(".."):
            _first, colon, rest = part.partition(":")
            if not colon or word.startswith(":("):
                continue
            while colon:
                found.append(rest)
                _first, colon, rest = rest.partition(":")
    return [each.lstrip("/") for each in found if each]


def excluding(
    words: tuple[str, ...],
    asked: tuple[str, ...],
    folder: Path,
    top: str,
    globs: Sequence[str],
    covers: Callable[[str], bool],
) -> tuple[str, ...]:
    """Return a hardened read-only git command that excludes denied paths.

    Args:
        words: the hardened command, ending with the words of ``asked``: the command as written after ``git``.
        covers: whether reading an absolute path is denied.

    Raises:
        UnknownOptionError: it names objects whose paths cannot be determined.
    """
    command, *rest = [word for word in asked if word != "--no-pager"] or [""]
    if not globs or command not in EXCLUDES:
        return words
    if command == "status" and any(re.match(r"-[a-z]*v|--verb", word) for word in rest):
        # Paths do not limit the changes that it prints.
        raise UnknownOptionError("a rule denies files here, and their changes would be printed", "-v")
    place = (
        rest.index("--")
        if "--" in rest
        else next((at for at, word in enumerate(rest) if _is_path(word, folder)), len(rest))
    )
    revisions = [word for word in rest[:place] if not word.startswith("-")]
    _check_objects(words[0], command, revisions, folder, top, covers)
    paths = rest[place + 1 :] if place < len(rest) and rest[place] == "--" else rest[place:]
    head = words[: len(words) - len(rest)]
    return (*head, *rest[:place], "--", *paths, *pathspecs(globs, without=True))


def _is_path(word: str, folder: Path) -> bool:
    """Whether an unmarked operand is a path: git's rule for what is not also a revision (gitcli(7))."""
    if word.startswith("-"):
        return False
    return word.startswith((":(", ":!", ":^")) or any(mark in word for mark in "*?[") or os.path.lexists(folder / word)


def _check_objects(
    file: str, command: str, revisions: Sequence[str], folder: Path, top: str, covers: Callable[[str], bool]
) -> None:
    for word in revisions:
        for name in _objects_in(word):
            kind = _ask(file, folder, "cat-file", "-t", name).strip()
            plain = ":" not in name
            if kind == "blob":
                paths = [] if plain else list(_paths_of(file, name, folder, top))
                if any(map(covers, paths)):
                    raise UnknownOptionError("a rule denies this file", word)
                if not paths:
                    raise UnknownOptionError(_UNNAMED, word)
            if kind == "tree" and (command != "show" or plain):
                raise UnknownOptionError(_UNNAMED, word)
            if kind == "tag" and _ask(file, folder, "rev-parse", "--verify", "-q", f"{name}^{{commit}}") == "":
                raise UnknownOptionError("a rule denies files here, and this tag is of no commit", word)


_UNNAMED = "a rule denies files here, and nobody can tell which this object was; name it as REVISION:PATH"


def _objects_in(word: str) -> list[str]:
    """Yield the object names in a word.

    All of it, because ``..`` may be part of a path, and both sides of each ``..`` and ``...``.
    """
    found = {word: None}
    for index in range(len(word)):
        if word.startswith("..", index):
            found |= {word[:index]: None, word[index + 2 :]: None, word[index:].lstrip("."): None}
    names = (each.lstrip("^") for each in found)
    return [each for each in names if each and not each.startswith(":/")]


def _paths_of(file: str, name: str, folder: Path, top: str) -> Iterator[str]:
    """Yield the absolute paths that a blob's name may mean in the work tree ``top``.

    None if it does not begin with a commit or the index: the path in a tree does not tell where the tree was
    (gitrevisions(7)).
    """
    for colon in (index for index, letter in enumerate(name) if letter == ":"):
        first, path = name[:colon], name[colon + 1 :]
        if first not in ("", ":0", ":1", ":2", ":3"):
            kind = _ask(file, folder, "cat-file", "-t", first).strip()
            if kind not in ("commit", "tag") or not _ask(
                file, folder, "rev-parse", "--verify", "-q", f"{first}^{{commit}}"
            ):
                continue
        start = real(folder) if path.startswith(("./", "../")) else top
        yield posixpath.normpath(posixpath.join(start, path.lstrip("/")))


def _ask(file: str, folder: Path, *arguments: str) -> str:
    """Return git's answer about objects; empty if there is none."""
    return (_answer(file, folder, command_environment.environment(folder), *arguments) or b"").decode(
        "utf-8", "replace"
    )


def _answer(file: str, folder: str | Path, environ: Mapping[str, str], *arguments: str) -> bytes | None:
    """Return git's output, None if it fails. Only for queries that execute nothing from a repository."""
    try:
        done = subprocess.run(
            (file, "--no-pager", "--no-optional-locks", *_OFF, *arguments), cwd=folder,
            env={**environ, **git_safety.ENVIRONMENT},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def objects(repository: str) -> tuple[str, ...]:
    """Return the folders with a repository's objects, including borrowed ones (gitrepository-layout(5))."""
    common = real(git_pointer_files.target(f"{repository}/commondir", "commondir") or repository)
    found: dict[str, None] = {}
    waiting = [real(f"{common}/objects"), real(f"{repository}/objects")]
    while waiting and len(found) < 20:
        one = waiting.pop()
        if one in found or not os.path.isdir(one):  # noqa: PTH112
            continue
        found[one] = None
        waiting += map(slashed, git_pointer_files.alternates(one))
    return tuple(found)


_CONTENT = ("lfs", "rebase-merge", "rebase-apply", "sequencer", "rr-cache", "lost-found")


def content(repository: str) -> tuple[str, ...]:
    """Return all folders of a repository that contain file contents.

    Objects, git-lfs, and patches of an unfinished rebase.
    """
    found = objects(repository)
    folders = dict.fromkeys((repository, *(os.path.dirname(each) for each in found[:1])))  # noqa: PTH120
    more = (f"{folder}/{name}" for folder in folders for name in _CONTENT)
    return (*found, *(each for each in more if os.path.isdir(each)))  # noqa: PTH112


def holds(repository: str, bans: Sequence[DeniedPattern], roots: Sequence[str], home: str) -> bool:
    """Whether a denied path occurs in anything that references, reflogs or the index of a repository lead to.

    Blocks, for some seconds at most; True if git cannot answer.
    """
    if not objects(repository):
        return False
    if repository.endswith("/.git"):
        globs = patterns(bans, os.path.dirname(repository), roots, home)  # noqa: PTH120
    else:
        # The location of its files is unknown, so the names match in any folder.
        globs = tuple(f"**/{ban.line.strip('/')}" for ban in bans if ban.reads)
    return bool(globs) and _holds(repository, globs, _state(repository))


@lru_cache(maxsize=256)
def _holds(repository: str, globs: tuple[str, ...], _state: tuple[object, ...]) -> bool:
    file = command_environment.program("git", Path(repository), None, system=True) or command_environment.program(
        "git", Path(repository), None
    )
    if not file:
        return True
    wanted = pathspecs(globs, without=False)
    environ = {**command_environment.environment(None), "GIT_DIR": repository, "GIT_WORK_TREE": repository}
    questions = (
        ("rev-list", "--all", "--reflog", "--max-count=1", "--", *wanted),
        ("ls-files", "--cached", "--", *wanted),
    )
    for question in questions:
        answer = _answer(file, repository, environ, *question)
        if answer is None or answer.strip():
            return True
    return False


def _state(repository: str) -> tuple[object, ...]:
    """Return a value that changes whenever a repository gets other commits or another index."""
    message: list[object] = []
    folders = dict.fromkeys((repository, *(os.path.dirname(each) for each in objects(repository)[:2])))  # noqa: PTH120
    for folder in folders:
        for name in ("HEAD", "index", "packed-refs", "logs/HEAD", "FETCH_HEAD", "ORIG_HEAD"):
            message.append(_when(f"{folder}/{name}"))
        for start in ("refs", "reftable", "logs/refs"):
            for here, below, files in os.walk(f"{folder}/{start}"):
                message += [_when(f"{here}/{name}") for name in (".", *files)]
                if len(message) > _REFS:
                    return (object(),)  # never equal again: git is asked
                below.sort()
    return tuple(message)


def _when(path: str) -> tuple[int, int, int]:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)

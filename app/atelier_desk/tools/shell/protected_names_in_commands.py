# ruff: noqa: PTH118, PTH120
"""Protected names that a command line names or rewrites: a person is asked about them, and an approval covers only
them.

Files that a program touches without naming them need no question: they are read-only for it, and new ones are held
(``protected_file_enforcement``).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from os.path import normpath, realpath
from pathlib import Path as File

from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import ProtectedTargets, is_protected
from atelier_desk.policy.permissions.call_facts import Path, protected
from atelier_desk.workspace.checkpoints.protected_file_guard import protected_in
from atelier_desk.workspace.commands import git_safety
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement, Kind
from atelier_desk.workspace.glob_expansion import Patterns, TooManyError
from atelier_desk.workspace.processes import command_environment, git_pointer_files

_JOINED = re.compile(r"[=:,@]")
"""Separators between an option and its value, or several names in one word.

``of=AGENTS.md``, ``HEAD:AGENTS.md``, ``-v=a:b``.
"""
_MAX_NAMES = 1_000
_NAMED = 5
"""Maximum names in a question."""
_GIT_S = 10.0

_REWRITES = frozenset({
    "switch", "checkout", "pull", "merge", "rebase", "stash", "reset", "restore", "cherry-pick", "revert", "apply",
    "am", "clean", "bisect",
    "read-tree", "checkout-index", "sparse-checkout",
})  # fmt: skip
_BRINGS = frozenset({"clone", "submodule", "worktree"})
"""git commands that create whole folders of files."""
_ONLY = {
    "stash": ({"list", "show", "drop", "clear", "create", "store"}, False),
    "worktree": ({"list", "lock", "unlock", "prune", "remove"}, False),
    "submodule": ({"status", "summary", "init", "deinit", "foreach", "sync"}, False),
    "bisect": ({"log", "view", "visualize", "terms", "help"}, False),
    "sparse-checkout": ({"list", "init"}, False),
    "reset": ({"--hard", "--merge", "--keep"}, True),
}  # fmt: skip
"""Words with which a command of ``_REWRITES`` or ``_BRINGS`` leaves files alone, or (True) without which it does."""
_VALUE_OPTIONS = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}
)


def targets(judgement: Judgement, cwd: str, folders: Sequence[str], own: Sequence[str] = ()) -> ProtectedTargets:
    """Return what a line names or rewrites; blocks.

    Args:
        cwd: the folder it runs in, relative to the first of the granted ``folders``.
        own: see ``protected``.
    """
    if not folders:
        return ProtectedTargets()
    start = os.path.join(folders[0], os.path.expanduser(cwd))  # noqa: PTH111
    names: dict[str, None] = {}
    below: dict[str, None] = {}
    repositories: dict[str, None] = {}
    by_git = _Rewritten(folders)
    for judged in judgement.commands:
        if judged.kind is Kind.READS:
            continue
        bases = judgement.folders(judged)
        for base in dict.fromkeys((*bases, "")):
            for word in _words(judged, os.path.join(start, base)):
                written = os.path.join(start, base, word)
                path = Path(tuple(dict.fromkeys((_normalised(written), realpath(written)))))
                if protected([path], own):
                    names[_shown(path.spellings[0], folders[0])] = None
                    below |= dict.fromkeys(path.spellings)
        for base in bases:
            rewritten, brought, folder = by_git.of(judged, os.path.join(start, base))
            names |= dict.fromkeys(_shown(path, folders[0]) for path in rewritten)
            names |= {judged.command.rendered: None} if brought else {}
            below |= dict.fromkeys(realpath(path) for path in (*rewritten, *brought))
            repositories |= {folder: None} if rewritten or brought else {}
    more = f" … ({len(names)})" if len(names) > _NAMED else ""
    return ProtectedTargets(", ".join(list(names)[:_NAMED]) + more, tuple(below), tuple(repositories))


def may_change(
    allowed: ProtectedTargets, judgement: Judgement, cwd: str, folders: Sequence[str], there: Iterable[str]
) -> Callable[[str], bool]:
    """Return a predicate: may the running line change an absolute path, given what was approved? Blocks.

    Args:
        there: existing protected files, absolute. What git tracks is read once, so call again after the command.
    """
    start = os.path.join(folders[0], os.path.expanduser(cwd))  # noqa: PTH111
    below = [*allowed.below]
    written = [os.path.join(start, file.name) for file in judgement.writes if not file.globs]
    if all(judged.kind is not Kind.RUNS for judged in judgement.commands) and judgement.commands:
        # Only what it names is changed, and names below it were searched before.
        below += [each for path in written for each in (_normalised(path), realpath(path))]
    else:
        below += [
            path
            for path in there
            if any(within(_normalised(each), path) or within(realpath(each), path) for each in written)
        ]
    tracked = cache(lambda folder: _tracked(folder, folders) or set())

    def may(path: str) -> bool:
        real = os.path.join(realpath(os.path.dirname(path)), os.path.basename(path))  # noqa: PTH119
        if any(within(each, path) or within(each, real) for each in below):
            return True
        # By now git tracks what it created with approval.
        return any(real in tracked(folder) for folder in allowed.repositories)

    return may


def _words(judged: JudgedCommand, folder: str) -> Iterator[str]:
    """Yield what each word of a command can name: itself, its parts, and matches of a pattern."""
    for word in judged.command.words[1:]:
        text = word.text
        yield from dict.fromkeys((text, *_JOINED.split(text)))
        if text.startswith("-") and not text.startswith("--"):
            # -oAGENTS.md
            yield from (part for at in range(2, len(text)) if is_protected(part := text[at:].lstrip("=")))
        if word.globs and text.strip("/"):
            try:
                yield from Patterns(folder, _MAX_NAMES).names(text)
            except TooManyError:
                continue


class _Rewritten:
    """Protected files that the git commands of one line rewrite in the granted folders; scanned once."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._tracked = cache(lambda folder: _tracked(folder, folders))
        self._there = cache(
            lambda: [
                os.path.join(realpath(root), path)
                for root, path in protected_in([File(each) for each in folders]).found
            ]
        )

    def of(self, judged: JudgedCommand, folder: str) -> tuple[list[str], list[str], str]:
        """Return protected files (absolute) that a git command rewrites, folders it fills, and its working folder."""
        program, *words = judged.command.arguments
        if program.rpartition("/")[2].removesuffix(".exe") != "git":
            return [], [], folder
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option in _VALUE_OPTIONS and words:
                value = words.pop(0)
                folder = os.path.join(folder, value) if option == "-C" else folder
        command, rest = (words or [""])[0], words[1:]
        only, needed = _ONLY.get(command, (set(), False))
        if (command, rest[:1]) == ("worktree", ["remove"]):
            # Otherwise it would stop midway at a read-only file.
            gone = [realpath(os.path.join(folder, word)) for word in rest[1:] if not word.startswith("-")]
            return sorted(path for path in self._there() if any(within(each, path) for each in gone)), [], folder
        if bool(only & set(rest[:1] if not needed else rest)) is not needed and only:
            return [], [], folder
        if command in ("mv", "rm") and "--cached" not in rest:
            return (
                sorted(_moved_along(command, list(_operands(judged, folder, len(words))), folder, self._there())),
                [],
                folder,
            )
        if command in _BRINGS:
            return [], _filled(command, rest, folder), folder
        makes_branch = len(rest) == 2 and (command, rest[0]) in (("switch", "-c"), ("checkout", "-b"))
        if command not in _REWRITES or makes_branch:
            return [], [], folder
        tracked = self._tracked(folder)
        if tracked is not None and command != "clean":
            return sorted(tracked), [], folder
        return sorted(path for path in self._there() if tracked is None or path not in tracked), [], folder


def _operands(judged: JudgedCommand, folder: str, most: int) -> Iterator[str]:
    """Yield the operands of git's command, which begins ``most`` words before the end, with shell patterns expanded."""
    ended = False
    for word in judged.command.words[len(judged.command.words) - most + 1 :]:
        if word.text.startswith("-") and not ended:
            ended = word.text == "--"
        elif word.globs:
            try:
                yield from Patterns(folder, _MAX_NAMES).names(word.text) or [word.text]
            except TooManyError:
                yield "."
        else:
            yield word.text


def _moved_along(command: str, names: list[str], folder: str, there: Sequence[str]) -> Iterator[str]:
    """Yield the protected files among ``there`` that ``git mv`` and ``git rm`` move or delete, and their
    destinations."""
    into = os.path.join(folder, names.pop()) if command == "mv" and len(names) > 1 else ""
    for name in names:
        if command == "rm" and any(mark in name for mark in "*?[:\\"):
            yield from _by_pathspec(name, realpath(folder), there)
            continue
        top = realpath(os.path.join(folder, name))
        target = realpath(into)
        if os.path.isdir(target):  # noqa: PTH112
            target = os.path.join(target, os.path.basename(top))  # noqa: PTH119
        for path in there:
            if within(top, path):
                yield path
                if into:
                    yield os.path.normpath(os.path.join(target, os.path.relpath(path, top)))


def _by_pathspec(name: str, folder: str, there: Iterable[str]) -> Iterator[str]:
    """Yield the files that a git pathspec may match (gitglossary(7), "pathspec"): its stars also match slashes."""
    for path in there:
        below = os.path.relpath(path, folder)
        if any(mark in name for mark in "[:\\") or any(fnmatchcase(below, each) for each in (name, f"{name}/*")):
            yield path


def _filled(command: str, words: Sequence[str], folder: str) -> list[str]:
    """Return where ``clone``, ``worktree`` and ``submodule`` put files: named places, and the folder's submodules."""
    names = [word for word in words if not word.startswith("-")]
    if command == "clone":
        names = [
            each for word in names[-1:] for each in (word, word.rstrip("/").rpartition("/")[2].removesuffix(".git"))
        ]
    if command == "submodule":
        names.append(".gitmodules")
        text = (git_pointer_files.content(os.path.join(folder, ".gitmodules")) or b"").decode("utf-8", "replace")
        names += re.findall(r"^\s*path\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    return [_normalised(os.path.join(folder, name)) for name in names if name.strip("./")]


def _tracked(folder: str, folders: Sequence[str]) -> set[str] | None:
    """Return the tracked protected files of a repository in granted folders, absolute; None if git does not answer."""
    root = File(folders[0])
    program = command_environment.program("git", File(folder), root, system=True) if os.path.isdir(folder) else ""  # noqa: PTH112
    if not program:
        return None
    environ = {**command_environment.environment(root), **git_safety.ENVIRONMENT}
    output: list[bytes] = []
    for words in (("rev-parse", "--show-toplevel"), ("ls-files", "-z", "--full-name", ":/")):
        line = git_safety.hardened((program, *words), ())
        try:
            done = subprocess.run(
                line, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=_GIT_S
            )
        except (OSError, subprocess.SubprocessError):
            return None
        output.append(done.stdout)
    above = realpath(os.fsdecode(output[0].removesuffix(b"\n")))
    tops = [realpath(each) for each in folders]
    names = (os.fsdecode(name) for name in output[1].split(b"\0") if name)
    paths = (os.path.join(above, name) for name in names if is_protected(name))
    return {path for path in paths if any(within(top, path) for top in tops)}


def _normalised(path: str) -> str:
    normalised = normpath(path)
    normalised = "/" + normalised.lstrip("/") if normalised.startswith("/") else normalised
    return File(normalised).as_posix() if os.sep != "/" else normalised


def _shown(path: str, root: str) -> str:
    for top in dict.fromkeys((_normalised(root), realpath(root))):
        if path != top and within(top, path):
            return path[len(top.rstrip("/")) + 1 :]
    return path

"""Inspect a folder's repository before git is run in it, and list settings that are not known to be harmless.

A repository in a granted folder is untrusted, and so is everything its files lead git to: settings, another
repository's folder (a ``.git`` file, ``commondir``), borrowed objects (``alternates``), links. One above the granted
folders was put there by the person.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os.path import realpath
from pathlib import Path

from atelier_desk.domain.path_containment import within
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.workspace.commands import git_safety
from atelier_desk.workspace.commands.harmless_git_config_keys import Setting, is_known
from atelier_desk.workspace.processes import command_environment, git_pointer_files

TIMEOUT_S = 3.0
MOST_BYTES = 4 * 1024 * 1024
"""Maximum bytes of all settings together; longer ones count as unreadable, as do slow ones."""
SHOWN, _DIGITS = 3, 32
DEPTH = 5
"""Maximum chain of borrowed object folders, as in git (gitrepository-layout(5))."""
_LONGEST = 200
_FILES = frozenset({"core.excludesfile", "core.attributesfile", "mailmap.file", "diff.orderfile"})
"""The person's own settings that name files opened by reading commands."""
_LINKS = ("", "info", "objects", "objects/info", "objects/pack", "rebase-apply", "rebase-merge", "refs", "sequencer")
"""Places below a repository's folder that are checked for links."""
RULE = "git_settings"
"""Name of rules that approve the settings of one repository: ``git_settings(HASH PLACE)``."""
_CHANGING = "w"
"""Prefix of a hash of settings that only matter to commands that do more than read."""


@dataclass(frozen=True, slots=True)
class Repository:
    """What git finds in a folder.

    Attributes:
        unknown: settings not known to be harmless, in git's syntax with their file; empty if there are none.
        rule: the text of the rule that approves exactly these; empty if nothing is unknown.
        settings: the names of all settings, including the person's own.
        reads: files and folders besides the granted ones that git must read: the person's settings, and the repository
            itself.
    """

    unknown: tuple[str, ...] = ()
    rule: str = ""
    settings: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The first unknown setting."""
        more = len(self.unknown) - SHOWN
        return ", ".join(self.unknown[:SHOWN]) + (f" +{more}" if more > 0 else "")


def inspect(program: str, folder: Path, roots: Sequence[Path], *, reading: bool = True) -> Repository:
    """Return what the git ``program`` finds in ``folder``, in the environment of its reading commands.

    Takes about 10 ms and never raises: unreadable settings are unknown. ``roots`` are the granted folders, the
    workspace first; without ``reading`` git will do more than read, and programs with a fixed name are not overridden.
    """
    if not folder.is_dir():
        return Repository()
    environ = {**command_environment.environment(roots[0] if roots else None), **git_safety.ENVIRONMENT}
    listed = _answer(git_safety.settings_command(program), folder, environ)
    answer = (
        _answer(git_safety.place_command(program), folder, environ) if listed is not None and not listed[0] else None
    )
    if listed is None or answer is None:
        return _unreadable(realpath(folder))
    return _Look(
        folder, [realpath(root) for root in roots], list(_settings(listed[1])), *answer, reading=reading
    ).repository()


def _unreadable(place: str) -> Repository:
    """Return a repository with unreadable settings. Approving it is not remembered: next time they may be anything."""
    return Repository((f"config ({_shown(place)})",), _rule(secrets.token_hex(_DIGITS // 2), place))


def _repository(place: str, problems: Sequence[str], settings: Sequence[Setting], kind: str) -> Repository:
    """Return a repository whose settings ask.

    The hash covers all unknown ones and the place. ``kind``: see ``_CHANGING``.
    """
    listed = sorted((each.name, each.value or "", each.value is None) for each in settings)
    digest = hashlib.sha256(repr((place, sorted(problems), listed)).encode()).hexdigest()[:_DIGITS]
    unknown = (*map(_shown, problems), *map(_listed, settings))
    return Repository(tuple(dict.fromkeys(unknown)), _rule(kind + digest, place))


def _listed(setting: Setting) -> str:
    """Return a setting with its file."""
    return f"{_shown(setting.name)} ({_shown(setting.origin.removeprefix('file:'))})"


def _answer(command: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> tuple[int, bytes] | None:
    """Return status and output of a command; None if it fails to run, takes too long or prints too much."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    late = threading.Timer(TIMEOUT_S, process.kill)
    late.start()
    try:
        with process:
            assert process.stdout is not None
            out = process.stdout.read(MOST_BYTES + 1)
            if len(out) > MOST_BYTES:
                process.kill()
    finally:
        late.cancel()
    return (process.returncode, out) if process.returncode >= 0 else None


def _settings(out: bytes) -> Iterator[Setting]:
    """Parse the output of ``git.settings_command``: scope, origin, and name with value, each ended by a zero byte."""
    words = [os.fsdecode(word) for word in out.split(b"\0")]
    for scope, origin, said in zip(*(words[index::3] for index in range(3)), strict=False):
        name, newline, value = said.partition("\n")
        if scope != "command":
            yield Setting(name, value if newline else None, scope, origin)


def _shown(text: str) -> str:
    """Return text that can be displayed and stored."""
    plain = os.fsencode(text).decode("utf-8", "replace").replace("\\", "/")
    return shorten("".join(each if each.isprintable() else "?" for each in plain), _LONGEST)


def _rule(digest: str, place: str) -> str:
    """Return the text of a rule, without anything that looks like ``..``."""
    return f"{RULE}({digest} {_shown(place).replace('..', '…')})"


def subject_of(rule: str) -> str:
    """Return the repository whose settings a rule approves, and whether for commands that do more than read.

    Two rules with the same subject are about settings at different times. Empty for another rule.
    """
    name, _bracket, argument = rule.partition("(")
    digest, _space, place = argument.partition(" ")
    return f"{digest[:-_DIGITS]} {place}" if name == RULE else ""


class _Look:
    """One inspection: ``status`` and ``said`` are the result of ``git.place_command``."""

    def __init__(
        self, folder: Path, roots: list[str], settings: list[Setting], status: int, said: bytes, *, reading: bool
    ) -> None:
        self._roots = roots
        self._reading = reading
        self._settings = settings
        self._folder = folder
        # A bare repository prints no work tree, and ends with an error; without any repository nothing is printed.
        lines = os.fsdecode(said).split("\n")[:-1]
        self._readable = len(lines) == (2 if status else 3) or (bool(status) and not lines)
        places = [realpath(folder / line) for line in lines] if self._readable else []
        self._git, self._common, self._top = (*places, "", "", "")[:3]
        self._found, spelled = self._found_in()
        if self._common == self._git:
            self._common = spelled
        self._git = spelled

    def repository(self) -> Repository:
        names = tuple(dict.fromkeys(each.name for each in self._settings))
        if not self._readable:
            return _unreadable(realpath(self._folder))
        problems, unknown = (
            list(self._problems()),
            [each for each in self._settings if not self._is_known(each, reading=self._reading)],
        )
        place = self._git or realpath(self._folder)
        kind = _CHANGING if not self._reading and any(self._is_known(each, reading=True) for each in unknown) else ""
        said = _repository(place, problems, unknown, kind) if problems or unknown else Repository()
        # The content of an outside file that an include leads to is not revealed, not even its keys.
        away = {_listed(each) for each in unknown if not self._is_near(each)}
        said = replace(said, unknown=tuple(each for each in said.unknown if each not in away) or said.unknown[:1])
        return replace(said, settings=names, reads=tuple(self._reads()))

    def _is_near(self, setting: Setting) -> bool:
        path = realpath(self._folder / setting.origin.removeprefix("file:"))
        return self._inside(path) or any(Path(path).is_relative_to(each) for each in (self._git, self._common) if each)

    def _inside(self, path: str) -> bool:
        return any(within(root, path) for root in self._roots)

    def _found_in(self) -> tuple[str, str]:
        """Return the folder whose ``.git`` led to the repository (empty if none, or bare), and the repository's own
        folder.

        Both are spelled like the granted folders.
        """
        for folder in git_pointer_files.work_trees(realpath(self._folder)) if self._git else ():
            led = git_pointer_files.led_to(os.path.join(folder, ".git"))  # noqa: PTH118
            with suppress(OSError):
                if led and os.path.samefile(led, self._git):  # noqa: PTH121
                    return folder, led
        return "", self._git

    def _problems(self) -> Iterator[str]:
        """Yield what leads git elsewhere, or hides a repository in a folder."""
        if self._git and not self._found:
            yield f"bare {self._git}"
        if not self._found or not self._inside(self._found):
            return
        if not self._inside(self._git):
            if not self._leads_back():
                yield f"gitdir {self._git}"
            return
        if not self._inside(self._common):
            yield f"commondir {self._common}"
        yield from (f"alternates {path}" for path in self._alternates() if not self._inside(path))
        for folder in dict.fromkeys((self._git, self._common)):
            for link in _links(folder):
                if not self._inside(realpath(link)):
                    yield f"link {link} {realpath(link)}"

    def _leads_back(self) -> bool:
        """Whether a repository elsewhere itself refers to this folder: a linked work tree, or a submodule of a
        repository above.

        Nobody with write access only to the granted folder can have written that.
        """
        if (told := git_pointer_files.content(f"{self._git}/gitdir")) is not None:
            back = os.fsdecode(told).partition("\0")[0].rstrip("\n")
            linked = realpath(os.path.join(self._git, back)) == realpath(self._found + "/.git")  # noqa: PTH118
            return linked and self._common == os.path.dirname(os.path.dirname(self._git))  # noqa: PTH120
        worktrees = [
            each.value
            for each in self._settings
            if each.name == "core.worktree" and each.value and each.scope != "global"
        ]
        return bool(worktrees) and realpath(f"{self._git}/{worktrees[-1]}") == self._found and self._common == self._git

    def _is_known(self, setting: Setting, *, reading: bool) -> bool:
        if setting.scope in ("system", "global") and not self._is_theirs(setting):
            return True
        if setting.name == "core.worktree":
            resolved = realpath(os.path.join(self._git, setting.value or ""))  # noqa: PTH118
            return bool(self._found) and (
                resolved == self._found or (self._inside(self._found) and self._inside(resolved))
            )
        if setting.name == "core.hookspath" and setting.value and self._found and self._inside(self._found):
            # Like .git/hooks: programs of the project.
            hooks = realpath(os.path.join(self._top, os.path.expanduser(setting.value)))  # noqa: PTH111, PTH118
            return self._inside(hooks) or reading
        return is_known(setting.name, setting.value, reading=reading)

    def _is_theirs(self, setting: Setting) -> bool:
        """Whether a setting of the person's own is in a file of a granted folder.

        Git's own files in a granted home folder do not count.
        """
        path = realpath(self._folder / setting.origin.removeprefix("file:"))
        return self._inside(path) and path not in {realpath(each) for each in _own_files()}

    def _alternates(self) -> list[str]:
        """Return the object folders that this repository borrows from, recursively."""
        found: list[str] = []
        waiting = [realpath(self._common + "/objects")]
        for _depth in range(DEPTH + 1):
            listed = [path for objects in waiting for path in git_pointer_files.alternates(objects)]
            waiting = [path for path in dict.fromkeys(listed) if path not in found]
            found += waiting
        return found

    def _reads(self) -> Iterator[str]:
        yield from _own_files()
        for setting in self._settings:
            if setting.scope != "global":
                continue
            yield os.path.join(self._folder, setting.origin.removeprefix("file:"))  # noqa: PTH118
            if setting.name in _FILES and setting.value:
                yield os.path.join(self._top or self._folder, os.path.expanduser(setting.value))  # noqa: PTH111, PTH118
        yield from (path for path in (self._git, self._common, self._top) if path and not self._inside(path))
        if self._common:
            yield from (path for path in self._alternates() if not self._inside(path))


def _own_files() -> tuple[str, ...]:
    """Return where git looks for its user's settings (git-config(1), "FILES")."""
    home = os.path.expanduser("~")  # noqa: PTH111
    settings = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    return (f"{home}/.gitconfig", *(f"{settings}/git/{name}" for name in ("config", "ignore", "attributes")))


def _links(folder: str) -> Iterator[str]:
    """Yield the links in a repository's folder that its commands would follow."""
    for name in _LINKS:
        with suppress(OSError), os.scandir(os.path.join(folder, name)) as entries:  # noqa: PTH118
            yield from (entry.path for entry in entries if entry.is_symlink())

"""What the rules of a run deny on the disk at present: for assessing a command, and for hiding files from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.path_containment import within
from atelier_desk.workspace.commands import git_denied_paths
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement, Kind
from atelier_desk.workspace.commands.option_parsing import UnknownOptionError
from atelier_desk.workspace.denied_file_search import Denied, above, find, home_folder, real, slashed, work_tree
from atelier_desk.workspace.processes import sandbox_contents

_HOLDS_S = 2.0
"""Seconds for which a result may be reused for assessments; hiding always uses a fresh one."""
_NAMES = frozenset(
    {"ls", "pwd", "echo", "printf", "true", "false", "cd", "basename", "dirname", "date", "whoami", "uname", "which"}
)
"""Reading commands that print no file contents."""
_FILTERS = frozenset({"head", "tail", "wc", "cat", "sort", "uniq", "cut", "tr", "grep", "less", "nl"})


@dataclass(frozen=True, slots=True)
class Hidden:
    """Paths hidden from one command: they appear empty, and cannot be written or renamed (see ``sandbox.working``).

    ``history``: includes git's objects, so that git does not work in the command.
    """

    masked: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    history: bool = False

    @property
    def note(self) -> str:
        """Return a note for the model about a failed command; empty if nothing was hidden."""
        if not self.masked and not self.read_only:
            return ""
        text = (
            "Permission rules deny files here: the command saw empty ones in their place, or could not change them. "
            "Go on without them."
        )
        return (
            f"{text} git's history holds such files too and was out of its reach: run git by itself."
            if self.history
            else text
        )


class Denials:
    """The paths that rules deny below the granted folders of a run. Falsy without such rules; then nothing is searched.

    Methods access the disk and call git within limits (``denied_file_search.SECONDS``, ``git_denied_paths``). ``home``
    is the user's home folder unless another is given.
    """

    def __init__(self, bans: Sequence[DeniedPattern] = (), roots: Sequence[str] = (), home: str = "") -> None:
        self.bans, self.roots, self.home = tuple(bans), tuple(map(slashed, roots)), home or home_folder()
        # Result and time; always replaced together, because several threads may ask at once.
        self._found: tuple[Denied, float] | None = None
        self._linked: tuple[list[tuple[str, str]], float] | None = None

    def __bool__(self) -> bool:
        return bool(self.bans)

    def now(self, *, fresh: bool = False) -> Denied:
        """Return the present state; without ``fresh`` at most two seconds old."""
        if not self.bans:
            return Denied()
        found = self._found
        if found is None or fresh or monotonic() - found[1] > _HOLDS_S:
            found = self._found = find(self.bans, self.roots, self.home), monotonic()
        return found[0]

    def other_names(self, path: str) -> list[str]:
        """Return the rule spellings of a path (absolute, links resolved) that is reachable by another name.

        A link or hard link.
        """
        found = [base + path[len(led.rstrip("/")) :] for base, led in self._links() if within(led, path)]
        try:
            several = os.stat(path).st_nlink > 1 and not os.path.isdir(path)  # noqa: PTH112, PTH116
        except OSError:
            several = False
        if several and self.bans:
            found += [each.path for each in self.now().found if _same(each.real, path)]
        return found

    def _links(self) -> list[tuple[str, str]]:
        """Return the start places of rules that are reached through a link, with their real location."""
        linked = self._linked
        if linked is None or monotonic() - linked[1] > _HOLDS_S:
            placed = ((start, ban.base) for ban in self.bans if ban.base for start in ban.starts(self.roots, self.home))
            bases = dict.fromkeys(os.path.join(start, base) for start, base in placed)  # noqa: PTH118
            linked = self._linked = [(base, led) for base in bases if (led := real(base)) != base], monotonic()
        return linked[0]

    def denied_in(self, folder: str) -> list[str]:
        """Return the denied paths in a folder (links resolved), including an item of it if the whole folder is
        denied."""
        found = [each for each in self.now().found if within(folder, each.real)]
        return [f"{each.path}/…" if os.path.isdir(each.real) else each.path for each in found]  # noqa: PTH112

    def covers(self, path: str) -> bool:
        """Whether reading a path (absolute, as spelled) is denied."""
        return bool(self._rule_for(path))

    def rule_against(self, path: str) -> str:
        """Return the rule that denies reading a file (absolute) under any of its names; empty if there is none."""
        if not self.bans:
            return ""
        led = real(path)
        names = dict.fromkeys((slashed(os.path.normpath(path)), led, *self.other_names(led)))
        return next(filter(None, map(self._rule_for, names)), "")

    def _rule_for(self, path: str) -> str:
        for ban in self.bans:
            for start in ban.starts(self.roots, self.home) if ban.reads else ():
                for top in dict.fromkeys((start, real(start))):
                    if path.startswith(top.rstrip("/") + "/") and ban.matches(path[len(top.rstrip("/")) + 1 :]):
                        return ban.rule
        return ""

    def repositories(self, denied: Denied) -> list[str]:
        """Return the workspace's git folders whose history or index contains a denied path."""
        around = [above(root) for root in self.roots]
        every = dict.fromkeys((*denied.repositories, *filter(None, around)))
        return [each for each in every if git_denied_paths.holds(each, self.bans, self.roots, self.home)]

    def exposed(self, judgement: Judgement) -> str:
        """Return the denied path that cannot be hidden from a command, or the unsearched folder.

        Empty if everything is hidden.
        """
        if not self.bans:
            return ""
        denied = self.now()
        if judgement.line is None:
            return denied.unseen  # an unreadable line asks anyway
        reads_only = judgement.safe
        if reads_only and self._plain(judgement):
            return ""
        if denied.unseen:
            return denied.unseen
        open_git = any(_is_git(each) and not each.safe for each in judgement.commands)
        if sandbox_contents.hides() and not open_git:
            return ""
        if not sandbox_contents.hides():
            there = next((each.path for each in denied.found if each.ban.reads or not reads_only), "")
            if there:
                return there
        if not any(ban.reads for ban in self.bans) or (reads_only and not open_git and sandbox_contents.hides()):
            return ""
        return next(iter(self.repositories(denied)), "")

    def _plain(self, judgement: Judgement) -> bool:
        """Whether a reading line names every file it reads, so that the rules were checked for each."""
        start = Path(self.roots[0]) if self.roots else Path()
        for index, each in enumerate(judgement.commands):
            # git is told to exclude them
            if each.command.arguments[0] in _NAMES or (_is_git(each) and each.safe) or _filters(judgement, index):
                continue
            if not each.reads or any(file.globs or (start / file.name).is_dir() for file in each.reads):
                return False
        return True

    def hidden(self, judgement: Judgement | None, allowed: str = "") -> Hidden:
        """Return what to hide from a command that is started now.

        Args:
            judgement: its line, None for a program without one.
            allowed: the result of ``exposed`` when a person approved the command; empty if nobody was asked.

        Raises:
            ToolError: the search was incomplete, and nobody was asked about that.
        """
        if not self.bans:
            return Hidden()
        denied = self.now(fresh=True)
        reads_named = judgement is not None and judgement.safe and self._plain(judgement)
        if denied.unseen and not allowed and not reads_named:
            raise ToolError(
                "Rules deny files here, and {path} could not be searched for them in time, so they cannot be "
                "hidden from a command. "
                "Use the file tools, or tell the user to grant a smaller folder.",
                code="denied",
                path=denied.unseen,
            )
        masked = list(map(Path, denied.unreadable))
        held = self.repositories(denied) if any(ban.reads for ban in self.bans) else []
        if judgement is not None and _only_git(judgement):
            # git must see the files, or it would report hidden ones as changed: a person approved that. Read-only
            # commands exclude them by name.
            if not judgement.safe and allowed in held:
                masked, held = [], []
            elif judgement.safe:
                held = []
        masked += [Path(each) for one in held for each in git_denied_paths.content(one)]
        return Hidden(tuple(masked), tuple(map(Path, denied.unwritable)), tuple(map(Path, denied.pinned)), bool(held))

    def git(self, words: tuple[str, ...], asked: tuple[str, ...], folder: Path) -> tuple[str, ...]:
        """Return a hardened read-only git command that excludes denied paths.

        Raises:
            ToolError: its output cannot be predicted.
        """
        if not self.bans:
            return words
        top = work_tree(folder) or real(folder)
        globs = git_denied_paths.patterns(self.bans, top, self.roots, self.home)
        try:
            return git_denied_paths.excluding(words, asked, folder, top, globs, self.covers)
        except UnknownOptionError as error:
            raise ToolError(f"git is not asked that: {error.reason} ({error.part}).", code="denied") from error


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121
    except OSError:
        return False


def _is_git(judged: JudgedCommand) -> bool:
    return judged.command.arguments[0].rpartition("/")[2] == "git"


def _only_git(judgement: Judgement) -> bool:
    """Whether a line runs git and nothing else that could open git's objects itself."""
    found = False
    for index, each in enumerate(judgement.commands):
        name = each.command.arguments[0]
        if _is_git(each):
            found = True
        elif name not in _NAMES and not _filters(judgement, index):
            return False
    return found


def _filters(judgement: Judgement, place: int) -> bool:
    """Whether a command only filters the output of the previous one."""
    line, each = judgement.line, judgement.commands[place]
    name, *rest = each.command.arguments
    piped = line is not None and place > 0 and line.operators[place - 1] == "|"
    recursive = name == "grep" and any(
        word.startswith("-") and ("r" in word.lower() or "d" in word.lower()) for word in rest
    )
    return (
        piped and name in _FILTERS and each.kind is Kind.READS and not each.reads and not each.writes and not recursive
    )

"""What the rules of one run deny on the disk as it is now: for judging a command, and for what it is shown while it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from atelier_desk.domain.denied_paths import DeniedPattern
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.paths import within
from atelier_desk.workspace.commands import git_denied
from atelier_desk.workspace.commands.judge import JudgedCommand, Judgement, Kind
from atelier_desk.workspace.commands.options import UnknownOptionError
from atelier_desk.workspace.denied_files import Denied, above, find, real, slashed, work_tree
from atelier_desk.workspace.processes import sandbox

_HOLDS_S = 2.0
"""How long one look may serve for judging; what a command is shown is always looked up anew."""
_NAMES = frozenset({"ls", "pwd", "echo", "printf", "true", "false", "cd", "basename", "dirname", "date", "whoami", "uname", "which"})
"""Reading commands that print no file's content."""
_FILTERS = frozenset({"head", "tail", "wc", "cat", "sort", "uniq", "cut", "tr", "grep", "less", "nl"})


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is kept from one command: seen as empty, not written, not renamed (see ``sandbox.working``).

    ``history``: git's objects are among it, so that git does not work inside of the command.
    """

    masked: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    history: bool = False

    @property
    def note(self) -> str:
        """What a model is told of a command that failed; empty when nothing was kept from it."""
        if not self.masked and not self.read_only:
            return ""
        said = "Permission rules deny files here: the command saw empty ones in their place, or could not change them. Go on without them."
        return f"{said} git's history holds such files too and was out of its reach: run git by itself." if self.history else said


class Denials:
    """The paths that rules deny, below the granted folders of a run. Without such rules it is false, and nothing is looked at.

    Its methods look at the disk and ask git; what they take is bounded (``denied.SECONDS``, ``git_denied``).
    """

    def __init__(self, bans: Sequence[DeniedPattern] = (), roots: Sequence[str] = (), home: str = "") -> None:
        self.bans, self.roots, self.home = tuple(bans), tuple(map(slashed, roots)), home
        # What was found, and when; each is replaced as a whole, for several threads may ask at once.
        self._found: tuple[Denied, float] | None = None
        self._linked: tuple[list[tuple[str, str]], float] | None = None

    def __bool__(self) -> bool:
        return bool(self.bans)

    def now(self, *, fresh: bool = False) -> Denied:
        """What is there now; without ``fresh`` as it was two seconds ago at most."""
        if not self.bans:
            return Denied()
        found = self._found
        if found is None or fresh or monotonic() - found[1] > _HOLDS_S:
            found = self._found = find(self.bans, self.roots, self.home), monotonic()
        return found[0]

    def other_names(self, path: str) -> list[str]:
        """How rules spell a path (absolute, links followed) that they reach under another name: through a link, or a second one of the
        same file."""
        found = [base + path[len(led.rstrip("/")) :] for base, led in self._links() if within(led, path)]
        try:
            several = os.stat(path).st_nlink > 1 and not os.path.isdir(path)  # noqa: PTH112, PTH116
        except OSError:
            several = False
        if several and self.bans:
            found += [each.path for each in self.now().found if _same(each.real, path)]
        return found

    def _links(self) -> list[tuple[str, str]]:
        """The places that rules begin with and that are reached through a link, and where they really lie."""
        linked = self._linked
        if linked is None or monotonic() - linked[1] > _HOLDS_S:
            placed = ((start, ban.base) for ban in self.bans if ban.base for start in ban.starts(self.roots, self.home))
            bases = dict.fromkeys(os.path.join(start, base) for start, base in placed)  # noqa: PTH118
            linked = self._linked = [(base, led) for base in bases if (led := real(base)) != base], monotonic()
        return linked[0]

    def denied_in(self, folder: str) -> list[str]:
        """The denied paths that a folder (links followed) holds, and something in it where all of it is denied."""
        found = [each for each in self.now().found if within(folder, each.real)]
        return [f"{each.path}/…" if os.path.isdir(each.real) else each.path for each in found]  # noqa: PTH112

    def covers(self, path: str) -> bool:
        """Whether reading a path (absolute, as it is spelled) is denied."""
        return bool(self._rule_for(path))

    def rule_against(self, path: str) -> str:
        """The rule that denies reading a file (absolute) under any of its names, links followed; empty for none."""
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
        """git's folders of the workspace whose history or index holds a denied path."""
        around = [above(root) for root in self.roots]
        every = dict.fromkeys((*denied.repositories, *filter(None, around)))
        return [each for each in every if git_denied.holds(each, self.bans, self.roots, self.home)]

    # what a command is asked about ---------------------------------------------------------------------------------------------------

    def exposed(self, judgement: Judgement) -> str:
        """The denied path that nothing can keep a command from, or the folder that was not looked through; empty when all is hidden."""
        if not self.bans:
            return ""
        denied = self.now()
        if judgement.line is None:
            return denied.unseen  # a line that cannot be read asks anyway
        reads_only = judgement.safe
        if reads_only and self._plain(judgement):
            return ""
        if denied.unseen:
            return denied.unseen
        open_git = any(_is_git(each) and not each.safe for each in judgement.commands)
        if sandbox.hides() and not open_git:
            return ""
        if not sandbox.hides():
            there = next((each.path for each in denied.found if each.ban.reads or not reads_only), "")
            if there:
                return there
        if not any(ban.reads for ban in self.bans) or (reads_only and not open_git and sandbox.hides()):
            return ""
        return next(iter(self.repositories(denied)), "")

    def _plain(self, judgement: Judgement) -> bool:
        """Whether a reading line names every file it reads, so that the rules were held against each."""
        start = Path(self.roots[0]) if self.roots else Path()
        for place, each in enumerate(judgement.commands):
            # git is told what to leave out.
            if each.command.arguments[0] in _NAMES or (_is_git(each) and each.safe) or _filters(judgement, place):
                continue
            if not each.reads or any(file.globs or (start / file.name).is_dir() for file in each.reads):
                return False
        return True

    # what a command is shown ---------------------------------------------------------------------------------------------------------

    def hidden(self, judgement: Judgement | None, allowed: str = "") -> Hidden:
        """What is kept from a command that is started now.

        Args:
            judgement: its line, None for a program without one.
            allowed: what ``exposed`` said when a person allowed the command; empty when nobody was asked about it.

        Raises:
            ToolError: not all was looked through, and nobody was asked about that.
        """
        if not self.bans:
            return Hidden()
        denied = self.now(fresh=True)
        reads_named = judgement is not None and judgement.safe and self._plain(judgement)
        if denied.unseen and not allowed and not reads_named:
            raise ToolError(
                "Rules deny files here, and {path} could not be looked through for them in time, so they cannot be hidden from a command. "
                "Use the file tools, or tell the user to grant a smaller folder.",
                code="denied",
                path=denied.unseen,
            )
        masked = list(map(Path, denied.unreadable))
        held = self.repositories(denied) if any(ban.reads for ban in self.bans) else []
        if judgement is not None and _only_git(judgement):
            # git must see the files as they are, or it would take what is hidden for changed: a person was asked about that. What only
            # reads leaves them out by their names.
            if not judgement.safe and allowed in held:
                masked, held = [], []
            elif judgement.safe:
                held = []
        masked += [Path(each) for one in held for each in git_denied.content(one)]
        return Hidden(tuple(masked), tuple(map(Path, denied.unwritable)), tuple(map(Path, denied.pinned)), bool(held))

    def git(self, words: tuple[str, ...], asked: tuple[str, ...], folder: Path) -> tuple[str, ...]:
        """A hardened reading command of git, with what is denied left out.

        Raises:
            ToolError: nobody can know what it would show.
        """
        if not self.bans:
            return words
        top = work_tree(folder) or real(folder)
        globs = git_denied.patterns(self.bans, top, self.roots, self.home)
        try:
            return git_denied.excluding(words, asked, folder, top, globs, self.covers)
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
    """Whether a line runs git and besides nothing that could open git's objects itself."""
    found = False
    for place, each in enumerate(judgement.commands):
        name = each.command.arguments[0]
        if _is_git(each):
            found = True
        elif name not in _NAMES and not _filters(judgement, place):
            return False
    return found


def _filters(judgement: Judgement, place: int) -> bool:
    """Whether a command only filters what the one before it prints."""
    line, each = judgement.line, judgement.commands[place]
    name, *rest = each.command.arguments
    piped = line is not None and place > 0 and line.operators[place - 1] == "|"
    recursive = name == "grep" and any(word.startswith("-") and ("r" in word.lower() or "d" in word.lower()) for word in rest)
    return piped and name in _FILTERS and each.kind is Kind.READS and not each.reads and not each.writes and not recursive

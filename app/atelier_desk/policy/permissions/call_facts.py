"""Facts about a call that decide its verdict; collected by code with file access, never here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from atelier_desk.domain.approval import ApprovalKind, RiskName
from atelier_desk.domain.path_containment import within
from atelier_desk.domain.protected_names import folded, in_repository, is_named


class Concern(StrEnum):
    """Why a call asks even though a rule or the mode allows it. See docs/permissions.md."""

    UNPARSED = "unparsed"
    """Its command line, or what it affects, could not be parsed."""
    OPAQUE = "opaque"
    """It starts other programs or a script, which cannot be inspected beforehand."""
    ALTERED = "altered"
    """Its server describes the tool differently than when it was approved."""
    REPOSITORY = "repository"
    """It runs git in a repository whose settings are not known to be harmless."""
    PROTECTED = "protected"
    """It changes a file that programs execute or agents obey."""
    INSTALLS = "installs"
    """It installs a package, whose scripts run on this machine."""
    UNCONFINED = "unconfined"
    """It is a command that would run without the sandbox, or with network access."""
    REPAIRED = "repaired"
    """Its arguments were repaired to parse."""
    DENIED = "denied"
    """It is a command that could reach what a rule denies, and no sandbox can prevent that."""
    TAINTED = "tainted"
    """The team has read outside content, and the call sends data out or writes outside the workspace."""


@dataclass(frozen=True, slots=True)
class Path:
    """One path of a call.

    Attributes:
        spellings: absolute, with ``/`` separators: as the call names it, and with all links resolved. Never empty.
        roots: the granted folders, absolute; paths of rules are relative to them.
    """

    spellings: tuple[str, ...]
    roots: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        """Whether it lies in a granted folder after resolving links."""
        return bool(self.roots) and all(any(within(root, path) for root in self.roots) for path in self.spellings)


@dataclass(frozen=True, slots=True)
class CommandFact:
    """One simple command of a line: its words without quotes.

    Attributes:
        safe: according to the table of commands it only reads, or changes only the files it names, all of them in the
            workspace.
        folder: where it runs, links resolved: relative to the workspace folder (empty for that one), absolute outside;
            None if uncertain.
        spelled_out: how many of its words, from the first, an allowing rule must match literally. Later words may match
            a star: ``git log:*`` does not include ``git log --output=x``. A number above its length means that no rule
            for its words covers what it reads.
        also: for each word that is a path its other spellings, links resolved; empty if there are none.
    """

    words: tuple[str, ...]
    safe: bool = False
    folder: str | None = ""
    spelled_out: int = 0
    also: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class HostFact:
    """A host that the call connects to."""

    name: str


@dataclass(frozen=True, slots=True)
class TargetFact:
    """An agent that the call starts or hands work to."""

    name: str


Part = CommandFact | Path | HostFact | TargetFact
"""One item that a call affects."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call: its tool, and everything it affects.

    Attributes:
        changes: it may change something; ``writes``: only workspace files, which can be undone.
        sends: it communicates with others, and may leak what an agent read.
        redirected: those of ``paths`` that receive the output of a command: its words do not name them, so a rule for
            its words does not cover them.
        path_tools: other tools and sections whose path rules apply to this call too: a command that reads a file counts
            as reading it.
        revealed: besides ``paths``, paths whose content the call may reveal; ``contained``: those it includes along
            with a folder or puts into one. Denying rules apply to them; an approval need not cover them.
        home: the user's home folder, absolute; ``~/`` of a rule.
        about: for each concern, the part of the call it is about, in displayable words.
        settings: for each repository of ``Concern.REPOSITORY``, the text of the rule that approves its present
            settings.
        reads: outside source that its result brings in: a host, a server, a path, a command; empty for none.
    """

    tool: str
    kind: ApprovalKind = ApprovalKind.TOOL
    risk: RiskName = "low"
    section: str = ""
    server: str = ""
    changes: bool = False
    writes: bool = False
    sends: bool = False
    paths: tuple[Path, ...] = ()
    redirected: tuple[Path, ...] = ()
    path_tools: tuple[str, ...] = ()
    revealed: tuple[Path, ...] = ()
    contained: tuple[Path, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    hosts: tuple[HostFact, ...] = ()
    agents: tuple[TargetFact, ...] = ()
    home: str = ""
    concerns: tuple[Concern, ...] = ()
    about: tuple[tuple[Concern, str], ...] = ()
    settings: tuple[str, ...] = ()
    reads: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return everything it affects; empty if a rule could not name any of it."""
        return (*self.commands, *self.paths, *self.hosts, *self.agents)


def protected(paths: Iterable[Path], own: Iterable[str] = ()) -> str:
    """Return the first path, as the call names it, whose change always asks; empty if there is none.

    ``own``: absolute folders of the program's own data. Case and Unicode form are ignored, links are resolved.
    """
    folders = [folded(folder) for folder in own]
    for path in paths:
        for spelling in map(folded, path.spellings):
            if any(within(folder, spelling) for folder in folders) or is_named(spelling) or in_repository(spelling):
                return path.spellings[0]
    return ""

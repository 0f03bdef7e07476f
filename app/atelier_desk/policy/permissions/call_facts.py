"""What is known of a call when it is decided about: read from its arguments by whoever has the files, never here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from atelier_desk.domain.approval import ApprovalKind, RiskName
from atelier_desk.domain.paths import within


class Concern(StrEnum):
    """Why a call is asked about though a rule or the mode allows it. See docs/permissions.md."""

    UNPARSED = "unparsed"
    """Its command line, or what it touches, could not be read."""
    OPAQUE = "opaque"
    """It was read, and starts other programs or a script, which cannot be looked into beforehand."""
    ALTERED = "altered"
    """Its server says something else of the tool than what was approved."""
    REPOSITORY = "repository"
    """It runs git where settings of the repository are not known to be harmless."""
    PROTECTED = "protected"
    """It changes a file that programs run or agents obey."""
    INSTALLS = "installs"
    """It installs a package, whose scripts run here."""
    UNCONFINED = "unconfined"
    """It is a command that is to run without the sandbox, or with the network."""
    REPAIRED = "repaired"
    """Its arguments were mended to parse."""
    DENIED = "denied"
    """It is a command that could reach what a rule denies, and nothing can keep that from it."""
    TAINTED = "tainted"
    """The team read something from outside, and the call sends data out or writes outside the workspace."""


@dataclass(frozen=True, slots=True)
class Path:
    """One path of a call.

    Attributes:
        spellings: absolute, with ``/`` between the parts: as the call names it, and with every link followed. Never empty.
        roots: the granted folders, absolute; where paths of rules start.
    """

    spellings: tuple[str, ...]
    roots: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        """Whether it lies in a granted folder, links followed."""
        return bool(self.roots) and all(any(within(root, path) for root in self.roots) for path in self.spellings)


@dataclass(frozen=True, slots=True)
class CommandFact:
    """One simple command of a line: its words without quotes.

    Attributes:
        safe: the table of commands knows that it only reads, or changes only the files it names, all of them in the workspace.
        folder: where it runs, links followed: from the workspace folder on, empty for that one, absolute outside; None: not certain.
        spelled_out: how many of its words, from the first, a rule that allows it must have letter by letter. Behind them a star may
            stand: ``git log:*`` does not mean ``git log --output=x``. More than it has: no rule for its words covers what it reads.
        also: for each word that is a path the other ways to say it, links followed; empty when there are none.
    """

    words: tuple[str, ...]
    safe: bool = False
    folder: str | None = ""
    spelled_out: int = 0
    also: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class HostFact:
    """A host that the call talks to."""

    name: str


@dataclass(frozen=True, slots=True)
class TargetFact:
    """An agent that the call starts or hands work to."""

    name: str


Part = CommandFact | Path | HostFact | TargetFact
"""One of the things a call touches."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call: its tool, and everything it touches.

    Attributes:
        changes: it may change something; ``writes``: that is files of the workspace, which can be undone.
        sends: it talks to others, and may carry out what an agent read.
        redirected: those of ``paths`` that the output of a command goes to: its words do not name them, so a rule for its words does not
            cover them.
        path_tools: other tools and sections whose rules against paths hold for the paths of this call too: a command that reads a file is
            a reading of it.
        revealed: besides ``paths``, paths whose content the call may tell; ``contained``: those it takes along with a folder or puts into
            one. Rules that deny are held against them, no yes must cover them.
        home: the person's home folder, absolute; where ``~/`` of a rule starts.
        about: for each concern the part of the call it is about, in words that are shown.
        settings: for each repository of ``Concern.REPOSITORY`` the text of the rule that says yes to its settings as they are now.
        reads: what comes in from outside with its result: a host, a server, a path, a command; empty for nothing.
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
        """Everything it touches; empty for a call that touches nothing a rule could name."""
        return (*self.commands, *self.paths, *self.hosts, *self.agents)

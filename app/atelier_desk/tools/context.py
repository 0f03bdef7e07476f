"""What a call gets: the facts of this one call. What a tool needs for good it is given when it is registered, see ``services``."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base import utc_now
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.protected_names import ProtectedTargets
from atelier_desk.domain.question import QuestionSpec, Sampling, UserQuestion
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.task import Task
from atelier_desk.domain.usage import Payment
from atelier_desk.tools.team import Team
from atelier_desk.workspace.skills.find import folders_of

if TYPE_CHECKING:
    from atelier_desk.workspace.run_denials import Denials


def _nothing_denied() -> Denials:
    from atelier_desk.workspace.run_denials import Denials  # with it comes what reads command lines, which a list of tools does without

    return Denials()


class Cancellation:
    """Whether the call was stopped: a coroutine is cancelled anyway, code in a thread has to look. Can be read in any thread."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def __bool__(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()


@dataclass(frozen=True, slots=True)
class GivenInput:
    """What the call's server asked for when the call was made before, by its keys; ``round`` says how often it has asked."""

    state: str | None
    answers: Mapping[str, Mapping[str, Any]]
    round: int
    note: str = ""


class ServerRequests(Protocol):
    """Answers what a server asks while its call goes on."""

    @property
    def model(self) -> str:
        """The model of the run."""
        ...

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        """Ask the person, and wait. Cancelling takes the question back."""
        ...

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, Any]:
        """Ask the run's model; the protocol's answer.

        Raises:
            AtelierError: the model cannot be asked, or the run's caps have no room for it.
        """
        ...


class Spending(Protocol):
    """What a run still allows, and what a call of it used of a model."""

    run_id: str

    def room(
        self, prompt_tokens: int, reply_tokens: int, prices: tuple[float, float], priced: bool = True
    ) -> AbstractAsyncContextManager[int]:
        """Within it: most tokens of the reply to a request that sends ``prompt_tokens``; ``prices`` as of ``policy.budget.reserve``,
        ``priced`` False when not all of them are known. What it used is counted before it is left.

        Raises:
            ToolError: a cap of the run or of the month has no room for it.
        """
        ...

    def paying(self, provider: str, model: str, cost: float | None, what: str, where: str) -> AbstractAsyncContextManager[Payment]:
        """Within it a request of a fixed price is sent, in US dollars (None: nobody knows it). It is counted before; what the service
        refused, or gives back, is taken from the sum again.

        Args:
            what, where: what is bought, and where its price can be entered, for the error.

        Raises:
            ToolError: ``limit``: a cap of the run or of the month has no room for it, or the price is not known.
        """
        ...

    async def used(self, provider: str, model: str, usage: Usage, duration_ms: int) -> None:
        """Count it."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The facts of one call.

    Attributes:
        idempotency_key: the same for every attempt at the same call; record ids are derived from it, so that a call that is run again
            after a kill finds what the first attempt made.
        enabled_tools: names the agent may call besides the control tools; None means every registered tool.
        search_scope: which of them are searched for where they are too many to list.
        workspace: the folder where relative paths start, None when the person granted none.
        roots: all granted folders, ``workspace`` first.
        skills: those whose instructions stand in the conversation; the files of their folders may be read.
        state: what the tool left with ``ToolResult.state`` in this run; it is in the journal, so a kill or a fork changes nothing of it.
        team: the run's sub-agents and colleagues, which are another run's every time; None outside of a run.
        cancelled: true once the call was stopped or its time is over.
        turn_id: the run at the head of its team, which answers the person's message.
        tainted: what its team has read from outside.
        tasks: reads the workflow's tasks by id, as they are now on the branch the run belongs to.
        trusted: folders whose files count as the person's own words; what stands elsewhere was written by others.
        attachments: what went with the messages of the run, by the hash of its text.
        allowed_hosts: the arguments about hosts of the rules that allow calls of the tool, such as ``domain:nas.lan:80``.
        barred_host: what a rule says of a host that the call comes to on its way only: ``deny``, ``ask`` or nothing. The host has its port
            behind it where that is not the usual one.
        tells: whether the rules let a result tell of a file (its absolute path) or of a page (its address) that the call does not name.
        settings_allowed: whether a person said yes to a repository's settings, by the text of the rule for it (``workspace.repository``).
        denied: what rules deny on the disk, for who starts a program; ``denied_allowed``: the path of those that a person was asked about
            for this call, and said yes to.
        protected: the protected names that the call's command names, as the person was asked about them; None: nobody looked.
        given: what the call's server asked for, when the call is made again with it.
        desk: who answers its server meanwhile; None outside of a run.
        spending: the caps of the run, for a call that asks a model itself; None outside of a run.
        progress: ``progress(percent, text)`` shows in the call's card how far it is; it is not kept.
    """

    workflow_id: str
    run_id: str
    call_id: str
    agent_id: str = ""
    agent_name: str = ""
    depth: int = 0
    language: str = "en"
    enabled_tools: tuple[str, ...] | None = None
    search_scope: SearchScope = SearchScope.SERVERS
    workspace: Path | None = None
    roots: tuple[Path, ...] = ()
    skills: tuple[SkillUse, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    team: Team | None = None
    turn_id: str = ""
    tainted: tuple[str, ...] = ()
    trusted: tuple[Path, ...] = ()
    cancelled: Cancellation = field(default_factory=Cancellation)
    tasks: Callable[[], Awaitable[Mapping[str, Task]]] | None = None
    attachments: Mapping[str, Attachment] = field(default_factory=dict)
    allowed_hosts: Callable[[], tuple[str, ...]] = tuple
    barred_host: Callable[[str], str] = lambda host: ""
    tells: Callable[[str], bool] = lambda place: True
    settings_allowed: Callable[[str], bool] = lambda rule: False
    denied: Denials = field(default_factory=_nothing_denied)
    denied_allowed: str = ""
    protected: ProtectedTargets | None = None
    given: GivenInput | None = None
    desk: ServerRequests | None = None
    spending: Spending | None = None
    progress: Callable[[int, str], None] = lambda percent, text: None
    now: Callable[[], datetime] = utc_now

    @property
    def readable(self) -> tuple[Path, ...]:
        """The folders whose files may be read: the granted ones, then those of the skills that were taken up and lie elsewhere."""
        granted = [Path(os.path.realpath(root)) for root in self.roots]
        return (*self.roots, *(each for each in folders_of(self.skills) if not any(each.is_relative_to(root) for root in granted)))

    @property
    def idempotency_key(self) -> str:
        return f"{self.run_id}:{self.call_id}"

    def facts(self) -> dict[str, Any]:
        """The plain values among them, as a tool in a process of its own gets them (``ToolContext.of_facts``)."""
        facts = {name: getattr(self, name) for name in _PLAIN}
        return {
            **facts,
            "state": dict(self.state),
            "roots": [str(each) for each in self.roots],
            "workspace": str(self.workspace) if self.workspace is not None else None,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any], progress: Callable[[int, str], None]) -> ToolContext:
        """The inverse of ``facts``."""
        workspace = facts["workspace"]
        plain = {name: facts[name] for name in _PLAIN}
        return cls(
            **plain,
            state=facts["state"],
            workspace=Path(workspace) if workspace else None,
            roots=tuple(map(Path, facts.get("roots", ()))),
            progress=progress,
        )


_PLAIN = ("workflow_id", "run_id", "call_id", "agent_id", "agent_name", "depth", "language", "enabled_tools")

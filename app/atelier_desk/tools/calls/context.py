"""The context of one call. Lasting services are passed at registration, see ``services``."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from atelier_desk.domain.agent import SearchScope
from atelier_desk.domain.attachment import Attachment
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.protected_names import ProtectedTargets
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.domain.question import QuestionSpec, Sampling, UserQuestion
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.task import Task
from atelier_desk.domain.usage import CheckAgain, Payment
from atelier_desk.tools.calls.team_interface import Team
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.skills.skill_discovery import folders_of


class Cancellation:
    """Whether the call was stopped. Coroutines are cancelled anyway; code in a thread must check. Thread-safe."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def __bool__(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        self._stopped.set()


@dataclass(frozen=True, slots=True)
class GivenInput:
    """Answers to a server's requests from the call's previous attempt, by key; ``round`` counts the attempts."""

    state: str | None
    answers: Mapping[str, Mapping[str, object]]
    round: int
    note: str = ""


class ServerRequests(Protocol):
    """Answers requests of a server during its call."""

    @property
    def model(self) -> str:
        """The model of the run."""
        ...

    async def ask(self, spec: QuestionSpec) -> UserQuestion:
        """Ask the person, and wait. Cancelling withdraws the question."""
        ...

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, object]:
        """Ask the run's model; return the protocol's answer.

        Raises:
            AtelierError: the model cannot be asked, or the run's limits have no room for it.
        """
        ...


Used = Callable[[str, Usage, int], Awaitable[None]]
"""``used(model, usage, duration_ms)``: commits what a request used."""


class Spending(Protocol):
    """Remaining limits of a run, and usage of a model by its call."""

    run_id: str

    def room(
        self, info: ModelInfo, prompt_tokens: int, reply_tokens: int
    ) -> AbstractAsyncContextManager[tuple[int, Used, CheckAgain]]:
        """Within it one request that sends ``prompt_tokens`` is made: most tokens of its reply, what takes its usage,
        and what to await before it is sent once more. It counts as the most it may cost from before it is entered; left
        without its usage, as nothing.

        Raises:
            ToolError: a cap of the run or of the month has no room for it.
        """
        ...

    def paying(
        self, provider: str, model: str, cost: float | None, what: str, where: str
    ) -> AbstractAsyncContextManager[Payment]:
        """Within it a request of a fixed price is sent, in US dollars (None: nobody knows it). It counts from before;
        what the service refused, or gives back, does not.

        Args:
            what, where: what is bought, and where its price can be entered, for the error.

        Raises:
            ToolError: ``limit``: a cap of the run or of the month has no room for it, or the price is not known.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Facts of one call.

    Attributes:
        idempotency_key: the same for every attempt at this call; record ids are derived from it, so that a repetition
            after a kill finds the records of the first attempt.
        enabled_tools: tools the agent may call besides the control tools; None means every registered tool.
        search_scope: which of them are searched for instead of listed.
        workspace: the folder for relative paths, None if none is granted.
        roots: all granted folders, ``workspace`` first.
        skills: skills whose instructions are in the conversation; their folders may be read.
        state: the tool's last ``ToolResult.state`` in this run; stored in the journal, so kills and forks do not affect
            it.
        team: the run's sub-agents and colleagues; None outside a run.
        cancelled: true once the call was stopped or timed out.
        turn_id: the root run of the team, which answers the person's message.
        tainted: outside sources its team has read.
        tasks: returns the workflow's present tasks by id, on the run's branch.
        trusted: folders whose files count as the person's own words; other files were written by others.
        attachments: attachments of the run's messages, by the hash of their text.
        allowed_hosts: host arguments of rules that allow calls of the tool, such as ``domain:nas.lan:80``.
        barred_host: returns what a rule says about a host reached on the way (such as a redirect): ``deny``, ``ask`` or
            empty. The host includes an unusual port.
        may_disclose: whether the rules allow a result to reveal a file (absolute path) or page (address) that the call
            does not name.
        settings_allowed: whether a person approved a repository's settings, by the text of its rule
            (``workspace.repository_inspection``).
        denied: paths that rules deny, for starting programs; ``denied_allowed``: the one that a person approved for
            this call.
        protected: the protected names in the call's command that the person was asked about; None: not checked.
        given: answers to the server's requests, when the call is repeated with them.
        requests: answers its server during the call; None outside a run.
        spending: the limits of the run, for calls that ask a model themselves; None outside a run.
        progress: ``progress(percent, text)`` updates the call's card; not stored.
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
    may_disclose: Callable[[str], bool] = lambda place: True
    settings_allowed: Callable[[str], bool] = lambda rule: False
    denied: Denials = field(default_factory=Denials)
    denied_allowed: str = ""
    protected: ProtectedTargets | None = None
    given: GivenInput | None = None
    requests: ServerRequests | None = None
    spending: Spending | None = None
    progress: Callable[[int, str], None] = lambda percent, text: None
    now: Callable[[], datetime] = utc_now

    @property
    def readable(self) -> tuple[Path, ...]:
        """The readable folders: granted ones, then those of used skills outside them."""
        granted = [Path(os.path.realpath(root)) for root in self.roots]
        return (
            *self.roots,
            *(each for each in folders_of(self.skills) if not any(each.is_relative_to(root) for root in granted)),
        )

    @property
    def idempotency_key(self) -> str:
        return f"{self.run_id}:{self.call_id}"

    def facts(self) -> dict[str, object]:
        """Return the plain values, for a tool in a separate process (``ToolContext.of_facts``)."""
        facts = {name: getattr(self, name) for name in _PLAIN}
        return {
            **facts,
            "state": dict(self.state),
            "roots": [str(each) for each in self.roots],
            "workspace": str(self.workspace) if self.workspace is not None else None,
        }

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any], progress: Callable[[int, str], None]) -> ToolContext:
        """Inverse of ``facts``."""
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

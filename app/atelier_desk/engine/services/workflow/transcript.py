"""The displayed conversation: messages of the displayed branch with tool calls and questions, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from atelier_desk.domain.approval import ApprovalRequest
from atelier_desk.domain.question import UserQuestion
from atelier_desk.domain.workflow import Message, MessageRole, Run, ToolExecution, Workflow
from atelier_desk.domain.workflow_branches import RunLink, turns
from atelier_desk.engine.services.common.input_checks import page
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.team.agent_tree_and_timeline_types import AgentNode
from atelier_desk.engine.services.team.agent_trees import read_trees
from atelier_desk.tools.definition.call_description import Effect
from atelier_desk.tools.registry.sections import PLANNING


@dataclass(frozen=True, slots=True)
class Branch:
    """Versions of one turn: ``runs`` oldest first, ``index`` (from 0) of the displayed one."""

    index: int
    runs: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True)
class TranscriptEntry:
    """One message and its related data.

    Attributes:
        calls: its calls, in order. One that waits for approval has no row yet: see ``approvals``.
        questions: the calls' questions to the user, in order.
        branch: versions of the turn, at its first message; None if there is one.
        children: by call id, the sub-agents it started, in planned order, each with those below it.
        approvals: by call id, approval requests, pending or decided, oldest first.
    """

    message: Message
    calls: tuple[ToolExecution, ...] = ()
    questions: tuple[UserQuestion, ...] = ()
    branch: Branch | None = None
    children: dict[str, tuple[AgentNode, ...]] = field(default_factory=dict)
    approvals: dict[str, tuple[ApprovalRequest, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The root runs of a workflow, seen from its head.

    Attributes:
        chain: ids of the displayed turns, oldest first.
        complete: the chain contained every run when it was read.
        branches: by run id, for displayed turns with other versions.
    """

    chain: tuple[str, ...]
    complete: bool
    branches: dict[str, Branch]


def lineage(runs: Sequence[RunLink], head: str | None) -> Lineage:
    """Follow ``head`` back through ``previous_run_id``.

    Sub-agents' runs belong to no branch. ``runs`` are in order of creation.
    """
    roots = {run.id: run for run in runs if run.parent_run_id is None}
    chain = turns(runs, head)
    versions: dict[str | None, list[str]] = {}
    for run in roots.values():
        versions.setdefault(run.previous_run_id, []).append(run.id)
    branches: dict[str, Branch] = {}
    for run_id in chain:
        siblings = versions[roots[run_id].previous_run_id]
        if len(siblings) > 1:
            branches[run_id] = Branch(siblings.index(run_id), tuple(siblings))
    return Lineage(chain, len(chain) == len(runs), branches)


class TranscriptReader:
    """Builds pages of a transcript.

    A turn's predecessors never change, so the lineage is cached per workflow head, and extended when the head moves by
    one turn.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._lineages: dict[str, tuple[str | None, Lineage]] = {}

    async def lineage(self, workflow: Workflow) -> Lineage:
        """Return the displayed branch of ``workflow``."""
        head = workflow.head_run_id
        known = self._lineages.get(workflow.id)
        if known is not None and known[0] == head:
            return known[1]
        found = await self._extended(known, head) if known is not None and head is not None else None
        if found is None:
            found = lineage(await self._context.repos.runs.links(workflow.id), head)
        self._lineages[workflow.id] = (head, found)
        return found

    async def _extended(self, known: tuple[str | None, Lineage], head: str) -> Lineage | None:
        """Return the cached lineage with one more turn, or None if the head moved otherwise or there are versions."""
        old_head, old = known
        if old_head is None or not old.complete:
            return None
        run = await self._context.repos.runs.get(head)
        if run.previous_run_id != old_head:
            return None
        return Lineage((*old.chain, head), True, old.branches)

    def invalidate(self, workflow_id: str) -> None:
        """Invalidate a workflow whose runs were changed externally (deleted, imported, branch chosen)."""
        self._lineages.pop(workflow_id, None)

    async def read(self, workflow: Workflow, *, before: int | None = None, limit: int = 100) -> list[TranscriptEntry]:
        """Return the ``limit`` messages of displayed turns before stream number ``before`` (None: newest), oldest
        first, with related data.

        Sub-agents' messages are in their own transcripts (``read_run``).
        """
        page(limit)
        repos = self._context.repos
        # Most conversations have no branches: read the likely page while the lineage is looked up.
        shown, messages = await asyncio.gather(
            self.lineage(workflow), repos.messages.page(workflow.id, before=before, limit=limit)
        )
        turns = set(shown.chain)
        # A cached lineage may predate sub-agents, whose messages are not part of the conversation either.
        if not shown.complete or any(message.run_id not in turns for message in messages):
            messages = await repos.messages.page(workflow.id, before=before, limit=limit, run_ids=shown.chain)
        roots = list(dict.fromkeys(message.run_id for message in messages if message.call_ids))
        return await self._entries(
            workflow.id, roots, messages, await self._begun(workflow.id, messages, shown.branches)
        )

    async def _begun(
        self, workflow_id: str, messages: Sequence[Message], branches: dict[str, Branch]
    ) -> dict[str, Branch]:
        """Return the branches of turns that begin among these messages; only the first one's may have begun before."""
        first = messages[0] if messages else None
        if first is None or first.run_id not in branches:
            return branches
        before = await self._context.repos.messages.page(workflow_id, before=first.seq, limit=1, run_ids=[first.run_id])
        return {run_id: branch for run_id, branch in branches.items() if run_id != first.run_id} if before else branches

    async def read_run(self, run: Run, *, before: int | None, limit: int) -> list[TranscriptEntry]:
        """Like ``read`` for one run only, possibly a sub-agent's."""
        page(limit)
        messages = await self._context.repos.messages.page(
            run.workflow_id, before=before, limit=limit, run_ids=[run.id]
        )
        return await self._entries(run.workflow_id, [run.correlation_id or run.id], messages, {})

    async def _entries(
        self, workflow_id: str, roots: Sequence[str], messages: Sequence[Message], branches: dict[str, Branch]
    ) -> list[TranscriptEntry]:
        repos = self._context.repos
        run_ids = list(dict.fromkeys(message.run_id for message in messages if message.call_ids))
        if not run_ids:
            return assembled(messages, MessageWindow(branches=branches))
        calls, approvals = await asyncio.gather(
            repos.executions.for_runs(run_ids), repos.approvals.of_teams(workflow_id, roots)
        )
        may_ask = any(call.effect == Effect.INTERACT or call.server for call in calls)  # servers ask during a call
        questions = await repos.questions.list(workflow_id) if may_ask else []
        trees: dict[str, AgentNode] = {}
        if any(call.section == PLANNING for call in calls):
            trees = await read_trees(self._context, workflow_id, roots)
        return assembled(messages, MessageWindow(calls, questions, approvals, trees.values(), branches))


@dataclass(frozen=True, slots=True)
class MessageWindow:
    """Related data of a transcript's messages; ``trees`` may contain more agents."""

    calls: Sequence[ToolExecution] = ()
    questions: Sequence[UserQuestion] = ()
    approvals: Sequence[ApprovalRequest] = ()
    trees: Iterable[AgentNode] = ()
    branches: dict[str, Branch] = field(default_factory=dict)


def assembled(messages: Sequence[Message], around: MessageWindow) -> list[TranscriptEntry]:
    """Combine messages with their related data; pure."""
    calls = {(call.run_id, call.call_id): call for call in around.calls}
    questions: dict[tuple[str, str], list[UserQuestion]] = {}
    for asked in around.questions:
        questions.setdefault((asked.run_id, asked.call_id), []).append(asked)
    approvals: dict[tuple[str, str], list[ApprovalRequest]] = {}
    for request in around.approvals:
        approvals.setdefault((request.run_id, request.call_id), []).append(request)
    children: dict[tuple[str, str], list[AgentNode]] = {}
    for tree in around.trees:
        for node in tree.walk():
            if node.parent_run_id is not None:
                children.setdefault((node.parent_run_id, node.parent_call_id), []).append(node)
    entries = []
    branches = dict(around.branches)
    for message in messages:
        keys = [(message.run_id, call_id) for call_id in message.call_ids]
        entries.append(
            TranscriptEntry(
                message=message,
                calls=tuple(calls[key] for key in keys if key in calls),
                questions=tuple(asked for key in keys for asked in questions.get(key, ())),
                branch=branches.pop(message.run_id, None) if message.role is MessageRole.USER else None,
                children={key[1]: tuple(children[key]) for key in keys if key in children},
                approvals={key[1]: tuple(approvals[key]) for key in keys if key in approvals},
            )
        )
    return entries

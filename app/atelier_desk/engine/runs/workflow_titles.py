"""Workflow titles by the model: one short request after the first answer, or on request.

No run waits for a title, the end of the program cancels it, and on failure the words of the first message stay.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable

from atelier_desk.domain.errors import AtelierError, NotFoundError, UsageError
from atelier_desk.domain.events.run import TitleGenerated
from atelier_desk.domain.model_messages import Usage
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.domain.workflow import Message, MessageRole, RunStatus, Workflow
from atelier_desk.engine.costs.month_budget import Hold
from atelier_desk.engine.gateways.direct_tool_call import PROVIDER as DIRECT_CALL
from atelier_desk.engine.run.driver_dependencies import RunEnvironment
from atelier_desk.engine.runs.live_run import LiveRun
from atelier_desk.engine.runs.side_requests import SideRequest, SideRequests, SkipReason
from atelier_desk.engine.services.common.workflow_names import NAME_LENGTH, name_from
from atelier_desk.storage.writing.journal_commit import Rename
from atelier_desk.support import background_tasks
from atelier_desk.support.i18n import N_
from atelier_desk.support.visible_and_shortened_text import shorten

log = logging.getLogger(__name__)

INSTRUCTIONS = (
    "You name conversations. Give the conversation below a title of three to seven words that says what it is about, "
    "in the language of "
    "its first message. Answer with the title alone: one line, no quotation marks, no full stop, no Markdown."
)
REPLY_TOKENS = 128
"""Maximum reply tokens: a title needs about 20; models whose reasoning cannot be disabled need more."""
READ = 12
"""Maximum messages shown to the model, the oldest and newest of the newest hundred."""
EACH = 600
"""Characters shown of a message."""

_LABEL = re.compile(r"^(?:title|titre)\s*:\s*", re.IGNORECASE)
_AROUND = "\"'`*_#«»“”„‘’ \u00a0\u202f"
"""Characters that models put around a title despite instructions."""
_NEVER = '"“”„«»`{}<>'
"""Characters that no good title contains: quotation, code, tags."""


def title_of(reply: str) -> str:
    """Return the title in a model's reply; empty if unusable: several lines, over 60 characters, quotes or no word."""
    text = reply.strip()
    if "\n" in text:
        return ""
    text = _LABEL.sub("", text.strip(_AROUND)).strip(_AROUND).rstrip(".:; ")
    fit = len(text) <= NAME_LENGTH and any(each.isalnum() for each in text) and not set(text) & set(_NEVER)
    return " ".join(text.split()) if fit else ""


def _nothing() -> None:
    """Do nothing: not watching yet."""


class Titles:
    """Asks models for titles, after the first answer only if the setting ``name_by_model`` is on."""

    def __init__(self, env: RunEnvironment, beside: SideRequests) -> None:
        self._env = env
        self._side_requests = beside
        self._asking: set[asyncio.Task[None]] = set()
        self._unsubscribe: Callable[[], None] = _nothing

    def watch(self) -> None:
        """From now on, title every unnamed workflow after its first answer."""
        self._unsubscribe()
        self._unsubscribe = self._env.bus.subscribe(self._on_event)

    async def close(self) -> None:
        """Cancel running requests."""
        self._unsubscribe()
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def suggest(self, workflow_id: str) -> Workflow:
        """Ask the model of the newest answer for a title, and apply it; otherwise use the words of the first message.

        Raises:
            NotFoundError: no such workflow.
            UsageError: it has no messages.
            AtelierError: the model cannot be asked, or the agent's limits have no room for it.
        """
        row = await self._env.repos.workflows.get(workflow_id)
        if row.head_run_id is None:
            raise UsageError(N_("This workflow has no messages yet, so no title can be generated."))
        live = await self._side_requests.runs.load(row.head_run_id)
        messages = await self._recent_messages(row)
        first = next((message.content for message in messages if message.role is MessageRole.USER), "")
        async with self._side_requests.turn(row.head_run_id):
            made = await self._ask(live, messages)
            if made is None:
                raise UsageError(N_("The limits of this agent do not allow another request."), code="limit")
            title = title_of(made.text) or name_from(first) or shorten(row.name, NAME_LENGTH, at_word=True)
            await self._commit_title(live, row, title, made, by="person")
        return await self._env.repos.workflows.get(workflow_id)

    def _on_event(self, event: StreamEvent) -> None:
        if event.chunk_type is not ChunkType.WORKFLOW_COMPLETE or event.depth or not event.durable:
            return
        if not self._env.in_force.applied.name_by_model:
            return
        task = background_tasks.start(self._name(event.workflow_id, event.run_id), f"title {event.workflow_id}")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _name(self, workflow_id: str, run_id: str) -> None:
        try:
            row = await self._env.repos.workflows.get(workflow_id)
            if row.named_by != "words" or row.head_run_id != run_id:
                return
            live = await self._side_requests.runs.load(run_id)
            state = live.handle.current
            if (
                state.previous_run_id is not None
                or state.status is not RunStatus.COMPLETED
                or state.agent.provider == DIRECT_CALL
            ):
                return
            async with self._side_requests.turn(run_id):
                made = await self._ask(live, await self._recent_messages(row), small_too=False)
                if made is not None:
                    await self._commit_title(live, row, title_of(made.text), made, by="model")
        except Exception as error:  # the words of the first message are a usable name
            log.info("no title by the model: %s", error if isinstance(error, AtelierError) else type(error).__name__)

    async def _recent_messages(self, row: Workflow) -> list[Message]:
        """Return the latest messages of the person and the root agents, oldest first."""
        roots = {run.id for run in await self._env.repos.runs.links(row.id) if run.parent_run_id is None}
        page = await self._env.repos.messages.page(row.id, limit=100)
        messages = [
            each
            for each in page
            if each.run_id in roots and each.content.strip() and each.role is not MessageRole.NOTICE
        ]
        return messages if len(messages) <= READ else [*messages[: READ // 2], *messages[-READ // 2 :]]

    async def _ask(self, live: LiveRun, said: list[Message], *, small_too: bool = True) -> SideRequest | None:
        """Return the model's reply; None if it may not or cannot be asked.

        ``small_too``: return an empty reply for a model that is too small to be asked.
        """
        text = "\n\n".join(
            f"{'User' if each.role is MessageRole.USER else 'Assistant'}: {each.content[:EACH]}" for each in said
        )
        made = await self._side_requests.ask(live.handle.current, INSTRUCTIONS, text, REPLY_TOKENS)
        if made is SkipReason.SMALL and small_too:
            return SideRequest("", "", "", Usage(), 0, Hold())
        return None if isinstance(made, SkipReason) else made

    async def _commit_title(self, live: LiveRun, row: Workflow, title: str, made: SideRequest, *, by: str) -> None:
        """Commit the usage, with the new name if there is one."""
        rename = Rename(row.name, title, by) if title and title != row.name else None
        written = TitleGenerated(
            title=title, provider=made.provider, model=made.model, usage=made.usage, duration_ms=made.duration_ms
        )
        try:
            await self._side_requests.settle(live, made, written, rename)
        except NotFoundError:
            return  # deleted meanwhile
        self._env.bus.changed("workflow", row.id)

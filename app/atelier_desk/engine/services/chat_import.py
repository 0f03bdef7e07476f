"""Import chats of other programs as workflows, with all versions of their turns; preview of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from atelier_desk.domain import limits
from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.events.run import EventBody, ModelReplied, RunFinished, RunStarted, UserMessage
from atelier_desk.domain.imported_chat import SOURCES, Chat, ChatFilePreview, ChatPreview, ImportedChats
from atelier_desk.domain.model_messages import ChatReply
from atelier_desk.domain.workflow import RunStatus, Workflow
from atelier_desk.domain.workflow_branches import newest_under
from atelier_desk.engine.journal.journal import Part, RunHandle
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.engine.services.common.service import Service
from atelier_desk.engine.services.workflow.chat_export_parsing import chat_of
from atelier_desk.engine.services.workflow.chat_export_reader import NOT_CHATS, ChatFile, is_export, is_workflow
from atelier_desk.engine.services.workflow.chat_to_turns import TextLimit, Turn, turn_id, turns, workflow_id
from atelier_desk.policy.permissions import taint_sources
from atelier_desk.support.i18n import _
from atelier_desk.support.threads import in_storage_thread
from atelier_desk.support.visible_and_shortened_text import shorten
from atelier_desk.tools.calls.stable_record_ids import stable_id

Progress = Callable[[int, int], None]
"""Called with the number of bytes read and the total."""
TURNS_AT_ONCE, CHARACTERS_AT_ONCE = 50, 2_000_000
"""Maximum size of one transaction of a chat; a single turn may be longer."""


class ChatService(Service):
    """Imports chats. A chat keeps its identity: importing it again adds only new turns."""

    async def is_workflow(self, path: Path) -> bool:
        """Whether a file begins like an exported workflow, which ``workflows.import_`` reads."""
        return await in_storage_thread(is_workflow, path)

    async def is_export(self, path: Path) -> bool:
        """Whether a file looks, from its beginning, like a workflow or importable chats."""
        return await in_storage_thread(is_export, path)

    async def preview(self, path: Path, progress: Progress = lambda done, total: None) -> ChatFilePreview:
        """Return the content of a file and how much of it is already imported. Reads the whole file, one chat in
        memory; can be cancelled.

        Raises:
            UsageError: it is not a file of chats, or damaged. LimitError: it is larger than 2 GB unpacked, or
                compressed too highly.
        """
        found: dict[str, ChatPreview] = {}
        skipped: Counter[str] = Counter()
        async for chat, problem, limit in self._read(path, progress):
            if chat is None:
                skipped[problem] += 1
                continue
            there, known = await self._there(chat)
            try:
                new = await in_storage_thread(turns, chat, known, limit)
            except OverflowError:
                skipped["too_large"] += 1
                continue
            times = [node.time for node in chat.nodes if node.time is not None]
            found[chat.key] = ChatPreview(
                key=chat.key,
                source=chat.source,
                title=_name(chat),
                messages=len(chat.nodes),
                first=min(times, default=None),
                last=max(times, default=None),
                there=there.id if there is not None else "",
                deleted=there is not None and there.deleted_at is not None,
                new_turns=len(new),
            )
        newest = sorted(found.values(), key=lambda each: each.last.timestamp() if each.last else 0.0, reverse=True)
        return ChatFilePreview(tuple(newest), dict(skipped))

    async def import_(
        self, path: Path, only: Collection[str] | None = None, progress: Progress = lambda done, total: None
    ) -> ImportedChats:
        """Import the chats with the keys ``only``; None: all except those whose workflow is in the bin.

        A workflow in the bin is restored if its chat is requested by key. Each chat is written before the next is read.
        After a stop or kill, repeating the import adds what is missing.

        Raises:
            UsageError, LimitError: as ``preview``; chats read before stay.
        """
        created: dict[str, None] = {}
        extended: dict[str, None] = {}
        unchanged: set[str] = set()
        skipped: Counter[str] = Counter()
        async for chat, problem, limit in self._read(path, progress):
            if chat is None:
                skipped[problem] += 1
                continue
            if only is not None and chat.key not in only:
                continue
            id = workflow_id(chat.key)
            try:
                made = await self._store(chat, limit, back=only is not None)
            except OverflowError:
                skipped["too_large"] += 1
                continue
            if made == "created":
                created[id] = None
            elif made == "extended" and id not in created:
                extended[id] = None
            elif made == "busy":
                skipped["busy"] += 1
            elif id not in created and id not in extended:
                unchanged.add(id)
        return ImportedChats(tuple(created), tuple(extended), len(unchanged), dict(skipped))

    async def _read(self, path: Path, progress: Progress) -> AsyncIterator[tuple[Chat | None, str, TextLimit]]:
        """Yield the chats of a file one by one, for an invalid entry the reason, with the limit of the file."""
        file = await in_storage_thread(ChatFile, path)
        known, limit = False, TextLimit(file.total)
        try:
            while (entries := await in_storage_thread(file.step)) is not None:
                for entry in entries:
                    chat = await in_storage_thread(chat_of, entry.value) if not entry.problem else None
                    known |= chat is not None or bool(entry.problem)
                    if chat is not None and chat.nodes:
                        yield _until(chat, self._context.clock.now()), "", limit
                    else:
                        yield None, entry.problem or ("unknown" if chat is None else "empty"), limit
                progress(file.done, file.total)
            if not known:
                raise UsageError(NOT_CHATS, code="invalid", name=path.name)
        finally:
            await in_storage_thread(file.close)

    async def _there(self, chat: Chat) -> tuple[Workflow | None, set[str]]:
        """Return the workflow of an imported chat and its runs, including deleted branches.

        Deletions by a person are respected.
        """
        try:
            workflow = await self._context.repos.workflows.get(workflow_id(chat.key))
        except NotFoundError:
            return None, set()
        return workflow, {run.id for run in await self._context.repos.runs.list(workflow.id)}

    async def _store(self, chat: Chat, limit: TextLimit, *, back: bool) -> str:
        """Write the new part of a chat.

        Return ``created``, ``extended``, ``unchanged``, or ``busy`` while an agent works in its workflow.
        """
        id = workflow_id(chat.key)
        async with self._context.runs.live.beginning(id):
            there, known = await self._there(chat)
            if there is not None and there.deleted_at is not None and not back:
                return "unchanged"
            new = await in_storage_thread(turns, chat, known, limit)
            if there is not None and there.deleted_at is not None:
                await self._context.repos.workflows.restore(id)
                self._context.bus.changed("workflow", id)
                if not new:
                    return "extended"
            if not new:
                return "unchanged"
            if self._context.runs.live.alive.get(id) is not None:
                return "busy"
            tainted = _tainted(chat)
            if there is None:
                await self._create(chat, id, tainted)
            await self._append(chat, id, new, tainted, there)
        return "created" if there is None else "extended"

    async def _create(self, chat: Chat, id: str, tainted: tuple[str, ...]) -> None:
        now = self._context.clock.now()
        times = [node.time for node in chat.nodes if node.time is not None] or [now]
        workflow = Workflow(
            id=id, name=_name(chat), named_by="person", tainted=tainted, created_at=min(times), updated_at=max(times)
        )
        await self._context.repos.workflows.create(workflow)

    async def _append(
        self, chat: Chat, id: str, new: Sequence[Turn], tainted: tuple[str, ...], there: Workflow | None
    ) -> None:
        journal = self._context.journal
        for parts in _portions(self._parts(chat, id, new, tainted)):
            await journal.append_together([part.handle for part in parts], lambda parts=parts: parts, live=False)  # type: ignore[misc]
        ours = {turn_id(chat.key, node.id) for node in chat.nodes}
        if there is None or there.head_run_id is None or there.head_run_id in ours:
            shown = _turn_of(chat, new) or (there.head_run_id if there is not None else None) or new[-1].id
            shown = newest_under(await self._context.repos.runs.links(id), shown)  # or what follows is out of reach
        else:
            shown = there.head_run_id  # somebody continued it here
        await journal.show_branch(id, shown)
        if there is not None:
            await self._context.repos.workflows.update(id, status=there.status)
        journal.forget(id)
        self._context.bus.changed("workflow", id)

    def _parts(self, chat: Chat, id: str, new: Sequence[Turn], tainted: tuple[str, ...]) -> Iterator[Part]:
        now = self._context.clock.now()
        for index, turn in enumerate(new):
            # Runs are listed by start time: equal times are spread to keep their order.
            began = (turn.began or now) + timedelta(microseconds=index)
            yield Part(RunHandle(turn.id, id), _bodies(chat, turn, tainted), time=began)


def _until(chat: Chat, now: datetime) -> Chat:
    """Return a chat without times in the future: it would stay the newest, which ``run -c`` continues."""
    nodes = (replace(each, time=min(each.time, now)) if each.time is not None else each for each in chat.nodes)
    return replace(chat, nodes=tuple(nodes))


def _portions(parts: Iterator[Part]) -> Iterator[list[Part]]:
    found: list[Part] = []
    length = 0
    for part in parts:
        found.append(part)
        length += sum(len(body.content) for body in part.bodies if isinstance(body, UserMessage))
        length += sum(len(body.reply.content) for body in part.bodies if isinstance(body, ModelReplied))
        if len(found) >= TURNS_AT_ONCE or length >= CHARACTERS_AT_ONCE:
            yield found
            found, length = [], 0
    if found:
        yield found


def _bodies(chat: Chat, turn: Turn, tainted: tuple[str, ...]) -> list[EventBody]:
    """Return the events of a turn. Its cost was paid elsewhere, so its usage is zero."""
    program = SOURCES[chat.source]
    model = next((node.model for node in reversed(turn.answers) if node.model), "") or program
    agent = AgentConfig(name=program, provider=program, model=model)
    bodies: list[EventBody] = [
        # No local agent: regenerating such a turn uses the workflow's agent.
        RunStarted(
            agent_id=stable_id(chat.source, "imported agent"),
            agent=agent,
            previous_run_id=turn.previous or None,
            correlation_id=turn.id,
            tainted=tainted,
        )
    ]
    if turn.asked is not None:
        bodies.append(UserMessage(content=turn.asked.text))
    if turn.answers:
        text = "\n\n".join(node.text for node in turn.answers if node.text)
        thought = "\n\n".join(node.reasoning for node in turn.answers if node.reasoning)
        bodies.append(ModelReplied(reply=ChatReply(content=text, reasoning=thought, model=model), provider=program))
    return [*bodies, RunFinished(status=RunStatus.COMPLETED)]


def _turn_of(chat: Chat, new: Sequence[Turn]) -> str:
    """Return the new turn that was displayed in the source; the newest if unknown; empty if it is not new."""
    if not chat.current:
        return new[-1].id
    for turn in new:
        if any(node.id == chat.current for node in (turn.asked, *turn.answers) if node is not None):
            return turn.id
    return ""


def _name(chat: Chat) -> str:
    return shorten(sanitized(chat.title), limits.WORKFLOW_NAME) or _("Imported chat")


def _tainted(chat: Chat) -> tuple[str, ...]:
    """Return the outside source of the runs: others wrote the chat."""
    name = _name(chat)
    # A name that looks like a file path could count as being in a trusted folder.
    name = f"“{name}”" if taint_sources.is_path(name) else name
    return taint_sources.merged((shorten(_("{name} (imported)", name=name), limits.TAINT),))

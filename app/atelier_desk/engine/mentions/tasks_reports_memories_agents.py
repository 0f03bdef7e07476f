"""Atelier's own objects: tasks, reports, memories and agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from atelier_desk.domain.errors import NotFoundError
from atelier_desk.engine.attachments.names_and_decoding import shown_name
from atelier_desk.engine.attachments.reading import text_file
from atelier_desk.engine.mentions.mention_source import Mention, MentionScope, best, mentionable
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.engine.attachments.reading import PreparedAttachments

NAME = 60
"""Characters of a memory used as its name."""
MAX_SCANNED = 500


@mentionable(order=20)
class Tasks:
    """Tasks of the workflow."""

    kind: ClassVar[str] = "task"
    title: ClassVar[str] = N_("Tasks")
    icon: ClassVar[str] = "list-todo"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        tasks = await where.context.repos.tasks.list(where.workflow_id, limit=MAX_SCANNED) if where.workflow_id else []
        return best((Mention("task", each.id, shown_name(each.name), "", self.icon) for each in tasks), query, most)

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        tasks = await where.context.repos.tasks.by_id(where.workflow_id)
        if key not in tasks:
            raise NotFoundError(N_("There is no task {id}."), id=key)
        task = tasks[key]
        lines = [f"Task: {task.name}", f"id: {task.id}", f"status: {task.status.value}", f"priority: {task.priority}"]
        if task.agent_assigned:
            lines.append(f"assigned to: {task.agent_assigned}")
        return text_file(task.name, "\n".join([*lines, "", task.description]).strip(), "task")


@mentionable(order=30)
class Reports:
    """Reports of the workflow."""

    kind: ClassVar[str] = "report"
    title: ClassVar[str] = N_("Reports")
    icon: ClassVar[str] = "file-text"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        reports = await where.context.repos.reports.list(where.workflow_id) if where.workflow_id else []
        return best((Mention("report", each.name, each.name, each.author, self.icon) for each in reports), query, most)

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        return text_file(key, await where.context.repos.reports.read(where.workflow_id, key), "report")


@mentionable(order=40)
class Memories:
    """General memories and those of the workflow."""

    kind: ClassVar[str] = "memory"
    title: ClassVar[str] = N_("Memories")
    icon: ClassVar[str] = "brain"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        memories = await where.context.repos.memories.list(workflow_id=where.workflow_id or None, limit=MAX_SCANNED)
        return best((Mention("memory", each.id, _name(each.content), "", self.icon) for each in memories), query, most)

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        memory = await where.context.repos.memories.get(key)
        return text_file(_name(memory.content), memory.content, "memory")


@mentionable(order=50)
class Agents:
    """Agents: their purpose, so that one can be requested by name."""

    kind: ClassVar[str] = "agent"
    title: ClassVar[str] = N_("Agents")
    icon: ClassVar[str] = "bot"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        agents = await where.context.repos.agents.list()
        return best(
            (
                Mention("agent", each.id, each.name, each.config.purpose or each.config.model, self.icon)
                for each in agents
            ),
            query,
            most,
        )

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        config = (await where.context.repos.agents.get(key)).config
        tools = ", ".join((*config.sections, *config.tools)) or "none"
        text = (
            f"Agent: {config.name}\nmodel: {config.model}\ntools: {tools}\n\nIts instructions:\n{config.system_prompt}"
        )
        return text_file(config.name, text, "agent")


def _name(content: str) -> str:
    text = shown_name(content)
    return text if len(text) <= NAME else f"{text[: NAME - 1]}…"

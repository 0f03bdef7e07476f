"""Mentions: found by name, best match first, attached as text; and additional sources are searched like the
others.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.engine import Atelier
from atelier_desk.engine.attachments.reading import PreparedAttachments, text_file
from atelier_desk.engine.mentions import mention_source
from atelier_desk.engine.mentions.mention_source import Mention, MentionScope, best, mentionable
from tests.engine.conftest import Opener


def names(found: list[Mention]) -> list[str]:
    return [each.name for each in found]


def test_names_with_that_prefix_come_first_and_every_word_counts() -> None:
    things = [
        Mention("x", str(index), name, detail)
        for index, (name, detail) in enumerate((("oversea", ""), ("a", "sea"), ("Sea b", "")))
    ]
    assert names(best(things, "sea", 9)) == ["Sea b", "oversea", "a"]
    assert names(best(things, "sea b", 9)) == ["Sea b"]
    assert names(best(things, "sea", 2)) == ["Sea b", "oversea"]
    assert names(best(things, "", 9)) == ["oversea", "a", "Sea b"]


async def test_files_are_found_only_in_granted_folders_and_secrets_never(open_atelier: Opener, tmp_path: Path) -> None:
    granted, other = tmp_path / "granted", tmp_path / "other"
    for folder in (granted, other):
        (folder / "sea").mkdir(parents=True)
        (folder / "sea" / "waves.md").write_text("Blue.", "utf-8")
    (granted / "id_rsa").write_text("key", "utf-8")
    (granted / "out.md").symlink_to(other / "sea" / "waves.md")
    async with open_atelier() as atelier:
        folders = (str(granted), str(tmp_path / "gone"))
        found = await atelier.attachments.find("", "", folders)
        files = [each for each in found if each.kind == "file"]
        assert names(files) == ["sea", "waves.md"]
        read = await atelier.attachments.mention(files[1], "", folders)
        assert (read.name, read.path, read.text, read.source) == ("waves.md", "sea/waves.md", "Blue.", "file")
        with pytest.raises(UsageError, match="not in any folder"):
            await atelier.attachments.mention(files[1], "", (str(other),))
        with pytest.raises(UsageError, match="leads out of the folder"):
            await atelier.attachments.mention(Mention("file", f"{granted}\0out.md", "out.md"), "", folders)
        (granted / "sea" / "waves.md").unlink()
        with pytest.raises(UsageError, match="cannot be read"):
            await atelier.attachments.mention(files[1], "", folders)


async def test_tasks_reports_memories_and_agents_are_read_as_texts(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create()
    await atelier.tasks.create(workflow.id, "Paint the sea", description="In blue.")
    await atelier.reports.write(workflow.id, "sea-report", "# Deep")
    await atelier.memories.add("The sea is " + "very " * 40 + "wide.")
    other = await atelier.workflows.create()
    found = {each.kind: each for each in await atelier.attachments.find("sea", workflow.id)}
    assert list(found) == ["task", "report", "memory"]
    texts = {kind: (await atelier.attachments.mention(each, workflow.id)).text or "" for kind, each in found.items()}
    assert texts["task"].startswith("Task: Paint the sea\n")
    assert texts["task"].endswith("In blue.")
    assert texts["report"] == "# Deep"
    assert texts["memory"].endswith("wide.")
    assert len(found["memory"].name) == 60
    [agent] = [each for each in await atelier.attachments.find("assistant") if each.kind == "agent"][:1]
    assert "Its instructions:" in ((await atelier.attachments.mention(agent)).text or "")
    assert [each.kind for each in await atelier.attachments.find("sea", other.id)] == ["memory"]
    with pytest.raises(NotFoundError):
        await atelier.attachments.mention(found["task"], other.id)


async def test_a_new_source_is_searched_like_the_others_and_a_failing_one_finds_nothing(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    mention_source.sources()
    monkeypatch.setattr(mention_source, "_declared", dict(mention_source._declared))

    @mentionable(order=5)
    class Resources:
        kind: ClassVar[str] = "resource"
        title: ClassVar[str] = "Resources"
        icon: ClassVar[str] = "plug"

        async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
            return best([Mention("resource", "mcp://a", "sea chart", "", self.icon)], query, most)

        async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
            return text_file("sea chart", key, "resource")

    @mentionable(order=6)
    class Broken(Resources):
        kind: ClassVar[str] = "broken"

        async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
            raise NotFoundError("gone")

    async with open_atelier() as atelier:
        [found] = await atelier.attachments.find("chart")
        assert (await atelier.attachments.mention(found)).text == "mcp://a"
        with pytest.raises(NotFoundError, match="type of mention: unknown"):
            await atelier.attachments.mention(Mention("unknown", "x", "x"))

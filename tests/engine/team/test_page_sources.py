"""The pages that sub-agents read are sources of their parent's answer, at every level."""

from __future__ import annotations

from typing import Any, ClassVar

from atelier_desk.domain.result_parts import SourcePart
from atelier_desk.presentation.answer_web_sources import used
from atelier_desk.tools.base import Effect, Input, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry.sections import CORE
from tests.engine.conftest import Opener, send_and_wait
from tests.engine.team.conftest import Cast, call, lead, spawn


class Page(Input):
    url: str
    read: bool = True


class Looks(Tool):
    """Replaces a fetch or a search."""

    name: ClassVar[str] = "Looks"
    section: ClassVar[str] = CORE
    description: ClassVar[str] = "Looks."
    effect = Effect.READ
    input: ClassVar[Any] = Page

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        return ToolResult({"success": True}, parts=(SourcePart(url=input.url, title="T", read=input.read),))


async def test_a_parents_answer_lists_the_pages_its_descendants_read(open_atelier: Opener) -> None:
    looked = [call("Looks", f"l{n}", url=url, read=read) for n, (url, read) in enumerate(
        (("https://read.org/", True), ("https://named.org/a", False), ("https://unused.org/", False)))]  # fmt: skip
    cast = Cast(
        Lead=[[spawn("a", "Child", tools=["Looks", "SpawnAgentTool"])], "The answer."],
        Child=[[spawn("b", "Grandchild", tools=["Looks"])], "It is so."],
        Grandchild=[looked, "It is so, says https://named.org/a ."],
    )
    async with open_atelier(cast) as atelier:
        atelier.registry.register(Looks())
        workflow = await atelier.workflows.create()
        await send_and_wait(atelier, workflow.id, "Work.", agent=lead(tools=("Looks", "SpawnAgentTool")))
        entries = await atelier.workflows.transcript(workflow.id)
        parts = [part for entry in entries for each in entry.calls for part in each.parts]
        assert [each.url for each in used("The answer.", parts)] == ["https://read.org/", "https://named.org/a"]

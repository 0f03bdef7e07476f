"""``ingest_web_page``: pages for the knowledge of a project. There are no projects yet: it says so to whoever asks, and is not offered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from atelier_desk.i18n import N_
from atelier_desk.tools.base import Input, ToolContext, ToolResult
from atelier_desk.tools.builtin import builtin
from atelier_desk.tools.describe import About
from atelier_desk.tools.web.base import PageUrl, WebTool
from atelier_desk.tools.web.fetch import DEPTH

NO_PROJECTS = (
    "There are no projects yet that pages could be added to. Read the page with fetch_web_page, and keep what matters in a memory."
)


class IngestInput(Input):
    url: PageUrl
    project: str = Field(default="", max_length=128, description="The project's name.")
    depth: int = Field(default=0, ge=0, le=DEPTH, description="As for fetch_web_page.")


@builtin(order=520)
class IngestWebPage(WebTool):
    """Waits for projects."""

    name: ClassVar[str] = "ingest_web_page"
    title: ClassVar[str] = N_("Add web page to a project")
    purpose: ClassVar[str] = N_("Waits for projects: it cannot be used yet")
    summaries: ClassVar[Mapping[str, str]] = {"": N_("Add the page {url} to a project")}
    input: ClassVar[Any] = IngestInput
    about: ClassVar[About] = About(
        what="Adds a page of the web to a project's knowledge.",
        when="there are projects.",
        when_not="you only want to read it: use fetch_web_page.",
        example={"url": "https://docs.python.org/3/"},
    )

    def lacks(self) -> str:
        return NO_PROJECTS

    async def run(self, input: IngestInput, context: ToolContext) -> ToolResult:
        return ToolResult.failure(NO_PROJECTS, "not_configured")

"""``ingest_web_page``: add web pages to a project's knowledge."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.project import Project
from atelier_desk.support.i18n import N_, _
from atelier_desk.tools.base import Call, Input, ToolContext, ToolResult
from atelier_desk.tools.definition.tool_description import About
from atelier_desk.tools.projects.project_tool_base import sees
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.registry.tool_services import Projects
from atelier_desk.tools.web.fetch import DEPTH, source
from atelier_desk.tools.web.web_tool_base import PageUrl, WebTool, host_of, own_network
from atelier_desk.web.page_fetcher import CRAWL_S, Crawl

PAGES = 30
"""Maximum pages per call with depth."""
HOME = "Web pages"
"""Project for pages fetched without naming one."""


class IngestInput(Input):
    url: PageUrl
    project: str = Field(default="", max_length=128, description=f"The project's name; without one, {HOME}.")
    depth: int = Field(default=0, ge=0, le=DEPTH, description="As for fetch_web_page.")


@builtin(order=520)
class IngestWebPage(WebTool):
    """Adds pages to a project."""

    name = "ingest_web_page"
    title = N_("Add a web page to a project")
    purpose = N_("Fetches web pages and indexes them for searches")
    summaries = {"": N_("Add the page {url} to a project")}
    input = IngestInput
    about = About(
        what="Fetches a page of the web and keeps it in a project, where semantic_search and brain_search find it.",
        when="you or others will need what the page says again.",
        when_not="you only want to read it: use fetch_web_page.",
        example={"url": "https://docs.python.org/3/", "depth": 1},
        limits=(f"{PAGES} pages with depth",),
    )

    def describe(self, input: IngestInput) -> Call:
        seconds = 300.0 + (CRAWL_S if input.depth else 0)
        return replace(super().describe(input), subjects=Subjects(hosts=(host_of(input.url),)), timeout_s=seconds)

    async def run(self, input: IngestInput, context: ToolContext) -> ToolResult:
        projects = self.services.need_projects()
        project = await self._project(projects, input.project, context)
        context.progress(5, _("Contacting {host}", host=host_of(input.url)))
        crawl = Crawl(input.depth, PAGES if input.depth else 1)
        found = await self.web.crawl(input.url, crawl, own_network(context), context.progress)
        readable = [page for page in found.pages if page.markdown]
        if not readable:
            raise ToolError("{url} has no text that could be kept.", code="not_a_page", url=input.url)
        count = await projects.add_pages(project.id, [(page.url, page.title, page.markdown) for page in readable])
        failed = {"not_fetched": [{"url": url, "error": error} for url, error in found.failed]} if found.failed else {}
        pages = [{"url": page.url, "title": page.title} for page in readable]
        return ToolResult(
            {"success": True, "project": project.name, "entities": count, "pages": pages, **failed},
            parts=tuple(map(source, readable)),
        )

    @staticmethod
    async def _project(projects: Projects, name: str, context: ToolContext) -> Project:
        """Return a project that the agent may access: it cannot affect others' search results."""
        wanted = name or HOME
        known = [each for each in await projects.list() if sees(each, context)]
        for each in known:
            if each.name.casefold() == wanted.casefold():
                return each
        if name:
            names = ", ".join(each.name for each in known) or "none"
            raise ToolError("There is no project {name}. Projects: {names}.", code="not_found", name=name, names=names)
        return await projects.create(HOME)

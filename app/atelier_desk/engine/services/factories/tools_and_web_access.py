"""The tools, and what they use."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
from atelier_desk.engine.services.lazy_services import LazyParts
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.tool_services import ToolServices
from atelier_desk.web.media_generation import MediaGenerator
from atelier_desk.web.page_fetcher import Web
from atelier_desk.web.search import Searcher


def registry(engine: LazyParts) -> ToolRegistry:
    """All tools but the user's own."""
    return create_default_tool_registry(engine.tool_services)


def tool_services(engine: LazyParts) -> ToolServices:
    """Services for the tools; ``start`` adds the memory search and the question gate."""
    return ToolServices(
        memories=engine.repos.memories,
        reports=engine.repos.reports,
        artefacts=engine.repos.artefacts,
        files=engine.workspace_files,
        skills=engine.skills,
        web=engine.web_pages,
        searcher=engine.searcher,
        maker=engine.maker,
        image_describer=engine.image_describer,
        projects=engine.projects,
        hidden=(Path(engine.datadir.root),),
        on_changed=lambda workflow_id: engine.bus.changed("command", workflow_id),
    )


def web_pages(engine: LazyParts) -> Web:
    """Web access for agents."""
    made = Web(engine.datadir.web, engine.clock)
    engine.in_force.subscribe(made.use, "web")
    return made


def searcher(engine: LazyParts) -> Searcher:
    """Web search, as configured."""
    made = Searcher(engine.vault, engine.clock)
    engine.in_force.subscribe(partial(setattr, made, "settings"), "web")
    return made


def maker(engine: LazyParts) -> MediaGenerator:
    """Generates images and 3D models, as configured."""
    made = MediaGenerator(engine.vault, engine.clock, engine.web_pages)
    engine.in_force.subscribe(partial(setattr, made, "settings"), "media")
    return made


def image_describer(engine: LazyParts) -> ImageDescriber:
    """Describes images in words, as configured."""
    made = ImageDescriber(
        lambda name: engine.providers.provider(name), lambda name, model: engine.models.info(name, model), engine.clock
    )
    engine.in_force.subscribe(partial(setattr, made, "model"), "media.sees")
    return made

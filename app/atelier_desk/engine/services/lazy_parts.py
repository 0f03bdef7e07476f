"""Parts of the open engine that are created on first use."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.engine.services.service_list import Services

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.setting_subscribers import SettingSubscribers
    from atelier_desk.engine.attachments.image_descriptions import ImageDescriber
    from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
    from atelier_desk.engine.costs.month_budget import MonthBudget
    from atelier_desk.engine.journal.event_bus import EventBus
    from atelier_desk.engine.runs.caller_function_tools import GivenTools
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.repositories import Repositories
    from atelier_desk.tools.registry.registry import ToolRegistry
    from atelier_desk.tools.registry.tool_services import ToolServices
    from atelier_desk.web.media_generation import MediaGenerator
    from atelier_desk.web.page_fetcher import Web
    from atelier_desk.web.search import Searcher
    from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles


class LazyParts(Services):
    """What tools and services share, apart from the services themselves."""

    datadir: DataDir
    repos: Repositories
    vault: KeyVault
    registry: ToolRegistry
    clock: Clock
    bus: EventBus
    in_force: SettingSubscribers

    @cached_property
    def tool_services(self) -> ToolServices:
        """Services for the tools; ``start`` adds the memory search and the question gate."""
        from atelier_desk.tools.registry.tool_services import ToolServices

        return ToolServices(
            memories=self.repos.memories,
            reports=self.repos.reports,
            artefacts=self.repos.artefacts,
            files=self.workspace_files,
            skills=self.skills,
            web=self.web_pages,
            searcher=self.searcher,
            maker=self.maker,
            image_describer=self.image_describer,
            projects=self.projects,
            hidden=(Path(self.datadir.root),),
            on_changed=lambda workflow_id: self.bus.changed("command", workflow_id),
        )

    @cached_property
    def workspace_files(self) -> WorkspaceFiles:
        """Changes workspace files, and undoes changes."""
        from atelier_desk.workspace.checkpoints.undoable_file_operations import WorkspaceFiles

        return WorkspaceFiles(
            self.datadir.checkpoints, (self.datadir.root,), self.clock.now, lambda id: self.bus.changed("file", id)
        )

    @cached_property
    def web_pages(self) -> Web:
        """Web access for agents."""
        from atelier_desk.web.page_fetcher import Web

        made = Web(self.datadir.web, self.clock)
        self.in_force.subscribe(made.use, "web")
        return made

    @cached_property
    def searcher(self) -> Searcher:
        """Web search, as configured."""
        from atelier_desk.web.search import Searcher

        made = Searcher(self.vault, self.clock)
        self.in_force.subscribe(partial(setattr, made, "settings"), "web")
        return made

    @cached_property
    def maker(self) -> MediaGenerator:
        """Generates images and 3D models, as configured."""
        from atelier_desk.web.media_generation import MediaGenerator

        made = MediaGenerator(self.vault, self.clock, self.web_pages)
        self.in_force.subscribe(partial(setattr, made, "settings"), "media")
        return made

    @cached_property
    def month_budget(self) -> MonthBudget:
        """What all paid requests may cost this month."""
        from atelier_desk.engine.costs.month_budget import MonthBudget

        made = MonthBudget(self.clock, self.bus)
        made.cost_since, made.warn = lambda since: self.usage.cost_since(since, made.in_flight), self.usage.warn
        made.raise_limit, made.allow_unpriced = self.usage.raise_limit, self.usage.allow_unpriced
        self.in_force.subscribe(made.apply, "monthly_cost_limit", "monthly_warned", "monthly_unpriced")
        return made

    @cached_property
    def outside_costs(self) -> OutsideCosts:
        """What embeddings by a server cost."""
        from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts

        return OutsideCosts(self.month_budget, self.models.stored_info, self.repos.used, self.clock)

    @cached_property
    def image_describer(self) -> ImageDescriber:
        """Describes images in words, as configured."""
        from atelier_desk.engine.attachments.image_descriptions import ImageDescriber

        made = ImageDescriber(
            lambda name: self.providers.provider(name), lambda name, model: self.models.info(name, model), self.clock
        )
        self.in_force.subscribe(partial(setattr, made, "model"), "media.sees")
        return made

    @cached_property
    def given_tools(self) -> GivenTools:
        """Functions passed to runs as tools."""
        from atelier_desk.engine.runs.caller_function_tools import GivenTools

        return GivenTools(self.registry, self.bus)

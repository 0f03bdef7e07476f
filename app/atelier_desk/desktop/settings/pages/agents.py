"""Agents: the list, and the form of the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox, QWidget

from atelier_desk.desktop.chat.compose.agent_model_choices import RECENT, model_labels
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.first_start.starter_model_notice import is_starter
from atelier_desk.desktop.panes.pane_base import offer_undo, toast
from atelier_desk.desktop.settings.agent_form import AgentForm
from atelier_desk.desktop.settings.agent_gallery_picker import open_gallery
from atelier_desk.desktop.settings.agent_import_preview import IMPORT_KINDS, ask_import
from atelier_desk.desktop.settings.list_form_page import ListFormPage, ListLine, Saved
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.tool_checkboxes import ToolChoice
from atelier_desk.domain import limits
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.settings import Settings
from atelier_desk.engine.services.common.workflow_names import numbered
from atelier_desk.llm.provider_type_registry import builtin_type
from atelier_desk.presentation.model_names import provider_name, unlisted_model_name
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.widgets.picker import PickerMenu
    from atelier_desk.engine.services.tools import ToolInfo

COST_MS = 300
"""Milliseconds after the last change of the form before its prompt is measured."""
JSON_KINDS = N_("Agent file (*.json)")


def tool_choices(infos: Iterable[ToolInfo]) -> list[ToolChoice]:
    """The selectable tools by section; control tools are always included."""
    lines = ((info, info.told.splitlines()) for info in infos if info.section)
    return [
        ToolChoice(info.name, info.section, info.purpose or (summary[0] if summary else ""), info.title)
        for info, summary in lines
    ]


@settings_page("agents", order=30, icon="bot", title=N_("Agents and skills"), section=N_("Agents"))
class AgentsPage(ListFormPage[Agent]):
    """List with new, duplicate, import, export, delete (undo); the form below."""

    topics = ("agent", "provider", "settings")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._labels: dict[tuple[str, str], str] = {}
        self.question: QMessageBox | None = None
        """What was asked last before an import."""
        self.gallery: PickerMenu | None = None
        """The menu that was opened last."""
        self._default = ""
        self.build_list(
            self.section(N_("Agents")),
            "agent",
            N_("Agents"),
            ("new", N_("New agent"), self.begin),
            ("gallery", N_("Gallery…"), self.open_gallery),
            (
                "duplicate",
                N_("Duplicate"),
                lambda: self.busy_with_another() or self.jobs.once("duplicate", self._duplicate),
            ),
            ("import", N_("Import…"), self._ask_import),
            ("export", N_("Export…"), self._ask_export),
            (
                "default",
                N_("Use for new workflows"),
                lambda: self.call(self.bridge.engine.settings.update(default_agent_id=self.chosen)),
            ),
            ("delete", N_("Delete"), lambda: self.jobs.once("delete", self._delete)),
        )
        self.form_card = self.section()
        self.form = AgentForm(self)
        self.form_card.body.addWidget(self.form)
        self.build_foot("agent", cancel="revert")
        self.end()
        self.form.changed.connect(self.changed)
        self.form.changed.connect(self._schedule_costs)
        self.check()

    async def read(self) -> list[Agent]:
        settings: Settings = await self.bridge.engine.settings.get()
        default: Agent = await self.bridge.engine.agents.default()
        self._default = settings.default_agent_id or default.id
        return await self.bridge.engine.agents.list()

    async def load(self) -> None:
        self.form.tools.set_choices(tool_choices(await self.bridge.engine.tools.list()))
        providers = [config.name for config in await self.bridge.engine.providers.list()]
        self.form.set_models(providers, [])
        await super().load()
        settings: Settings = await self.bridge.engine.settings.get()
        models = await self.bridge.engine.models.list()  # last: it queries servers
        self._labels = model_labels(models)
        self.show_list()
        self.form.set_models(providers, models, settings.favourite_models, settings.recent_models[:RECENT])
        self.check()

    def line(self, agent: Agent) -> ListLine:
        config = agent.config
        used = config.provider, config.model
        model = self._labels.get(used) or unlisted_model_name(*used)
        provider = "" if is_starter(*used) else provider_name(config.provider)  # the model's name says it
        default = _("default") if agent.id == self._default else ""
        facts = (provider, model, default, config.purpose)  # the longest one last: it is elided
        return ListLine(agent.id, agent.name, " · ".join(filter(None, facts)), "bot")

    def heading(self, agent: Agent | None) -> str:
        return agent.name if agent is not None else _("New agent")

    def show_form(self, agent: Agent | None) -> None:
        """A new agent is a copy of the selected one without a name."""
        like = (
            agent
            or next((each for each in self.things if each.id == self.chosen), None)
            or next(iter(self.things), None)
        )
        self.form.show_values(like.config if like else AgentConfig(name="?", provider=builtin_type().kind, model="-"))
        if agent is None:
            self.form.fields["name"].show(self.form.name, "")
        self._schedule_costs()

    def check(self) -> None:
        super().check()
        agent = self.current()
        for name in ("duplicate", "export"):
            self.buttons[name].setEnabled(agent is not None)
        self.buttons["delete"].setEnabled(agent is not None and len(self.things) > 1)
        self.buttons["default"].setEnabled(agent is not None and agent.id != self._default)

    def _schedule_costs(self) -> None:
        """Measure the prompt after a pause in editing."""
        self.jobs.start(self._show_cost(), "cost")

    async def _show_cost(self) -> None:
        """Show the size of the agent's prompt in each tool mode."""
        await asyncio.sleep(COST_MS / 1000)
        config = self.form.draft()
        if config is not None:
            self.form.show_costs(await self.bridge.engine.agents.prompt_cost(config))

    def begin(self) -> None:
        """Open the form of a new agent."""
        if self.begin_new():
            self.form.name.setFocus()

    def open_gallery(self) -> None:
        """Open the menu of ready-made agents; the selected one fills the form of a new agent."""
        if not self.busy_with_another():
            self.gallery = open_gallery(
                self.buttons["gallery"], lambda key: self.jobs.once("ready", lambda: self._begin_like(key))
            )

    async def _begin_like(self, key: str) -> None:
        config: AgentConfig = await self.bridge.engine.agents.ready(key)
        if self.begin_new():
            name = numbered(config.name, {each.name for each in self.things}, length=limits.AGENT_NAME)
            self.form.show_values(config.model_copy(update={"name": name}))
            self.form.name.setFocus()
            self._schedule_costs()
            self.check()

    async def save_form(self) -> Saved:
        config = self.form.checked()
        if config is None:
            raise UsageError(N_("Some fields need to be corrected."))
        saved: Agent = await self.bridge.engine.agents.save(config, None if self.adding else self.chosen)
        return saved.id, lambda: self.note_saved(True)

    async def _duplicate(self) -> None:
        await self.show_again((await self.bridge.engine.agents.duplicate(self.chosen)).id)

    async def _delete(self) -> None:
        agent = self.current()
        if agent is None:
            return
        await self.bridge.engine.agents.delete(agent.id)
        self.chosen = ""

        def undo() -> None:
            self.jobs.once("undelete", lambda: self._undelete(agent))

        offer_undo(self, _("Agent “{name}” deleted", name=agent.name), undo)
        await self.load()

    async def _undelete(self, agent: Agent) -> None:
        await self.show_back((await self.bridge.engine.agents.save(agent.config)).id)

    def _ask_import(self) -> None:
        if not self.busy_with_another():
            ask_open(self, _("Import an agent"), _(IMPORT_KINDS), self.import_from)

    def import_from(self, path: Path) -> None:
        """Import an agent file; what is lost from another program's is shown before it is stored."""

        async def job() -> None:
            text = await read_text(path)
            read = await self.bridge.engine.agents.read_file(text, path.name)
            if read.notes:
                self.question = ask_import(
                    self, read, lambda: self.jobs.once("import", lambda: self._import(read.config))
                )
            else:
                await self._import(read.config)

        self.jobs.once("read", job)

    async def _import(self, config: AgentConfig) -> None:
        await self.show_again((await self.bridge.engine.agents.import_config(config)).id)

    def _ask_export(self) -> None:
        agent = self.current()
        if agent is not None:
            ask_save(self, _("Export the agent"), f"{agent.name}.json", _(JSON_KINDS), self.export_to)

    def export_to(self, path: Path) -> None:
        """Export the selected agent to a file."""

        async def job() -> None:
            await write_text(path, await self.bridge.engine.agents.export_json(self.chosen))
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.start(job())

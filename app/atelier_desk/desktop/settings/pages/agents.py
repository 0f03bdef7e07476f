"""Agents: the list, and the form of the chosen one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QListWidget, QMessageBox, QPushButton, QWidget

from atelier_desk.desktop.chat.compose.choices import model_labels
from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import offer_undo, toast
from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.settings.agent_form import AgentForm
from atelier_desk.desktop.settings.agent_import import IMPORT_KINDS, ask_import
from atelier_desk.desktop.settings.files import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.tool_boxes import ToolChoice
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, label
from atelier_desk.domain.agent import Agent, AgentConfig
from atelier_desk.domain.settings import Settings
from atelier_desk.i18n import N_, _
from atelier_desk.llm.registry import builtin_type

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.tools import ToolInfo

COST_MS = 300
"""After this long without a change of the form its prompt is measured again."""
JSON_KINDS = N_("Agent file (*.json)")


def tool_choices(infos: Iterable[ToolInfo]) -> list[ToolChoice]:
    """The tools an agent can be given, by section; control tools are always there."""
    lines = ((info, info.told.splitlines()) for info in infos if info.section)
    return [ToolChoice(info.name, info.section, info.purpose or (told[0] if told else ""), info.title) for info, told in lines]


@settings_page("agents", order=30, icon="bot", title=N_("Agents"))
class AgentsPage(SettingsPage):
    """List with new, duplicate, import, export, delete (undo); the form below."""

    topics = ("agent", "provider", "settings")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._agents: list[Agent] = []
        self._labels: dict[tuple[str, str], str] = {}
        self._chosen = ""
        self._adding = False
        self.question: QMessageBox | None = None
        """What was asked last before an import."""
        self._default = ""
        card = self.section(N_("AGENTS"))
        self.list = control(QListWidget(self), "agent-list", look="plain", name=N_("Agents"))
        dress_list(self.list)
        card.body.addWidget(self.list)
        self.buttons: dict[str, QPushButton] = {}
        for name, text, act in (
            ("new", N_("New agent"), self.begin),
            ("duplicate", N_("Duplicate"), lambda: self._busy_with_another() or self.jobs.once("duplicate", self._duplicate)),
            ("import", N_("Import…"), self._ask_import),
            ("export", N_("Export…"), self._ask_export),
            ("default", N_("Use for new workflows"), lambda: self.call(self.bridge.engine.settings.update(default_agent_id=self._chosen))),
            ("delete", N_("Delete"), lambda: self.jobs.once("delete", self._delete)),
        ):
            self.buttons[name] = control(QPushButton(self), f"agent-{name}", text, on=act)
        self.deeds(card, *self.buttons.values())
        form_card = self.section()
        self._form_heading = form_card.heading
        self.form = AgentForm(self)
        form_card.body.addWidget(self.form)
        self.note = control(label("", "error", self, wrap=True), "agent-note")
        self.revert = control(QPushButton(self), "agent-revert", N_("Cancel"))
        self.save = control(QPushButton(self), "agent-save", N_("Save"), look="primary")
        self.foot(self.note, self.revert, self.save)
        self.end()
        self._connect()
        self.retranslate()

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(lambda *_: self._select())
        self.form.changed.connect(self._check)
        self.form.changed.connect(self._cost_soon)
        self.save.clicked.connect(lambda *_: self.store())
        self.revert.clicked.connect(lambda *_: self._revert())

    # showing ------------------------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        self._agents = await self.bridge.engine.agents.list()
        settings: Settings = await self.bridge.engine.settings.get()
        default: Agent = await self.bridge.engine.agents.default()
        self._default = settings.default_agent_id or default.id
        self.form.tools.set_choices(tool_choices(await self.bridge.engine.tools.list()))
        self._fill_list()
        providers = await self.bridge.engine.providers.list()
        self.form.set_models([config.name for config in providers], [])
        if not self._adding and not self.form.edited():
            ids = [agent.id for agent in self._agents]
            self.list.setCurrentRow(ids.index(self._chosen) if self._chosen in ids else 0)
            self._select()
        models = await self.bridge.engine.models.list()
        self._labels = model_labels(models)
        self._fill_list()
        self.form.set_models([config.name for config in providers], models)
        self._check()

    def _fill_list(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for agent in self._agents:
            config = agent.config
            facts = [f"{config.provider} · {self._labels.get((config.provider, config.model), config.model)}"]
            if agent.id == self._default:
                facts.append(_("default"))
            two_line_item(self.list, agent.id, agent.name, " · ".join(facts), "bot", "accent")
        rows = min(max(self.list.count(), 1), 6)
        self.list.setFixedHeight(rows * max(self.list.sizeHintForRow(0), theme().px(40)) + 8)
        ids = [agent.id for agent in self._agents]
        if self._chosen in ids and not self._adding:
            self.list.setCurrentRow(ids.index(self._chosen))
        self.list.blockSignals(False)

    def current(self) -> Agent | None:
        """The agent that is shown; None while one is added."""
        return None if self._adding else next((agent for agent in self._agents if agent.id == self._chosen), None)

    def _select(self) -> None:
        item = self.list.currentItem()
        agent = next((each for each in self._agents if item is not None and each.id == item.data(KeyRole)), None)
        if agent is None:
            return
        if (agent.id != self._chosen or self._adding) and self._busy_with_another():
            return
        self._adding, self._chosen = False, agent.id
        self._say("")
        self.form.show_config(agent.config)
        self._cost_soon()
        self._form_heading.setText(agent.name.upper())
        self._check()

    def _check(self) -> None:
        agent = self.current()
        for name in ("duplicate", "export", "delete", "default"):
            self.buttons[name].setEnabled(agent is not None)
        self.buttons["delete"].setEnabled(agent is not None and len(self._agents) > 1)
        self.buttons["default"].setEnabled(agent is not None and agent.id != self._default)
        edited = self._adding or self.form.edited()
        self.save.setEnabled(edited)
        self.revert.setEnabled(edited)

    def _cost_soon(self) -> None:
        """Reckon the costs once nothing was changed for a moment."""
        self.jobs.start(self._show_cost(), "cost")

    async def _show_cost(self) -> None:
        """What the prompt of the agent in the form costs in each tool mode."""
        await asyncio.sleep(COST_MS / 1000)
        config = self.form.draft()
        if config is not None:
            self.form.cost.show_costs(await self.bridge.engine.agents.prompt_cost(config))

    def _say(self, text: str) -> None:
        self.note.setText(text)

    def _busy_with_another(self) -> bool:
        """Whether the form has changes that are not saved: they are neither dropped nor taken along, and the list stays where it is."""
        if not (self._adding or self.form.edited()):
            return False
        self._say(_("Save your changes or cancel them first."))
        self._choose_row()
        return True

    def _choose_row(self) -> None:
        ids = [agent.id for agent in self._agents]
        self.list.blockSignals(True)
        self.list.setCurrentRow(-1 if self._adding else ids.index(self._chosen) if self._chosen in ids else 0)
        self.list.blockSignals(False)

    # doing --------------------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The form of a new agent, like the chosen one but without a name."""
        if self._busy_with_another():
            return
        model = self.current() or (self._agents[0] if self._agents else None)
        base = model.config if model is not None else AgentConfig(name="?", provider=builtin_type().kind, model="-")
        self._adding = True
        self._choose_row()
        self.form.show_config(base)
        self.form.name.clear()
        self._cost_soon()
        self._form_heading.setText(_("NEW AGENT"))
        self._say("")
        self._check()
        self.form.name.setFocus()

    def _revert(self) -> None:
        """Back to what is stored."""
        kept = next((agent for agent in self._agents if agent.id == self._chosen), self._agents[0] if self._agents else None)
        self._adding = False
        if kept is not None:
            self.form.show_config(kept.config)
        self._choose_row()
        self._select()

    def store(self) -> None:
        """Save the form; what is wrong is shown in place."""
        config = self.form.config()
        if config is None:
            self._say(_("Some fields need to be corrected."))
        else:
            self.jobs.once("store", lambda: self._store(config))

    async def _store(self, config: AgentConfig) -> None:
        agent_id = None if self._adding else self._chosen
        try:
            saved: Agent = await self.bridge.engine.agents.save(config, agent_id)
        except Exception as error:
            self._say(error_text(error))
            return
        self._say("")
        await self._show_again(saved)
        toast(self, _("{name} saved", name=saved.name))

    async def _show_again(self, agent: Agent) -> None:
        """Read the list again with this agent chosen."""
        self._adding, self._chosen = False, agent.id
        self.form.show_config(agent.config)
        await self.load()

    async def _duplicate(self) -> None:
        await self._show_again(await self.bridge.engine.agents.duplicate(self._chosen))

    async def _delete(self) -> None:
        agent = self.current()
        if agent is None:
            return
        await self.bridge.engine.agents.delete(agent.id)
        self._chosen = ""
        self.form.show_config(agent.config)

        def undo() -> None:
            self.jobs.once("undelete", lambda: self._undelete(agent))

        offer_undo(self, _("Agent “{name}” deleted", name=agent.name), undo)
        await self.load()

    async def _undelete(self, agent: Agent) -> None:
        await self._show_again(await self.bridge.engine.agents.save(agent.config))

    def _ask_import(self) -> None:
        if not self._busy_with_another():
            ask_open(self, _("Import an agent"), _(IMPORT_KINDS), self.import_from)

    def import_from(self, path: Path) -> None:
        """Read an agent file; what cannot be taken of another program's is said before it is stored."""

        async def job() -> None:
            text = await read_text(path)
            read = await self.bridge.engine.agents.read_file(text, path.name)
            if read.notes:
                self.question = ask_import(self, read, lambda: self.jobs.once("import", lambda: self._import(read.config)))
            else:
                await self._import(read.config)

        self.jobs.once("read", job)

    async def _import(self, config: AgentConfig) -> None:
        await self._show_again(await self.bridge.engine.agents.import_config(config))

    def _ask_export(self) -> None:
        agent = self.current()
        if agent is not None:
            ask_save(self, _("Export the agent"), f"{agent.name}.json", _(JSON_KINDS), self.export_to)

    def export_to(self, path: Path) -> None:
        """Write the chosen agent's file."""

        async def job() -> None:
            await write_text(path, await self.bridge.engine.agents.export_json(self._chosen))
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.start(job())

    def retranslate(self) -> None:
        self._check()

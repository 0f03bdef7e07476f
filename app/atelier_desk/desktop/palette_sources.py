"""What the command palette offers beside the window's actions: workflows, agents, models, settings pages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol

from atelier_desk import figures
from atelier_desk.desktop.palette import Command
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.chat.panel import ChatPanel
    from atelier_desk.desktop.settings.registry import PageEntry
    from atelier_desk.desktop.sidebar.sidebar import Sidebar
    from atelier_desk.domain.provider import ModelInfo


class Offering(Protocol):
    """What is asked of the window."""

    sidebar: Sidebar
    chat: ChatPanel
    settings_pages: tuple[PageEntry, ...]

    def show_settings(self, page: str) -> None: ...


def commands(window: Offering) -> Iterator[Command]:
    """In the order of their headings. Only what the window knows already: nothing is waited for."""
    yield from _workflows(window)
    yield from _agents(window)
    yield from _models(window)
    for page in window.settings_pages:
        open_page = partial(window.show_settings, page.name)
        yield Command(_(page.title), open_page, _("Settings"), page.icon, page.name, f"page:{page.name}", _("Settings"))


def _workflows(window: Offering) -> Iterator[Command]:
    for each in window.sidebar.model.workflows:
        run = partial(window.chat.open_workflow, each.id)
        yield Command(each.name, run, _("Workflow"), "message-square", "", f"workflow:{each.id}", _("Workflows"))


def _agents(window: Offering) -> Iterator[Command]:
    """Who shall answer in the workflow in view."""
    for agent in window.chat.choices.agents:
        hint = f"{agent.config.provider} · {window.chat.choices.labels[agent.id]}"
        run = partial(_choose_agent, window, agent.id)
        yield Command(_("Agent: {name}", name=agent.name), run, hint, "bot", "", f"agent:{agent.id}", _("Agents"))


def _models(window: Offering) -> Iterator[Command]:
    """Which model shall answer in the workflow in view; a search names what it can do, too."""
    for info in window.chat.choices.models:
        if not info.embedding:
            run = partial(_choose_model, window, info.provider, info.name)
            text, key = _("Model: {name}", name=info.label or info.name), f"model:{info.provider}/{info.name}"
            yield Command(text, run, _facts(info), "cpu", f"{info.name} {info.provider}", key, _("Models"))


def _choose_agent(window: Offering, agent_id: str) -> None:
    window.chat.header.agent_chosen.emit(agent_id)


def _choose_model(window: Offering, provider: str, model: str) -> None:
    window.chat.header.model_chosen.emit(f"{provider}/{model}")


def _facts(info: ModelInfo) -> str:
    window = [_("{tokens} tokens", tokens=figures.tokens(info.context_window))] if info.context_window else []
    return " · ".join([info.provider, *window])

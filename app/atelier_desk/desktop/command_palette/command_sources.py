"""Commands of the palette besides the window's actions: workflows, agents, models, settings pages, prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from atelier_desk.desktop.chat.compose.agent_model_choices import describe, key_of
from atelier_desk.desktop.command_palette.palette import Command
from atelier_desk.desktop.command_palette.search_terms import found_by
from atelier_desk.desktop.settings.agent_gallery_picker import ready_agents
from atelier_desk.desktop.widgets.date_format import short_moment
from atelier_desk.presentation.model_names import model_name, provider_name
from atelier_desk.support.i18n import _, in_every_language
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.desktop.main_window.window_interface import WindowParts
    from atelier_desk.desktop.settings.registry import PageEntry
    from atelier_desk.domain.prompt import Prompt
    from atelier_desk.domain.workflow import Workflow

HINT = 60
"""Characters shown of a prompt's description."""


def commands(
    window: WindowParts,
    pages: Iterable[PageEntry],
    show_page: Callable[[str], object],
    archived: Iterable[Workflow] = (),
    prompts: Iterable[Prompt] = (),
) -> Iterator[Command]:
    """All commands in the order of their headings. Uses only what the window has loaded: nothing is awaited."""
    yield from _workflows(window, archived)
    yield from _agents(window)
    yield from _models(window)
    yield from _prompts(window, prompts)
    for page in pages:
        key = f"page:{page.name}"
        also = f"{page.name} {found_by(key, page.title, 'Settings')}"
        yield Command(_(page.title), partial(show_page, page.name), _("Settings"), page.icon, also, key, _("Settings"))


def _workflows(window: WindowParts, archived: Iterable[Workflow]) -> Iterator[Command]:
    """Workflows of the list, then archived ones."""
    for each in {each.id: each for each in (*window.sidebar.model.workflows, *archived)}.values():
        run = partial(window.chat.open_workflow, each.id)
        hint, icon = (_("Archived workflow"), "archive") if each.archived else (_("Workflow"), "message-square")
        also = in_every_language("Archived workflow" if each.archived else "Workflow")
        hint = f"{hint} · {short_moment(each.updated_at)}"
        yield Command(each.name, run, hint, icon, also, f"workflow:{each.id}", _("Workflows"))


def _prompts(window: WindowParts, prompts: Iterable[Prompt]) -> Iterator[Command]:
    """Insert a prompt into the message; prompts are also found by their description."""
    for each in prompts:
        text = _("Prompt: {name}", name=each.name)
        also = f"{each.description} {in_every_language('Prompts')}"
        run = partial(window.chat.calling.put_in, each)
        yield Command(text, run, shorten(each.description, HINT), "quote", also, f"prompt:{each.id}", _("Prompts"))


def _agents(window: WindowParts) -> Iterator[Command]:
    """Choose the agent of the workflow in view."""
    for agent in window.chat.choices.agents:
        about = agent.config.purpose or provider_name(agent.config.provider)
        hint = f"{about} · {window.chat.choices.labels[agent.id]}"
        run = partial(window.chat.header.agent_chosen.emit, agent.id)
        yield Command(
            _("Agent: {name}", name=agent.name),
            run,
            hint,
            "bot",
            in_every_language("Agent"),
            f"agent:{agent.id}",
            _("Agents"),
        )
    for item in ready_agents({agent.name for agent in window.chat.choices.agents}):
        run = partial(window.chat.add_agent, item.key)
        also = f"{item.also} {item.detail} {in_every_language('Agent')}"
        yield Command(
            _("Add agent: {name}", name=item.text), run, item.detail, "plus", also, f"ready:{item.key}", _("Agents")
        )


def _models(window: WindowParts) -> Iterator[Command]:
    """Choose the model of the workflow in view; models are also found by their capabilities."""
    for info in window.chat.choices.models:
        if not info.embedding:
            key = key_of(info.provider, info.name)
            run = partial(window.chat.header.model_chosen.emit, key)
            hint = " · ".join(filter(None, (provider_name(info.provider), describe(info))))
            text = _("Model: {name}", name=model_name(info))
            yield Command(
                text,
                run,
                hint,
                "cpu",
                f"{info.name} {info.provider} {in_every_language('Model')}",
                f"model:{key}",
                _("Models"),
            )

"""The agents of a fresh installation, in the user's language, working with the built-in model until another is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.i18n import _
from atelier_desk.llm.registry import builtin_type

if TYPE_CHECKING:
    from atelier_desk.tools.registry import ToolRegistry


def builtin_agents(registry: ToolRegistry) -> list[AgentConfig]:
    """Configurations of the built-in agents, the default one first, each with the tools that its sections have now."""
    from atelier_desk.llm.local.models import STARTER  # dear to load, as what follows, and needed at the first start alone
    from atelier_desk.tools.sections import CONTEXT, CORE, FILES, KNOWLEDGE, MEDIA, PLANNING, SHELL, WEB

    assistant = _(
        "You are a helpful assistant. Plan longer work as tasks, use the tools you have instead of guessing, ask the user when "
        "something essential is unclear, remember what will be useful later, and answer in the user's language."
    )
    team_lead = _(
        "You lead a team. Cut larger work into parts that stand by themselves and give each to a sub-agent, with a prompt that says "
        "everything it must know and what it is to report. Run parts side by side when they do not need each other. Do small things "
        "yourself. Check reports before you rely on them, keep the plan as tasks, ask the user when something essential is unclear, "
        "and answer in the user's language with one result of your own, not a pile of reports."
    )
    # Of the web and of pictures they have what looks: what makes pictures costs, and projects are made by people.
    reach = [tool.name for section in (WEB, MEDIA) for tool in registry.get_tools_by_section(section) if tool.preset]
    hands = (FILES, SHELL, CONTEXT, KNOWLEDGE)
    wanted = ((_("Assistant"), assistant, (CORE, *hands)), (_("Team lead"), team_lead, (CORE, *hands, PLANNING)))
    return [
        AgentConfig(
            name=name,
            provider=builtin_type().kind,
            model=STARTER,
            system_prompt=prompt,
            tools=(*(tool.name for section in sections for tool in registry.get_tools_by_section(section)), *reach),
        )
        for name, prompt, sections in wanted
    ]

"""The agents of a fresh installation, in the user's language, working with the built-in model until another is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.agent import AgentConfig
from app.i18n import _
from app.llm.local.models import STARTER

LOCAL_PROVIDER = "local"


BASIC_TOOLS = ("TodoTool", "MemoryTool", "CalculatorTool", "UserQuestionTool", "ReportTool")


def builtin_agents(known_tools: Iterable[str]) -> list[AgentConfig]:
    """Configurations of the built-in agents, with the basic tools that are registered."""
    known = set(known_tools)
    return [
        AgentConfig(
            name=_("Assistant"),
            provider=LOCAL_PROVIDER,
            model=STARTER,
            temperature=0.2,
            system_prompt=_(
                "You are a helpful assistant. Plan longer work as tasks, use the tools you have instead of guessing, ask the user when "
                "something essential is unclear, remember what will be useful later, and answer in the user's language."
            ),
            tools=tuple(name for name in BASIC_TOOLS if name in known),
        )
    ]

"""What an agent's prompt costs before anything is said: its system message and tool definitions, in each tool mode."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import prompt, searching
from atelier_desk.engine.run.request.model_call import tools_tokens
from atelier_desk.engine.run.request.toolset import toolset
from atelier_desk.llm.profiles import profile
from atelier_desk.llm.tokens import message_tokens
from atelier_desk.tools.registry import ToolRegistry

FOLDER = ("workspace",)
"""Most runs have a folder, and the tools for it are most of the tools: they are counted. The prompt does not name it."""


@dataclass(frozen=True, slots=True)
class PromptCost:
    """Estimated tokens of the first request, without its message, of a root run that has a folder.

    Attributes:
        system: the system message, with what is said there of tools.
        definitions: the tool definitions.
        tools: how many definitions there are.
        searched: how many tools are not listed but searched for when they are needed, because listing them takes too much of the window.
        listed: what the request would take if they were listed too; ``total`` when none is searched for.
    """

    system: int
    definitions: int
    tools: int
    searched: int = 0
    listed: int = 0

    @property
    def total(self) -> int:
        return self.system + self.definitions


def prompt_cost(registry: ToolRegistry, config: AgentConfig, mode: ToolMode, *, language: str, now: datetime, window: int) -> PromptCost:
    """The cost with ``mode`` in place of the configuration's own, for a model with this ``window`` in tokens."""
    config = config.model_copy(update={"tool_mode": mode})
    state = RunState(run_id="", workflow_id="", agent=config, language=language, started_at=now, workspace=FOLDER)
    mine = toolset(registry, state)
    searched = searching.searched(mine, state, window)
    search = searched.search if searched is not None else None
    definitions = tuple(registry.get_definitions_by_names(mine.visible(search), profile("", config.model).edit_forms))
    system, tokens = message_tokens(prompt.system_prompt(state, mine.text(search))), tools_tokens(definitions)
    hidden, unlisted = (searched.tools, searched.tokens) if searched is not None else (0, 0)
    return PromptCost(system, tokens, len(definitions), searched=hidden, listed=system + tokens + unlisted)

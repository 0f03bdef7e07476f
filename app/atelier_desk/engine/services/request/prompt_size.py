"""Size of an agent's prompt before any message: system message and tool definitions, by tool mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from atelier_desk.domain.agent import AgentConfig, ToolMode
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import prompt_texts, tool_search
from atelier_desk.engine.run.request.toolset import tools_tokens, toolset
from atelier_desk.llm.model_assumptions import profile
from atelier_desk.llm.token_and_cost_estimates import Calibration, definition_tokens, message_tokens
from atelier_desk.tools.registry.registry import ToolRegistry

FOLDER = ("workspace",)
"""A placeholder folder: most runs have one, and most tools need it. The prompt does not name it."""


@dataclass(frozen=True, slots=True)
class PromptCost:
    """Estimated tokens of the first request, without its message, of a root run with a folder.

    Attributes:
        system: the system message, including its texts about tools.
        definitions: the tool definitions.
        tools: number of definitions.
        searched: number of tools that are searched for, because listing them takes too much of the context.
        listed: total if they were listed too; equals ``total`` if none is searched for.
        by_tool: tokens of each definition, by tool name.
    """

    system: int
    definitions: int
    tools: int
    searched: int = 0
    listed: int = 0
    by_tool: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.system + self.definitions


def prompt_cost(
    registry: ToolRegistry,
    config: AgentConfig,
    mode: ToolMode,
    *,
    language: str,
    now: datetime,
    window: int,
    calibration: Calibration | None = None,
) -> PromptCost:
    """Return the size with ``mode`` instead of the configured one, for a ``window`` in tokens.

    ``calibration``: the server's counts so far.
    """
    measured = (calibration or Calibration()).apply
    config = config.model_copy(update={"tool_mode": mode})
    state = RunState(run_id="", workflow_id="", agent=config, language=language, started_at=now, workspace=FOLDER)
    mine = toolset(registry, state)
    searched = tool_search.searched(mine, state, window)
    search = searched.search if searched is not None else None
    definitions = tuple(registry.get_definitions_by_names(mine.visible(search), profile("", config.model).edit_forms))
    system, tokens = (
        measured(message_tokens(prompt_texts.system_prompt(state, mine.text(search)))),
        measured(tools_tokens(definitions)),
    )
    hidden, unlisted = (searched.tools, measured(searched.tokens)) if searched is not None else (0, 0)
    by_tool = {each.name: measured(definition_tokens((each,))) for each in definitions}
    return PromptCost(
        system, tokens, len(definitions), searched=hidden, listed=system + tokens + unlisted, by_tool=by_tool
    )

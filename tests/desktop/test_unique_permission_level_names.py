"""Names of permission levels are unique: no pane, tool, page, ready-made agent or MCP rule has the same."""

from __future__ import annotations

import pytest

from atelier_desk.desktop.panes.registry import panes
from atelier_desk.desktop.settings.mcp_tool_rows import RULES
from atelier_desk.desktop.settings.registry import sections
from atelier_desk.engine.services.agent_gallery import READY
from atelier_desk.presentation.permission_profiles import ALL
from atelier_desk.support.i18n import LANGUAGES, _, spoken
from atelier_desk.tools.registry.builtin import builtin_tools
from atelier_desk.tools.registry.tool_services import ToolServices


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_of_permission_levels_are_unique(language: str) -> None:
    named = [
        *(pane.title for pane in panes()),
        *(page.tab for page in sections()),
        *(tool.title for tool in builtin_tools(ToolServices())),
        *(agent.name for agent in READY),
        *(title for _action, title in RULES),
    ]
    with spoken(language):
        levels = [_(profile.title) for profile in ALL]
        assert len({*levels}) == len(levels)
        assert {*levels}.isdisjoint(_(title) for title in named)

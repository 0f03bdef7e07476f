"""The public names of ``atelier_desk.tools`` for authors of tools."""

from __future__ import annotations

import subprocess
import sys

import atelier_desk.tools as front
from atelier_desk.tools import CONTROL_TOOLS, ToolCategory, ToolRegistry, tool
from atelier_desk.tools.registry.builtin import builtin_tools
from atelier_desk.tools.registry.tool_services import ToolServices


def test_every_exported_name_exists() -> None:
    assert all(getattr(front, name) is not None for name in front.__all__)
    assert {each.name for each in builtin_tools(ToolServices()) if each.category is ToolCategory.CONTROL} == set(
        CONTROL_TOOLS
    )
    assert callable(ToolRegistry)


def test_a_custom_tool_is_in_the_common_section_by_default() -> None:
    def shout(text: str) -> str:
        """Writes a text in capitals."""
        return text.upper()

    assert tool(shout).category is ToolCategory.COMMON


def test_nothing_is_loaded_before_its_first_use() -> None:
    code = "import sys, atelier_desk.tools; print('pydantic' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )

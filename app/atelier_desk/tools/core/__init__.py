"""The basic tools: tasks, memory, calculation, questions and reports."""

from __future__ import annotations

from atelier_desk.tools.base import Tool


def core_tools() -> list[Tool]:
    """One of each basic tool."""
    from atelier_desk.tools.core.calculator import CalculatorTool
    from atelier_desk.tools.core.report import ReportTool
    from atelier_desk.tools.core.todo import TodoTool
    from atelier_desk.tools.core.user_question import UserQuestionTool
    from atelier_desk.tools.memory.tool import MemoryTool

    return [TodoTool(), MemoryTool(), CalculatorTool(), UserQuestionTool(), ReportTool()]

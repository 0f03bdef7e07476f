"""The basic tools: tasks, memory, calculation, questions and reports."""

from __future__ import annotations

from app.tools.base import Tool


def core_tools() -> list[Tool]:
    """One of each basic tool."""
    from app.tools.core.calculator import CalculatorTool
    from app.tools.core.report import ReportTool
    from app.tools.core.todo import TodoTool
    from app.tools.core.user_question import UserQuestionTool
    from app.tools.memory.tool import MemoryTool

    return [TodoTool(), MemoryTool(), CalculatorTool(), UserQuestionTool(), ReportTool()]

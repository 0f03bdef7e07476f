"""The list of tools."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.tools import ToolInfo, ToolService
from atelier_desk.tools.definition import input_schema
from atelier_desk.tools.registry.default_registry import create_default_tool_registry


async def listed() -> list[ToolInfo]:
    """The tools of a registry of its own."""
    context = cast(ServiceContext, SimpleNamespace(registry=create_default_tool_registry()))
    return await ToolService(context).list()


async def test_the_schema_of_an_input_is_made_once_for_all_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    first = await listed()
    made: list[Any] = []
    monkeypatch.setattr(input_schema, "_clean", lambda node, _definitions: made.append(node))
    assert await listed() == first
    assert not made

"""Limits in the workflow settings."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.compose.workflow_settings import WorkflowSettings
from atelier_desk.domain.agent import AgentConfig, Choices

AGENT = AgentConfig(name="Ada", provider="p", model="m")


@pytest.mark.parametrize(
    ("cap", "written", "value"),
    [
        ("max_tokens", "20000", 20_000),
        ("max_cost", "0.5", 0.5),
        ("max_tokens", "", None),
        *((cap, bad, "refused") for cap in ("max_tokens", "max_cost") for bad in ("nan", "inf", "-1", "0", "many")),
        ("max_tokens", "0.5", "refused"),
    ],
)
def test_a_limit_is_a_positive_number_or_empty(qtbot: QtBot, cap: str, written: str, value: object) -> None:
    dialog = WorkflowSettings(Choices(), AGENT)
    qtbot.addWidget(dialog)
    chosen: list[Choices] = []
    dialog.chosen.connect(chosen.append)
    dialog.caps[cap].setText(written)
    if value == "refused":
        assert dialog.problem()
    else:
        assert not dialog.problem()
        dialog.submit()
        assert getattr(chosen[0].budget, cap) == value

"""The main job with the real built-in starter model, without a script."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QPushButton

from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rendered

MODEL_MS = 90_000
"""Milliseconds for the model's server to start and a small model to write on a busy machine."""


@pytest.mark.model
@pytest.mark.timeout(180)
def test_the_starter_calculates(open_desk: OpenDesk) -> None:
    desk = open_desk(None)
    desk.send("What is 12*7? Use the calculator.")
    desk.until(
        lambda: [card for card in desk.all("tool-card") if "✓" in rendered(card)], "the calculator ran", MODEL_MS
    )
    desk.until(lambda: not desk.all("stop-button"), "the answer is complete", MODEL_MS)
    card = desk.until_shown("tool-card", "Calculated")
    head = card.findChild(QPushButton)
    assert head is not None
    desk.click(head)
    desk.until(lambda: "84" in rendered(card), "the card shows the result")
    desk.last_reply("84")


@pytest.mark.model
@pytest.mark.timeout(180)
def test_the_starter_adds_a_task(open_desk: OpenDesk) -> None:
    desk = open_desk(None)
    desk.send("Add a task: water the plants")
    desk.until_shown("user-message", "water the plants")
    desk.until(lambda: desk.all("tool-card"), "a tool is called", MODEL_MS)
    desk.until_row("task-list", "ater the plants")
    desk.until(lambda: not desk.all("stop-button"), "the answer is complete", MODEL_MS)
    desk.settle()

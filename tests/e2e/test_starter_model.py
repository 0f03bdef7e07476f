"""The main job with the real built-in starter model, without a script."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QPushButton

from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered

MODEL_MS = 90_000
"""Milliseconds for the model's server to start and a small model to write on a busy machine."""


@pytest.mark.model
@pytest.mark.timeout(180)
def test_the_starter_calculates(open_app: OpenApp) -> None:
    app = open_app(None)
    app.send("What is 12*7? Use the calculator.")
    app.until(
        lambda: [card for card in app.find_all("tool-card") if "✓" in rendered(card)], "the calculator ran", MODEL_MS
    )
    app.until(lambda: not app.find_all("stop-button"), "the answer is complete", MODEL_MS)
    card = app.until_text("tool-card", "Calculated")
    head = card.findChild(QPushButton)
    assert head is not None
    app.click(head)
    app.until(lambda: "84" in rendered(card), "the card shows the result")
    app.until_reply("84")


@pytest.mark.model
@pytest.mark.timeout(180)
def test_the_starter_adds_a_task(open_app: OpenApp) -> None:
    app = open_app(None)
    app.send("Add a task: water the plants")
    app.until_text("user-message", "water the plants")
    app.until(lambda: app.find_all("tool-card"), "a tool is called", MODEL_MS)
    app.until_row("task-list", "ater the plants")
    app.until(lambda: not app.find_all("stop-button"), "the answer is complete", MODEL_MS)
    app.settle()

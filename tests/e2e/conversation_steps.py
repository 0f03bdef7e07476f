"""Conversations in the list of workflows."""

from __future__ import annotations

from tests.e2e.harness import AppDriver


def converse(app: AppDriver, *turns: tuple[str, str]) -> None:
    """Create a workflow for each pair of message and expected answer."""
    for message, answer in turns:
        app.click("new-workflow")
        app.send(message)
        app.until_reply(answer)
        app.wait_done()
        app.until_row("workflow-list", message)

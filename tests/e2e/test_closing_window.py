"""Closing the window while an agent works asks once, and nothing that costs money continues without that choice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QSystemTrayIcon
from pytestqt.qtbot import QtBot

from atelier_desk.domain.workflow import RunStatus
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered, scripted
from tests.e2e.scripted_model_server import ModelServer, config, held_reply, hire

GOAL = "Write a long letter"


def at_work(open_app: OpenApp, server: ModelServer) -> AppDriver:
    """The program with an agent in the middle of its reply."""
    server.script(GOAL, held_reply("Dear reader, this is long.", asyncio.Event()), "The letter is done.")
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada")))
    app.settle()
    app.send(GOAL)
    app.until_reply("Dear")
    return app


def close_question(app: AppDriver) -> Any:
    """Close the window as a person does; returns the sheet that asks."""
    app.window.close()
    box = app.find("closing-question")
    assert app.window.isAncestorOf(box), "it is a sheet of the window"
    assert "1 workflow is still running" in rendered(box)
    assert GOAL[:5] in rendered(box)
    return box


def status(app: AppDriver) -> list[RunStatus]:
    return [run.status for run in app.engine(lambda a: a.repos.runs.list(app.workflow_id))]


@pytest.mark.parametrize("choice", ["closing-stop", "closing-next-start", "killed"])
def test_work_continues_at_the_next_start_only_if_chosen(open_app: OpenApp, server: ModelServer, choice: str) -> None:
    app = at_work(open_app, server)
    if choice == "killed":
        app.close()
    else:
        close_question(app)
        app.click(choice)
        app.until_closed()
    app = open_app(None)
    if choice == "closing-next-start":
        app.until_reply("The letter is done.")
        app.wait_done()
        assert status(app) == [RunStatus.COMPLETED]
        return
    app.until_text("assistant-message", "Dear")
    app.settle()
    assert status(app) == [RunStatus.CANCELLED if choice == "closing-stop" else RunStatus.INTERRUPTED]
    assert len(server.requests(GOAL)) == 1, "no request was sent unasked"
    if choice == "killed":
        app.click("notice-resume")
        app.until_reply("The letter is done.")
        app.wait_done()


def test_agents_continue_in_the_background_and_the_window_returns(
    open_app: OpenApp, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("main_window.closing_question", "system.tray_icon"):
        monkeypatch.setattr(f"atelier_desk.desktop.{place}.there_is_a_tray", lambda: True)
    app = at_work(open_app, server)
    close_question(app)
    app.click("closing-background")
    app.until(lambda: not app.window.isVisible(), "the window is in the background")
    assert app.bridge.ready
    assert status(app) == [RunStatus.PROCESSING]
    tray = app.window._tray
    assert tray is not None
    tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
    app.find("stop-button")


def test_cancel_changes_nothing_and_the_next_close_asks_again(open_app: OpenApp, server: ModelServer) -> None:
    app = at_work(open_app, server)
    for _time in range(2):
        close_question(app)
        app.click("closing-cancel")
        app.until_hidden("closing-question")
    assert status(app) == [RunStatus.PROCESSING]
    app.click("stop-button")
    app.wait_done()
    app.window.close()
    app.until_closed()


def test_a_window_closed_before_it_is_filled_ends_the_program(qtbot: QtBot, tmp_path: Path) -> None:
    """Once the window was hidden, and the program continued without one."""
    app = AppDriver(qtbot, tmp_path / "data", scripted([]))
    assert app.window.presenter is None
    app.close()
    app.verify()

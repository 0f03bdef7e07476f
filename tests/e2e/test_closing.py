"""Closing the window while an agent works asks once, and nothing that costs money continues without that choice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.domain.workflow import RunStatus
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered, scripted
from tests.e2e.wire import ModelServer, config, held, hire

GOAL = "Write a long letter"


def at_work(open_desk: OpenDesk, server: ModelServer) -> Desk:
    """The program with an agent in the middle of its reply."""
    server.script(GOAL, held("Dear reader, this is long.", asyncio.Event()), "The letter is done.")
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada")))
    desk.settle()
    desk.send(GOAL)
    desk.last_reply("Dear")
    return desk


def asked(desk: Desk) -> Any:
    """Close the window as a person does; returns the sheet that asks."""
    desk.window.close()
    box = desk.find("closing-question")
    assert desk.window.isAncestorOf(box), "it is a sheet of the window"
    assert "1 workflow is still running" in rendered(box)
    assert GOAL[:5] in rendered(box)
    return box


def status(desk: Desk) -> list[RunStatus]:
    return [run.status for run in desk.engine(lambda a: a.repos.runs.list(desk.workflow_id))]


@pytest.mark.parametrize("choice", ["closing-stop", "closing-next-start", "killed"])
def test_what_works_continues_at_the_next_start_only_when_that_was_chosen(
    open_desk: OpenDesk, server: ModelServer, choice: str
) -> None:
    desk = at_work(open_desk, server)
    if choice == "killed":
        desk.close()
    else:
        asked(desk)
        desk.click(choice)
        desk.until_closed()
    desk = open_desk(None)
    if choice == "closing-next-start":
        desk.last_reply("The letter is done.")
        desk.wait_done()
        assert status(desk) == [RunStatus.COMPLETED]
        return
    desk.until_shown("assistant-message", "Dear")
    desk.settle()
    assert status(desk) == [RunStatus.CANCELLED if choice == "closing-stop" else RunStatus.INTERRUPTED]
    assert len(server.requests(GOAL)) == 1, "nothing was asked of the model by itself"
    if choice == "killed":
        desk.click("notice-resume")
        desk.last_reply("The letter is done.")
        desk.wait_done()


def test_it_works_on_in_the_background_and_the_window_comes_back(
    open_desk: OpenDesk, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atelier_desk.desktop.main_window.closing_question.there_is_a_tray", lambda: True)
    desk = at_work(open_desk, server)
    asked(desk)
    desk.click("closing-background")
    desk.until(lambda: not desk.window.isVisible(), "the window is in the background")
    assert desk.bridge.ready
    assert status(desk) == [RunStatus.PROCESSING]
    desk.window.raise_up()
    desk.find("stop-button")


def test_cancel_changes_nothing_and_it_is_asked_again(open_desk: OpenDesk, server: ModelServer) -> None:
    desk = at_work(open_desk, server)
    for _time in range(2):
        asked(desk)
        desk.click("closing-cancel")
        desk.gone("closing-question")
    assert status(desk) == [RunStatus.PROCESSING]
    desk.click("stop-button")
    desk.wait_done()
    desk.window.close()
    desk.until_closed()


def test_a_window_closed_before_it_is_filled_ends_the_program(qtbot: QtBot, tmp_path: Path) -> None:
    """Once the window was hidden, and the program continued without one."""
    desk = Desk(qtbot, tmp_path / "data", scripted([]))
    assert desk.window.presenter is None
    desk.close()
    desk.verify()

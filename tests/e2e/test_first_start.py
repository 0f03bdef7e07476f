"""The first-start guide appears once."""

from __future__ import annotations

from atelier_desk.domain.settings import Settings
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk


def settings(desk: Desk) -> Settings:
    stored: Settings = desk.engine(lambda a: a.settings.get())
    return stored


def test_the_guide_can_be_skipped_and_does_not_come_again(open_desk: OpenDesk) -> None:
    desk = open_desk(["Hello."], first_start=True)
    desk.find("first-start")
    desk.click("first-start-skip")
    desk.gone("first-start")
    desk.until(lambda: settings(desk).first_start_done, "it is remembered")
    desk.send("Good morning")
    desk.last_reply("Hello.")
    desk.wait_done()
    desk.close()
    desk = open_desk(first_start=True)
    desk.last_reply("Hello.")
    assert desk.all("first-start") == []


def test_an_example_goal_begins_a_workflow(open_desk: OpenDesk) -> None:
    desk = open_desk(["With pleasure.", "More."], first_start=True)
    desk.click("first-start-next")
    desk.until_shown("first-start", "2 of 3")
    desk.click("first-start-next")
    desk.until_shown("first-start", "3 of 3")
    desk.click("goal-1")
    desk.gone("first-start")
    desk.last_reply("With pleasure.")
    desk.wait_done()
    assert settings(desk).first_start_done

"""The first-start guide appears once."""

from __future__ import annotations

from atelier_desk.domain.settings import Settings
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver


def settings(app: AppDriver) -> Settings:
    stored: Settings = app.engine(lambda a: a.settings.get())
    return stored


def test_the_guide_can_be_skipped_and_does_not_return(open_app: OpenApp) -> None:
    app = open_app(["Hello."], first_start=True)
    app.find("first-start")
    app.click("first-start-skip")
    app.until_hidden("first-start")
    app.until(lambda: settings(app).first_start_done, "it is remembered")
    app.send("Good morning")
    app.until_reply("Hello.")
    app.wait_done()
    app.close()
    app = open_app(first_start=True)
    app.until_reply("Hello.")
    assert app.find_all("first-start") == []


def test_an_example_goal_starts_a_workflow(open_app: OpenApp) -> None:
    app = open_app(["With pleasure.", "More."], first_start=True)
    app.click("first-start-next")
    app.until_text("first-start", "2 of 3")
    app.click("first-start-next")
    app.until_text("first-start", "3 of 3")
    app.click("goal-1")
    app.until_hidden("first-start")
    app.until_reply("With pleasure.")
    app.wait_done()
    assert settings(app).first_start_done

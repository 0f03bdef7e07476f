"""A team running in the window: lanes, tree and transcripts; stopping, pausing, messages, limits, stepping, replay."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMenu, QSlider

from atelier_desk.desktop.chat.quick_ask import QuickAsk
from atelier_desk.desktop.theme import theme
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.support.locale_format import tokens
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import (
    ModelServer,
    batch,
    calculate,
    calls,
    held_reply,
    newest_message,
    spawn,
)
from tests.e2e.team_steps import CHECK, CUT, GLUE, GOAL, MEASURE, lane, open_team, press, row


def lane_says(app: AppDriver, name: str, text: str) -> bool:
    return text in rendered(lane(app, name))


def runs(app: AppDriver) -> dict[str, RunStatus]:
    """The state of each agent's run."""
    return {run.agent_name: run.status for run in app.engine(lambda a: a.repos.runs.list(app.workflow_id))}


def script_parallel_agents(
    server: ModelServer, *, then: str = "The shelf stands."
) -> tuple[asyncio.Event, asyncio.Event]:
    """Ada starts Bea and Cid in parallel; both wait in the middle of their replies for their gates."""
    bea, cid = asyncio.Event(), asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT)), text="I share the work."), then)
    server.script(MEASURE, held_reply("The wall is 84 cm wide.", bea))
    server.script(CUT, held_reply("Three boards were cut.", cid))
    return bea, cid


def test_a_working_team_is_shown(open_app: OpenApp, server: ModelServer) -> None:
    bea, eve = asyncio.Event(), asyncio.Event()
    jobs = batch("p1", ("Bea", MEASURE), ("Cid", CUT), ("Dan", GLUE))
    server.script(GOAL, calls(jobs, text="I share the work."), "The shelf stands.")
    server.script(MEASURE, held_reply("The wall is 84 cm wide.", bea))
    server.script(CUT, calls(spawn("s1", "Eve", CHECK)), "Three boards were cut.")
    server.script(CHECK, calls(calculate("c1", "12*7")), held_reply("84 is right.", eve))
    server.script(GLUE, "All is glued.")
    app = open_team(open_app, server)
    app.send(GOAL)
    app.until(lambda: "done" in rendered(lane(app, "Dan")), "Dan is done")
    app.until(lambda: "18 tokens" in row(app, "Eve").accessibleName(), "Eve has used tokens")
    card = app.find("team-card")
    assert "3 sub-agents" in rendered(card)
    app.until(lambda: "1 of 3 done" in rendered(card), "the batch tells how far it is")
    app.until(lambda: "Measure the wall" in rendered(lane(app, "Bea")), "Measure the wall")
    app.until(lambda: "running" in rendered(lane(app, "Bea")), "Bea works")
    app.until(lambda: "0 of 1 sub-agents done" in rendered(lane(app, "Cid")), "0 of 1 sub-agents done")
    app.until(lambda: row(app, "Ada").accessibleName().startswith("Ada, waiting for sub-agents"), "the tree follows")
    app.until(lambda: row(app, "Cid").accessibleName().startswith("Cid, waiting for sub-agents"), "the tree follows")
    app.until(lambda: row(app, "Eve").accessibleName().startswith("Eve, running"), "the tree follows")
    app.until(lambda: rendered(app.find("status-usage")).startswith("72"), "the meter counts the complete team")
    server.free(bea)
    server.free(eve)
    app.until_reply("The shelf stands.")
    app.wait_done()
    app.until(lambda: "✓" in rendered(card), "✓")
    assert rendered(app.find("status-usage")).startswith("144")
    assert set(runs(app).values()) == {RunStatus.COMPLETED}
    results = newest_message(server.requests(GOAL)[1])
    assert [word in results for word in ("84 cm", "Three boards", "glued")] == [True, True, True]


def test_a_sub_agent_opens_as_a_transcript_of_its_own(open_app: OpenApp, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, system_prompt="You check.")), "The figures are right.")
    server.script(
        CHECK, calls(calculate("c1", "12*7"), text="I calculate."), held_reply("84 is right, whatever one does.", gate)
    )
    app = open_team(open_app, server)
    app.send(GOAL)
    app.click(app.until(lambda: lane(app, "Eve").findChildren(QAbstractButton, "lane-open"), "the lane opens")[0])
    page = app.find("agent-page")
    app.until(lambda: CHECK in rendered(page), "its prompt is shown")
    app.until(lambda: "84 is" in rendered(page), "what it writes is shown while it writes")
    assert "I calculate." in rendered(page)
    assert "Calculated" in rendered(page)
    assert "GOAL" not in rendered(page)
    server.free(gate)
    app.until(lambda: "whatever one does" in rendered(page), "its report is shown")
    app.until(lambda: not app.find_all("agent-input"), "an agent that has ended receives no messages")
    app.click("agent-back")
    app.until_hidden("agent-page")
    app.until_reply("The figures are right.")
    app.wait_done()
    assert "You check." in newest_message(server.requests(CHECK)[0], "system")
    app.click(lane(app, "Eve").findChildren(QAbstractButton, "lane-report")[0])
    app.until(lambda: "whatever one does" in rendered(lane(app, "Eve")), "the report unfolds in place")


def is_stop(icon: QIcon) -> bool:
    """Whether a picture is a filled square in a circle."""
    image = icon.pixmap(64, 64).toImage()
    side = image.width()

    def ink(x: float) -> int:
        """How much is painted at a part of its width, half way down."""
        return image.pixelColor(int(x * side), side // 2).alpha() if side else 0

    return ink(2 / 24) > 100 and ink(5.5 / 24) < 60 and all(ink(x / 24) > 200 for x in (10.5, 12, 13.5))


def test_stop_looks_the_same_wherever_it_is(open_app: OpenApp, server: ModelServer) -> None:
    bea, cid = script_parallel_agents(server)
    app = open_team(open_app, server)
    app.send(GOAL)
    row(app, "Bea")
    lane(app, "Cid")
    stops = {
        each.objectName(): each
        for each in app.window.findChildren(QAbstractButton)
        if each.accessibleName().startswith("Stop") and not each.icon().isNull()
    }
    assert {"stop-button", "agent-stop"} <= stops.keys()
    assert len(stops) >= 3, "a lane has one too"
    icons = {name: button.icon() for name, button in stops.items()}
    menu = QMenu(app.window)
    app.window.actions_.fill(menu)
    icons["menu"] = app.window.actions_["stop-run"].icon()
    quick = QuickAsk(app.bridge, app.window.chat.choices)
    icons["question from anywhere"] = quick.stop.icon()
    quick.deleteLater()
    assert [name for name, icon in icons.items() if not is_stop(icon)] == []
    assert not is_stop(theme().icon("circle-x")), "the look of something else"
    server.free(bea)
    server.free(cid)
    app.wait_done()


def test_one_sub_agent_is_stopped_from_the_tree(open_app: OpenApp, server: ModelServer) -> None:
    _bea, cid = script_parallel_agents(server)
    app = open_team(open_app, server)
    app.send(GOAL)
    press(app, row(app, "Bea"), "agent-stop")
    app.until(lambda: "stopped" in row(app, "Bea").accessibleName(), "Bea is stopped")
    app.until(lambda: "running" in row(app, "Cid").accessibleName(), "working")
    server.free(cid)
    app.until_reply("The shelf stands.")
    app.wait_done()
    assert runs(app) == {"Ada": RunStatus.COMPLETED, "Bea": RunStatus.CANCELLED, "Cid": RunStatus.COMPLETED}
    assert '"completed": 1' in newest_message(server.requests(GOAL)[1])
    app.until(lambda: "1 of 2 done" in rendered(app.find("team-card")), "1 of 2 done")


def test_the_whole_team_is_stopped(open_app: OpenApp, server: ModelServer) -> None:
    script_parallel_agents(server)
    app = open_team(open_app, server)
    app.send(GOAL)
    lane(app, "Cid")
    app.click("stop-button")
    app.wait_done()
    assert set(runs(app).values()) == {RunStatus.CANCELLED}
    for name in ("Bea", "Cid"):
        app.until(partial(lane_says, app, name, "stopped"), "it is shown as stopped")
    assert len(server.requests(GOAL)) == 1


def test_one_sub_agent_is_paused_alone(open_app: OpenApp, server: ModelServer) -> None:
    bea, cid = asyncio.Event(), asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT))), "The shelf stands.")
    server.script(MEASURE, calls(calculate("c1", "12*7"), hold_after=1, gate=bea), "The wall is 84 cm wide.")
    server.script(CUT, held_reply("Three boards were cut.", cid))
    app = open_team(open_app, server)
    app.send(GOAL)
    press(app, row(app, "Bea"), "agent-pause")
    app.settle()  # the engine receives it before Bea's reply has ended
    server.free(bea)
    app.until(lambda: "paused" in row(app, "Bea").accessibleName(), "Bea is paused")
    app.until(lambda: "running" in row(app, "Cid").accessibleName(), "working")
    server.free(cid)
    app.until(lambda: "done" in row(app, "Cid").accessibleName(), "Cid is done")
    press(app, row(app, "Bea"), "agent-pause")
    app.until_reply("The shelf stands.")
    app.wait_done()
    assert set(runs(app).values()) == {RunStatus.COMPLETED}


def test_a_message_reaches_a_sub_agent(open_app: OpenApp, server: ModelServer) -> None:
    bea = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Bea", MEASURE)), "Noted.")
    server.script(MEASURE, held_reply("84 cm.", bea), "83 cm without the skirting.")
    app = open_team(open_app, server)
    app.send(GOAL)
    line = row(app, "Bea")
    press(app, line, "agent-message")
    field = app.until(lambda: line.findChildren(QLineEdit, "agent-message-field"), "a line to write in")[0]
    app.type(field, "Leave out the skirting")
    app.press(field, Qt.Key.Key_Return)
    press(app, line, "agent-open")
    app.until(lambda: "Leave out the skirting" in rendered(app.find("agent-page")), "the message is in its transcript")
    server.free(bea)
    app.until(lambda: "83 cm" in rendered(app.find("agent-page")), "it answers")
    assert newest_message(server.requests(MEASURE)[1], "user") == "Leave out the skirting"
    app.click("agent-back")
    app.until_reply("Noted.")
    app.wait_done()
    assert "83 cm" in newest_message(server.requests(GOAL)[1])
    assert [rendered(each).split("\n")[0] for each in app.find_all("user-message")] == [GOAL]


def test_a_sub_agent_at_its_limit_waits_until_it_is_raised(open_app: OpenApp, server: ModelServer) -> None:
    usage = {"prompt_tokens": 12_000, "completion_tokens": 8_000, "total_tokens": 20_000}
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, budget={"max_tokens": 20_000})), "All checked.")
    server.script(CHECK, calls(calculate("c1", "12*7"), usage=usage), "84 is right.")
    app = open_team(open_app, server)
    app.send(GOAL)
    card = app.find("limit-card")
    app.until(lambda: "Eve: Token limit reached" in rendered(card), "the card shows agent and limit")
    assert f"{tokens(20_000)} of {tokens(20_000)} used" in rendered(card)
    app.until(lambda: "waiting for you" in rendered(app.find("team-card")), "the call shows that it waits")
    assert runs(app)["Eve"] is RunStatus.PAUSED
    app.click(app.find("notice-raise", within=app.window.chat))
    app.until_reply("All checked.")
    app.wait_done()
    app.until_hidden("limit-card")
    assert set(runs(app).values()) == {RunStatus.COMPLETED}


def next_step(app: AppDriver) -> str:
    """The step bar's announcement of the next step, once it can be clicked; empty when the turn has ended."""

    def state() -> list[str]:
        if app.find_all("step-bar") and app.find("step-next").isEnabled():
            return [rendered(app.find("step-text"))]
        return [""] if RunStatus.COMPLETED.value in statuses(app) else []

    return str(app.until(state, "it waits for a step, or is over")[0])


def statuses(app: AppDriver) -> list[str]:
    """The state of the run in each row of the tree's root."""
    members = app.window.rail.panes["activity"].tree.members  # type: ignore[attr-defined]
    return [member.status for member in members[:1]]


def test_a_team_goes_step_by_step(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "All checked.")
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.")
    app = open_team(open_app, server)
    app.action("step-mode")
    assert app.find("step-toggle").isVisible()
    app.send(GOAL)
    announced = []
    while waiting := next_step(app):
        announced.append(waiting)
        app.click("step-next")
    app.until_reply("All checked.")
    app.wait_done()
    assert announced == [
        "Next: Ada calls its model.",
        "Next: Ada runs “Sub-agent”.",
        "Next: Eve calls its model.",
        "Next: Eve runs “Calculator”.",
        "Next: Eve calls its model.",
        "Next: Ada calls its model.",
    ]


def test_a_finished_run_is_replayed_and_forked(open_app: OpenApp, server: ModelServer) -> None:
    server.script(
        GOAL, calls(spawn("s1", "Eve", CHECK), text="I have it checked."), "All checked.", "Checked once more."
    )
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.", "84 it is.")
    app = open_team(open_app, server)
    app.send(GOAL)
    app.until_reply("All checked.")
    app.wait_done()
    first = app.workflow_id
    app.action("replay-run")
    view = app.find("replay-view")
    scrubber = app.find("replay-scrubber", QSlider)
    app.until(lambda: "All checked." in rendered(view), "the end is shown")
    app.press(scrubber, Qt.Key.Key_Home)
    app.until(lambda: "event 1 of" in rendered(view) and "All checked." not in rendered(view), "the beginning is shown")
    events = []
    while scrubber.value() < scrubber.maximum():
        app.press(scrubber, Qt.Key.Key_Right)
        app.settle()
        events.append(
            (rendered(app.find("replay-event")), "Eve" in rendered(view), rendered(view).count("running") > 1)
        )
    assert ("Reply from Ada", False, False) in events
    assert ("Eve · Calculator ended", True, True) in events
    assert ("Eve is done", True, False) in events
    while rendered(app.find("replay-event")) != "Eve · Calculator ended":
        app.press(scrubber, Qt.Key.Key_Left)
        app.settle()
    assert (len(server.requests(GOAL)), len(server.requests(CHECK))) == (2, 2), "a replay asks no model"
    app.click("replay-fork")
    app.until(lambda: app.workflow_id != first, "the fork is shown")
    app.until_hidden("replay-view")
    app.until(lambda: "paused" in row(app, "Ada").accessibleName(), "it waits where it was forked")
    app.until(lambda: "paused" in row(app, "Eve").accessibleName(), "so does its sub-agent")
    press(app, row(app, "Ada"), "agent-pause")
    app.until_reply("Checked once more.")
    app.wait_done()
    assert '"result": 84' in newest_message(server.requests(CHECK)[2]), "calls before the fork are not repeated"
    assert set(runs(app).values()) == {RunStatus.COMPLETED}
    assert {run.status for run in app.engine(lambda a: a.repos.runs.list(first))} == {RunStatus.COMPLETED}

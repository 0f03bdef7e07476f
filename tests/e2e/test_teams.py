"""A team running in the window: lanes, tree and transcripts; stopping, pausing, messages, limits, stepping, replay."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QSlider, QWidget

from atelier_desk.domain.workflow import RunStatus
from atelier_desk.support.number_format import tokens
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, rendered
from tests.e2e.wire import ModelServer, batch, calculate, calls, config, held, hire, spawn, told

GOAL, MEASURE, CUT, GLUE, CHECK = (
    "Build the shelf",
    "Measure the wall",
    "Cut the boards",
    "Glue the parts",
    "Check the figures",
)


def open_team(open_desk: OpenDesk, server: ModelServer, **lead: Any) -> Desk:
    """The program with Ada, who leads, and Bea, Cid and Dan."""
    desk = open_desk(None)
    agents = [config("Ada", **lead), *(config(name) for name in ("Bea", "Cid", "Dan"))]
    desk.engine(lambda a: hire(a, server.provider, *agents))
    desk.settle()
    return desk


def lane(desk: Desk, name: str) -> QWidget:
    """Wait for the lane of a sub-agent."""
    return desk.until(
        lambda: [each for each in desk.all("agent-lane") if name in rendered(each).splitlines()], f"{name} has a lane"
    )[0]


def lane_says(desk: Desk, name: str, text: str) -> bool:
    return text in rendered(lane(desk, name))


def row(desk: Desk, name: str) -> QWidget:
    """Wait for an agent's row in the tree."""
    rows = desk.window.rail.panes["activity"].tree._rows  # type: ignore[attr-defined]
    found: list[QWidget] = desk.until(
        lambda: [each for each in rows.values() if each.name == name and each.isVisible()], f"{name} is in the tree"
    )
    return found[0]


def press(desk: Desk, within: QWidget, name: str) -> None:
    """Click a button of a widget. Row buttons are visible only under the pointer, but always accept clicks."""
    button = desk.until(lambda: within.findChildren(QAbstractButton, name), name)[0]
    desk.click(button)


def runs(desk: Desk) -> dict[str, RunStatus]:
    """The state of each agent's run."""
    return {run.agent_name: run.status for run in desk.engine(lambda a: a.repos.runs.list(desk.workflow_id))}


def share_out(server: ModelServer, *, then: str = "The shelf stands.") -> tuple[asyncio.Event, asyncio.Event]:
    """Ada starts Bea and Cid in parallel; both wait in the middle of their replies for their gates."""
    bea, cid = asyncio.Event(), asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT)), text="I share the work."), then)
    server.script(MEASURE, held("The wall is 84 cm wide.", bea))
    server.script(CUT, held("Three boards were cut.", cid))
    return bea, cid


def test_a_team_is_seen_at_work(open_desk: OpenDesk, server: ModelServer) -> None:
    bea, eve = asyncio.Event(), asyncio.Event()
    jobs = batch("p1", ("Bea", MEASURE), ("Cid", CUT), ("Dan", GLUE))
    server.script(GOAL, calls(jobs, text="I share the work."), "The shelf stands.")
    server.script(MEASURE, held("The wall is 84 cm wide.", bea))
    server.script(CUT, calls(spawn("s1", "Eve", CHECK)), "Three boards were cut.")
    server.script(CHECK, calls(calculate("c1", "12*7")), held("84 is right.", eve))
    server.script(GLUE, "All is glued.")
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    desk.until(lambda: "done" in rendered(lane(desk, "Dan")), "Dan is done")
    desk.until(lambda: "18 tokens" in row(desk, "Eve").accessibleName(), "Eve has used tokens")
    card = desk.find("team-card")
    assert "3 sub-agents" in rendered(card)
    desk.until(lambda: "1 of 3 done" in rendered(card), "the batch tells how far it is")
    desk.until(lambda: "Measure the wall" in rendered(lane(desk, "Bea")), "Measure the wall")
    desk.until(lambda: "running" in rendered(lane(desk, "Bea")), "Bea works")
    desk.until(lambda: "0 of 1 sub-agent done" in rendered(lane(desk, "Cid")), "0 of 1 sub-agent done")
    desk.until(lambda: row(desk, "Ada").accessibleName().startswith("Ada, waiting for sub-agents"), "the tree follows")
    desk.until(lambda: row(desk, "Cid").accessibleName().startswith("Cid, waiting for sub-agents"), "the tree follows")
    desk.until(lambda: row(desk, "Eve").accessibleName().startswith("Eve, running"), "the tree follows")
    desk.until(lambda: rendered(desk.find("status-usage")).startswith("72"), "the meter counts the whole team")
    server.free(bea)
    server.free(eve)
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    desk.until(lambda: "✓" in rendered(card), "✓")
    assert rendered(desk.find("status-usage")).startswith("144")
    assert set(runs(desk).values()) == {RunStatus.COMPLETED}
    results = told(server.requests(GOAL)[1])
    assert [word in results for word in ("84 cm", "Three boards", "glued")] == [True, True, True]


def test_a_sub_agent_opens_as_a_transcript_of_its_own(open_desk: OpenDesk, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, system_prompt="You check.")), "The figures are right.")
    server.script(
        CHECK, calls(calculate("c1", "12*7"), text="I calculate."), held("84 is right, whatever one does.", gate)
    )
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    desk.click(desk.until(lambda: lane(desk, "Eve").findChildren(QAbstractButton, "lane-open"), "the lane opens")[0])
    page = desk.find("agent-page")
    desk.until(lambda: CHECK in rendered(page), "its prompt is shown")
    desk.until(lambda: "84 is" in rendered(page), "what it writes is shown while it writes")
    assert "I calculate." in rendered(page)
    assert "Calculated" in rendered(page)
    assert "GOAL" not in rendered(page)
    server.free(gate)
    desk.until(lambda: "whatever one does" in rendered(page), "its report is shown")
    desk.until(lambda: not desk.all("agent-input"), "nobody can write to an agent that is over")
    desk.click("agent-back")
    desk.gone("agent-page")
    desk.last_reply("The figures are right.")
    desk.wait_done()
    assert "You check." in told(server.requests(CHECK)[0], "system")
    desk.click(lane(desk, "Eve").findChildren(QAbstractButton, "lane-report")[0])
    desk.until(lambda: "whatever one does" in rendered(lane(desk, "Eve")), "the report unfolds in place")


def test_one_sub_agent_is_stopped_from_the_tree(open_desk: OpenDesk, server: ModelServer) -> None:
    _bea, cid = share_out(server)
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    press(desk, row(desk, "Bea"), "agent-stop")
    desk.until(lambda: "stopped" in row(desk, "Bea").accessibleName(), "Bea is stopped")
    desk.until(lambda: "running" in row(desk, "Cid").accessibleName(), "working")
    server.free(cid)
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    assert runs(desk) == {"Ada": RunStatus.COMPLETED, "Bea": RunStatus.CANCELLED, "Cid": RunStatus.COMPLETED}
    assert '"completed": 1' in told(server.requests(GOAL)[1])
    desk.until(lambda: "1 of 2 done" in rendered(desk.find("team-card")), "1 of 2 done")


def test_the_whole_team_is_stopped(open_desk: OpenDesk, server: ModelServer) -> None:
    share_out(server)
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    lane(desk, "Cid")
    desk.click("stop-button")
    desk.wait_done()
    assert set(runs(desk).values()) == {RunStatus.CANCELLED}
    for name in ("Bea", "Cid"):
        desk.until(partial(lane_says, desk, name, "stopped"), "it is shown as stopped")
    assert len(server.requests(GOAL)) == 1


def test_a_team_is_paused_and_continues(open_desk: OpenDesk, server: ModelServer) -> None:
    bea, cid = share_out(server)
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    lane(desk, "Cid")
    press(desk, row(desk, "Ada"), "agent-pause")
    desk.until(lambda: runs(desk)["Ada"] is RunStatus.PAUSED, "the team is paused")
    server.free(bea)
    server.free(cid)
    desk.until(lambda: "paused" in row(desk, "Ada").accessibleName(), "the tree says so")
    assert len(server.requests(GOAL)) == 1
    press(desk, row(desk, "Ada"), "agent-pause")
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    assert set(runs(desk).values()) == {RunStatus.COMPLETED}


def test_one_sub_agent_is_paused_alone(open_desk: OpenDesk, server: ModelServer) -> None:
    bea, cid = asyncio.Event(), asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT))), "The shelf stands.")
    server.script(MEASURE, calls(calculate("c1", "12*7"), hold_after=1, gate=bea), "The wall is 84 cm wide.")
    server.script(CUT, held("Three boards were cut.", cid))
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    press(desk, row(desk, "Bea"), "agent-pause")
    desk.settle()  # the engine receives it before Bea's reply has ended
    server.free(bea)
    desk.until(lambda: "paused" in row(desk, "Bea").accessibleName(), "Bea is paused")
    desk.until(lambda: "running" in row(desk, "Cid").accessibleName(), "working")
    server.free(cid)
    desk.until(lambda: "done" in row(desk, "Cid").accessibleName(), "Cid is done")
    press(desk, row(desk, "Bea"), "agent-pause")
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    assert set(runs(desk).values()) == {RunStatus.COMPLETED}


def test_a_message_reaches_a_sub_agent(open_desk: OpenDesk, server: ModelServer) -> None:
    bea = asyncio.Event()
    server.script(GOAL, calls(spawn("s1", "Bea", MEASURE)), "Noted.")
    server.script(MEASURE, held("84 cm.", bea), "83 cm without the skirting.")
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    line = row(desk, "Bea")
    press(desk, line, "agent-message")
    field = desk.until(lambda: line.findChildren(QLineEdit, "agent-message-field"), "a line to write in")[0]
    desk.type(field, "Leave out the skirting")
    desk.press(field, Qt.Key.Key_Return)
    press(desk, line, "agent-open")
    desk.until(
        lambda: "Leave out the skirting" in rendered(desk.find("agent-page")), "the message is in its transcript"
    )
    server.free(bea)
    desk.until(lambda: "83 cm" in rendered(desk.find("agent-page")), "it answers")
    assert told(server.requests(MEASURE)[1], "user") == "Leave out the skirting"
    desk.click("agent-back")
    desk.last_reply("Noted.")
    desk.wait_done()
    assert "83 cm" in told(server.requests(GOAL)[1])
    assert [rendered(each).split("\n")[0] for each in desk.all("user-message")] == [GOAL]


def test_a_sub_agent_at_its_cap_waits_until_it_is_raised(open_desk: OpenDesk, server: ModelServer) -> None:
    usage = {"prompt_tokens": 12_000, "completion_tokens": 8_000, "total_tokens": 20_000}
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK, budget={"max_tokens": 20_000})), "All checked.")
    server.script(CHECK, calls(calculate("c1", "12*7"), usage=usage), "84 is right.")
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    card = desk.find("limit-card")
    desk.until(lambda: "Eve: Token limit reached" in rendered(card), "the card says who and what")
    assert f"{tokens(20_000)} of {tokens(20_000)} used" in rendered(card)
    desk.until(lambda: "waiting for you" in rendered(desk.find("team-card")), "the call says that it waits")
    assert runs(desk)["Eve"] is RunStatus.PAUSED
    desk.click("notice-raise")
    desk.last_reply("All checked.")
    desk.wait_done()
    desk.gone("limit-card")
    assert set(runs(desk).values()) == {RunStatus.COMPLETED}


def next_step(desk: Desk) -> str:
    """The step bar's announcement of the next step, once it can be clicked; empty when the turn has ended."""

    def state() -> list[str]:
        if desk.all("step-bar") and desk.find("step-next").isEnabled():
            return [rendered(desk.find("step-text"))]
        return [""] if RunStatus.COMPLETED.value in statuses(desk) else []

    return str(desk.until(state, "it waits for a step, or is over")[0])


def statuses(desk: Desk) -> list[str]:
    """The state of the run in each row of the tree's root."""
    members = desk.window.rail.panes["activity"].tree.members  # type: ignore[attr-defined]
    return [member.status for member in members[:1]]


def test_a_team_goes_step_by_step(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "All checked.")
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.")
    desk = open_team(open_desk, server)
    desk.action("step-mode")
    assert desk.find("step-toggle").isVisible()
    desk.send(GOAL)
    seen = []
    while waiting := next_step(desk):
        seen.append(waiting)
        desk.click("step-next")
    desk.last_reply("All checked.")
    desk.wait_done()
    assert seen == [
        "Next: Ada calls its model.",
        "Next: Ada runs Sub-agent.",
        "Next: Eve calls its model.",
        "Next: Eve runs Calculator.",
        "Next: Eve calls its model.",
        "Next: Ada calls its model.",
    ]


def test_a_finished_run_is_replayed_and_forked(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(
        GOAL, calls(spawn("s1", "Eve", CHECK), text="I have it checked."), "All checked.", "Checked once more."
    )
    server.script(CHECK, calls(calculate("c1", "12*7")), "84 is right.", "84 it is.")
    desk = open_team(open_desk, server)
    desk.send(GOAL)
    desk.last_reply("All checked.")
    desk.wait_done()
    first = desk.workflow_id
    desk.action("replay-run")
    view = desk.find("replay-view")
    scrubber = desk.find("replay-scrubber", QSlider)
    desk.until(lambda: "All checked." in rendered(view), "the end is shown")
    desk.press(scrubber, Qt.Key.Key_Home)
    desk.until(
        lambda: "event 1 of" in rendered(view) and "All checked." not in rendered(view), "the beginning is shown"
    )
    told_of = []
    while scrubber.value() < scrubber.maximum():
        desk.press(scrubber, Qt.Key.Key_Right)
        desk.settle()
        told_of.append(
            (rendered(desk.find("replay-event")), "Eve" in rendered(view), rendered(view).count("running") > 1)
        )
    assert ("Reply of Ada", False, False) in told_of
    assert ("Eve · Calculator ended", True, True) in told_of
    assert ("Eve is done", True, False) in told_of
    while rendered(desk.find("replay-event")) != "Eve · Calculator ended":
        desk.press(scrubber, Qt.Key.Key_Left)
        desk.settle()
    assert (len(server.requests(GOAL)), len(server.requests(CHECK))) == (2, 2), "a replay asks no model"
    desk.click("replay-fork")
    desk.until(lambda: desk.workflow_id != first, "the fork is shown")
    desk.gone("replay-view")
    desk.until(lambda: "paused" in row(desk, "Ada").accessibleName(), "it waits where it was forked")
    desk.until(lambda: "paused" in row(desk, "Eve").accessibleName(), "so does its sub-agent")
    press(desk, row(desk, "Ada"), "agent-pause")
    desk.last_reply("Checked once more.")
    desk.wait_done()
    assert '"result": 84' in told(server.requests(CHECK)[2]), "what was done before the fork is not done again"
    assert set(runs(desk).values()) == {RunStatus.COMPLETED}
    assert {run.status for run in desk.engine(lambda a: a.repos.runs.list(first))} == {RunStatus.COMPLETED}

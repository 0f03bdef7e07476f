"""Calls that wait for approval and sub-agents that wait for an answer: in transcript, inbox, after a restart."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QWidget

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.workflow import RunStatus
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child, rendered
from tests.e2e.wire import ModelServer, batch, calls, config, held, hire, spawn, told
from tests.support.servers.base import Call, Reply

GOAL, MEASURE, CUT, CHECK = "Build the shelf", "Measure the wall", "Cut the boards", "Check the figures"


def open_asking(open_desk: OpenDesk, server: ModelServer, **lead: Any) -> Desk:
    """The program with Ada, who must ask before she starts an agent, and Bea and Cid."""
    desk = open_desk(None)
    agents = [
        config("Ada", **{"approval": ApprovalMode.SELECTIVE, **lead}),
        config("Bea", approval=ApprovalMode.SELECTIVE),
        config("Cid"),
    ]
    desk.engine(lambda a: hire(a, server.provider, *agents))
    desk.settle()
    return desk


def card_in(desk: Desk, place: QWidget) -> QWidget:
    """Wait for the approval card in the conversation or the inbox."""
    found = desk.until(
        lambda: [each for each in place.findChildren(QWidget, "approval-card") if each.isVisible()],
        f"a card in {place.objectName()}",
    )
    assert len(found) == 1
    return found[0]


def in_chat(desk: Desk) -> QWidget:
    return card_in(desk, desk.window.chat)


def in_inbox(desk: Desk) -> QWidget:
    desk.action("show-questions")
    return card_in(desk, desk.find("question-inbox"))


def press(desk: Desk, card: QWidget, name: str) -> None:
    desk.click(child(card, QAbstractButton, name))


def waiting(desk: Desk) -> int:
    """The number shown at the inbox."""
    desk.action("show-questions")
    return int(rendered(desk.find("pending-count")))


def test_an_edited_call_is_allowed(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", "Chekc the figures"), text="I have it checked."), "All checked.")
    server.script(CHECK, "84 is right.")
    desk = open_asking(open_desk, server)
    desk.send(GOAL)
    card, other = in_chat(desk), in_inbox(desk)
    assert "Ada wants to start the agent Eve" in rendered(card)
    assert "medium risk" in rendered(card).lower()
    assert GOAL in desk.until_row("workflow-list", "1 approval waiting")
    press(desk, card, "approval-edit")
    field = child(card, QPlainTextEdit, "approval-arguments")
    arguments = json.loads(field.toPlainText())
    assert arguments["prompt"] == "Chekc the figures"
    field.selectAll()
    desk.type(field, "{")
    desk.until(lambda: child(card, QWidget, "approval-arguments-error").isVisible(), "what is wrong is said")
    assert not child(card, QAbstractButton, "approval-approve").isEnabled()
    field.selectAll()
    desk.type(field, json.dumps(arguments | {"prompt": CHECK}))
    desk.until(lambda: "Allow as edited" in rendered(other), "the card in the inbox follows")
    press(desk, card, "approval-approve")
    desk.last_reply("All checked.")
    desk.wait_done()
    assert told(server.requests(CHECK)[0], "user") == CHECK
    assert waiting(desk) == 0


def test_a_rejection_tells_the_agent_why(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "Then I check myself.")
    desk = open_asking(open_desk, server)
    desk.send(GOAL)
    card = in_chat(desk)
    reason = child(card, QPlainTextEdit, "approval-reason")
    assert not reason.isVisible()
    press(desk, card, "approval-reject")
    desk.type(reason, "Too dear for one sum")
    desk.press(reason, Qt.Key.Key_Return)
    desk.last_reply("Then I check myself.")
    desk.wait_done()
    assert "You rejected it: Too dear for one sum" in rendered(desk.window.chat)
    assert "Too dear for one sum" in told(server.requests(GOAL)[1])
    assert waiting(desk) == 0


def test_an_approval_for_the_run_is_asked_for_once(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(
        GOAL,
        calls(spawn("s1", "Eve", CHECK)),
        calls(spawn("s2", "Fay", CUT)),
        "Both are done.",
        calls(spawn("s3", "Gus", MEASURE)),
    )
    server.script(CHECK, "84 is right.")
    server.script(CUT, "Three boards.")
    desk = open_asking(open_desk, server)
    desk.send(GOAL)
    card = in_chat(desk)
    assert "Allow sub-agents in this run" in rendered(card)
    press(desk, card, "approval-run")
    desk.last_reply("Both are done.")
    desk.wait_done()
    assert len(desk.engine(lambda a: a.approvals.list(desk.workflow_id))) == 1
    desk.send("Once more")
    in_chat(desk)
    assert waiting(desk) == 1


def test_several_that_wait_together_are_one_card_with_one_yes(open_desk: OpenDesk, server: ModelServer) -> None:
    eve, fay, gus = (
        spawn(f"s{n}", name, task) for n, (name, task) in enumerate((("Eve", CHECK), ("Fay", CUT), ("Gus", MEASURE)))
    )
    server.script(GOAL, calls(eve, fay, gus), "All three are at work.", "All done.", "All done.")
    for task, said in ((CHECK, "84 is right."), (CUT, "Three boards."), (MEASURE, "84 cm.")):
        server.script(task, said)
    desk = open_asking(open_desk, server)
    desk.send(GOAL)
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "approval-group") if each.isVisible()],
        "the card",
    )[0]
    assert not [each for each in desk.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()]
    desk.until(lambda: "Allow all 3" in rendered(card), "all three are listed")
    said = rendered(card)
    for name in (
        "Ada asks for 3 approvals",
        "Start the agent Eve",
        "Start the agent Fay",
        "Start the agent Gus",
        "Allow all 3",
    ):
        assert name in said
    assert waiting(desk) == 3
    yes = child(card, QAbstractButton, "approval-allow-all")
    desk.click(yes)
    desk.until(lambda: waiting(desk) == 0, "nothing waits any more")
    desk.wait_done()
    assert [len(server.requests(task)) for task in (CHECK, CUT, MEASURE)] == [1, 1, 1]
    assert len(desk.engine(lambda a: a.approvals.list(desk.workflow_id))) == 3


def test_a_sub_agents_approval_says_who_stands_above_it(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(
        GOAL,
        calls(Call("DelegateTaskTool", {"operation": "delegate", "agent_id": "Bea", "prompt": MEASURE}, id="d1")),
        "Done.",
    )
    server.script(MEASURE, calls(spawn("s1", "Eve", CHECK)), "The wall is 84 cm wide.")
    server.script(CHECK, "84 is right.")
    server.script("Something else", "A quick answer.")
    desk = open_asking(open_desk, server, approval=ApprovalMode.AUTO)
    desk.send(GOAL)
    card, asking = in_chat(desk), desk.workflow_id
    assert "Ada → Bea" in rendered(card)
    assert "Bea wants to start the agent Eve" in rendered(card)
    desk.until_shown("team-card", "waiting for you")
    desk.click("new-workflow")
    desk.send("Something else")
    desk.last_reply("A quick answer.")
    desk.wait_done()
    there = in_inbox(desk)
    assert "Ada → Bea" in rendered(there)
    assert GOAL in rendered(there)
    press(desk, there, "approval-approve")
    desk.until(lambda: waiting(desk) == 0, "nothing waits any more")
    desk.click_row(desk.window.sidebar.list, GOAL)
    desk.until(lambda: desk.workflow_id == asking, "the first workflow is back")
    desk.last_reply("Done.")
    desk.wait_done()
    assert {run.status for run in desk.engine(lambda a: a.repos.runs.list(asking))} == {RunStatus.COMPLETED}


def test_after_a_restart_an_approval_still_waits(open_desk: OpenDesk, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "All checked.")
    server.script(CHECK, "84 is right.")
    first = open_asking(open_desk, server)
    first.send(GOAL)
    in_chat(first)
    first.close()
    desk = open_desk(None)
    card = in_chat(desk)
    assert waiting(desk) == 1
    assert len(server.requests(GOAL)) == 1
    press(desk, card, "approval-approve")
    desk.last_reply("All checked.")
    desk.wait_done()
    assert len(server.requests(CHECK)) == 1


def ask_parent(question: str) -> Reply:
    return calls(Call("wait_parent", {"message": question}, id="w1"))


def test_a_person_answers_what_a_sub_agent_asks_its_parent(open_desk: OpenDesk, server: ModelServer) -> None:
    cid = asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT))), "The shelf stands.")
    server.script(MEASURE, ask_parent("With the skirting?"), "83 cm.")
    server.script(CUT, held("Three boards.", cid))
    desk = open_asking(open_desk, server, approval=ApprovalMode.AUTO)
    desk.send(GOAL)
    desk.action("show-questions")
    inbox = desk.find("question-inbox")
    desk.until(lambda: "With the skirting?" in rendered(inbox), "the question is in the inbox")
    assert "Ada → Bea" in rendered(inbox)
    field = next(each for each in inbox.findChildren(QPlainTextEdit) if each.objectName().startswith("parent-answer-"))
    desk.type(field, "Without it")
    desk.press(field, Qt.Key.Key_Return)
    desk.until(lambda: len(server.requests(MEASURE)) == 2, "the agent goes on")
    assert "Without it" in told(server.requests(MEASURE)[1])
    desk.until(lambda: waiting(desk) == 0, "nothing waits any more")
    assert len(server.requests(GOAL)) == 1, "its parent was not asked"
    server.free(cid)
    desk.last_reply("The shelf stands.")
    desk.wait_done()


def test_the_parent_answers_in_its_own_turn(open_desk: OpenDesk, server: ModelServer) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        child = re.search(r'"child_id": ?"(\w+)"', told(body))
        assert child is not None
        return calls(Call("answer_child", {"child_id": child[1], "message": "Without it"}, id="a1"))

    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE))), answer, "The shelf stands.")
    server.script(MEASURE, ask_parent("With the skirting?"), "83 cm.")
    desk = open_asking(open_desk, server, approval=ApprovalMode.AUTO)
    desk.send(GOAL)
    desk.last_reply("The shelf stands.")
    desk.wait_done()
    assert "Without it" in told(server.requests(MEASURE)[1])
    assert "83 cm." in told(server.requests(GOAL)[2])
    assert waiting(desk) == 0

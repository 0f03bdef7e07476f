"""Calls that wait for approval and sub-agents that wait for an answer: in transcript, inbox, after a restart."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPlainTextEdit, QWidget

from atelier_desk.desktop.questions import approval_controller
from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.workflow import RunStatus
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import AppDriver, rendered
from tests.e2e.scripted_model_server import ModelServer, batch, calls, config, held_reply, hire, newest_message, spawn
from tests.helpers.child_widgets import child
from tests.helpers.servers.scripted_http_server import Call, Reply

GOAL, MEASURE, CUT, CHECK = "Build the shelf", "Measure the wall", "Cut the boards", "Check the figures"


def open_asking(open_app: OpenApp, server: ModelServer, **lead: Any) -> AppDriver:
    """The program with Ada, who must ask before she starts an agent, and Bea and Cid."""
    app = open_app(None)
    agents = [
        config("Ada", **{"approval": ApprovalMode.SELECTIVE, **lead}),
        config("Bea", approval=ApprovalMode.SELECTIVE),
        config("Cid"),
    ]
    app.engine(lambda a: hire(a, server.provider, *agents))
    app.settle()
    return app


def card_in(app: AppDriver, view: QWidget) -> QWidget:
    """Wait for the approval card in the conversation or the inbox."""
    found = app.until(
        lambda: [each for each in view.findChildren(QWidget, "approval-card") if each.isVisible()],
        f"a card in {view.objectName()}",
    )
    assert len(found) == 1
    return found[0]


def in_chat(app: AppDriver) -> QWidget:
    return card_in(app, app.window.chat)


def in_inbox(app: AppDriver) -> QWidget:
    app.action("show-questions")
    return card_in(app, app.find("question-inbox"))


def press(app: AppDriver, card: QWidget, name: str) -> None:
    app.click(child(card, QAbstractButton, name))


def waiting(app: AppDriver) -> int:
    """The number shown at the inbox."""
    app.action("show-questions")
    return int(rendered(app.find("pending-count")))


def test_an_edited_call_is_allowed(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", "Chekc the figures"), text="I have it checked."), "All checked.")
    server.script(CHECK, "84 is right.")
    app = open_asking(open_app, server)
    app.send(GOAL)
    card, other = in_chat(app), in_inbox(app)
    assert "Ada wants to start the agent Eve" in rendered(card)
    assert "medium risk" in rendered(card).lower()
    assert GOAL in app.until_row("workflow-list", "1 approval waiting")
    press(app, card, "approval-edit")
    field = child(card, QPlainTextEdit, "approval-arguments")
    arguments = json.loads(field.toPlainText())
    assert arguments["prompt"] == "Chekc the figures"
    field.selectAll()
    app.type(field, "{")
    app.until(lambda: child(card, QWidget, "approval-arguments-error").isVisible(), "the error is shown")
    assert not child(card, QAbstractButton, "approval-approve").isEnabled()
    field.selectAll()
    app.type(field, json.dumps(arguments | {"prompt": CHECK}))
    app.until(lambda: "Allow as edited" in rendered(other), "the card in the inbox follows")
    press(app, card, "approval-approve")
    app.until_reply("All checked.")
    app.wait_done()
    assert newest_message(server.requests(CHECK)[0], "user") == CHECK
    assert waiting(app) == 0


def test_a_card_that_just_appeared_takes_no_key(
    open_app: OpenApp, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval_controller, "SETTLE_S", 4.0)  # half a second, which a busy machine may take to show it
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK), text="I have it checked."), "All checked.")
    server.script(CHECK, "84 is right.")
    app = open_asking(open_app, server)
    app.send(GOAL)
    card = in_chat(app)
    approve = child(card, QAbstractButton, "approval-approve")
    for target, key in ((card, Qt.Key.Key_A), (approve, Qt.Key.Key_Return), (approve, Qt.Key.Key_Space)):
        app.press(target, key)
    assert (card.isVisible(), server.requests(CHECK)) == (True, [])
    app.until(approve.isEnabled, "it can be pressed now")
    app.press(card, Qt.Key.Key_A)
    app.until_reply("All checked.")
    app.wait_done()


def test_a_rejection_tells_the_agent_why(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "Then I check myself.")
    app = open_asking(open_app, server)
    app.send(GOAL)
    card = in_chat(app)
    reason = child(card, QPlainTextEdit, "approval-reason")
    assert not reason.isVisible()
    press(app, card, "approval-reject")
    app.type(reason, "Too dear for one sum")
    app.press(reason, Qt.Key.Key_Return)
    app.until_reply("Then I check myself.")
    app.wait_done()
    assert "You rejected this call: Too dear for one sum" in rendered(app.window.chat)
    assert "Too dear for one sum" in newest_message(server.requests(GOAL)[1])
    assert waiting(app) == 0


def test_an_approval_for_the_run_is_requested_once(open_app: OpenApp, server: ModelServer) -> None:
    server.script(
        GOAL,
        calls(spawn("s1", "Eve", CHECK)),
        calls(spawn("s2", "Fay", CUT)),
        "Both are done.",
        calls(spawn("s3", "Gus", MEASURE)),
    )
    server.script(CHECK, "84 is right.")
    server.script(CUT, "Three boards.")
    app = open_asking(open_app, server)
    app.send(GOAL)
    card = in_chat(app)
    assert "Allow sub-agents in this run" in rendered(card)
    press(app, card, "approval-run")
    app.until_reply("Both are done.")
    app.wait_done()
    assert len(app.engine(lambda a: a.approvals.list(app.workflow_id))) == 1
    app.send("Once more")
    in_chat(app)
    assert waiting(app) == 1


def test_calls_that_wait_together_share_one_card_and_one_approval(open_app: OpenApp, server: ModelServer) -> None:
    eve, fay, gus = (
        spawn(f"s{n}", name, task) for n, (name, task) in enumerate((("Eve", CHECK), ("Fay", CUT), ("Gus", MEASURE)))
    )
    server.script(GOAL, calls(eve, fay, gus), "All three are at work.", "All done.", "All done.")
    for task, text in ((CHECK, "84 is right."), (CUT, "Three boards."), (MEASURE, "84 cm.")):
        server.script(task, text)
    app = open_asking(open_app, server)
    app.send(GOAL)
    card = app.until(
        lambda: [each for each in app.window.chat.findChildren(QWidget, "approval-group") if each.isVisible()],
        "the card",
    )[0]
    assert not [each for each in app.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()]
    app.until(lambda: "Allow all 3" in rendered(card), "all three are listed")
    text = rendered(card)
    for name in (
        "Ada asks for 3 approvals",
        "Start the agent Eve",
        "Start the agent Fay",
        "Start the agent Gus",
        "Allow all 3",
    ):
        assert name in text
    assert waiting(app) == 3
    yes = child(card, QAbstractButton, "approval-allow-all")
    app.click(yes)
    app.until(lambda: waiting(app) == 0, "nothing waits any more")
    app.wait_done()
    assert [len(server.requests(task)) for task in (CHECK, CUT, MEASURE)] == [1, 1, 1]
    assert len(app.engine(lambda a: a.approvals.list(app.workflow_id))) == 3


def test_a_sub_agents_approval_names_the_agents_above_it(open_app: OpenApp, server: ModelServer) -> None:
    server.script(
        GOAL,
        calls(Call("DelegateTaskTool", {"operation": "delegate", "agent_id": "Bea", "prompt": MEASURE}, id="d1")),
        "Done.",
    )
    server.script(MEASURE, calls(spawn("s1", "Eve", CHECK)), "The wall is 84 cm wide.")
    server.script(CHECK, "84 is right.")
    server.script("Something else", "A quick answer.")
    app = open_asking(open_app, server, approval=ApprovalMode.AUTO)
    app.send(GOAL)
    card, asking = in_chat(app), app.workflow_id
    assert "Ada → Bea" in rendered(card)
    assert "Bea wants to start the agent Eve" in rendered(card)
    app.until_text("team-card", "waiting for you")
    app.click("new-workflow")
    app.send("Something else")
    app.until_reply("A quick answer.")
    app.wait_done()
    inbox_card = in_inbox(app)
    assert "Ada → Bea" in rendered(inbox_card)
    assert GOAL in rendered(inbox_card)
    press(app, inbox_card, "approval-approve")
    app.until(lambda: waiting(app) == 0, "nothing waits any more")
    app.click_row(app.window.sidebar.list, GOAL)
    app.until(lambda: app.workflow_id == asking, "the first workflow is back")
    app.until_reply("Done.")
    app.wait_done()
    assert {run.status for run in app.engine(lambda a: a.repos.runs.list(asking))} == {RunStatus.COMPLETED}


def test_after_a_restart_an_approval_still_waits(open_app: OpenApp, server: ModelServer) -> None:
    server.script(GOAL, calls(spawn("s1", "Eve", CHECK)), "All checked.")
    server.script(CHECK, "84 is right.")
    first = open_asking(open_app, server)
    first.send(GOAL)
    in_chat(first)
    first.close()
    app = open_app(None)
    card = in_chat(app)
    assert waiting(app) == 1
    assert len(server.requests(GOAL)) == 1
    press(app, card, "approval-approve")
    app.until_reply("All checked.")
    app.wait_done()
    assert len(server.requests(CHECK)) == 1


def ask_parent(question: str) -> Reply:
    return calls(Call("wait_parent", {"message": question}, id="w1"))


def test_a_person_answers_what_a_sub_agent_asks_its_parent(open_app: OpenApp, server: ModelServer) -> None:
    cid = asyncio.Event()
    server.script(GOAL, calls(batch("p1", ("Bea", MEASURE), ("Cid", CUT))), "The shelf stands.")
    server.script(MEASURE, ask_parent("With the skirting?"), "83 cm.")
    server.script(CUT, held_reply("Three boards.", cid))
    app = open_asking(open_app, server, approval=ApprovalMode.AUTO)
    app.send(GOAL)
    app.action("show-questions")
    inbox = app.find("question-inbox")
    app.until(lambda: "With the skirting?" in rendered(inbox), "the question is in the inbox")
    assert "Ada → Bea" in rendered(inbox)
    field = next(each for each in inbox.findChildren(QPlainTextEdit) if each.objectName().startswith("parent-answer-"))
    app.type(field, "Without it")
    app.press(field, Qt.Key.Key_Return)
    app.until(lambda: len(server.requests(MEASURE)) == 2, "the agent continues")
    assert "Without it" in newest_message(server.requests(MEASURE)[1])
    app.until(lambda: waiting(app) == 0, "nothing waits any more")
    assert len(server.requests(GOAL)) == 1, "its parent got no request"
    server.free(cid)
    app.until_reply("The shelf stands.")
    app.wait_done()

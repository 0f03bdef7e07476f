"""The inbox: what waits, failed or finished unseen, over all workflows."""

from __future__ import annotations

import asyncio

from atelier_desk.domain.errors import ProviderError
from tests.e2e.conftest import OpenApp
from tests.e2e.harness import rendered
from tests.e2e.scripted_model_server import ModelServer, config, held_reply, hire
from tests.e2e.scripted_tool_calls import ask_user


def test_one_list_has_what_waits_failed_or_finished(open_app: OpenApp) -> None:
    failure = ProviderError("The server is on fire.", code="unavailable", recoverable=True)
    app = open_app([[ask_user("q1", "Which colour?", "text")], failure, "Hello."])
    app.send("Paint it")
    app.find("user-question-modal")
    app.click("new-workflow")
    app.send("Fail, please")
    app.find("notice-retry")
    app.wait_done()
    failed = app.workflow_id
    app.engine(lambda a: a.workflows.set_unread(failed, True))
    app.click("new-workflow")
    app.send("Greet me")
    app.until_reply("Hello.")
    app.wait_done()
    app.action("show-questions")
    inbox = app.until_text("question-inbox", "Failed or interrupted")
    app.until(lambda: "Which colour?" in rendered(inbox), "the question is listed")
    assert "Fail, please" in rendered(app.find(f"inbox-ended-{failed}"))
    assert rendered(app.find("pending-count")) == "1"
    app.click(f"inbox-show-{failed}")
    app.until(lambda: app.workflow_id == failed, "the workflow is shown")
    app.until_hidden(f"inbox-ended-{failed}")


def test_work_that_finishes_unseen_is_listed_until_dismissed(open_app: OpenApp, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script("Write a letter", held_reply("Dear reader.", gate))
    app = open_app(None)
    app.engine(lambda a: hire(a, server.provider, config("Ada")))
    app.settle()
    app.send("Write a letter")
    app.until_reply("Dear")
    workflow_id = app.workflow_id
    app.click("new-workflow")
    app.action("show-questions")
    server.free(gate)
    card = app.find(f"inbox-ended-{workflow_id}")
    assert "done" in rendered(card)
    app.click(f"inbox-dismiss-{workflow_id}")
    app.until_hidden(f"inbox-ended-{workflow_id}")
    assert not app.engine(lambda a: a.workflows.get(workflow_id)).unread

"""The inbox: what waits, failed or finished unseen, over all workflows."""

from __future__ import annotations

import asyncio

from atelier_desk.domain.errors import ProviderError
from tests.e2e.asking import ask
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import rendered
from tests.e2e.wire import ModelServer, config, held, hire


def test_one_list_of_what_waits_failed_and_finished(open_desk: OpenDesk) -> None:
    failure = ProviderError("The server is on fire.", code="unavailable", recoverable=True)
    desk = open_desk([[ask("q1", "Which colour?", "text")], failure, "Hello."])
    desk.send("Paint it")
    desk.find("user-question-modal")
    desk.click("new-workflow")
    desk.send("Fail, please")
    desk.find("notice-retry")
    desk.wait_done()
    failed = desk.workflow_id
    desk.engine(lambda a: a.workflows.set_unread(failed, True))
    desk.click("new-workflow")
    desk.send("Greet me")
    desk.last_reply("Hello.")
    desk.wait_done()
    desk.action("show-questions")
    inbox = desk.until_shown("question-inbox", "Failed or interrupted")
    desk.until(lambda: "Which colour?" in rendered(inbox), "the question is listed")
    assert "Fail, please" in rendered(desk.find(f"inbox-ended-{failed}"))
    assert rendered(desk.find("pending-count")) == "1"
    desk.click(f"inbox-show-{failed}")
    desk.until(lambda: desk.workflow_id == failed, "the workflow is shown")
    desk.gone(f"inbox-ended-{failed}")


def test_what_finishes_out_of_sight_is_news_until_it_is_dismissed(open_desk: OpenDesk, server: ModelServer) -> None:
    gate = asyncio.Event()
    server.script("Write a letter", held("Dear reader.", gate))
    desk = open_desk(None)
    desk.engine(lambda a: hire(a, server.provider, config("Ada")))
    desk.settle()
    desk.send("Write a letter")
    desk.last_reply("Dear")
    workflow_id = desk.workflow_id
    desk.click("new-workflow")
    desk.action("show-questions")
    server.free(gate)
    card = desk.find(f"inbox-ended-{workflow_id}")
    assert "done" in rendered(card)
    desk.click(f"inbox-dismiss-{workflow_id}")
    desk.gone(f"inbox-ended-{workflow_id}")
    assert not desk.engine(lambda a: a.workflows.get(workflow_id)).unread

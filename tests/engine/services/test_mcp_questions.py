"""Questions of MCP servers during a call: with both protocol versions, over HTTP and standard input, answered,
refused, and across a restart.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.errors import ConflictError, UsageError
from atelier_desk.domain.events.run import LimitKind, SampledForServer, ToolCallFinished
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.question import QuestionStatus, QuestionType, UserQuestion
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.mcp.connection import Connection
from atelier_desk.policy import budget
from tests.engine.conftest import Opener, stored_status
from tests.helpers.form_answers import form_answer
from tests.helpers.runs_without_driver import agent
from tests.helpers.servers import mcp_elicitation_and_sampling
from tests.helpers.servers.mcp_sign_in import served
from tests.helpers.tool_calls import tool_call

# On a busy machine the HTTP client may drop an unread stream of the older protocol when the server of a test ends:
# that is its own noise.
pytestmark = pytest.mark.filterwarnings("ignore:.*AsyncResponseStream:pytest.PytestUnraisableExceptionWarning")

FREE = agent(tools=(), mcp_servers=("asks",), approval=ApprovalMode.AUTO)
WHO = {
    "name": "Ada",
    "mail": "ada@example.org",
    "day": "2026-12-01",
    "seats": 2,
    "window": False,
    "class": "1",
    "extras": ["bike"],
}


@pytest.fixture(params=["newest", "older"])
def era(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "older":
        monkeypatch.setattr(Connection, "mode", "legacy")
    return str(request.param)


@asynccontextmanager
async def at_server(atelier: Atelier, **fields: Any) -> AsyncIterator[list[Any]]:
    """The server over HTTP, known to Atelier; yields the answers it received."""
    seen: list[Any] = []
    async with served(mcp_elicitation_and_sampling.made(seen.append).streamable_http_app()) as address:
        await atelier.mcp.save(McpServer(name="asks", transport="http", url=f"{address}/mcp", **fields), new=True)
        assert (await atelier.mcp.test("asks")).ok
        try:
            yield seen
        finally:
            await atelier.mcp.stop("asks")


def calling(tool: str, *more: Any) -> ScriptedModel:
    return ScriptedModel([[tool_call(f"mcp__asks__{tool}", "c1")], *more, "Done."])


async def begun(atelier: Atelier, config: Any = FREE) -> str:
    """A run whose call has started."""
    workflow = await atelier.workflows.create("asks")
    return await atelier.runs.send(workflow.id, "Go", agent=config)


async def asked(atelier: Atelier) -> UserQuestion:
    async with asyncio.timeout(20):
        while not (pending := await atelier.questions.pending()):
            await asyncio.sleep(0.01)
    return pending[0]


async def result(atelier: Atelier, run_id: str) -> dict[str, Any]:
    """The result of the call, once the run has ended."""
    async with asyncio.timeout(20):
        await atelier.runs.wait(run_id)
    events = [event.body for event in await run_events(atelier.repos, run_id)]
    return next(body.result for body in events if isinstance(body, ToolCallFinished))


async def test_a_form_is_filled_in_and_only_its_server_gets_the_answers(open_atelier: Opener, era: str) -> None:
    model = calling("book")
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        spec = question.spec
        assert (spec.question_type, spec.question) == (QuestionType.FORM, "Who travels?")
        assert spec.asker is not None
        assert (spec.asker.server, spec.asker.live) == ("asks", era == "older")
        assert await stored_status(atelier, run_id) is RunStatus.AWAITING_USER
        assert spec.form is not None
        assert [field.kind.value for field in spec.form.fields] == [
            "text", "text", "text", "integer", "number", "boolean", "choice", "choice", "choices", "choices",
        ]  # fmt: skip
        assert spec.form.defaults() == {"day": "2026-11-23", "seats": 1, "window": True, "class": "2"}
        for wrong, said in (
            ({"name": "A"}, "minimum length is 2"),
            ({**WHO, "seats": 9}, "at most 4"),
            ({**WHO, "extras": ["bag", "bike"]}, "at most 1"),
        ):
            with pytest.raises(UsageError, match=said):
                await atelier.questions.answer(question.id, form_answer(wrong))
        await atelier.questions.answer(question.id, form_answer(WHO))
        assert (await result(atelier, run_id))["text"] == "book: done"
        sent = {"action": "accept", "content": WHO}
        assert seen == ([{"who": sent}] if era == "newest" else [sent])
        assert "ada@example.org" not in "".join(request.model_dump_json() for request in model.requests)


@pytest.mark.parametrize(("end", "action"), [("decline", "decline"), ("skip", "cancel")])
async def test_declining_and_cancelling_are_distinguished(
    open_atelier: Opener, era: str, end: str, action: str
) -> None:
    async with open_atelier(calling("book")) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        if end == "skip":
            await atelier.questions.skip(question.id)
        else:
            await atelier.questions.answer_with(question.id, ["decline"])
        await result(atelier, run_id)
        assert seen == ([{"who": {"action": action}}] if era == "newest" else [{"action": action}])


async def test_a_page_is_shown_with_its_host_and_never_loaded(open_atelier: Opener, era: str) -> None:
    async with open_atelier(calling("pay")) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        assert (question.spec.question_type, question.spec.url) == (QuestionType.URL, mcp_elicitation_and_sampling.URL)
        await atelier.questions.answer_with(question.id, ["accept"])
        await result(atelier, run_id)
        assert seen == ([{"page": {"action": "accept"}}] if era == "newest" else [{"action": "accept"}])


async def test_a_form_that_asks_for_a_secret_is_declined_automatically(open_atelier: Opener, era: str) -> None:
    async with open_atelier(calling("steal")) as atelier, at_server(atelier) as seen:
        given = await result(atelier, await begun(atelier))
        assert await atelier.questions.list((await atelier.workflows.list())[0].id) == []
        assert "asks for a secret (apiKey)" in given["note"]
        assert seen == ([{"secret": {"action": "decline"}}] if era == "newest" else [{"action": "decline"}])
        assert "secret" in (await atelier.mcp.log("asks"))[-1].text


async def test_an_approved_model_request_is_answered_and_counted(open_atelier: Opener, era: str) -> None:
    model = calling("think", "Blue.")
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        sampling = question.spec.sampling
        assert sampling is not None
        said = (sampling.model, sampling.max_tokens, sampling.system, sampling.messages[0].text)
        assert said == ("scripted", 50, "Be brief.", "Name a colour.")
        before = (await atelier.repos.runs.get(run_id)).usage
        assert len(model.requests) == 1, "nothing is asked of a model before a person allowed it"
        await atelier.questions.answer_with(question.id, ["accept"])
        await result(atelier, run_id)
        request = model.requests[1]
        assert [message.content for message in request.messages] == ["Be brief.", "Name a colour."]
        assert (request.max_tokens, request.tools) == (50, ())
        (answer,) = seen
        answer = answer["thought"] if era == "newest" else answer
        assert (answer["content"]["text"], answer["model"], answer["stopReason"]) == ("Blue.", "scripted", "endTurn")
        (sampled,) = [
            event.body for event in await run_events(atelier.repos, run_id) if isinstance(event.body, SampledForServer)
        ]
        assert sampled.usage.tokens_input > 0
        usage = (await atelier.repos.runs.get(run_id)).usage
        assert usage.tokens_input > before.tokens_input + sampled.usage.tokens_input


async def test_a_model_request_is_counted_when_its_server_disconnects(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "mode", "legacy")
    model = calling("think", "Blue as the sea on a day without wind.")
    async with open_atelier(model) as atelier, at_server(atelier):
        run_id = await begun(atelier)
        question = await asked(atelier)
        model.gate = asyncio.Event()
        await atelier.questions.answer_with(question.id, ["accept"])
        async with asyncio.timeout(20):
            while len(model.requests) < 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0)
        await atelier.mcp.stop("asks")
        async with asyncio.timeout(20):
            while not (
                found := [
                    each.body
                    for each in await run_events(atelier.repos, run_id)
                    if isinstance(each.body, SampledForServer)
                ]
            ):
                await asyncio.sleep(0.01)
        model.gate.set()
        await result(atelier, run_id)
        (spent,) = found
        assert spent.usage.tokens_input > 0
        assert (await atelier.repos.runs.get(run_id)).usage.tokens_input > spent.usage.tokens_input


async def test_a_model_request_without_approval_is_not_sent(open_atelier: Opener, era: str) -> None:
    model = calling("think")
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        await atelier.questions.answer_with((await asked(atelier)).id, ["decline"])
        given = await result(atelier, run_id)
        if era == "newest":
            assert (given["code"], seen) == ("declined", [])
        else:
            assert "rejected" in given["text"]
        assert len(model.requests) == 2


async def test_limits_of_the_run_apply_to_a_servers_request_too(
    open_atelier: Opener, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = calling("think", "Blue.")
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        with monkeypatch.context() as full:
            full.setattr(
                "atelier_desk.policy.budget.reserve",
                lambda *_, **__: budget.ReachedLimit(LimitKind.TOKENS, 99.0, 100.0),
            )
            await atelier.questions.answer_with(question.id, ["accept"])
            async with asyncio.timeout(20):
                while await stored_status(atelier, run_id) is not RunStatus.PAUSED:
                    await asyncio.sleep(0.01)
        assert len(model.requests) == 1, "there was no room for it"
        if era == "older":
            assert "do not allow another request" in seen[0]
            return
        await atelier.runs.steering.resume(run_id)
        assert (await result(atelier, run_id))["text"] == "think: done"


async def test_granted_folders_are_reported_where_the_owner_allows_it(
    open_atelier: Opener, era: str, tmp_path: Path
) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    (allowed / "site").mkdir(parents=True)
    other.mkdir()
    model = ScriptedModel([[tool_call("mcp__asks__where", f"c{n}")] if n % 2 else "Done." for n in (1, 2, 3, 4)])
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        workflow = await atelier.workflows.create("roots", workspace=(str(allowed / "site"), str(other)))
        await result(atelier, await atelier.runs.send(workflow.id, "Go", agent=FREE))
        await atelier.mcp.let_know("asks", [str(allowed)])
        await result(atelier, await atelier.runs.send(workflow.id, "Go", agent=FREE))
        told = [answer["roots"] if era == "newest" else answer for answer in seen]
        assert told == [{"roots": []}, {"roots": [{"uri": (allowed / "site").as_uri(), "name": "site"}]}]


async def test_log_messages_of_a_server_are_stored_for_people(open_atelier: Opener, era: str) -> None:
    async with open_atelier(calling("talk")) as atelier, at_server(atelier):
        assert (await result(atelier, await begun(atelier)))["text"] == "talked"
        (line,) = await atelier.mcp.log("asks")
        assert (line.level, line.logger, line.text) == ("warning", "store", '{"disk": "nearly full"}')


async def test_several_questions_at_once_and_a_deferred_call(open_atelier: Opener) -> None:
    model = ScriptedModel(
        [
            [
                tool_call("mcp__asks__both", "c1"),
                tool_call("mcp__asks__later", "c2"),
            ],
            "Green.",
            "Done.",
        ]
    )
    async with open_atelier(model) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        first = await asked(atelier)
        await atelier.questions.answer(first.id, form_answer(WHO))
        second = await asked(atelier)
        assert (first.spec.question_type, second.spec.question_type) == (QuestionType.FORM, QuestionType.SAMPLING)
        await atelier.questions.answer_with(second.id, ["accept"])
        await result(atelier, run_id)
        (answers,) = seen
        assert sorted(answers) == ["roots", "thought", "who"]
        entries = await atelier.workflows.transcript(first.workflow_id)
        shown = [question for entry in entries for question in entry.questions]
        assert [question.id for question in shown] == [first.id, second.id], (
            "what was asked is shown after a reload, too"
        )
        assert "Window" in shown[0].answer
        events = [event.body for event in await run_events(atelier.repos, run_id)]
        texts = [body.result["text"] for body in events if isinstance(body, ToolCallFinished)]
        assert sorted(texts) == ["both: done", "ready after 2"]


async def test_a_server_that_asks_endlessly_is_abandoned(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atelier_desk.engine.run.mcp_server_requests.MOST_ROUNDS", 2)
    async with open_atelier(calling("endless")) as atelier, at_server(atelier):
        run_id = await begun(atelier)
        for _round in range(2):
            await atelier.questions.answer_with((await asked(atelier)).id, ["decline"])
        assert (await result(atelier, run_id))["code"] == "asks_too_much"


def stdio(notes: Path) -> McpServer:
    return McpServer(
        name="asks",
        command=sys.executable,
        args=("-m", "tests.helpers.servers.mcp_elicitation_and_sampling", str(notes)),
        folder=str(Path.cwd()),
    )


async def test_input_is_given_after_program_and_server_were_restarted(open_atelier: Opener, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with open_atelier(calling("book")) as atelier:
        await atelier.mcp.save(stdio(notes), new=True)
        assert (await atelier.mcp.test("asks")).ok
        run_id = await begun(atelier)
        question = await asked(atelier)
    async with open_atelier(["Done."]) as atelier:
        assert (await asked(atelier)).id == question.id
        await atelier.questions.answer(question.id, form_answer(WHO))
        assert (await result(atelier, run_id))["text"] == "book: done"
    assert [json.loads(line) for line in notes.read_text().splitlines()] == [
        {"who": {"action": "accept", "content": WHO}}
    ]


async def test_a_waiting_session_is_lost_with_the_program_and_the_call_reports_it(
    open_atelier: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "mode", "legacy")
    async with open_atelier(calling("book")) as atelier:
        await atelier.mcp.save(stdio(tmp_path / "notes"), new=True)
        assert (await atelier.mcp.test("asks")).ok
        run_id = await begun(atelier)
        question = await asked(atelier)
    async with open_atelier(["Done."]) as atelier:
        assert await atelier.questions.pending() == []
        assert (await atelier.questions.get(question.id)).status is QuestionStatus.SKIPPED
        with pytest.raises(ConflictError):
            await atelier.questions.answer(question.id, form_answer(WHO))
        assert await stored_status(atelier, run_id) is RunStatus.INTERRUPTED
        await atelier.runs.recovery.resume_all()
        given = await result(atelier, run_id)
        assert given["code"] == "session_lost"
        assert "MCP server asks" in given["error"]


async def test_waiting_for_a_person_is_not_counted_as_time_of_the_call(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Connection, "mode", "legacy")
    async with open_atelier(calling("book")) as atelier, at_server(atelier):
        run_id = await begun(atelier)
        question = await asked(atelier)
        (serving,) = atelier.mcp._connections["asks"].answers.open
        assert serving.limit is not None
        assert serving.limit.when() is None
        await atelier.questions.answer(question.id, form_answer(WHO))
        assert (await result(atelier, run_id))["text"] == "book: done"


async def test_an_imported_workflow_repeats_no_call_that_nobody_here_was_asked_about(open_atelier: Opener) -> None:
    async with open_atelier(calling("book")) as atelier, at_server(atelier) as seen:
        run_id = await begun(atelier)
        question = await asked(atelier)
        file = await atelier.workflows.export(question.workflow_id)
        await atelier.questions.skip(question.id)
        await result(atelier, run_id)
        seen.clear()
        await atelier.workflows.import_(file, "rename")
        copy = next(each for each in await atelier.workflows.list() if each.id != question.workflow_id)
        assert await atelier.questions.pending() == []
        (row,) = await atelier.repos.runs.list(copy.id)
        assert row.status is RunStatus.PAUSED
        assert (await atelier.workflows.get(copy.id)).pending_questions == 0
        await atelier.runs.steering.resume(row.id)
        assert (await result(atelier, row.id))["code"] == "imported"
        assert seen == []

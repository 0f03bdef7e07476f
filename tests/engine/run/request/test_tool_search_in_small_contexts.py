"""The built-in agents on models with a small context: tools that do not fit are found by search, then called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode, SearchScope, ToolDialect, ToolMode
from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.events.run import ModelReplied, RunFailed, ToolCallFinished, WindowLearned
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.engine.run.request import tool_search
from atelier_desk.engine.services.agent_gallery import builtin_agents
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.tools.registry.tool_modes import Toolset
from tests.engine.conftest import Opener, create_workflow
from tests.engine.run.request.small_context_models import SMALL, on_window
from tests.engine.services.inspected_requests import assert_exact, conversation_requests, inspected
from tests.helpers.runs_without_driver import Script, agent, call, finished, reply, started
from tests.helpers.tool_calls import tool_call

REGISTRY = create_default_tool_registry()
ASSISTANT, LEAD = builtin_agents(REGISTRY)


def search(id: str, query: str) -> ToolCall:
    return tool_call("search_tools", id, query=query)


def read(id: str) -> ToolCall:
    return tool_call("read_file", id, path="a.txt")


def names(request: Any) -> list[str]:
    return [each.name for each in request.tools]


async def turn(
    atelier: Atelier, workflow_id: str, config: AgentConfig = ASSISTANT, text: str = "Go"
) -> tuple[str, list[dict[str, Any]]]:
    """How the turn ended, and the results of its calls."""
    run_id = await atelier.runs.send(workflow_id, text, agent=config.model_copy(update={"approval": ApprovalMode.AUTO}))
    ended = await atelier.runs.wait(run_id)
    events = await atelier.repos.journal.events(run_id)
    return ended.status.value, [event.body.result for event in events if isinstance(event.body, ToolCallFinished)]


def tools_of(config: AgentConfig = ASSISTANT, *, depth: int = 0, workspace: bool = True) -> Toolset:
    enabled = REGISTRY.configured(config.tools, config.sections, workspace=workspace)
    return Toolset.of(REGISTRY, enabled, mode=config.tool_mode, depth=depth, max_depth=3)


def scope(window: int, config: AgentConfig = ASSISTANT, *, workspace: bool = True, **state: Any) -> SearchScope | None:
    """The tools that the next request has to search for with a context of this many tokens."""
    asked = RunState(run_id="r", workflow_id="w", agent=config, max_depth=3, **state)
    found = tool_search.searched(tools_of(config, depth=asked.depth, workspace=workspace), asked, window)
    return found.search.scope if found is not None else None


async def test_without_a_folder_the_agent_answers_and_calls_the_tools_it_finds(open_atelier: Opener) -> None:
    add = tool_call("CalculatorTool", operation="eval", expression="6 * 7")
    model = ScriptedModel(["Hello.", [search("a", "read_file")], [search("b", "calculate")], [add], "42."])
    async with open_atelier(model) as atelier:
        on_window(atelier, model)
        workflow_id = await create_workflow(atelier)
        assert await turn(atelier, workflow_id) == ("completed", [])
        status, results = await turn(atelier, workflow_id)
        assert status == "completed"
        assert "read_file" not in [each["name"] for each in results[0]["found"]], "there is no folder to read in"
        assert results[2]["result"] == 42
        assert_exact(await inspected(atelier, workflow_id), conversation_requests(model))
    model.assert_complete()


async def test_with_a_folder_files_are_read_and_the_next_turn_and_a_restart_know_the_tools(
    open_atelier: Opener, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("It is blue.\n")
    steps: list[Any] = [
        "Hello.",
        [read("a")],
        [search("b", "read a file")],
        [read("c")],
        "Blue.",
        [read("d")],
        "Blue again.",
    ]
    model = ScriptedModel(steps)
    async with open_atelier(model) as atelier:
        on_window(atelier, model)
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        assert await turn(atelier, workflow_id) == ("completed", [])
        status, results = await turn(atelier, workflow_id, text="What does a.txt say?")
        assert status == "completed"
        assert results[0]["code"] == "not_loaded"
        assert results[1]["found"][0] == {
            "name": "read_file", "section": "file_ops",
            "description": REGISTRY.get_tool("read_file").description.split("\n")[0],  # type: ignore[union-attr]
            "takes": "path, offset?, limit?",
        }  # fmt: skip
        assert "It is blue." in results[2]["content"]
        first, _, second, third = model.requests[:4]
        assert not {"read_file", "TodoTool"} & set(names(first))
        assert {"get_working_directory", "search_tools"} <= set(names(first)), "where it works is always told"
        assert (
            "- file_ops: Read, write, edit, find, move, copy and delete files (13 tools)\n" in first.messages[0].content
        )
        assert third.tools[: len(first.tools)] == second.tools == first.tools, "what was sent before stays as it was"
        assert third.messages[0] == first.messages[0]
        assert names(third)[-1] == "read_file"
        shown = await inspected(atelier, workflow_id)
        assert_exact(shown, conversation_requests(model))
        mine = [atelier.registry.get_tool(name) for name in atelier.registry.configured(ASSISTANT.tools, ())]
        assert {each.searched_tools for each in shown} == {
            sum(1 for each in mine if each is not None and each.section != "context_ops")
        }
        assert shown[0].searched_tokens > SMALL
    async with open_atelier(model) as atelier:
        on_window(atelier, model)
        _status, results = await turn(atelier, workflow_id, text="And now?")
        assert "It is blue." in results[0]["content"]
        assert names(model.requests[-2])[-1] == "read_file"
    model.assert_complete()


async def test_found_tools_leave_space_for_the_conversation(open_atelier: Opener, tmp_path: Path) -> None:
    queries = (
        "remember",
        "plan a task",
        "ask the user",
        "write a report",
        "edit a file",
        "run a command",
        "search the web",
    )
    model = ScriptedModel([*([search(str(number), query)] for number, query in enumerate(queries)), "Enough."])
    async with open_atelier(model) as atelier:
        on_window(atelier, model)
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        status, results = await turn(atelier, workflow_id)
        assert status == "completed"
        assert [each["found"][0]["name"] for each in results[:4]] == [
            "MemoryTool",
            "TodoTool",
            "UserQuestionTool",
            "ReportTool",
        ]
        assert names(model.requests[-1])[-1] == results[-1]["found"][0]["name"], "the best is always there"
        assert_exact(await inspected(atelier, workflow_id), conversation_requests(model))


@pytest.mark.parametrize("mode", [ToolMode.DIRECT, ToolMode.INVOKE])
async def test_a_team_of_the_lead(open_atelier: Opener, tmp_path: Path, mode: ToolMode) -> None:
    (tmp_path / "a.txt").write_text("It is blue.\n")

    def use(id: str, tool: str, **arguments: Any) -> ToolCall:
        if mode is ToolMode.DIRECT:
            return tool_call(tool, id, **arguments)
        return tool_call("invoke_tool", id, tool_name=tool, arguments=arguments)

    helper = {"operation": "spawn", "name": "Helper", "prompt": "What does a.txt say?"}
    steps: list[Any] = [
        [search("a", "start a sub-agent")], [use("b", "SpawnAgentTool", **helper)],
        [use("c", "read_file", path="a.txt")], [search("d", "read_file")], [use("e", "read_file", path="a.txt")],
        "It says blue.",
        "The helper read: blue.",
    ]  # fmt: skip
    model = ScriptedModel(steps)
    async with open_atelier(model) as atelier:
        on_window(atelier, model)
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        status, results = await turn(atelier, workflow_id, LEAD.model_copy(update={"tool_mode": mode}))
        assert (status, "It says blue." in str(results[1])) == ("completed", True)
        told = str([message.content for message in model.requests[5].messages if message.tool_call_id])
        assert ("not_loaded" in told, "It is blue." in told) == (True, True)
        listed = (
            "read_file" in names(model.requests[4])
            if mode is ToolMode.DIRECT
            else "- read_file: " in model.requests[4].messages[0].content
        )
        assert listed
        assert not any(name in model.requests[2].messages[0].content for name in ("- read_file: ", "- write_file: "))
    model.assert_complete()


async def test_the_guided_dialect_and_sections_are_unchanged(open_atelier: Opener, tmp_path: Path) -> None:
    model = ScriptedModel(["Fine.", "Fine."])
    async with open_atelier(model) as atelier:
        workflow_id = await create_workflow(atelier, workspace=(str(tmp_path),))
        on_window(atelier, model, dialect=ToolDialect.GUIDED)
        await turn(atelier, workflow_id)
        assert {"TodoTool", "read_file"} <= set(names(model.requests[0]))
        on_window(atelier, model)
        await turn(atelier, workflow_id, ASSISTANT.model_copy(update={"tool_mode": ToolMode.SECTIONS}))
        assert "[TOOL SECTIONS]" in model.requests[1].messages[0].content
        assert all("[TOOLS TO SEARCH FOR]" not in each.messages[0].content for each in model.requests)
        assert not any("search_tools" in names(each) for each in model.requests)


async def test_a_context_too_small_for_the_rest_is_reported(open_atelier: Opener) -> None:
    model = ScriptedModel([])
    async with open_atelier(model) as atelier:
        on_window(atelier, model, 700)
        workflow_id = await create_workflow(atelier)
        status, _results = await turn(atelier, workflow_id)
        run = (await atelier.repos.runs.list(workflow_id))[0]
        events = await atelier.repos.journal.events(run.id)
        assert status != "completed"
        assert ContextOverflowError.code in [getattr(event.body, "code", "") for event in events]
        assert "leaves no room in the model's context window of 700" in str(
            [getattr(event.body, "message", "") for event in events]
        )
        failed = [event.body for event in events if isinstance(event.body, RunFailed)]
        assert [body.recoverable for body in failed] == [False], (
            "the same request would fail again, so no retry is offered"
        )


def test_tools_are_searched_depending_on_the_space_in_the_context() -> None:
    windows = (4_096, SMALL, 16_384, 32_768, 131_072)
    all_of_them, outside, specialised = SearchScope.ALL, SearchScope.OUTSIDE_CORE, SearchScope.SPECIALISED
    assert [scope(each, workspace=False) for each in windows] == [all_of_them, all_of_them, None, None, None]
    assert [scope(each) for each in windows] == [all_of_them, all_of_them, outside, None, None]
    assert [scope(each, LEAD) for each in windows] == [all_of_them, all_of_them, outside, specialised, None]
    assert scope(SMALL, ASSISTANT.model_copy(update={"tools": ("TodoTool", "MemoryTool")})) is None
    sections = ASSISTANT.model_copy(update={"tool_mode": ToolMode.SECTIONS})
    assert [scope(SMALL, sections, depth=depth) for depth in (0, 3)] == [None, all_of_them], (
        "where nobody plans, sections are seen directly"
    )


def test_a_team_lead_keeps_the_file_and_team_tools_where_the_others_do_not_fit() -> None:
    """An unknown model is assumed to have 32,768 tokens; indexing a folder adds tools, and must not displace
    these.
    """
    tools, state = tools_of(LEAD), RunState(run_id="r", workflow_id="w", agent=LEAD, max_depth=3)
    found = tool_search.searched(tools, state, 32_768)
    assert found is not None
    listed = tools.visible(found.search)
    assert {"SpawnAgentTool", "DelegateTaskTool", "read_file", "edit_file", "search_tools"} <= set(listed)
    assert not {"run_command", "semantic_search", "search_web"} & set(listed)


def test_a_run_that_started_with_a_search_continues_with_it() -> None:
    assert scope(131_072, searched=SearchScope.ALL) is SearchScope.ALL
    assert scope(131_072, searched=SearchScope.OUTSIDE_CORE) is SearchScope.OUTSIDE_CORE
    assert scope(SMALL, searched=SearchScope.OUTSIDE_CORE) is SearchScope.ALL
    assert scope(SMALL, searched=SearchScope.SERVERS) is SearchScope.ALL


def test_tools_called_while_all_were_listed_can_still_be_called() -> None:
    """The server reports in the middle of a run that its context is smaller than was known."""
    script = Script(config=ASSISTANT)
    script.add(
        reply("", call("a", "read_file"), call("b", "write_file")),
        started("a", "read_file"),
        finished("a", "read_file"),
    )
    script.add(started("b", "write_file"), finished("b", "write_file", '{"success": false}', status="error"))
    script.add(WindowLearned(context_window=SMALL))
    state = fold(script.events)
    assert state is not None
    found = tool_search.searched(tools_of(), state, state.window or 0)
    assert found is not None
    assert found.search == (SearchScope.ALL, ("read_file",))


def replies(*fields: dict[str, Any]) -> RunState:
    """A run whose replies have these fields in the journal."""
    bodies: Sequence[ModelReplied] = [
        ModelReplied.model_validate({**reply("x").model_dump(mode="json", exclude={"search_scope"}), **each})
        for each in fields
    ]
    state = fold(Script(config=agent()).add(*bodies).events)
    assert state is not None
    return state


def test_journals_of_all_versions_are_interpreted_the_same() -> None:
    old = {"searched_tools": 15, "searched_tokens": 2_000}
    assert replies({}).searched is None
    assert replies(old).searched is SearchScope.SERVERS
    assert replies({**old, "search_scope": "outside_core"}).searched is SearchScope.OUTSIDE_CORE
    assert replies({**old, "search_scope": "all"}, {"with_tools": False}).searched is SearchScope.ALL, (
        "a last answer has no tools"
    )
    assert replies({**old, "search_scope": "all"}, {}).searched is None
    kept = ModelReplied.model_validate_json(
        reply("x").model_copy(update={**old, "search_scope": SearchScope.ALL}).model_dump_json()
    )
    assert (kept.searched_tools, kept.search_scope) == (15, SearchScope.ALL)

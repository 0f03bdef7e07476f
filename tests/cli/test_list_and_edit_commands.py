"""All other commands: output for people and for scripts, and what they refuse."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.memory import Memory, MemoryType
from atelier_desk.domain.task import Task
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.services.models import ModelService
from atelier_desk.engine.services.workflows import WorkflowService
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.journal_commit import Commit
from tests.cli.conftest import Cli
from tests.cli.run_conversation import talk
from tests.engine.services.sample_agent_file import FILE
from tests.helpers.database_templates import PlaceDatabase
from tests.helpers.scripted_teams import ask_user
from tests.helpers.tool_calls import tool_call
from tests.llm.models_dev_server import ModelsDev, told


@pytest.mark.parametrize("what", ["workflows list", "workflows deleted", "memory list", "tasks list"])
def test_a_truncated_list_is_marked(cli: Cli, place_database: PlaceDatabase, what: str) -> None:
    async def fill() -> None:
        datadir = DataDir(default_data_dir()).ensure()
        async with await Store.open(place_database(datadir.database), fsync=False) as store:
            repos = Repositories(store, datadir)
            for number in range(3):
                gone = utc_now() if what == "workflows deleted" else None
                made = await repos.workflows.create(Workflow(name=f"n{number}", deleted_at=gone))
                await repos.memories.save(Memory(type=MemoryType.KNOWLEDGE, content=f"Heron {number}"))
                await repos.journal.commit(Commit(tasks=(Task(workflow_id=made.id, name="write"),), of=made.id))

    asyncio.run(fill())
    some = cli(*what.split(), "--limit", "2", "--json")
    assert len(some.json) == 2
    assert "For more results" in some.err
    every = cli(*what.split(), "--limit", "5000", "--json")
    assert len(every.json) == 3
    assert "For more results" not in every.err


def test_workflows_are_listed_shown_and_searched(cli: Cli) -> None:
    assert cli("workflows", "list", "--json").out == "[]\n"
    workflow = talk(cli)
    [listed] = cli("workflows", "list", "--json").json
    assert (listed["id"], listed["name"], listed["status"]) == (workflow, "Tell me about herons", "completed")
    assert workflow in cli("workflows", "list").out
    assert cli("workflows", "list", "--search", "nothing", "--json").json == []
    shown = cli("workflows", "show", workflow, "--json").json
    assert [turn["message"]["content"] for turn in shown["transcript"]] == ["Tell me about herons", "Herons fish."]
    assert "Herons fish." in cli("workflows", "show", workflow).out
    hits = cli("workflows", "search", "fish", "--json").json
    assert [(hit["kind"], hit["workflow_id"]) for hit in hits] == [("message", workflow)]
    assert cli("workflows", "search", "", "--json").json == []


def test_an_imported_file_grants_no_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    workflow = str(cli("run", "go", "--workspace", "work", "--json", steps=["done"]).events[0]["workflow_id"])
    (tmp_path / "w.json").write_text(cli("workflows", "export", workflow).out)
    imported = cli("workflows", "import", "w.json", "--json")
    assert imported.json["workflow"]["workspace"] == []
    assert f"Access to {tmp_path / 'work'} was not granted" in imported.err
    assert "To grant it: atelier workflows choose ID --workspace DIR" in imported.err
    granted = cli("workflows", "choose", imported.json["workflow"]["id"], "--workspace", "work")
    assert granted.status == 0, granted.err
    rows = {row["id"]: row["workspace"] for row in cli("workflows", "list", "--json").json}
    assert rows[imported.json["workflow"]["id"]] == [str(tmp_path / "work")]


def test_workflows_are_renamed_filed_and_archived(cli: Cli) -> None:
    workflow = talk(cli, "Tell me about herons. Be brief.")
    assert [each["name"] for each in cli("workflows", "list", "--json").json] == ["Tell me about herons"]
    titled = cli("workflows", "title", workflow, "--json", steps=["A bird that fishes"]).json
    assert (titled["name"], titled["named_by"]) == ("A bird that fishes", "person")
    assert "Birds" in cli("workflows", "title", workflow, "Birds").out
    assert "(Nature)" in cli("workflows", "move", workflow, "Nature").out
    assert [each["id"] for each in cli("workflows", "list", "--folder", "Nature", "--json").json] == [workflow]
    assert cli("workflows", "list", "--folder", "Other", "--json").json == []
    assert cli("workflows", "move", workflow, "--json").json["collection"] == ""
    assert cli("workflows", "move", workflow, "x" * 65).status == 2
    cli("workflows", "archive", workflow)
    assert cli("workflows", "list", "--json").json == []
    assert [each["id"] for each in cli("workflows", "list", "--archived", "--json").json] == [workflow]
    cli("workflows", "archive", workflow, "--undo")
    assert [each["id"] for each in cli("workflows", "list", "--json").json] == [workflow]


def test_a_waiting_turn_is_stopped(cli: Cli) -> None:
    workflow = talk(cli)
    assert cli("workflows", "stop", workflow, "--json").json == {"workflow": workflow, "stopped": None}
    assert "has ended" in cli("workflows", "stop", workflow).out
    cli("run", "And now?", "--workflow", workflow, steps=[[ask_user("q")]])
    [asked] = cli("questions", "list", "--json").json
    assert cli("workflows", "stop", workflow, "--json").json == {"workflow": workflow, "stopped": asked["run_id"]}
    assert cli("questions", "list", "--json").json == []


def test_workflows_are_moved(cli: Cli, tmp_path: Path) -> None:
    workflow = talk(cli)
    exported = cli("workflows", "export", workflow)
    assert exported.json["format"] == "atelier-workflow"
    (tmp_path / "w.json").write_text(exported.out, "utf-8")
    assert cli("workflows", "export", workflow, "--format", "md").out.startswith("# Tell me about herons")
    assert "<h1>Tell me about herons" in cli("workflows", "export", workflow, "--format", "html").out
    for name, begins in (("a.docx", b"PK"), ("a.html", b"<!DOCTYPE"), ("a.md", b"# Tell"), ("a.json", b"{")):
        assert cli("workflows", "export", workflow, "--output", name).status == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    for options, says in (
        (("--output", "a.docx"), "already exists"),
        (("--format", "docx"), "specify a file with --output"),
        (("--output", "a.pdf"), "only in Atelier's window. Use docx, html or md"),
        (("--output", "a.exe"), "allowed: docx, html, md"),
        (("--output", "missing/a.md"), "cannot be written"),
    ):
        refused = cli("workflows", "export", workflow, *options)
        assert (refused.status, says in refused.err) == (2, True)
    renamed = cli("workflows", "import", "w.json", "--json").json
    assert renamed["action"] == "renamed"
    assert cli("workflows", "import", "w.json", "--on-conflict", "skip", "--json").json["workflow"]["id"] == workflow
    assert cli("workflows", "delete", workflow, "--json").json == {"deleted": workflow}
    assert [each["id"] for each in cli("workflows", "deleted", "--json").json] == [workflow]
    assert cli("workflows", "restore", workflow[:-3]).status == 0
    assert cli("workflows", "deleted", "--json").json == []
    told = cli("workflows", "delete", workflow).out
    assert told.rstrip().endswith(f"To restore it within 30 days: atelier workflows restore {workflow}")
    deleted = cli("workflows", "delete", workflow, "--for-good", "--json").json
    assert deleted["rows"]["message"] == 2
    assert cli("workflows", "import", "-", piped=exported.out).status == 0
    assert cli("workflows", "show", workflow).status == 0


def test_workflows_are_forked_and_replayed_without_a_model(cli: Cli) -> None:
    workflow = talk(cli)
    model = ScriptedModel([])
    replayed = cli("workflows", "replay", workflow, "--json", steps=model)
    assert replayed.events[-1]["chunk_type"] == "workflow_complete"
    assert model.requests == []
    forked = cli("workflows", "fork", workflow, "--at", "3", "--json").json
    assert forked["id"] != workflow
    assert cli("workflows", "fork", workflow, "--at", "999").status == 2
    assert "Herons fish." in cli("workflows", "replay", workflow).out


@pytest.mark.parametrize(
    "argv",
    [
        ["workflows", "show", "missing"],
        ["workflows", "export", "missing"],
        ["workflows", "delete", "missing"],
        ["workflows", "stop", "missing"],
        ["workflows", "replay", "missing"],
        ["workflows", "fork", "missing", "--at", "1"],
        ["workflows", "import", "missing.json"],
        ["workflows", "search", "herons", "--limit", "5000"],
        ["resume", "missing"],
        ["resume", "x", "--all"],
        ["agents", "show", "missing"],
        ["agents", "remove", "missing"],
        ["agents", "add", "missing.json"],
        ["providers", "remove", "missing"],
        ["providers", "test", "missing"],
        ["providers", "models", "missing"],
        ["providers", "add", "x", "--kind", "local"],
        ["providers", "add", "../x", "--kind", "openai"],
        ["providers", "add", "x", "--kind", "openai", "--base-url", "nonsense"],
        ["models", "list", "--provider", "missing"],
        ["tools", "schema", "Hammer"],
        ["tools", "call", "Hammer", "{}"],
        ["tools", "call", "CalculatorTool", "not json"],
        ["tools", "call", "CalculatorTool", "[1]"],
        ["tools", "list", "--section", "nowhere"],
        ["memory", "delete", "missing"],
        ["memory", "add", " "],
        ["memory", "search", "x", "--threshold", "2"],
        ["memory", "list", "--scope", "workflow"],
        ["memory", "import", "missing.json"],
        ["questions", "list", "--workflow", "missing"],
        ["questions", "answer", "missing"],
        ["questions", "skip", "missing"],
        ["chat", "--json"],
    ],
)
def test_a_missing_object_is_a_usage_error_with_a_message(cli: Cli, argv: list[str]) -> None:
    result = cli(*argv)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("Error: ")
    assert "Traceback" not in result.err


def test_agents(cli: Cli, tmp_path: Path) -> None:
    assert [agent["config"]["name"] for agent in cli("agents", "list", "--json").json] == ["Assistant", "Team lead"]
    (tmp_path / "a.json").write_text(json.dumps(FILE), "utf-8")
    assert cli("agents", "add", "a.json").status == 0
    assert cli("agents", "show", "Researcher").json == FILE
    assert cli("agents", "add", "a.json").status == 2
    assert (
        cli("agents", "add", "a.json", "--on-conflict", "rename", "--json").json["config"]["name"] == "Researcher (2)"
    )
    assert cli("agents", "add", "-", "--on-conflict", "skip", piped=json.dumps(FILE)).status == 0
    assert "qwen3:4b" in cli("agents", "list").out
    assert cli("agents", "remove", "Researcher (2)", "--json").json == {"removed": "Researcher (2)"}
    model = ScriptedModel(["hi"])
    assert cli("run", "go", "--agent", "Researcher", steps=model).status == 0
    assert model.requests[0].model == "qwen3:4b"


def test_tools_are_described_and_called_as_by_an_agent(cli: Cli) -> None:
    names = [tool["name"] for tool in cli("tools", "list", "--json").json]
    assert {"CalculatorTool", "TodoTool", "MemoryTool", "ReportTool", "UserQuestionTool", "invoke_tool"} <= set(names)
    assert all(tool["section"] == "core_ops" for tool in cli("tools", "list", "--section", "core_ops", "--json").json)
    assert "CalculatorTool" in cli("tools", "list").out
    assert cli("tools", "schema", "CalculatorTool").json["parameters"]["type"] == "object"
    workflow = talk(cli)
    added = cli(
        "tools", "call", "TodoTool", '{"operation": "create", "name": "Fish"}', "--workflow", workflow, "--json"
    )
    assert added.status == 0
    listed = cli("tools", "call", "TodoTool", "-", "--workflow", workflow, "--json", piped='{"operation": "list"}').json
    assert [task["name"] for task in listed["tasks"]] == ["Fish"]
    kinds = [event["chunk_type"] for event in cli("workflows", "replay", workflow, "--json").events]
    assert kinds.count("tool_end") == 2
    assert "task_create" in kinds
    failed = cli("tools", "call", "CalculatorTool", '{"operation": "eval", "expression": "1/0"}', "--json")
    assert (failed.status, failed.json["success"], failed.json["code"]) == (1, False, "division_by_zero")
    wrong = cli("tools", "call", "CalculatorTool", '{"operation": "dance"}', "--json")
    assert (wrong.status, wrong.json["code"]) == (1, "invalid_arguments")
    inner = '{"tool_name": "CalculatorTool", "arguments": {"operation": "eval", "expression": "6*7"}}'
    assert cli("tools", "call", "invoke_tool", inner, "--json").json["result"] == 42
    assert cli("tools", "call", "task_abandon", '{"reason": "no"}').status == 3


def test_a_called_tool_has_its_own_limits_and_uses_no_tokens(cli: Cli) -> None:
    arguments = {"operation": "write", "name": "long", "content": "x" * 150_000}
    made = cli("tools", "call", "ReportTool", json.dumps(arguments))
    assert (made.status, json.loads(made.out)["success"]) == (0, True), made.err
    total = cli("usage", "--json").json["total"]
    assert (total["tokens_input"], total["tokens_output"]) == (0, 0)


def test_states_and_risks_are_translated_for_people_and_unchanged_for_programs(cli: Cli) -> None:
    arguments = '{"operation": "ask", "question": "Colour?", "questionType": "text"}'
    assert cli("tools", "call", "UserQuestionTool", arguments).status == 5
    assert "vous attend" in cli("--lang", "fr", "workflows", "list").out
    assert cli("--lang", "fr", "workflows", "list", "--json").json[0]["status"] == "waiting"
    [asked] = cli("questions", "list", "--json").json
    assert cli("questions", "answer", asked["id"], "--text", "red").status == 0
    assert "réponse donnée" in cli("--lang", "fr", "questions", "answer", asked["id"], "--text", "blue").err
    assert "The question is no longer open: answered." in cli("questions", "answer", asked["id"], "--text", "blue").err
    assert "moyen" in cli("--lang", "fr", "tools", "list").out
    assert {tool["risk"] for tool in cli("--lang", "fr", "tools", "list", "--json").json} <= {"low", "medium", "high"}


def test_a_called_tool_that_asks_waits_and_continues_in_another_process(cli: Cli) -> None:
    arguments = '{"operation": "ask", "question": "Colour?", "questionType": "text"}'
    assert cli("tools", "call", "UserQuestionTool", arguments).status == 5
    [asked] = cli("questions", "list", "--json").json
    assert cli("questions", "answer", asked["id"], "--text", "red").status == 0
    assert cli("resume", asked["workflow_id"]).status == 0
    typed = cli("tools", "call", "UserQuestionTool", arguments, "--json", typed="blue\n")
    assert typed.json["textResponse"] == "blue"


def test_memory(cli: Cli, tmp_path: Path) -> None:
    added = cli(
        "memory", "add", "The server is called heron", "--tags", "infra,srv", "--importance", "0.9", "--json"
    ).json
    assert (added["tags"], added["importance"], added["source"]) == (["infra", "srv"], 0.9, "user")
    assert cli("memory", "add", "-", piped="lunch is at noon").status == 0
    found = cli("memory", "search", "server called", "--limit", "1", "--json").json
    assert found["search_type"] == "hybrid"
    assert found["results"][0]["memory"]["id"] == added["id"]
    assert set(found["results"][0]) >= {"score", "relevance", "lexical", "cosine", "importance", "recency"}
    assert [each["id"] for each in cli("memory", "list", "--tags", "infra", "--json").json] == [added["id"]]
    exported = cli("memory", "export")
    (tmp_path / "m.json").write_text(exported.out, "utf-8")
    assert cli("memory", "import", "m.json", "--json").json == {"added": 0, "overwritten": 0, "skipped": 2}
    gone = cli("memory", "delete", added["id"])
    assert gone.status == 0
    assert gone.out.startswith("Deleted: “")
    assert f"“{added['content']}”" in gone.out
    assert gone.out.rstrip().endswith(f"To restore it within 30 days: atelier memory restore {added['id']}")
    assert [each["id"] for each in cli("memory", "deleted", "--json").json] == [added["id"]]
    assert cli("memory", "restore", added["id"][:-3], "--json").json["id"] == added["id"]
    assert cli("memory", "delete", added["id"], "--for-good").out == f"Permanently deleted: {added['id']}\n"
    assert cli("memory", "deleted", "--json").json == []
    assert cli("memory", "restore", added["id"]).status == 2
    assert cli("memory", "import", "m.json", "--json").json["added"] == 1
    assert cli("memory", "reembed", "--json").json == {"embedded": 0}
    assert cli("memory", "reembed", "--status", "--json").json["state"] == "whole"
    assert cli("--lang", "fr", "memory", "reembed", "--status").out.startswith("tous les embeddings sont calculés")
    assert "heron" in cli("memory", "list").out
    assert cli("memory", "import", "-", piped="{}").status == 2


def test_the_memory_switch_says_what_is_on(cli: Cli) -> None:
    workflow = cli("run", "go", "--json", steps=["done"]).events[0]["workflow_id"]
    assert cli("memory", "switch", workflow).out == "Memory is on.\n"
    assert cli("memory", "switch", workflow, "off").out == "Memory is off.\n"


def test_a_person_extracts_memories_from_a_turn(cli: Cli) -> None:
    workflow = cli("run", "I live in Lyon", "--json", steps=["Noted."]).events[-1]["workflow_id"]
    told = '[{"type": "knowledge", "content": "The user lives in Lyon."}]'
    asked = cli("memory", "ask", workflow, steps=[told])
    assert (asked.status, "The user lives in Lyon." in asked.out) == (0, True)
    again = cli("memory", "ask", workflow, steps=["[]"])
    assert (again.status, again.err.strip()) == (0, "Nothing new to remember.")
    [proposed] = cli("memory", "proposed", "--json").json
    assert proposed["proposed"]
    assert cli("settings", "set", "memories_at_end", "off").out.strip() == "off"
    refused = cli("settings", "set", "memories_at_end", "sometimes")
    assert (refused.status, all(word in refused.err for word in ("off", "told", "always"))) == (2, True)


def test_a_memory_proposed_by_an_agent_is_stored_and_edited(cli: Cli) -> None:
    add = {"operation": "add", "type": "user_pref", "content": "Likes herons"}
    run = cli("run", "go", steps=[[tool_call("MemoryTool", "m", **add)], "Noted."])
    assert "1 proposed memory needs your approval: atelier memory proposed" in run.err
    [proposed] = cli("memory", "proposed", "--json").json
    assert "Likes herons" in cli("memory", "proposed").out
    assert cli("memory", "keep", proposed["id"], "--here", "--json").json["workflow_id"] == proposed["workflow_id"]
    assert cli("memory", "keep", proposed["id"], "--undo", "--json").json["proposed"]
    assert cli("memory", "keep", proposed["id"], "--json").json["workflow_id"] is None
    refused = cli("memory", "keep", proposed["id"], "--undo")
    assert (refused.status, "--workflow" in refused.err) == (2, True)
    edited = cli(
        "memory", "edit", proposed["id"], "--text", "Likes egrets", "--tags", "birds", "--expires", "7", "--json"
    ).json
    assert (edited["content"], edited["tags"], edited["expires_at"] is None) == ("Likes egrets", ["birds"], False)
    assert cli("memory", "edit", proposed["id"], "--expires", "never", "--json").json["expires_at"] is None
    assert cli("memory", "edit", proposed["id"]).status == 2
    assert cli("memory", "edit", proposed["id"], "--expires", "soon").status == 2


def test_questions_are_skipped_by_another_command(cli: Cli) -> None:
    ask = tool_call("UserQuestionTool", "q", operation="ask", question="Colour?", questionType="text")
    first = cli("run", "go", "--json", steps=[[ask]])
    [asked] = cli("questions", "list", "--workflow", first.events[0]["workflow_id"], "--json").json
    assert "Colour?" in cli("questions", "list").out
    assert cli("questions", "answer", asked["id"]).status == 2
    assert cli("questions", "skip", asked["id"], "--json", steps=["ok"]).json["status"] == "skipped"
    assert cli("questions", "skip", asked["id"]).status == 2


def test_resume_all_resumes_every_workflow(cli: Cli) -> None:
    ask = tool_call("UserQuestionTool", "q", operation="ask", question="Colour?", questionType="text")
    cli("run", "one", steps=[[ask]])
    cli("run", "two", steps=[[ask]])
    resumed = cli("resume", "--all", "--answers", "skip", "--json", steps=["ok", "ok"])
    assert resumed.status == 0
    assert [event["status"] for event in resumed.of("workflow_complete")] == ["completed", "completed"]


def test_a_turn_that_did_not_reach_its_model_is_retried(cli: Cli) -> None:
    failed = cli("run", "go", "--json", steps=[ProviderError("unreachable", code="connection", recoverable=True)])
    assert failed.status == 1
    assert cli("resume").err.strip() == "Nothing to resume."
    again = cli("resume", failed.events[0]["workflow_id"], "--json", steps=["here I am"])
    assert again.status == 0
    assert again.events[-1]["status"] == "completed"


def test_a_provider_is_edited_and_other_fields_stay(cli: Cli) -> None:
    add = [
        "providers",
        "add",
        "work",
        "--kind",
        "openai",
        "--base-url",
        "http://one.test/v1",
        "--api-key-env",
        "WORK_KEY",
    ]
    assert cli(*add).status == 0
    assert cli("providers", "edit", "work", "--base-url", "http://two.test/v1", "--disable").status == 0
    stored = cli("providers", "list", "--json").json[-1]
    assert (stored["base_url"], stored["api_key_env"], stored["enabled"]) == ("http://two.test/v1", "WORK_KEY", False)
    edited = cli("providers", "edit", "work", "--enable", "--api-key-env", "", "--json").json
    assert (edited["enabled"], edited["api_key_env"], edited["kind"]) == (True, "", "openai")
    for wrong in ([], ["--base-url", "nonsense"], ["--enable", "--disable"]):
        assert cli("providers", "edit", "work", *wrong).status == 2
    assert cli("providers", "edit", "missing", "--enable").status == 2
    assert cli("providers", "list", "--json").json[-1]["base_url"] == "http://two.test/v1"


def test_properties_of_a_model_are_corrected_and_reset(cli: Cli) -> None:
    before = next(each for each in cli("models", "list", "--provider", "local", "--json").json if each["starter"])
    name = before["name"]
    edit = ["models", "edit", "local", name]
    [edited] = cli(
        *edit,
        "--window",
        "4096",
        "--price-in",
        "0.15",
        "--price-out",
        "0.6",
        "--vision",
        "yes",
        "--label",
        "Mine",
        "--json",
    ).json
    shown = next(each for each in cli("models", "list", "--json").json if each["name"] == name)
    assert edited == shown
    assert (shown["context_window"], shown["price_input"], shown["price_output"], shown["supports_vision"]) == (
        4096,
        0.15,
        0.6,
        True,
    )
    assert "4,096" in cli("models", "list").out
    for wrong in ([], ["--window", "5"], ["--price-in", "-1"], ["--tools", "maybe"]):
        assert cli(*edit, *wrong).status == 2
    assert cli("models", "edit", "local", "missing", "--window", "4096").status == 2
    [reset] = cli(*edit, "--reset", "--json").json
    assert reset["context_window"] == before["context_window"]
    assert reset["source"] != "user"


def test_an_unwritable_folder_is_named(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = cli("workflows", "list", "--data-dir", str(tmp_path / "file" / "data"))
    assert result.status == 1
    assert "Traceback" not in result.err
    assert str(tmp_path / "file") in result.err


@contextmanager
def on_another_thread(server: ModelsDev) -> Iterator[ModelsDev]:
    """The server answers while a command uses this thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def test_the_list_of_hosted_models_is_refreshed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with on_another_thread(ModelsDev()) as server:
        server.answer = {"groq": {"models": {"llama": told()}}}
        monkeypatch.setattr(ModelService, "list_source", server.root)
        done = cli("models", "refresh", "--json")
        assert done.err == ""
        assert (done.status, done.json["models"], done.json["services"]) == (0, 1, 1)
        server.answer = "no list"
        refused = cli("models", "refresh")
        assert refused.status != 0
        assert "the old one is kept" in refused.err


def test_usage_is_summed_and_exported_for_a_spreadsheet(cli: Cli, tmp_path: Path) -> None:
    workflow = talk(cli)
    shown = cli("workflows", "show", workflow, "--json").json["workflow"]["usage"]
    for by, name in (("workflow", "Tell me about herons"), ("agent", "Assistant")):
        told = cli("usage", "--by", by, "--json").json
        [row] = told["rows"]
        assert (row["name"], row["requests"]) == (name, 1)
        assert (row["tokens_input"], row["tokens_output"]) == (shown["tokens_input"], shown["tokens_output"])
        assert told["total"]["tokens_input"] == shown["tokens_input"]
    assert "Tell me about herons" in cli("usage", "--by", "workflow").out
    assert "Total" in cli("usage").out
    assert cli("usage", "--csv", "u.csv").status == 0
    lines = (tmp_path / "u.csv").read_text("utf-8-sig").splitlines()
    assert lines[0].startswith("day,workflow_id,workflow,agent,")
    assert len(lines) == 2
    assert cli("usage", "--csv", "-").out.splitlines() == lines
    assert cli("usage", "--by", "colour").status == 2
    assert cli("usage", "--csv", "no/such/folder/u.csv").status == 2


def test_usage_from_before_an_import_is_left_out(cli: Cli, tmp_path: Path) -> None:
    workflow = talk(cli)
    words = "What imported workflows used before their import is not included."
    (tmp_path / "w.json").write_text(cli("workflows", "export", workflow).out)
    before = cli("usage", "--json").json
    assert words not in cli("usage").err
    assert cli("workflows", "import", "w.json", "--on-conflict", "rename").status == 0
    assert cli("usage", "--json").json == before
    assert words in cli("usage").err


def test_a_data_folder_moved_under_a_command_is_reported_once(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = default_data_dir()
    real = WorkflowService.list

    async def moved(self: WorkflowService, *args: Any, **fields: Any) -> Any:
        root.rename(tmp_path / "moved")
        return await real(self, *args, **fields)

    monkeypatch.setattr(WorkflowService, "list", moved)
    failed = cli("workflows", "list")
    assert failed.status == 1
    assert failed.err.count("was renamed, replaced or deleted") == 1

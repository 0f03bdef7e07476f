"""Calls that need approval: asked in the terminal, decided by an option, or later with ``approvals``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli.approval_text import decision
from atelier_desk.domain.approval import NOBODY_TO_ASK
from atelier_desk.llm.scripted_model import ScriptedModel
from tests.cli.conftest import Cli, Configure, Result
from tests.cli.scripted_tool_calls import calculate, call


def waiting(cli: Cli, *options: str) -> Result:
    """A run that waits for an approval of 12*7."""
    result = cli("run", "go", "--json", *options, steps=[calculate("12*7")])
    assert result.status == 5, result.err
    return result


def result_of(model: ScriptedModel) -> str:
    """The result of its call that the model received."""
    return model.requests[-1].messages[-1].content


def test_a_call_without_a_decision_waits_with_status_5(cli: Cli, approvals: Configure) -> None:
    approvals()
    result = waiting(cli)
    [asked] = result.of("validation_required")
    assert (asked["tool"], asked["operation"], asked["risk_level"], asked["reason"]) == (
        "CalculatorTool",
        "eval",
        "medium",
        "selective",
    )
    assert asked["arguments"] == {"operation": "eval", "expression": "12*7"}
    assert (result.events[-1]["chunk_type"], result.events[-1]["status"]) == ("workflow_complete", "waiting")
    assert result.of("tool_start") == []
    assert "approvals approve ID" in result.err
    assert asked["validation_id"] in result.err
    assert cli("resume", result.events[0]["workflow_id"]).status == 5


@pytest.mark.parametrize(("mode", "status"), [("free", 0), ("ask", 5), ("ask-all", 5)])
def test_the_approval_mode_of_a_run(cli: Cli, approvals: Configure, mode: str, status: int) -> None:
    approvals()
    assert cli("run", "go", "--approval", mode, steps=[calculate("1"), "ok"]).status == status


def test_sections_is_a_tool_loading_mode(cli: Cli) -> None:
    model = ScriptedModel(["ok"])
    assert (
        cli(
            "run",
            "go",
            "--tool-mode",
            "sections",
            "--tools",
            "CalculatorTool,list_tool_sections,plan_actions",
            steps=model,
        ).status
        == 0
    )
    names = {tool.name for tool in model.requests[0].tools}
    assert {"list_tool_sections", "plan_actions"} <= names
    assert "CalculatorTool" not in names


def test_on_approval_decides_without_asking(cli: Cli, approvals: Configure) -> None:
    approvals()
    model = ScriptedModel([calculate("12*7"), "84"])
    result = cli("run", "go", "--on-approval", "allow", "--json", steps=model)
    assert result.status == 0
    assert result.of("validation_response")[0]["status"] == "approved"
    assert "84" in result_of(model)
    model = ScriptedModel([calculate("12*7"), "then not"])
    result = cli("run", "go", "--on-approval", "deny", steps=model)
    assert (result.status, result.out) == (0, "then not\n")
    assert "was not allowed: nobody is there to ask" in result_of(model)
    assert "by the user" not in result_of(model)
    assert "rejected (there was nobody to ask)" in result.err


@pytest.mark.parametrize(
    ("decided_by", "note", "edited", "told"),
    [
        ("user", "", False, "rejected (by you)"),
        ("user", "Too dear.", False, "rejected (by you): Too dear."),
        ("user", NOBODY_TO_ASK, False, "rejected (there was nobody to ask)"),
        ("timeout", "Nobody decided.", False, "rejected (no decision was made in time)"),
        ("user", "", True, "rejected (by you), with edited arguments"),
    ],
)
def test_notes_for_the_agent_are_not_shown_to_people(decided_by: str, note: str, edited: bool, told: str) -> None:
    assert decision("rejected", decided_by, note, edited) == told


def test_approvals_are_listed_and_given_by_another_command(cli: Cli, approvals: Configure) -> None:
    approvals()
    workflow = waiting(cli).events[0]["workflow_id"]
    [asked] = cli("approvals", "list", "--json").json
    assert (asked["tool"], asked["status"], asked["workflow_id"]) == ("CalculatorTool", "pending", workflow)
    listed = cli("approvals", "list").out
    assert asked["id"] in listed
    assert "medium risk" in listed
    assert cli("approvals", "list", "--workflow", "missing").status == 2
    model = ScriptedModel(["84 it is"])
    approved = cli("approvals", "approve", asked["id"], "--json", steps=model)
    assert (approved.status, approved.json["status"], approved.json["decided_by"]) == (0, "approved", "user")
    assert cli("resume", workflow, "--json", steps=["84 it is"]).status == 0
    assert cli("approvals", "list", "--json").json == []
    [kept] = cli("approvals", "list", "--workflow", workflow, "--all", "--json").json
    assert kept["status"] == "approved"
    again = cli("approvals", "approve", asked["id"])
    assert (again.status, "Already" in again.err) == (2, True)
    assert cli("approvals", "approve", "missing").status == 2


def test_a_reason_reaches_the_model(cli: Cli, approvals: Configure) -> None:
    approvals()
    workflow = waiting(cli).events[0]["workflow_id"]
    [asked] = cli("approvals", "list", "--json").json
    too_long = cli("approvals", "reject", asked["id"], "--reason", "x" * 2001)
    assert (too_long.status, "2,000" in too_long.err) == (2, True)
    assert '"expression": "12*7"' in cli("approvals", "show", asked["id"]).out
    assert cli("approvals", "reject", asked["id"], "--reason", "Not on Fridays").out == f"{asked['id']}  rejected\n"
    assert cli("approvals", "show", asked["id"]).out.endswith("  rejected (by you): Not on Fridays\n")
    assert cli("approvals", "show", asked["id"], "--json").json["note"] == "Not on Fridays"
    model = ScriptedModel(["Then on Monday."])
    assert cli("resume", workflow, steps=model).status == 0
    assert "Not on Fridays" in str([message.content for message in model.requests[-1].messages])


def test_arguments_can_be_changed_and_are_checked(cli: Cli, approvals: Configure) -> None:
    approvals()
    workflow = waiting(cli).events[0]["workflow_id"]
    [asked] = cli("approvals", "list", "--json").json
    for wrong, problem in (
        ("{", "not JSON"),
        ("[1]", "JSON object"),
        ('{"operation": "eval"}', "expression is missing"),
        ('{"operation": "eval", "expression": "1", "rm": true}', "rm is not a known field"),
    ):
        refused = cli("approvals", "approve", asked["id"], "--arguments", wrong)
        assert refused.status == 2
        assert problem in refused.err
    assert len(cli("approvals", "list", "--json").json) == 1
    model = ScriptedModel(["42"])
    changed = cli(
        "approvals",
        "approve",
        asked["id"],
        "--arguments",
        "-",
        "--json",
        piped='{"operation": "eval", "expression": "6*7"}',
    )
    assert changed.json["edited"] == {"operation": "eval", "expression": "6*7"}
    assert cli("resume", workflow, steps=model).status == 0
    assert "42" in str([message.content for message in model.requests[-1].messages])


def test_always_allow_holds_until_it_is_revoked(cli: Cli, approvals: Configure) -> None:
    approvals()
    waiting(cli)
    [asked] = cli("approvals", "list", "--json").json
    assert cli("approvals", "approve", asked["id"], "--rule", "CalculatorTool").status == 2
    assert cli("approvals", "approve", asked["id"], "--scope", "always", "--rule", "mcp__files").status == 2
    told = cli("approvals", "approve", asked["id"], "--scope", "always", steps=["ok"])
    assert (told.status, told.out.splitlines()[1]) == (0, "Always, everywhere: CalculatorTool")
    [rule] = cli("permissions", "list", "--json").json
    assert (rule["text"], rule["action"], rule["scope"]) == ("CalculatorTool", "allow", "always")
    assert cli("run", "go", steps=[calculate("1"), "ok"]).status == 0
    assert cli("permissions", "list", "--json").json[0]["last_matched_at"]
    assert cli("permissions", "remove", rule["id"][-1] + "x").status == 2
    assert cli("permissions", "remove", rule["id"]).out == "Removed: allow CalculatorTool\n"
    assert cli("permissions", "list").out.splitlines()[1:] == []
    waiting(cli)


def test_a_section_can_be_allowed(cli: Cli, approvals: Configure) -> None:
    approvals()
    waiting(cli)
    [asked] = cli("approvals", "list", "--json").json
    cli("approvals", "approve", asked["id"], "--scope", "always", "--rule", "section:core_ops", steps=["ok"])
    assert [rule["text"] for rule in cli("permissions", "list", "--json").json] == ["section:core_ops"]


@pytest.mark.parametrize(
    ("typed", "status", "told"),
    [
        ("y\n", 0, "84"),
        ("YES\n", 0, "84"),
        ("no\ntoo expensive\n", 0, "too expensive"),
        ('e\n{"operation": "eval", "expression": "6*7"}\n', 0, "42"),
        ("e\n\n", 0, "84"),
        ('what\ne\n{"operation": "eval"}\ny\n', 0, "84"),
        ("a\n", 0, "84"),
        ("run\n", 0, "84"),
        ("\n", 5, ""),
        ("", 5, ""),
    ],
)
def test_a_person_decides_in_the_terminal(cli: Cli, approvals: Configure, typed: str, status: int, told: str) -> None:
    approvals(timeout_s=60)
    model = ScriptedModel([calculate("12*7"), "done"])
    result = cli("run", "go", steps=model, typed=typed)
    assert result.status == status
    for shown in (
        "asks for your approval: Calculate 12 × 7",
        "medium risk",
        '"expression": "12*7"',
        "Rejected if there is no decision within 60 s",
    ):
        assert shown in result.err
    if told:
        assert told in result_of(model)
    if typed.startswith("what"):
        assert "yes, no, edit, run, always" in result.err
        assert "expression is missing" in result.err


def test_an_approval_for_the_run_covers_its_next_calls(cli: Cli, approvals: Configure) -> None:
    approvals()
    steps = [calculate("1"), calculate("2", "c2"), "done"]
    result = cli("run", "go", steps=steps, typed="run\n")
    assert result.status == 0
    assert result.err.count("asks for your approval") == 1
    steps = [calculate("1"), calculate("2", "c2"), "done"]
    assert cli("run", "go", steps=steps, typed="y\n").status == 5


def test_calls_of_one_reply_are_asked_one_after_the_other(cli: Cli, approvals: Configure) -> None:
    approvals()
    model = ScriptedModel([[*calculate("1+1", "a"), *calculate("2+2", "b")], "done"])
    result = cli("run", "go", "--json", steps=model, typed="y\nn\nnot that\n")
    assert result.status == 0
    assert [(each["call_id"], each["status"]) for each in result.of("validation_response")] == [
        ("a", "approved"),
        ("b", "rejected"),
    ]


@pytest.mark.parametrize(("lang", "word"), [("en", "all"), ("fr", "tout")])
def test_waiting_calls_are_listed_and_allowed_with_all(cli: Cli, approvals: Configure, lang: str, word: str) -> None:
    approvals()
    model = ScriptedModel([[*calculate("1+1", "a"), *calculate("2+2", "b"), *calculate("3+3", "c")], "done"])
    result = cli("run", "go", "--json", "--lang", lang, steps=model, typed=f"{word}\n")
    assert result.status == 0, result.err
    assert result.err.count("?") == 1, "one question for all of them"
    for shown in ("1+1", "2+2", "3+3"):
        assert shown in result.err
    decided = {each["call_id"]: (each["status"], each["scope"]) for each in result.of("validation_response")}
    assert decided == dict.fromkeys("abc", ("approved", "once"))


def test_several_calls_are_approved_by_their_ids(cli: Cli, approvals: Configure) -> None:
    approvals()
    result = cli(
        "run", "go", "--json", steps=[[*calculate("1+1", "a"), *calculate("2+2", "b"), *calculate("3+3", "c")]]
    )
    first, second, third = (each["id"] for each in cli("approvals", "list", "--json").json)
    refused = cli("approvals", "approve", first, second, "--scope", "run")
    assert (refused.status, "approved at once" in refused.err) == (2, True)
    assert cli("approvals", "approve", first, "missing").status == 2
    done = cli("approvals", "approve", first, second)
    assert (done.status, done.out) == (0, f"{first}  approved\n{second}  approved\n")
    assert [each["id"] for each in cli("approvals", "list", "--json").json] == [third]
    assert result.status == 5


def test_calls_to_be_decided_one_by_one_are_excluded_from_all(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "old.txt").write_text("old")
    writes = [*call("write_file", "w1", path="a.md", content="a"), *call("write_file", "w2", path="b.md", content="b")]
    steps = [
        [
            *writes,
            *call("delete_path", "d", path="old.txt"),
            *call("write_file", "g", path=".git/hooks/x", content="x"),
        ],
        "done",
    ]
    result = cli("run", "go", "--json", "--workspace", "ws", "--approval", "ask", steps=steps, typed="all\n")
    asked = {each["call_id"]: each["validation_id"] for each in result.of("validation_required")}
    assert set(asked) == {"w1", "w2", "d", "g"}, result.err
    assert {each["call_id"] for each in result.of("validation_response")} == {"w1", "w2"}
    assert "The item goes to the trash and can be restored for 30 days." in result.err
    assert (result.status, (tmp_path / "ws" / "old.txt").exists()) == (5, True)
    assert not (tmp_path / "ws" / ".git").exists()


def test_a_question_in_a_chat_is_answered_there(cli: Cli, approvals: Configure) -> None:
    approvals()
    result = cli("chat", steps=[calculate("12*7"), "It is 84."], typed="what is 12*7?\ny\n/quit\n")
    assert result.status == 0
    assert "It is 84." in result.out


def test_resume_asks_open_questions_again(cli: Cli, approvals: Configure) -> None:
    approvals()
    workflow = waiting(cli).events[0]["workflow_id"]
    result = cli("resume", workflow, steps=["It is 84."], typed="y\n")
    assert (result.status, result.out) == (0, "It is 84.\n")
    workflow = waiting(cli).events[0]["workflow_id"]
    assert cli("resume", workflow, "--on-approval", "allow", steps=["84"]).status == 0


def test_a_direct_call_needs_an_approval_too(cli: Cli, approvals: Configure) -> None:
    approvals()
    arguments: tuple[Any, ...] = (
        "tools",
        "call",
        "CalculatorTool",
        '{"operation": "eval", "expression": "6*7"}',
        "--json",
    )
    assert cli(*arguments).status == 5
    assert cli(*arguments, "--on-approval", "allow").json["result"] == 42
    refused = cli(*arguments, "--on-approval", "deny")
    assert refused.status == 1
    assert "nobody is there" in refused.json["error"]


def test_questions_and_approvals_share_the_terminal(cli: Cli, approvals: Configure) -> None:
    approvals()
    question = call("UserQuestionTool", "q", operation="ask", question="Colour?", questionType="text")
    result = cli("run", "go", "--json", steps=[[*question, *calculate("1", "c")], "done"], typed="y\nblue\n")
    assert result.status == 0, result.err
    assert result.of("user_question_complete")[0]["status"] == "answered"
    assert result.of("validation_response")[0]["status"] == "approved"


def test_always_allowing_a_command_shows_the_folder_it_applies_in(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    touch = call("run_command", command="touch a", modifies_files=True)
    cli("run", "go", "--workspace", "ws", "--approval", "ask", steps=[touch])
    [asked] = cli("approvals", "list", "--json").json
    choice = f"Always in this folder: run_command(touch a) ({tmp_path / 'ws'})"
    assert choice in cli("approvals", "show", asked["id"]).out
    assert choice in cli("approvals", "approve", asked["id"], "--scope", "always", steps=["ok"]).out

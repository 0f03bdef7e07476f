"""``run``: the stream, the exit statuses, the options, the answers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli.terminal_io import Terminal
from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from tests.cli.conftest import Cli
from tests.cli.scripted_tool_calls import ask, calculate, call


def test_json_output_is_only_the_stream(cli: Cli) -> None:
    result = cli("run", "What is 12*7?", "--json", steps=[calculate("12*7"), "It is 84."])
    assert result.status == 0
    [end] = result.of("tool_end")
    assert end["result"]["result"] == 84
    assert result.events[0]["chunk_type"] == "workflow_start"
    assert result.events[-1]["chunk_type"] == "workflow_complete"
    assert result.events[-1]["status"] == "completed"
    durable = [event["seq"] for event in result.events if event["durable"]]
    assert durable == list(range(1, len(durable) + 1))
    for event in result.events:
        assert StreamEvent.from_wire(event).wire() == event


def test_the_answer_is_on_standard_output_and_everything_else_on_standard_error(cli: Cli) -> None:
    result = cli("run", "What is 12*7?", steps=[calculate("12*7"), "It is 84."])
    assert result.out == "It is 84.\n"
    assert "→ Calculate 12 × 7" in result.err
    assert "✓ Calculated 12 × 7 (" in result.err


def test_the_prompt_can_come_from_standard_input(cli: Cli) -> None:
    model = ScriptedModel(["ok"])
    assert cli("run", "-", piped="  from a pipe\n", steps=model).status == 0
    assert model.requests[0].messages[-1].content == "from a pipe"
    assert cli("run", "-", piped=" \n").status == 2
    assert cli("run", "x" * 100_001).status == 2


@pytest.mark.parametrize(
    ("steps", "options", "status", "complete"),
    [
        (["done"], [], 0, "completed"),
        ([ProviderError("it broke", code="server")], [], 1, "error"),
        ([call("task_abandon", reason="cannot")], [], 3, "abandoned"),
        ([calculate("1"), calculate("2", "c2"), "x"], ["--max-tokens", "1"], 4, "limited"),
        ([call("task_complete", summary="ok")], ["--tools", "task_complete"], 0, "completed"),
    ],
)
def test_exit_statuses(cli: Cli, steps: list[Step], options: list[str], status: int, complete: str) -> None:
    result = cli("run", "go", "--json", *options, steps=steps)
    assert result.status == status
    assert result.of("workflow_complete")[-1]["status"] == complete


@pytest.mark.parametrize("option", ["", "--quiet", "--json"])
def test_a_final_answer_given_by_a_tool_is_printed_once(cli: Cli, option: str) -> None:
    done = call("task_complete", summary="Two files were read.", result="- a.txt\n- b.txt")
    result = cli("run", "go", "--tools", "task_complete", *filter(None, [option]), steps=[done])
    answer = "Two files were read.\n\n- a.txt\n- b.txt"
    if option == "--json":
        assert [event["content"] for event in result.of("message") if event["role"] == "assistant"] == [answer]
    else:
        assert result.out == f"{answer}\n"


def test_an_unanswered_question_waits_with_status_5_and_resume_continues(cli: Cli) -> None:
    result = cli("run", "go", "--json", steps=[ask()])
    assert result.status == 5
    assert (result.events[-1]["status"], result.events[-1]["durable"]) == ("waiting", False)
    asked = result.of("user_question_start")[0]["user_question"]
    assert asked["question_id"] in result.err
    workflow = result.events[0]["workflow_id"]
    assert cli("resume", workflow).status == 5
    pending = cli("questions", "list", "--json").json
    assert [each["id"] for each in pending] == [asked["question_id"]]
    answered = cli("questions", "answer", asked["question_id"], "--text", "blue", "--json", steps=["Blue it is."])
    assert answered.json["status"] == "answered"
    resumed = cli("resume", workflow, "--json", steps=["Blue it is."])
    assert resumed.status == 0
    assert cli("resume", workflow).err.strip() == "Nothing to resume."
    shown = cli("workflows", "show", workflow).out
    assert "Blue it is." in shown
    assert "blue" in shown


def test_answers_skip(cli: Cli) -> None:
    model = ScriptedModel([ask(), "Never mind."])
    assert cli("run", "go", "--answers", "skip", steps=model).status == 0
    assert "skipped" in model.requests[-1].messages[-1].content


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (["blue"], "text"),
        ({"Colour?": "blue"}, "text"),
        ([["r"]], "checkbox"),
        (["Red"], "checkbox"),
        ([{"options": ["1"], "text": "because"}], "mixed"),
        ([None], "mixed"),
    ],
)
def test_answers_from_a_file(cli: Cli, tmp_path: Path, content: Any, kind: str) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(content), "utf-8")
    result = cli("run", "go", "--json", "--answers", "answers.json", steps=[ask(kind), "ok"])
    assert result.status == 0
    assert result.of("user_question_complete")[0]["status"] == ("skipped" if content == [None] else "answered")


def test_a_file_without_the_answer_leaves_the_question_open(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    assert cli("run", "go", "--answers", "a.json", steps=[ask()]).status == 5
    (tmp_path / "b.json").write_text('["purple"]')
    result = cli("run", "go", "--answers", "b.json", steps=[ask("checkbox")])
    assert result.status == 5
    assert "Red" in result.err


@pytest.mark.parametrize("content", ["", "7", '"x"', "[7]", '[{"option": 1}]', '{"q": {"text": 3}}', "[[[1]]]"])
def test_a_bad_answers_file_is_a_usage_error_before_anything_runs(cli: Cli, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    assert cli("run", "go", "--answers", "a.json").status == 2
    assert cli("workflows", "list", "--json").json == []


def test_questions_are_asked_in_the_terminal(cli: Cli) -> None:
    model = ScriptedModel([ask("mixed", textRequired=True), "Thanks."])
    result = cli("run", "go", steps=model, typed="5\nwhy\n2\n\n1,2\nbecause\n")
    assert result.status == 0
    assert "no such option" in result.err
    assert "needs a text answer" in result.err
    answer = model.requests[-1].messages[-1].content
    assert "because" in answer
    assert '"g"' in answer


@pytest.mark.parametrize(("typed", "status"), [("\n", 5), ("", 5), ("!\n", 0)])
def test_a_question_in_the_terminal_can_be_left_open_or_skipped(cli: Cli, typed: str, status: int) -> None:
    assert cli("run", "go", steps=[ask(), "ok"], typed=typed).status == status


def test_an_agent_defined_by_options(cli: Cli, tmp_path: Path) -> None:
    model = ScriptedModel(["hi"])
    (tmp_path / "work").mkdir()
    result = cli(
        "run", "go", "--json", "--model", "m-1", "--tools", "CalculatorTool", "--tool-mode", "invoke", "--tool-dialect",
        "xml",
        "--approval", "free", "--max-cost", "0.5", "--timeout", "60", "--workspace", "work", steps=model,
    )  # fmt: skip
    assert result.status == 0
    assert model.requests[0].model == "m-1"
    names = {tool.name for tool in model.requests[0].tools}
    assert "invoke_tool" in names
    assert "CalculatorTool" not in names
    workflow = cli("workflows", "show", result.events[0]["workflow_id"], "--json").json["workflow"]
    assert workflow["workspace"] == [str(tmp_path / "work")]
    assert workflow["name"] == "go"


@pytest.mark.parametrize(
    "options",
    [
        ["--agent", "Nobody"],
        ["--provider", "nowhere"],
        ["--tools", "Hammer"],
        ["--workflow", "missing"],
        ["--workspace", "no/such/folder"],
        ["--model", "x" * 513],
        ["--answers", "missing.json"],
    ],
)
def test_options_with_unknown_names_are_usage_errors(cli: Cli, options: list[str]) -> None:
    result = cli("run", "go", *options)
    assert result.status == 2
    assert result.out == ""
    assert result.err.startswith("Error: ")
    assert cli("workflows", "list", "--json").json == []


def test_a_second_turn_in_the_same_workflow(cli: Cli) -> None:
    model = ScriptedModel(["one", "two"])
    first = cli("run", "a", "--json", steps=model)
    workflow = first.events[0]["workflow_id"]
    assert cli("run", "b", "--workflow", workflow, steps=model).out == "two\n"
    assert [message.content for message in model.requests[-1].messages[-3:]] == ["a", "one", "b"]


@pytest.mark.parametrize("streamed", ["a\x1b[2Jb\x07\n\tc\x9b", "x\x1b]0;title\x07y"])
def test_control_sequences_of_a_model_do_not_reach_a_terminal(streamed: str) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen, beside = Screen(), Screen()
    out = Terminal(json=False, cwd=".", stdout=screen, stderr=beside, stdin=io.StringIO())
    out.write(streamed)
    out.note(streamed, "warn")
    assert not set("\x1b\x07\x9b") & set(screen.getvalue())
    assert beside.getvalue().count("\x1b") == 2, "only our own colour, on and off"


def test_a_missing_folder_is_reported_before_the_turn_in_chat_and_run(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    cli("run", "go", "--workspace", "work", steps=["done"])
    (tmp_path / "work").rename(tmp_path / "moved")
    gone = f"The folder {tmp_path / 'work'} was not found"
    assert gone in cli("run", "again", "-c", "--quiet", steps=["done"]).err
    chat = cli("chat", "-c", "--workspace", "moved", typed="more\n/quit\n", steps=["done"])
    assert gone in chat.err
    latest = cli("workflows", "list", "--json").json[0]
    assert latest["workspace"] == [str(tmp_path / "work"), str(tmp_path / "moved")]


def test_quiet_prints_only_the_last_answer(cli: Cli) -> None:
    first = ChatReply(
        content="I will look.",
        tool_calls=tuple(call("CalculatorTool", operation="eval", expression="12*7")),
        usage=Usage(),
    )
    result = cli("run", "go", "--quiet", steps=[first, "84."])
    assert (result.out, result.err) == ("84.\n", "")
    failed = cli(
        "run", "go", "-q", "--max-tokens", "1", steps=[call("CalculatorTool", operation="eval", expression="1"), "x"]
    )
    assert failed.status == 4
    assert "Cancel" not in failed.err


def test_system_and_effort_apply_only_to_this_run(cli: Cli) -> None:
    model = ScriptedModel(["ok"])
    assert cli("run", "go", "--system", "Speak like a pirate.", "--effort", "high", steps=model).status == 0
    assert model.requests[0].messages[0].content.startswith("Speak like a pirate.")
    assert model.requests[0].effort == "high"
    model = ScriptedModel(["ok"])
    cli("run", "go", steps=model)
    assert (model.requests[0].effort, "pirate" in model.requests[0].messages[0].content) == (None, False)
    assert cli("run", "go", "--system", " ").status == 2


def test_continue_uses_the_most_recently_active_workflow(cli: Cli) -> None:
    assert cli("run", "go", "--continue").status == 2
    first = cli("run", "one", "--json", steps=["1"]).events[0]["workflow_id"]
    second = cli("run", "two", "--json", steps=["2"]).events[0]["workflow_id"]
    assert cli("run", "three", "-c", "--json", steps=["3"]).events[0]["workflow_id"] == second
    cli("run", "four", "--workflow", first, steps=["4"])
    assert cli("run", "five", "--continue", "--json", steps=["5"]).events[0]["workflow_id"] == first
    assert cli("run", "six", "--continue", "--workflow", first).status == 2

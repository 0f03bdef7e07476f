"""What accompanies a prompt: files, images, piped input; and workflows named by a part of their id."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli import terminal_io
from atelier_desk.cli.terminal_io import Terminal
from atelier_desk.domain import limits
from atelier_desk.domain.errors import LimitError
from atelier_desk.domain.model_messages import ChatReply, Usage
from atelier_desk.domain.task import TaskStatus
from atelier_desk.llm.scripted import ScriptedModel
from atelier_desk.support.number_format import number
from tests.cli.conftest import Cli
from tests.cli.tool_calls import call
from tests.support.sample_images import png

PNG = png()


def test_files_and_images_are_sent_with_the_prompt_and_stored_by_type(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    (tmp_path / "dot.png").write_bytes(PNG)
    model = ScriptedModel(["ok"])
    result = cli("run", "Read these", "--attach", "notes.txt", "--attach", "dot.png", "--json", steps=model)
    assert result.status == 0
    asked = model.requests[0].messages[-1]
    assert asked.content == 'Read these\n\n<attached_file name="notes.txt">\nThe sea is blue.\n</attached_file>'
    assert [image.media_type for image in asked.images] == ["image/png"]
    [sent] = [event for event in result.of("message") if event["role"] == "user"]
    assert sent["content"] == "Read these"
    text, picture = sent["attachments"]
    assert (text["name"], text["media_type"], text["text"]) == ("notes.txt", "text/plain", "The sea is blue.")
    assert (picture["name"], picture["bytes"], picture["sha256"]) == (
        "dot.png",
        len(PNG),
        hashlib.sha256(PNG).hexdigest(),
    )
    assert base64.b64decode(asked.images[0].data) == PNG
    workflow = sent["workflow_id"]
    details = cli("workflows", "show", workflow, "--json").json["transcript"][0]["message"]["details"]
    assert [(each["name"], each["text"]) for each in details["attachments"]] == [
        ("notes.txt", "The sea is blue."),
        ("dot.png", ""),
    ]
    assert "Attached file: notes.txt" in cli("workflows", "show", workflow).out


def test_a_following_turn_still_has_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The sea is blue.", "utf-8")
    assert cli("run", "Read this", "--attach", "notes.txt", steps=["ok"]).status == 0
    model = ScriptedModel(["blue"])
    assert cli("run", "Which colour?", "--continue", steps=model).status == 0
    assert "The sea is blue." in model.requests[0].messages[1].content


@pytest.mark.parametrize("name", ["missing.txt", "a.zip"])
def test_a_refused_attachment_is_reported_and_creates_no_workflow(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04\x00\x00")
    result = cli("run", "go", "--attach", name, steps=["never"])
    assert result.status == 2
    assert name in result.err
    assert cli("workflows", "list", "--json").json == []


def test_piped_input_with_a_prompt_is_an_attachment(cli: Cli) -> None:
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", piped="a\nb\n", steps=model).status == 0
    assert (
        model.requests[0].messages[-1].content
        == 'Sum it up\n\n<attached_file name="standard input">\na\nb\n</attached_file>'
    )
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", "--attach", "-", piped="c", steps=model).status == 0
    assert model.requests[0].messages[-1].content.endswith("\nc\n</attached_file>")
    model = ScriptedModel(["ok"])
    assert cli("run", "Sum it up", piped="  \n", steps=model).status == 0
    assert model.requests[0].messages[-1].content == "Sum it up"
    assert cli("run", "-", "--attach", "-", piped="x").status == 2
    assert cli("run", "go", "--attach", "-", piped="\x00\x01").status == 2


class Piped(io.StringIO):
    """Standard input with a real descriptor below it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return False


@pytest.fixture
def pipe() -> Any:
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        with contextlib.suppress(OSError):
            os.close(end)


async def test_input_in_another_encoding_is_decoded_and_the_encoding_named(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, "déjà vu".encode("latin-1"))
    os.close(write)
    said = io.StringIO()
    terminal = Terminal(json=False, cwd=".", stdin=Piped(read), stderr=said)
    assert await terminal.read_piped() == "déjà vu"
    assert "windows-1252" in said.getvalue()


async def test_a_silent_pipe_does_not_block(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal_io, "PIPE_WAIT_S", 0.01)
    said = io.StringIO()
    assert await Terminal(json=False, cwd=".", stdin=Piped(pipe[0]), stderr=said).read_piped() == ""
    assert "--attach -" in said.getvalue()


ENDLESS = Path("/dev/zero")


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize(
    ("command", "most"),
    [
        (("workflows", "import", ENDLESS), limits.IMPORT_FILE),
        (("agents", "add", ENDLESS), limits.IMPORT_FILE),
        (("memory", "import", ENDLESS), limits.MEMORY_FILE),
        (("run", "go", "--answers", ENDLESS), limits.IMPORT_FILE),
    ],
)
def test_an_endless_file_is_refused_with_the_allowed_size(cli: Cli, command: tuple[Any, ...], most: int) -> None:
    result = cli(*map(str, command), steps=["never"])
    assert result.status == 2
    assert number(most) in result.err


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize("piped", [False, True])
async def test_endless_input_is_refused_with_the_allowed_size(piped: bool) -> None:
    with ENDLESS.open("rb") as endless:
        terminal = Terminal(json=False, cwd=".", stdin=Piped(endless.fileno()), stderr=io.StringIO())
        with pytest.raises(LimitError, match=str(limits.IMPORT_FILE)):
            await (terminal.read_piped() if piped else terminal.read_input())


@pytest.mark.skipif(not ENDLESS.exists(), reason="the system has no /dev/zero")
@pytest.mark.parametrize("action", ["verify", "restore"])
def test_a_path_that_is_no_file_is_refused_as_a_backup(cli: Cli, tmp_path: Path, action: str) -> None:
    for path in (ENDLESS, tmp_path):
        result = cli("backup", action, str(path))
        assert result.status == 1
        assert f"{path} is not a backup" in result.err


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("colour", "shown"), [("", "\x1b[2mhm\nso\x1b[0m\n"), ("1", "│ hm\n│ so\n")])
def test_thinking_is_distinguished_from_the_answer_with_and_without_colours(
    monkeypatch: pytest.MonkeyPatch, colour: str, shown: str
) -> None:
    monkeypatch.setenv("NO_COLOR", colour)
    out, err = Screen(), Screen()
    terminal = Terminal(json=False, cwd=".", stdout=out, stderr=err)
    terminal.think("hm\n")
    terminal.think("so")
    terminal.write("Answer")
    terminal.note("done", "warn")
    assert err.getvalue() == shown + ("\x1b[33mdone\x1b[0m\n" if not colour else "done\n")
    assert out.getvalue() == "Answer"


@pytest.mark.parametrize("json", [True, False])
def test_thinking_is_shown_only_on_a_terminal(json: bool) -> None:
    err = Screen()
    Terminal(json=json, cwd=".", stdout=Screen() if json else io.StringIO(), stderr=err).think("hm")
    assert err.getvalue() == ""


def test_thinking_is_streamed_on_a_terminal(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    reply = ChatReply(content="84", reasoning="twelve times seven", usage=Usage())
    for options, seen in (([], True), (["--quiet"], False), (["--json"], False)):
        monkeypatch.setattr(sys, "stderr", screen := Screen())
        with monkeypatch.context() as patched:
            patched.setattr(Terminal, "watched", not options or options == ["--quiet"], raising=False)
            patched.setattr(sys, "stdout", Screen())
            cli("run", "go", *options, steps=[reply])
        assert ("twelve times seven" in screen.getvalue()) is seen, options


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


def test_unambiguous_prefixes_of_ids_are_accepted(cli: Cli) -> None:
    first = cli("run", "one", "--json", steps=["1"]).events[0]["workflow_id"]
    second = cli("run", "two", "--json", steps=["2"]).events[0]["workflow_id"]
    common = "".join(
        a for a, b in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=True))
    )
    assert len(common) >= 4
    assert cli("workflows", "show", second[: len(common) + 1], "--json").json["workflow"]["id"] == second
    assert cli("run", "go", "--workflow", first[:-1].upper(), "--json", steps=["3"]).events[0]["workflow_id"] == first
    several = cli("workflows", "show", common)
    assert several.status == 2
    assert first in several.err
    assert second in several.err
    assert "no workflow ffffff" in cli("workflows", "show", "ffffff").err
    memory = cli("memory", "add", "Blue", "--json").json["id"]
    assert cli("memory", "delete", memory[:-2], "--json").json["id"] == memory


def test_tasks_of_all_workflows_by_status(cli: Cli) -> None:
    def add(workflow: str, name: str, **more: Any) -> str:
        given = {"operation": "create", "name": name, **more}
        result = cli("tools", "call", "TodoTool", json.dumps(given), "--workflow", workflow, "--json")
        assert result.status == 0, result.err
        tasks = cli("tasks", "list", "--workflow", workflow, "--json").json
        return str(next(task["id"] for task in tasks if task["name"] == name))

    first = cli("run", "one", "--json", steps=["1"]).events[0]["workflow_id"]
    second = cli("run", "two", "--json", steps=["2"]).events[0]["workflow_id"]
    fish = add(first, "Fish")
    add(first, "Cook", dependencies=[fish])
    add(second, "Urgent", priority=1)
    listed = cli("tasks", "list", "--json").json
    assert [(task["name"], task["status"]) for task in listed] == [
        ("Urgent", "pending"),
        ("Cook", "blocked"),
        ("Fish", "pending"),
    ]
    assert [task["name"] for task in cli("tasks", "list", "--status", "blocked", "--json").json] == ["Cook"]
    assert [task["name"] for task in cli("tasks", "list", "--limit", "1", "--offset", "1", "--json").json] == ["Cook"]
    cli("tools", "call", "TodoTool", json.dumps({"operation": "complete", "task_id": fish}), "--workflow", first)
    assert [task["name"] for task in cli("tasks", "list", "--status", "completed", "--json").json] == ["Fish"]
    assert {task["name"] for task in cli("tasks", "list", "--workflow", first[:-1], "--json").json} == {"Fish", "Cook"}
    shown = cli("tasks", "list").out
    assert "two" in shown
    assert "Fish" not in shown
    assert cli("tasks", "list", "--status", "lost").status == 2


def test_the_offered_statuses_are_those_of_the_domain() -> None:
    from atelier_desk.cli.command_arguments import tasks
    from atelier_desk.cli.event_text import TASK_STATES

    assert set(tasks.STATUSES) == {status.value for status in TaskStatus} == set(TASK_STATES)

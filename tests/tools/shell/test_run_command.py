"""Running commands: their results, their limits, and the description of a call before it runs."""

# judges: app/atelier_desk/workspace/processes/sandbox_contents.py
from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

import pytest

from atelier_desk.domain.result_parts import TextPart
from atelier_desk.presentation import call_failure_text
from atelier_desk.tools.base import Effect, Risk
from atelier_desk.tools.shell import command_execution
from atelier_desk.workspace.processes import sandbox_contents
from tests.tools.shell.conftest import Bench
from tests.tools.shell.leftover_processes import left


async def test_output_and_exit_status(bench: Bench) -> None:
    result = await bench.run("cat in.txt")
    assert result.data["output"] == "b\na\nb\n"
    assert (result.data["exit_status"], result.data["success"]) == (0, True)
    failed = await bench.run("cat nowhere.txt")
    assert failed.data["code"] == "exit_status"
    assert failed.data["exit_status"] == 1
    assert "nowhere.txt" in failed.data["output"]
    lines = await bench.run("sort in.txt | uniq -c && echo done > made.txt")
    assert lines.data["output"].split() == ["1", "a", "2", "b"]
    assert (bench.root / "made.txt").read_text() == "done\n"


@pytest.mark.skipif(not sandbox_contents.available(), reason="there is no sandbox here")
async def test_a_command_approved_to_read_outside_reads_the_named_files(bench: Bench) -> None:
    for line in (
        "cat ../outside/secret",
        "cat ../outside/sec*",
        f"cd ../outside && cat {bench.outside}/secret",
        "cat < ../outside/secret",
    ):
        assert bench.call_of(line).effect is not Effect.READ
        result = await bench.run(line)
        assert "s3cret" in result.data["output"], line
    # A link matched by a pattern leads to a file that was not named.
    (bench.outside / "folder").mkdir()
    (bench.outside / "folder/link").symlink_to(bench.outside.parent / "secret")
    assert "s3cret" not in str((await bench.run("cat ../outside/folder/*")).data)
    assert "b\na\nb\n" in (await bench.run("cat *.txt ../outside/secret")).data["output"]


@pytest.mark.parametrize("mounts", [True, False])
async def test_the_programs_own_data_is_closed_even_inside_the_workspace(
    bench: Bench, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may contain the key file, a parent folder such as a home may be granted, and reading needs no approval."""
    if not sandbox_contents.available():
        pytest.skip("no sandbox here")
    if not mounts:
        monkeypatch.setattr(sandbox_contents, "hides", lambda: False)
        monkeypatch.setattr(sandbox_contents, "_masks", lambda _masked: {})
    data = bench.root / "share/data"
    data.mkdir(parents=True)
    (data / "keys.json").write_text("s3cret\n")
    bench.services.hidden = (data,)
    for line in (
        "cat share/data/keys.json",
        "cat share/*/keys.json",
        "grep -r s3 .",
        "head -c 9 share/data/../data/keys.json",
        "ls share/data",
    ):
        result = await bench.run(line)
        assert "s3cret" not in str(result.data), line
        assert "keys.json\n" not in result.data["output"].replace("keys.json: ", ""), line
    assert (await bench.run("cat in.txt")).data["output"] == "b\na\nb\n"
    if mounts and sandbox_contents.has_mounts():
        assert "share" in (await bench.run("ls")).data["output"]


async def test_colours_are_shown_only_to_people(bench: Bench) -> None:
    (bench.root / "log").write_text("\x1b]0;title\x07\x1b[31mred\x1b[0m\r\n10 %\r100 %\n")
    result = await bench.run("cat log")
    assert result.data["output"] == "red\n100 %\n"
    (part,) = result.parts
    assert isinstance(part, TextPart)
    assert (part.text, part.language) == ("\x1b[31mred\x1b[0m\n100 %", "ansi")
    (part,) = (await bench.run("cat in.txt")).parts
    assert isinstance(part, TextPart)
    assert part.language == ""


async def test_words_are_never_interpreted_by_a_shell(bench: Bench) -> None:
    result = await bench.run("echo '$(./canary)' '; ./canary' '`./canary`' '*'")
    assert result.data["output"] == "$(./canary) ; ./canary `./canary` *\n"
    assert bench.canary_marks == []
    assert (await bench.run("echo 'a  b' | cat")).data["output"] == "a  b\n"
    assert sorted((await bench.run("ls *.txt")).data["output"].split()) == ["./b.txt", "./gone.txt", "./in.txt"]


@pytest.mark.parametrize(
    ("command", "status", "output"),
    [
        ("echo out; exit 3", 3, "out"),
        ("exit 4", 4, ""),
        ("{ echo x; exit 5; }", 5, "x"),
        ("type ls", 0, "ls"),
        ("ulimit -n", 0, ""),
        ("umask", 0, "0"),
        ("times", 0, "m"),
        (":", 0, ""),
        ("pushd src > /dev/null && pwd", 0, "src"),
        ("export A=1; echo $A", 0, "1"),
        ("echo a | read line", 0, ""),
        ("wait", 0, ""),
    ],
)
async def test_shell_syntax_is_executed_and_needs_approval(
    bench: Bench, command: str, status: int, output: str
) -> None:
    (bench.root / "src").mkdir(exist_ok=True)
    tool = bench.registry.get_tool("run_command")
    assert tool is not None
    assert (
        tool.describe(tool.input.model_validate({"command": command, "modifies_files": False})).effect
        is not Effect.READ
    )
    data = (await bench.run(command)).data
    assert (data["exit_status"], output in data["output"]) == (status, True)


async def test_the_environment_is_an_allow_list(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "ATELIER_TOKEN",
        "GIT_DIR",
        "LD_PRELOAD",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "BASH_ENV",
        "EDITOR",
        "OPENAI_API_KEY",
        "GIT_PAGER",
    ):
        monkeypatch.setenv(name, "./canary")
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { ./canary; }")
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:secret@proxy:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("TZ", "Europe/Paris")
    said = (await bench.run("env")).data["output"]
    assert "canary" not in said.replace(str(bench.root), "")
    assert "secret" not in said
    assert "HTTP_PROXY=http://proxy:3128" in said
    assert "TZ=Europe/Paris" in said
    assert "PAGER=cat" in said
    assert (await bench.run("ls && env | cat")).success
    assert bench.canary_marks == []


@pytest.mark.parametrize(
    ("command", "effect", "risk"),
    [
        ("ls -la src", Effect.READ, Risk.LOW), ("rg -n foo | head", Effect.READ, Risk.LOW), ("cat /etc/passwd",
        Effect.EXECUTE, Risk.MEDIUM),
        ("cat ../x", Effect.EXECUTE, Risk.MEDIUM), ("mkdir build", Effect.WRITE, Risk.MEDIUM),
        ("echo a > b", Effect.WRITE, Risk.MEDIUM),
        ("python -m pytest -q", Effect.EXECUTE, Risk.MEDIUM), ("git commit -m x", Effect.EXECUTE, Risk.MEDIUM),
        ("echo $(id)", Effect.EXECUTE, Risk.HIGH), ("sh -c ls", Effect.EXECUTE, Risk.HIGH),
        ("sudo ls", Effect.EXECUTE, Risk.HIGH),
        ("ls | xargs rm", Effect.EXECUTE, Risk.HIGH), ("find . -exec rm x +", Effect.EXECUTE, Risk.HIGH),
        ("; ".join(["ls"] * 51), Effect.EXECUTE, Risk.HIGH),
        ("x" * 10_001 + " " + "y" * 9_998, Effect.EXECUTE, Risk.MEDIUM),
    ],
)  # fmt: skip
def test_the_description_of_a_call(bench: Bench, command: str, effect: Effect, risk: Risk) -> None:
    call = bench.call_of(command)
    assert (call.effect, call.risk) == (effect, risk)
    assert call.subjects.command == command


def test_a_call_names_its_files_and_parts(bench: Bench) -> None:
    call = bench.call_of("cat a/x | sort > out.txt && pytest", cwd="sub")
    assert call.subjects.paths == ("sub/a/x", "sub/out.txt")
    assert [(one["text"], one["kind"]) for one in call.details["commands"]] == [
        ("cat a/x", "reads"),
        ("sort >out.txt", "writes"),
        ("pytest", "runs"),
    ]
    assert call.details["writes"] == ["out.txt"]
    assert bench.call_of("ls", cwd="../x").effect is not Effect.READ
    assert bench.call_of("ls", cwd="/").effect is not Effect.READ


async def test_only_a_folder_of_the_workspace_is_accepted(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    (bench.root / "away").symlink_to(bench.outside)
    assert (await bench.run("pwd", cwd="sub")).data["output"].strip() == str(bench.root / "sub")
    for cwd, code in (
        ("..", "outside"),
        ("away", "outside"),
        ("/", "outside"),
        ("nowhere", "not_found"),
        ("in.txt", "not_found"),
    ):
        assert (await bench.run("pwd", cwd=cwd)).data["code"] == code
    unknown = await bench.run("no-such-program-here")
    assert unknown.data["code"] == "not_found"
    bench.root.rename(bench.root.with_name("gone"))
    assert (await bench.run("ls")).data["code"] == "no_workspace"


async def test_long_output_is_cut_and_can_be_read_in_parts(bench: Bench) -> None:
    result = await bench.run("seq 100000")
    assert result.data["output"].startswith("1\n2\n")
    assert result.data["output"].endswith("\n99999\n100000\n")
    assert "bytes are missing here" in result.data["output"]
    assert len(result.data["output"]) < 30_000
    file = Path(result.data["output_file"])
    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert file.read_text() == whole
    assert file.stat().st_mode & 0o077 == 0
    read, offset = "", 0
    while True:
        part = (await bench.call("command_output", command_id=result.data["command_id"], offset=offset)).data
        read, offset = read + part["output"], part["next_offset"]
        if not part["more"]:
            break
    assert read == whole
    many = await bench.run("seq 2500")
    assert many.data["output_lines"] == 2500
    assert Path(many.data["output_file"]).read_text() == "".join(f"{n}\n" for n in range(1, 2501))
    assert "output_file" not in (await bench.run("seq 1500")).data
    assert bench.services.commands is not None
    await bench.services.commands.aclose()
    assert not file.exists()


async def test_colours_and_progress_bars_become_text(bench: Bench) -> None:
    (bench.root / "bar").write_bytes(b"10%\r50%\r100%\n\x1b[31mred\x1b[0m\x1b]0;title\x07 \x00\xff\n")
    assert (await bench.run("cat bar")).data["output"] == "100%\nred \ufffd\n"


async def test_output_is_shown_while_the_command_runs(bench: Bench) -> None:
    (bench.root / "gate").touch()
    (bench.root / "slow.sh").write_text("echo first; while [ -e gate ]; do sleep 0.05; done; echo second\n")
    call = asyncio.create_task(bench.run("bash slow.sh", timeout_ms=30_000))
    async with asyncio.timeout(20):
        while not any("first" in text for text in bench.progress):
            await asyncio.sleep(0.02)
    assert not call.done()
    (bench.root / "gate").unlink()
    assert (await call).data["output"] == "first\nsecond\n"


STUBBORN = """trap '' TERM HUP INT
echo begun
sleep {mark}1 & setsid sleep {mark}2 & (setsid sh -c 'trap "" TERM; setsid sleep {mark}3' &)
sleep {mark}4
"""


async def test_a_command_times_out(bench: Bench, tmp_path: Path) -> None:
    """Including processes it started, even with signals ignored and in other sessions."""
    mark = f"9{os.getpid()}"
    (bench.root / "stubborn.sh").write_text(STUBBORN.format(mark=mark))
    result = await bench.run("bash stubborn.sh", timeout_ms=1000)
    assert result.data["code"] == "timeout"
    assert result.data["output"].startswith("begun")
    assert left(f"sleep {mark}") == []


async def test_a_command_is_stopped(bench: Bench) -> None:
    mark = f"8{os.getpid()}"
    (bench.root / "stubborn.sh").write_text(STUBBORN.format(mark=mark))
    call = asyncio.create_task(bench.run("bash stubborn.sh"))
    async with asyncio.timeout(20):
        while not any("begun" in text for text in bench.progress) or len(left(f"sleep {mark}")) < 4:
            await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert left(f"sleep {mark}") == []


async def test_processes_left_behind_end_with_the_command(bench: Bench) -> None:
    mark = f"7{os.getpid()}"
    (bench.root / "leaves.sh").write_text(f"setsid sh -c 'setsid sleep {mark}1 >/dev/null 2>&1 &' ; echo over\n")
    data = (await bench.run("bash leaves.sh")).data
    assert data["output"] == "over\n"
    assert left(f"sleep {mark}") == []
    assert "was ended" in data["ended"]


@pytest.mark.parametrize("sandboxed", [True, False])
@pytest.mark.parametrize(
    ("command", "ended"),
    [
        ("sleep 60 > /dev/null 2>&1 & echo over", True),
        ("echo over", False),
        ("true & wait; echo over", False),
        ("echo over | cat", False),
    ],
)
async def test_a_child_process_that_ends_with_the_command_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, command: str, ended: bool, sandboxed: bool
) -> None:
    if not sandboxed:
        monkeypatch.setattr(sandbox_contents, "available", lambda: False)
    data = (await bench.run(command)).data
    assert (data["output"], "ended" in data) == ("over\n", ended)


async def test_a_command_does_not_wait_for_input(bench: Bench) -> None:
    assert (await bench.run("cat")).data["output"] == ""
    assert (await bench.run("bash -c 'read x; echo got:$x'", timeout_ms=5000)).data["output"] == "got:\n"


async def test_without_a_folder_it_explains_how_to_get_one(bench: Bench) -> None:
    from dataclasses import replace

    nowhere = replace(bench.context, workspace=None)
    for tool, arguments in (
        ("run_command", {"command": "ls", "modifies_files": False}),
        ("git_status", {}),
        ("run_npm_script", {"script": "x"}),
    ):
        result = await bench.call(tool, nowhere, **arguments)
        assert result.data["code"] == "no_workspace"
    refused = bench.registry.refusal("run_command", ["TodoTool"], workspace=False)
    assert refused is not None
    assert refused.data["code"] == "no_workspace"
    assert bench.registry.configured(["run_command", "CalculatorTool"], ["file_ops"], workspace=False) == [
        "CalculatorTool"
    ]


@pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")
async def test_an_approved_command_stays_in_the_workspace(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(bench.outside))
    (bench.outside / ".ssh").mkdir()
    (bench.outside / ".ssh/id").write_text("s3cret")
    (bench.root / ".git/hooks").mkdir(parents=True)
    (bench.root / "try.sh").write_text(
        f"echo a > in.txt; chmod +x in.txt; echo b > {bench.outside}/out.txt; cat {bench.outside}/.ssh/id\n"
        "echo c > $TMPDIR/t && cat $TMPDIR/t\n"
        "echo evil > .git/hooks/pre-commit; mv .git .other; exit 0\n"
    )
    said = (await bench.run("bash try.sh")).data
    assert said["sandbox"] == "workspace"
    assert (bench.root / "in.txt").read_text() == "a\n"
    assert not (bench.outside / "out.txt").exists()
    assert "s3cret" not in said["output"]
    assert "c\n" in said["output"]
    assert not list((bench.root / ".git/hooks").glob("*"))
    # Without the sandbox, which a person approves, it may leave it.
    said = (await bench.run(f"bash -c 'echo b > {bench.outside}/out.txt'", sandbox="none")).data
    assert said["sandbox"] == "none"
    assert (bench.outside / "out.txt").read_text() == "b\n"


@pytest.mark.skipif(not sandbox_contents.available(), reason="this system has no sandbox")
async def test_the_network_needs_a_separate_approval(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = (
            f'{sys.executable} -c \'import socket; socket.create_connection(("127.0.0.1", '
            f"{server.getsockname()[1]}), 5); print(7)'"
        )
        refused = await bench.run(line)
        reached = await bench.run(line, sandbox="network")
    assert (refused.data["code"], "7\n" in refused.data["output"]) == ("exit_status", False)
    assert (reached.data["sandbox"], reached.data["output"]) == ("network", "7\n")


async def test_a_home_with_thousands_of_entries_is_no_obstacle(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them is named to the sandbox: too much for a program's arguments."""
    monkeypatch.setenv("HOME", str(bench.outside))
    for number in range(2_000):
        (bench.outside / f"{number}-{'x' * 80}").touch()
    (bench.outside / ".ssh").mkdir()
    said = await bench.run("bash -c 'echo all is well'")
    assert said.data["output"] == "all is well\n"


async def test_a_full_disk_and_remaining_processes_are_reported(bench: Bench) -> None:
    await bench.run("seq 5000")
    assert bench.services.commands is not None
    (kept,) = bench.services.commands.of("w")
    assert {"low_disk", "left"} & command_execution.facts(kept).keys() == set()
    kept.process.low_disks, kept.process.left = ("/work",), True
    said = command_execution.facts(kept)
    assert "/work" in said["low_disk"]
    assert "Tell the user" in said["left"]
    for why in ("disk", "unknown"):
        kept.process.ended_by = why
        ended = command_execution.result(kept).data
        assert (ended["code"], ended["ended_by"]) == ("ended", why)
    kept.process.ended_by = "disk"
    assert "/work" in command_execution.result(kept).data["error"]


def test_every_outcome_has_a_message_for_people_and_models() -> None:
    assert set(command_execution.ENDED_BY) - set(call_failure_text._ENDED) == {"timeout", "user"}

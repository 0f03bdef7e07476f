"""Background commands, git, scripts, packages, and information about the environment."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from atelier_desk.tools.base import Effect, Risk
from tests.tools.shell.conftest import Bench
from tests.tools.shell.leftover_processes import left


async def test_a_command_in_the_background(bench: Bench) -> None:
    (bench.root / "echo.sh").write_text("echo ready; while read line; do echo got:$line; done; echo bye\n")
    started = await bench.run("bash echo.sh", background=True)
    command_id = started.data["command_id"]
    assert started.data["running"] is True
    assert (await bench.call("list_commands")).data["commands"][0]["command"] == "bash echo.sh"
    assert (await bench.call("command_input", command_id=command_id, text="one\n")).success
    seen = ""
    async with asyncio.timeout(20):
        while "got:one" not in seen:
            seen += (await bench.call("command_output", command_id=command_id)).data["output"]
            await asyncio.sleep(0.02)
    assert "ready" in seen
    assert (await bench.call("command_input", command_id=command_id, close=True)).success
    async with asyncio.timeout(20):
        while (await bench.call("command_output", command_id=command_id, wait_ms=500)).data["running"]:
            pass
    over = await bench.call("command_output", command_id=command_id, offset=0)
    assert over.data["output"] == "ready\ngot:one\nbye\n"
    assert over.data["exit_status"] == 0
    assert (await bench.call("command_input", command_id=command_id, text="x")).data["code"] == "tool_error"


async def test_a_background_command_is_stopped_and_belongs_to_its_workflow(bench: Bench) -> None:
    mark = f"6{os.getpid()}1"
    started = await bench.run(f"sleep {mark}", background=True)
    command_id = started.data["command_id"]
    other = await bench.call("command_stop", bench.elsewhere("another"), command_id=command_id)
    assert other.data["code"] == "not_found"
    assert (await bench.call("list_commands", bench.elsewhere("another"))).data["commands"] == []
    stopped = await bench.call("command_stop", command_id=command_id)
    assert stopped.data["was_running"] is True
    assert left(f"sleep {mark}") == []
    assert (await bench.call("command_stop", command_id=command_id)).data["was_running"] is False


async def test_one_that_fails_at_once_is_reported_and_too_many_are_refused(bench: Bench) -> None:
    failed = await bench.run("bash -c 'echo no; exit 3'", background=True)
    assert (failed.data["exit_status"], failed.data["output"]) == (3, "no\n")
    mark = f"5{os.getpid()}"
    started = await asyncio.gather(*(bench.run(f"sleep {mark}{n}", background=True) for n in range(17)))
    assert sorted(result.success for result in started) == [False, *[True] * 16]
    assert bench.services.commands is not None
    await bench.services.commands.aclose()
    assert left(f"sleep {mark}") == []


@pytest.mark.skipif(sys.platform != "linux", reason="names are text here")
async def test_git_distinguishes_two_names_that_are_not_utf8(bench: Bench) -> None:
    bench.git("init", "-q")
    for name in (b"top\xe8.txt", b"top\xe9.txt"):
        Path(os.fsdecode(os.fsencode(bench.root) + b"/" + name)).write_text("old\n")
    bench.git("add", ".")
    bench.git("commit", "-q", "-m", "first")
    for name in (b"top\xe8.txt", b"top\xe9.txt"):
        Path(os.fsdecode(os.fsencode(bench.root) + b"/" + name)).write_text("new\n")
    named = [file["path"] for file in (await bench.call("git_status")).data["files"]]
    assert named == ["top⟨E8⟩.txt", "top⟨E9⟩.txt"]
    refused = (await bench.call("git_diff", file=named[1])).data
    assert (refused["code"], named[1] in refused["error"]) == ("bad_path", True)
    assert (await bench.call("git_diff")).data["output"].count("+new") == 2


async def test_git(bench: Bench) -> None:
    bench.git("init", "-q")
    bench.git("add", "in.txt", "b.txt")
    bench.git("commit", "-q", "-m", "first")
    (bench.root / "in.txt").write_text("b\nnew\nb\n")
    (bench.root / "é à.txt").write_text("x")
    bench.git("mv", "b.txt", "c.txt")
    status = (await bench.call("git_status")).data
    assert status["branch"] == "main"
    assert {"path": "c.txt", "staged": "R", "unstaged": "", "untracked": False, "from": "b.txt"} in status["files"]
    assert {"path": "in.txt", "staged": "", "unstaged": "M", "untracked": False} in status["files"]
    assert any(each["path"] == "é à.txt" and each["untracked"] for each in status["files"])
    assert "+new" in (await bench.call("git_diff")).data["output"]
    assert "rename from b.txt" in (await bench.call("git_diff", staged=True)).data["output"]
    assert (await bench.call("git_diff", file="c.txt")).data["output"] == ""
    unknown = await bench.call("git_diff", file="nope.txt")
    assert (unknown.data["code"], "nope.txt" in unknown.data["error"]) == ("not_found", True)
    for file in ("--output=x", "../x", "/etc/passwd", ":(top)x", "-O./canary"):
        refused = await bench.call("git_diff", file=file)
        assert not (bench.root / "x").exists()
        assert not refused.success or refused.data["output"] == ""
    assert bench.canary_marks == []


async def test_without_a_repository(bench: Bench) -> None:
    result = await bench.call("git_status")
    assert result.data["code"] == "exit_status"
    assert "not a git repository" in result.data["output"]


def program(folder: Path, name: str) -> None:
    """A substitute for a program of the machine: it prints its arguments."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    file.chmod(0o755)


async def test_a_script_of_the_project(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bench.outside / "bin", "npm")
    monkeypatch.setenv("PATH", f"{bench.outside / 'bin'}:/usr/bin:/bin")
    assert (await bench.call("run_npm_script", script="test")).data["code"] == "not_found"
    (bench.root / "package.json").write_text("[1]")
    assert (await bench.call("run_npm_script", script="test")).data["code"] == "invalid"
    (bench.root / "package.json").write_text(json.dumps({"scripts": {"test": "jest", "build": "x"}}))
    result = await bench.call("run_npm_script", script="test", args=["a b", "$(./canary)"])
    assert result.data["output"] == "<run><--silent><test><--><a b><$(./canary)>"
    unknown = await bench.call("run_npm_script", script="deploy")
    assert "test, build" in unknown.data["error"]
    assert (await bench.call("run_npm_script", script="--prefix=/")).data["code"] == "invalid_arguments"
    assert bench.canary_marks == []


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            {"package_name": "left-pad@1.3.0", "dev": True},
            "<install><--no-audit><--no-fund><--save-dev><--><left-pad@1.3.0>",
        ),
        ({"package_name": "@types/node"}, "<install><--no-audit><--no-fund><--><@types/node>"),
        ({"package_name": "ruff==0.6", "manager": "uv", "dev": True}, "<add><--dev><--><ruff==0.6>"),
        (
            {"package_name": "httpx[http2]>=0.27", "manager": "pip"},
            "<install><--disable-pip-version-check><--no-input><--><httpx[http2]>=0.27>",
        ),
    ],
)
async def test_installing_a_package(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], printed: str
) -> None:
    for name in ("npm", "pip", "uv"):
        program(bench.outside / "bin", name)
    monkeypatch.setenv("PATH", f"{bench.outside / 'bin'}:/usr/bin:/bin")
    tool = bench.registry.get_tool("install_package")
    assert tool is not None
    call = bench.registry.prepare(tool, arguments).described
    assert (call.effect, call.risk) == (Effect.NETWORK, Risk.HIGH)
    assert call.subjects.hosts in (("registry.npmjs.org",), ("pypi.org",))
    assert (await bench.call("install_package", None, **arguments)).data["output"] == printed


@pytest.mark.parametrize(
    "name",
    ["--registry=http://evil", "./evil", "../evil", "/tmp/evil", "git+https://evil/x", "http://evil/x.tgz", "a b",
    "x;./canary",
    "file:evil",
     "npm:evil@1", "x @ http://evil", "-e .", "user/repo", "x@git+ssh://evil", "x@file:evil", "x@http://evil"],
)  # fmt: skip
async def test_invalid_package_names_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for manager in ("npm", "pip", "uv"):
        program(bench.outside / "bin", manager)
    monkeypatch.setenv("PATH", f"{bench.outside / 'bin'}:/usr/bin:/bin")
    for manager in ("npm", "pip", "uv"):
        result = await bench.call("install_package", package_name=name, manager=manager)
        assert result.data["code"] == "invalid_arguments", (manager, result.data)


async def test_the_list_of_safe_commands(bench: Bench) -> None:
    said = (await bench.call("list_safe_commands")).data
    assert {"ls", "grep", "git status"} <= set(said["reads"])
    assert "rm" in said["writes_only_what_it_names"]
    for name in said["reads"]:
        assert name.split()[0] not in ("sudo", "sh", "xargs")


async def test_the_environment_is_described(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await bench.call("get_working_directory")).data["working_directory"] == str(bench.root)
    monkeypatch.setenv("ATELIER_TOKEN", "s3cret")
    environment = (await bench.call("get_environment_info")).data
    assert environment["programs"]["git"].endswith("git")
    assert "s3cret" not in str(environment)
    (bench.root / "package.json").write_text(json.dumps({"name": "shop", "scripts": {"test": "jest"}}))
    (bench.root / "pyproject.toml").symlink_to(bench.outside / "secret")
    (bench.root / ".git").mkdir()
    project = (await bench.call("get_project_info")).data
    assert project["git"] is True
    assert project["npm"] == {"name": "shop", "scripts": {"test": "jest"}}
    assert "python" not in project
    assert project["manifests"] == ["pyproject.toml", "package.json"]


@pytest.mark.parametrize(
    ("sandbox", "effect"), [("none", Effect.NETWORK), ("network", Effect.NETWORK), ("workspace", Effect.EXECUTE)]
)
async def test_writing_to_a_command_with_network_access_may_send_data_out(
    bench: Bench, sandbox: str, effect: Effect
) -> None:
    started = await bench.run("bash -c cat", background=True, sandbox=sandbox)
    tool = bench.registry.get_tool("command_input")
    assert tool is not None
    described = bench.registry.prepare(tool, {"command_id": started.data["command_id"], "text": "secret\n"}).described
    assert described.effect is effect
    assert bench.registry.prepare(tool, {"command_id": "cmd_none"}).described.effect is Effect.EXECUTE
    await bench.call("command_stop", command_id=started.data["command_id"])

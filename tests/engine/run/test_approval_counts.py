"""The number of approvals during 60 harmless tasks, under each profile; the table below has today's figures."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.engine.run.call_verdict import verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.base import Effect
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.workspace.processes import sandbox_contents

TASKS = Path(__file__).parents[2] / "policy" / "permissions" / "harmless_tasks.txt"


def arguments(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of a call of the table."""
    does, rest = words[0], words[1:]
    first, text = (rest or [""])[0], " ".join(rest)
    table: dict[str, tuple[str, dict[str, Any]]] = {
        "list": ("list_directory", {"path": first}),
        "read": ("read_file", {"path": first}),
        "search": ("search_files", {"pattern": text}),
        "find": ("glob_files", {"pattern": first}),
        "edit": ("edit_file", {"path": first, "old_string": "a", "new_string": "b"}),
        "write": ("write_file", {"path": first, "content": "x"}),
        "move": ("move_file", {"source": first, "destination": rest[-1] if rest else ""}),
        "delete": ("delete_path", {"path": first}),
        "run": ("run_command", {"command": text, "modifies_files": False}),
        "git": ("git_status", {}),
        "diff": ("git_diff", {}),
        "npm": ("run_npm_script", {"script": first}),
        "install": ("install_package", {"manager": first, "package_name": rest[-1] if rest else ""}),
        "spawn": ("SpawnAgentTool", {"operation": "spawn", "name": "Helper", "prompt": "Look."}),
        "todo": ("TodoTool", {"operation": "create", "name": "x"}),
        "memory": ("MemoryTool", {"operation": "list"}),
        "calc": ("CalculatorTool", {"operation": "eval", "expression": first}),
        "question": ("UserQuestionTool", {"operation": "ask", "question": "How?", "questionType": "text"}),
    }
    return table[does]


def asked(folder: Path, mode: ApprovalMode, *rules: PermissionRule) -> tuple[int, int, list[str]]:
    """How many calls need approval, of how many, and which."""
    registry = create_default_tool_registry()
    agent = AgentConfig(name="A", provider="p", model="m")
    run = RunState(
        run_id="r",
        workflow_id="w",
        agent=agent,
        approvals=ApprovalPolicy(mode=mode, rules=rules),
        workspace=(str(folder),),
    )
    calls, asks = 0, []
    for line in TASKS.read_text("utf-8").splitlines():
        if " | " not in line:
            continue
        for text in line.split(" | ")[1].split(" ; "):
            name, given = arguments(text.split())
            tool = registry.get_tool(name)
            assert tool is not None, name
            described = registry.prepare(tool, given).described
            calls += 1
            if described.effect is Effect.INTERACT:
                continue
            started = ToolCallStarted(
                call_id="c",
                tool=name,
                arguments=given,
                section=tool.section,
                effect=described.effect.value,
                risk=described.risk.value,
            )
            if verdict(run, started, described, repaired=False).action is not Action.ALLOW:
                asks.append(text)
    return len(asks), calls, asks


@pytest.mark.skipif(not sandbox_contents.available(), reason="without a sandbox every command asks")
def test_60_harmless_tasks(tmp_path: Path) -> None:
    found = {
        mode.value: asked(tmp_path, mode) for mode in (ApprovalMode.SELECTIVE, ApprovalMode.EDIT, ApprovalMode.AUTO)
    }
    tasks = sum(" | " in line for line in TASKS.read_text("utf-8").splitlines())
    print(json.dumps({mode: f"{asks} of {calls} calls ask" for mode, (asks, calls, _which) in found.items()}))
    assert tasks == 60
    count, calls, which = found["edit"]
    assert count * 10 <= calls, which


@pytest.mark.skipif(not sandbox_contents.available() or shutil.which("git") is None, reason="needs a sandbox and git")
def test_the_same_in_a_real_clone_with_protected_files_and_a_denied_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    files = {"AGENTS.md": "Be kind.", ".github/workflows/ci.yml": "on: push", ".husky/pre-commit": "npm test",
    "src/app.py": "a = 1",
             ".gitignore": ".env", "package.json": '{"scripts": {"test": "true", "prepare": "husky"}}',
             "README.md": "Hello."}  # fmt: skip
    for name, text in files.items():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(text)
    for line in (
        "git init -q",
        "git add -A",
        "git -c user.name=A -c user.email=a@b commit -qm one",
        f"git clone -q . {clone}",
    ):
        subprocess.run(line.split(), cwd=origin, check=True, timeout=20)
    (clone / ".env").write_text("KEY=1")
    denied = [
        PermissionRule(id=tool, text=f"{tool}(.env)", action=Action.DENY, scope=RuleScope.ALWAYS)
        for tool in ("read_file", "edit_file")
    ]
    count, calls, which = asked(clone, ApprovalMode.EDIT, *denied)
    print(f"{count} of {calls} calls ask in a real clone")
    assert count <= 25, which
    free, _calls, which = asked(clone, ApprovalMode.AUTO, *denied)
    assert free <= asked(tmp_path, ApprovalMode.AUTO)[0] + 3, which

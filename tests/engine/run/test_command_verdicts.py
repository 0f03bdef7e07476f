"""The verdict on a command under each profile, from the line that a model wrote."""

# judges: app/atelier_desk/engine/run/call_facts.py
from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.call_verdict import verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from atelier_desk.workspace.processes import sandbox_contents

TABLE = """
ls && cat app.py                       | allow | allow | allow mode
grep -rn x . > found.txt               | ask   | allow | allow mode
mkdir -p build && touch build/x        | ask   | allow | allow mode
touch ../x                             | ask   | ask   | allow mode
rm app.py                              | ask   | ask   | allow mode
python -m pytest -q                    | ask   | ask   | allow mode
ls && python x.py                      | ask   | ask   | allow mode
ls $(id)                               | ask   | ask   | ask unparsed
sudo ls                                | ask   | ask   | ask opaque
xargs rm                               | ask   | ask   | ask opaque
bash build.sh                          | ask   | ask   | ask opaque
touch build/[ab]                       | ask   | ask   | ask unparsed
pip install x                          | ask   | ask   | ask installs
ls && npm i left-pad                   | ask   | ask   | ask installs
echo x > .git/config                   | ask   | ask   | ask protected
cp a .git/hooks/pre-commit             | ask   | ask   | ask protected
touch link/config                      | ask   | ask   | ask protected
curl example.com #network              | ask   | ask   | ask unconfined
make #none                             | ask   | ask   | ask unconfined
"""
"""A line with its requested sandbox, and the verdicts under Ask, Edit and Free; for the last, the reason."""
MODES = (ApprovalMode.SELECTIVE, ApprovalMode.EDIT, ApprovalMode.AUTO)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / ".git")
    return tmp_path


def said(folder: Path, command: str, mode: ApprovalMode, *rules: str, box: str = "workspace") -> tuple[Action, str]:
    registry = create_default_tool_registry()
    tool = registry.get_tool("run_command")
    assert tool is not None
    arguments = {"command": command, "modifies_files": False, "sandbox": box}
    call = registry.prepare(tool, arguments).described
    policy = ApprovalPolicy(mode=mode, rules=tuple(PermissionRule(text=rule, action=Action.ALLOW) for rule in rules))
    agent = AgentConfig(name="A", provider="p", model="m")
    run = RunState(run_id="r", workflow_id="w", agent=agent, approvals=policy, workspace=(str(folder),))
    started = ToolCallStarted(
        call_id="c",
        tool="run_command",
        arguments=arguments,
        section="shell_ops",
        effect=call.effect.value,
        risk=call.risk.value,
    )
    found = verdict(run, started, call, repaired=False)
    return found.action, found.reason


@pytest.mark.skipif(not sandbox_contents.available(), reason="everything is unconfined here, and asks")
def test_the_table(folder: Path) -> None:
    wrong = []
    for row in TABLE.strip().splitlines():
        line, *wanted = (cell.strip() for cell in row.split("|"))
        command, _, box = line.partition(" #")
        for mode, want in zip(MODES, wanted, strict=True):
            action, reason = said(folder, command, mode, box=box or "workspace")
            if not f"{action.value} {reason}".startswith(want):
                wrong.append(f"{line} under {mode.value}: {action.value} {reason}, not {want}")
    assert wrong == []


def test_a_rule_does_not_override_what_always_needs_approval(folder: Path) -> None:
    for command in ("ls $(id)", "pip install x", "cp a .git/hooks/pre-commit"):
        assert said(folder, command, ApprovalMode.SELECTIVE, "run_command")[0] is Action.ASK
    assert said(folder, "python x.py", ApprovalMode.SELECTIVE, "run_command")[0] is Action.ALLOW
    assert said(folder, "python x.py", ApprovalMode.SELECTIVE, "run_command", box="none") == (Action.ASK, "unconfined")


def test_without_a_sandbox_every_execution_needs_approval(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_contents, "available", lambda: False)
    for command in ("python x.py", "ls"):
        assert said(folder, command, ApprovalMode.AUTO)[0] is Action.ASK

"""What a call of a run comes to under its mode and rules: the facts, the verdict in the journal, the refusal the model reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import AllowRule, ApprovalKind, ApprovalPolicy
from atelier_desk.domain.call import Subjects
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, Verdict
from atelier_desk.engine.run.permissions import PLAN_REFUSAL, facts, refusal, verdict
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions.facts import Concern
from atelier_desk.tools.base import Call, Effect, Risk


def started(arguments: dict[str, str] | None = None, risk: str = "medium", tool: str = "write_file") -> ToolCallStarted:
    return ToolCallStarted(call_id="c", tool=tool, arguments=arguments or {}, section="file_ops", effect="write", risk=risk)


def state(mode: ApprovalMode, *allowed: str, workspace: tuple[str, ...] = ()) -> RunState:
    policy = ApprovalPolicy(mode=mode, allowed=tuple(AllowRule(what="tool", target=tool) for tool in allowed))
    return RunState(
        run_id="r", workflow_id="w", agent=AgentConfig(name="A", provider="p", model="m"), approvals=policy, workspace=workspace
    )


def write(path: str, effect: Effect = Effect.WRITE) -> Call:
    return Call(effect, Risk.MEDIUM, ApprovalKind.FILE_OP, subjects=Subjects(paths=(path,)))


@pytest.mark.parametrize(
    ("mode", "inside", "outside"),
    [
        (ApprovalMode.PLAN, Action.DENY, Action.DENY),
        (ApprovalMode.MANUAL, Action.ASK, Action.ASK),
        (ApprovalMode.SELECTIVE, Action.ASK, Action.ASK),
        (ApprovalMode.EDIT, Action.ALLOW, Action.ASK),
        (ApprovalMode.AUTO, Action.ALLOW, Action.ALLOW),
    ],
)
def test_each_profile_says_what_may_be_written(tmp_path: Path, mode: ApprovalMode, inside: Action, outside: Action) -> None:
    run = state(mode, workspace=(str(tmp_path),))
    assert verdict(run, started(), write("notes.txt"), repaired=False).action is inside
    assert verdict(run, started(), write("../notes.txt"), repaired=False).action is outside


def test_a_link_that_leads_out_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "door").symlink_to(tmp_path)
    run = state(ApprovalMode.EDIT, workspace=(str(tmp_path / "in"),))
    assert verdict(run, started(), write("door/x"), repaired=False).action is Action.ASK


@pytest.mark.parametrize("mode", [ApprovalMode.EDIT, ApprovalMode.AUTO])
def test_a_protected_name_asks_even_when_its_tool_is_allowed(tmp_path: Path, mode: ApprovalMode) -> None:
    run = state(mode, "write_file", workspace=(str(tmp_path),))
    said = verdict(run, started(), write(".GIT/hooks/pre-commit"), repaired=False)
    assert (said.action, said.reason, said.about) == (Action.ASK, "protected", f"{tmp_path}/.GIT/hooks/pre-commit")
    assert verdict(run, started(), write(".git/hooks/pre-commit", Effect.READ), repaired=False).action is Action.ALLOW


@pytest.mark.parametrize("command", ["echo $(id)", "cat <<EOF", "if true; then id; fi", "a" * 200_000])
def test_a_command_that_cannot_be_taken_apart_asks_in_every_mode_that_acts(command: str) -> None:
    call = Call(Effect.EXECUTE, Risk.MEDIUM, ApprovalKind.FILE_OP, subjects=Subjects(command=command))
    for mode in (ApprovalMode.AUTO, ApprovalMode.EDIT):
        said = verdict(state(mode, "run_command"), started(tool="run_command"), call, repaired=False)
        assert (said.action, said.reason) == (Action.ASK, "unparsed")


def test_a_plan_is_not_undone_by_a_rule_and_leaves_notes_and_helpers_alone() -> None:
    run = state(ApprovalMode.PLAN, "write_file")
    assert verdict(run, started(), write("a"), repaired=False) == Verdict(action=Action.DENY, reason="plan")
    note = Call(Effect.WRITE, Risk.LOW)
    helper = Call(Effect.SPAWN, Risk.MEDIUM, ApprovalKind.SUB_AGENT)
    sends = Call(Effect.NETWORK, Risk.LOW)
    low = started(risk="low", tool="TodoTool")
    assert verdict(run, low, note, repaired=False).action is Action.ALLOW
    assert verdict(run, started(), helper, repaired=False).action is Action.ALLOW
    assert verdict(run, low, sends, repaired=False).action is Action.DENY


def test_mended_arguments_concern_only_what_changes_something() -> None:
    run = state(ApprovalMode.SELECTIVE)
    assert facts(run, started(), write("a"), repaired=True).concerns == (Concern.REPAIRED,)
    assert facts(run, started(), write("a", Effect.READ), repaired=True).concerns == ()


def test_the_model_reads_which_rule_refused_it() -> None:
    said = Verdict(action=Action.DENY, reason="rule", rule_id="1", rule="run_command(rm:*)", about="rm -rf build")
    assert "run_command(rm:*)" in refusal(said)
    assert "rm -rf build" in refusal(said)
    assert refusal(Verdict(action=Action.DENY, reason="plan")) == PLAN_REFUSAL

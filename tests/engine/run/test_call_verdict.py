"""The decision on a call under its mode and rules: the facts, the verdict in the journal, the refusal for the
model.
"""

# judges: app/atelier_desk/engine/run/permission_rules.py
# judges: app/atelier_desk/policy/permissions/decide.py
# judges: app/atelier_desk/engine/run/call_facts.py
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalKind, ApprovalPolicy
from atelier_desk.domain.call_presentation_and_subjects import Subjects
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, Verdict
from atelier_desk.engine.run.call_facts import facts
from atelier_desk.engine.run.call_verdict import PLAN_REFUSAL, Judge, disclosure_filter, refusal, verdict
from atelier_desk.engine.run.permission_rules import barred_host, host_arguments, rules, settings_allowed
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.policy.permissions.call_facts import Concern
from atelier_desk.policy.permissions.taint_sources import merged
from atelier_desk.tools.base import Call, Effect, Input, Risk, Tool, ToolContext, ToolResult
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.workspace.commands import parsing
from tests.engine.run.judged_run_states import started, state, write


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
def test_what_each_profile_allows_to_be_written(
    tmp_path: Path, mode: ApprovalMode, inside: Action, outside: Action
) -> None:
    run = state(mode, workspace=(str(tmp_path),))
    assert verdict(run, started(), write("notes.txt"), repaired=False).action is inside
    assert verdict(run, started(), write("../notes.txt"), repaired=False).action is outside


def test_redirect_hosts_are_compared_with_rules_that_name_hosts() -> None:
    said = ((Action.DENY, "fetch_web_page(domain:www.x.org)"), (Action.ASK, "web_ops(domain:*.y.org)"),
            (Action.DENY, "other(domain:z.org)"),
            (Action.ASK, "fetch_web_page"), (Action.DENY, "fetch_web_page(domain:p.org:8443)"))  # fmt: skip
    policy = ApprovalPolicy(rules=tuple(PermissionRule(text=text, action=action) for action, text in said))
    run = replace(state(ApprovalMode.AUTO), approvals=policy)
    hosts = ("www.x.org", "x.org", "y.org", "a.y.org", "z.org", "p.org", "p.org:8443", "WWW.X.ORG")
    found = {host: barred_host(run, "fetch_web_page", "web_ops", host) for host in hosts}
    assert found == {"www.x.org": "deny", "x.org": "", "y.org": "ask", "a.y.org": "ask", "z.org": "", "p.org": "",
    "p.org:8443": "deny",
                     "WWW.X.ORG": "deny"}  # fmt: skip


def ruled(*said: tuple[Action, str]) -> RunState:
    policy = ApprovalPolicy(
        mode=ApprovalMode.AUTO, rules=tuple(PermissionRule(text=text, action=action) for action, text in said)
    )
    return replace(state(ApprovalMode.AUTO), approvals=policy)


def test_private_hosts_are_those_that_rules_for_this_tool_name() -> None:
    run = ruled(
        (Action.ALLOW, "fetch_web_page(domain:nas.lan:80)"), (Action.ALLOW, "web_ops(local:b.lan)"),
        (Action.ALLOW, "*(local:all.lan)"),
        (Action.ALLOW, "fetch_web_page"), (Action.ALLOW, "fetch_web_page(src/**)"),
        (Action.ALLOW, "download_file(domain:c.lan)"),
        (Action.ASK, "fetch_web_page(domain:d.lan)"), (Action.DENY, "fetch_web_page(domain:e.lan)"),
    )  # fmt: skip
    assert host_arguments(run, "fetch_web_page", "web_ops") == ("domain:nas.lan:80", "local:b.lan", "local:all.lan")
    assert host_arguments(run, "download_file", "") == ("local:all.lan", "domain:c.lan")


def test_an_unparseable_rule_allows_nothing_and_makes_calls_ask_unless_it_would_allow() -> None:
    call = Call(Effect.READ, Risk.LOW)
    for action, comes_to, barred in (
        (Action.ALLOW, Action.ALLOW, ""),
        (Action.ASK, Action.ASK, "ask"),
        (Action.DENY, Action.ASK, "deny"),
    ):
        run = ruled((action, "read file"))
        assert verdict(run, started(tool="calculator"), call, repaired=False).action is comes_to
        assert barred_host(run, "fetch_web_page", "web_ops", "x.org") == barred
    mixed = ruled((Action.ALLOW, "read file"), (Action.ALLOW, "read_file"))
    assert [rule.text for rule in rules(mixed)] == ["read_file"]


def test_repository_settings_are_allowed_only_by_a_rule_with_their_exact_text() -> None:
    run = ruled((Action.ALLOW, "git(repository:one)"), (Action.DENY, "git(repository:two)"))
    assert [settings_allowed(run, f"git(repository:{name})") for name in ("one", "two", "three")] == [
        True,
        False,
        False,
    ]


def test_the_content_of_a_result_is_compared_with_rules_for_paths_and_hosts(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "door").symlink_to(tmp_path / "private")
    said = (
        (Action.DENY, "read_file(private/**)"), (Action.ASK, "file_ops(*.sql)"),
        (Action.DENY, "semantic_search(drafts/**)"),
        (Action.DENY, "write_file(public/**)"), (Action.ASK, "semantic_search"),
        (Action.DENY, "fetch_web_page(domain:x.org)"),
        (Action.ALLOW, "read_file(private/known.md)"),
    )  # fmt: skip
    policy = ApprovalPolicy(rules=tuple(PermissionRule(text=text, action=action) for action, text in said))
    run = replace(state(ApprovalMode.AUTO, workspace=(str(tmp_path),)), approvals=policy)
    tells = disclosure_filter(run, "semantic_search", "rag_ops")
    paths = ("private/wage.py", "private/known.md", "door/wage.py", "all.sql", "drafts/a.md", "public/cart.py")
    assert {path: tells(f"{tmp_path}/{path}") for path in paths} == dict.fromkeys(paths[:-1], False) | {
        "public/cart.py": True
    }
    assert disclosure_filter(run, "query_entities", "rag_ops")(f"{tmp_path}/drafts/a.md"), "a rule about another tool"
    assert (tells("https://x.org/a"), tells("https://y.org/a")) == (False, True)
    broken = replace(run, approvals=ApprovalPolicy(rules=(PermissionRule(text="read file", action=Action.DENY),)))
    assert not disclosure_filter(broken, "semantic_search", "rag_ops")(f"{tmp_path}/public/cart.py")


def test_a_link_out_of_the_folder_is_not_inside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "door").symlink_to(tmp_path)
    run = state(ApprovalMode.EDIT, workspace=(str(tmp_path / "in"),))
    assert verdict(run, started(), write("door/x"), repaired=False).action is Action.ASK


@pytest.mark.parametrize("mode", [ApprovalMode.EDIT, ApprovalMode.AUTO])
def test_a_protected_name_needs_approval_even_when_its_tool_is_allowed(tmp_path: Path, mode: ApprovalMode) -> None:
    run = state(mode, "write_file", workspace=(str(tmp_path),))
    said = verdict(run, started(), write(".GIT/hooks/pre-commit"), repaired=False)
    assert (said.action, said.reason, said.about) == (Action.ASK, "protected", f"{tmp_path}/.GIT/hooks/pre-commit")
    assert verdict(run, started(), write(".git/hooks/pre-commit", Effect.READ), repaired=False).action is Action.ALLOW


@pytest.mark.parametrize("command", ["echo $(id)", "cat <<EOF", "if true; then id; fi", "a" * 200_000])
def test_an_unparseable_command_needs_approval_in_every_writing_mode(command: str) -> None:
    call = Call(Effect.EXECUTE, Risk.MEDIUM, ApprovalKind.FILE_OP, subjects=Subjects(command=command))
    for mode in (ApprovalMode.AUTO, ApprovalMode.EDIT):
        said = verdict(state(mode, "run_command"), started(tool="run_command"), call, repaired=False)
        assert (said.action, said.reason) == (Action.ASK, "unparsed")


def test_a_rule_does_not_override_plan_which_still_allows_notes_and_helpers() -> None:
    run = state(ApprovalMode.PLAN, "write_file")
    assert verdict(run, started(), write("a"), repaired=False) == Verdict(action=Action.DENY, reason="plan")
    note = Call(Effect.WRITE, Risk.LOW)
    helper = Call(Effect.SPAWN, Risk.MEDIUM, ApprovalKind.SUB_AGENT)
    sends = Call(Effect.NETWORK, Risk.LOW)
    low = started(risk="low", tool="TodoTool")
    assert verdict(run, low, note, repaired=False).action is Action.ALLOW
    assert verdict(run, started(), helper, repaired=False).action is Action.ALLOW
    assert verdict(run, low, sends, repaired=False).action is Action.DENY


def test_repaired_arguments_concern_only_changing_calls() -> None:
    run = state(ApprovalMode.SELECTIVE)
    assert facts(run, started(), write("a"), repaired=True).concerns == (Concern.REPAIRED,)
    assert facts(run, started(), write("a", Effect.READ), repaired=True).concerns == ()


def test_the_model_is_told_which_rule_refused_its_call() -> None:
    said = Verdict(action=Action.DENY, reason="rule", rule_id="1", rule="run_command(rm:*)", about="rm -rf build")
    assert "run_command(rm:*)" in refusal(said)
    assert "rm -rf build" in refusal(said)
    assert refusal(Verdict(action=Action.DENY, reason="plan")) == PLAN_REFUSAL


@pytest.mark.parametrize("mode", [ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE])
def test_a_call_that_cannot_be_inspected_needs_approval(
    mode: ApprovalMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = state(mode, "write_file", workspace=(str(tmp_path),))
    # no path at all
    assert verdict(run, started(), write("a\0b"), repaired=False) == Verdict(action=Action.ASK, reason="unparsed")

    def broken(*_given: object) -> object:
        raise RuntimeError("an inspector with a mistake in it")

    for inspector in ("call_verdict.facts", "call_verdict.rules", "call_facts.protected", "call_facts._commands"):
        with monkeypatch.context() as patch:
            patch.setattr(f"atelier_desk.engine.run.{inspector}", broken)
            assert verdict(run, started(), write("a"), repaired=False).action is Action.ASK, inspector
            plan = state(ApprovalMode.PLAN, workspace=(str(tmp_path),))
            assert verdict(plan, started(), write("a"), repaired=False).action is Action.DENY, inspector
    assert verdict(run, started(), write("a"), repaired=False).action is Action.ALLOW


def test_a_tool_that_fails_to_describe_its_call_needs_approval_in_every_mode(tmp_path: Path) -> None:
    class Broken(Tool):
        name = "broken"
        description = "Broken."
        input = Input

        def describe(self, input: object) -> Call:
            raise RuntimeError("a mistake of the tool")

        async def run(self, input: object, context: ToolContext) -> ToolResult:
            return ToolResult.ok()

    registry = ToolRegistry()
    described = registry.prepare(Broken(), {}).described
    for mode in (ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE, ApprovalMode.MANUAL):
        said = verdict(state(mode, "broken"), started(tool="broken"), described, repaired=False)
        assert (said.action, said.reason) == (Action.ASK, "unparsed")
    assert verdict(state(ApprovalMode.PLAN), started(tool="broken"), described, repaired=False).action is Action.DENY


def test_leading_double_slashes_and_a_bare_tilde_are_resolved_like_by_the_tools(tmp_path: Path) -> None:
    run = state(ApprovalMode.EDIT, workspace=(str(tmp_path),))
    assert verdict(run, started(), write(f"/{tmp_path}/a"), repaired=False).action is Action.ALLOW
    assert facts(run, started(), write("~"), repaired=False).paths[0].spellings[0] == Path.home().as_posix()


PIECES = st.lists(
    st.sampled_from(
        ["ls", "$(id)", "`id`", "a=b", "&", "$X", "'", "(", "{", "<(id)", "eval", "x", " ", ";", "|", "\n"]
    ),
    min_size=1,
)


@given(PIECES.map(" ".join), st.sampled_from([ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.MANUAL]))
def test_no_unparseable_line_is_allowed(command: str, mode: ApprovalMode) -> None:
    call = Call(Effect.EXECUTE, Risk.MEDIUM, ApprovalKind.FILE_OP, subjects=Subjects(command=command))
    said = verdict(state(mode, "run_command"), started(tool="run_command"), call, repaired=False)
    try:
        parsing.read(command, "/home/ann")
    except parsing.UnreadableError:
        assert said.action is Action.ASK
    else:
        assert said.action is Action.ALLOW


def test_the_programs_own_data_needs_approval_in_every_writing_mode(tmp_path: Path) -> None:
    """Even when a granted folder contains it, and whatever moves or deletes that folder."""
    own = tmp_path / "work" / "atelier-data"
    (own / "database").mkdir(parents=True)
    for mode in (ApprovalMode.EDIT, ApprovalMode.AUTO):
        run = state(mode, workspace=(str(tmp_path / "work"),))
        for path in ("atelier-data/database/x", "atelier-data", "."):
            said = verdict(run, started(), write(path), repaired=False, own=[own.as_posix()])
            assert (said.action, said.reason) == (Action.ASK, "protected"), path
        assert verdict(run, started(), write("other.txt"), repaired=False, own=[own.as_posix()]).action is Action.ALLOW


def read_by(run: RunState, call: Call, *, server: str = "") -> str:
    return facts(run, started(tool="t").model_copy(update={"server": server}), call, repaired=False).reads


def test_outside_sources_are_named(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    (mine / "door").symlink_to(other)
    run = replace(state(ApprovalMode.SELECTIVE, workspace=(str(mine), str(other))), trusted=(str(mine),))
    command = Subjects(command="ls", sandbox="workspace")
    assert read_by(run, write("a", Effect.READ)) == ""
    assert read_by(run, write(f"{other}/a", Effect.READ)) == f"{other}/a"
    assert read_by(run, write("door/a", Effect.READ)) == f"{mine}/door/a"
    assert read_by(run, write(f"{other}/a")) == ""
    assert read_by(run, Call(Effect.READ, Risk.LOW, subjects=command)) == ""
    assert read_by(replace(run, trusted=()), Call(Effect.READ, Risk.LOW, subjects=command)) == str(mine)
    assert (
        read_by(run, Call(Effect.EXECUTE, Risk.HIGH, subjects=command.model_copy(update={"sandbox": "network"})))
        == "ls"
    )
    assert read_by(run, Call(Effect.READ, Risk.LOW), server="files") == "files"
    assert (
        read_by(run, Call(Effect.NETWORK, Risk.LOW, subjects=Subjects(hosts=("https://a.example/x?y",)))) == "a.example"
    )
    assert read_by(run, Call(Effect.NETWORK, Risk.LOW)) == "t"
    assert read_by(run, Call(Effect.WRITE, Risk.LOW)) == ""


def test_after_reading_outside_content_a_rule_does_not_allow_sending(tmp_path: Path) -> None:
    inside, out, sends = write("a"), write("../a"), Call(Effect.NETWORK, Risk.LOW)
    for mode in (ApprovalMode.SELECTIVE, ApprovalMode.EDIT, ApprovalMode.AUTO):
        run = state(mode, "*", workspace=(str(tmp_path),))
        for call, leaves in ((inside, False), (out, True), (write("../a", Effect.READ), False), (sends, True)):
            clean = verdict(run, started(), call, repaired=False)
            said = verdict(run, started(), call, repaired=False, tainted=("evil.example", "/x"))
            assert clean.action is Action.ALLOW
            if leaves and mode is not ApprovalMode.AUTO:
                assert (said.action, said.reason, said.about) == (Action.ASK, "tainted", "evil.example, /x")
            else:
                assert said == clean


def test_the_first_few_names_are_stored_once_each() -> None:
    assert merged(("a",), ("", "b", "a"), ("c",)) == ("a", "b", "c")
    assert merged(tuple("abcde"), ("f",)) == tuple("abcde")
    assert merged((), tuple("abcdefg")) == tuple("abcde")


def test_rules_are_parsed_again_only_when_they_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    run, judge, read = state(ApprovalMode.SELECTIVE, "write_file"), Judge(), list[RunState]()

    def counted(given: RunState) -> tuple[PermissionRule, ...]:
        read.append(given)
        return rules(given)

    monkeypatch.setattr("atelier_desk.engine.run.call_verdict.rules", counted)

    def said(run: RunState) -> Action:
        return judge.judged(
            run, started(), Call(Effect.WRITE, Risk.MEDIUM, ApprovalKind.FILE_OP), repaired=False
        ).verdict.action

    assert [said(run), said(replace(run, iterations=3))] == [Action.ALLOW, Action.ALLOW]
    assert len(read) == 1
    denied = replace(run, granted=(PermissionRule(text="write_file", action=Action.DENY),))
    assert said(denied) is Action.DENY
    mine = PermissionRule(text="write_file", action=Action.DENY, scope=RuleScope.AGENT, scope_id="a")
    other = replace(run, approvals=run.approvals.model_copy(update={"rules": (*run.approvals.rules, mine)}))
    assert [said(other), said(replace(other, agent_id="a")), said(other)] == [Action.ALLOW, Action.DENY, Action.ALLOW]
    assert said(run) is Action.ALLOW

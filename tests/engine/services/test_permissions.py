"""Permission rules: validated when saved, tested, imported line by line, and marked when unused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.errors import AtelierError, ConflictError, NotFoundError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope
from atelier_desk.engine import Atelier
from atelier_desk.engine.journal.journal import run_events
from atelier_desk.engine.run.reducer.reduce import fold
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault


@pytest.fixture
async def atelier(tmp_path: Path) -> AsyncIterator[Atelier]:
    model = ScriptedModel([])
    async with Atelier.open(
        tmp_path / "data", fsync=False, model_factory=lambda _: model, vault=KeyVault(environ={})
    ) as opened:
        yield opened


def rule(text: str, action: Action = Action.ALLOW, **more: Any) -> PermissionRule:
    return PermissionRule(text=text, action=action, **more)


async def test_rules_are_stored_edited_removed_and_restored(atelier: Atelier) -> None:
    changes: list[tuple[str, str]] = []
    atelier.bus.on_changed(lambda topic, id: changes.append((topic, id)))
    [kept] = await atelier.permissions.add(
        rule("run_command(git log:*)", match=("git log -1",), not_match=("git push",))
    )
    assert await atelier.permissions.add(rule("run_command(git log:*)")) == (kept,)
    changed = await atelier.permissions.change(kept.id, action=Action.DENY)
    assert (changed.id, changed.action) == (kept.id, Action.DENY)
    assert await atelier.permissions.rules() == (changed,)
    assert await atelier.permissions.remove(kept.id) == changed
    assert await atelier.permissions.rules() == ()
    await atelier.permissions.add(changed)
    assert await atelier.permissions.rules() == (changed,)
    assert changes.count(("settings", "approvals")) == 4
    with pytest.raises(NotFoundError):
        await atelier.permissions.remove("x")


async def test_contradictory_rules_are_reported(atelier: Atelier) -> None:
    await atelier.permissions.add(rule("read_file(src/**)"))
    refused = [
        (rule("read_file(src/**)", Action.DENY), ConflictError, "with the action allow"),
        (rule("read file"), UsageError, "is not a rule"),
        (rule("read_file(../x)"), UsageError, "which is not allowed"),
        (rule("read_file(a)", match=("b",)), UsageError, "does not cover “b”"),
        (rule("read_file(a/**)", not_match=("a/b",)), UsageError, "covers “a/b”"),
        (rule("fetch(domain:a.org)", match=("b.org",)), UsageError, "does not cover"),
        (rule("read_file(a)", match=("a",), not_match=("a",)), UsageError, "both as an example that must match"),
        (rule("read_file", scope=RuleScope.WORKFLOW, scope_id="nowhere"), NotFoundError, "nowhere"),
        (rule("read_file", scope=RuleScope.AGENT, scope_id="nobody"), NotFoundError, "nobody"),
    ]
    for wrong, error, words in refused:
        with pytest.raises(error, match=words):
            await atelier.permissions.add(rule("list_directory"), wrong)
    assert [each.text for each in await atelier.permissions.rules()] == ["read_file(src/**)"]  # all or none


async def test_a_call_is_tested_against_the_rules(atelier: Atelier, tmp_path: Path) -> None:
    workflow = await atelier.workflows.create("w", workspace=(str(tmp_path),))
    agent = await atelier.agents.save(AgentConfig(name="Ada", provider="p", model="m"))
    await atelier.permissions.add(
        rule("run_command(git push:*)", Action.DENY),
        rule("run_command(make:*)"),
        rule("write_file(docs/**)", scope=RuleScope.WORKFLOW, scope_id=workflow.id),
        rule("delete_path", scope=RuleScope.AGENT, scope_id=agent.id),
    )

    async def said(tool: str, arguments: dict[str, Any], **where: Any) -> tuple[str, str]:
        found = await atelier.permissions.trials.test(tool, arguments, **where)
        return found.action.value, found.rule or found.reason

    push, build = ({"command": line, "modifies_files": False} for line in ("ls && git push --force", "make test"))
    assert await said("run_command", push, mode=ApprovalMode.AUTO) == ("deny", "run_command(git push:*)")
    assert await said("run_command", build) == ("allow", "run_command(make:*)")
    write = {"path": "docs/a.md", "content": ""}
    assert await said("write_file", write, workspace=(str(tmp_path),)) == ("ask", "selective")
    assert await said("write_file", write, workflow_id=workflow.id) == ("allow", "write_file(docs/**)")
    assert await said("delete_path", {"path": "a"}, workspace=(str(tmp_path),)) == ("ask", "selective")
    assert await said("delete_path", {"path": "a"}, workspace=(str(tmp_path),), agent="Ada") == ("allow", "delete_path")
    for tool, arguments, name in (
        ("nothing", dict[str, object](), ""),
        ("write_file", dict[str, object](write), "Bob"),
        ("write_file", dict[str, object](), ""),
    ):
        with pytest.raises(AtelierError):
            await atelier.permissions.trials.test(tool, arguments, agent=name)


async def test_rules_of_another_program_are_shown_and_imported(atelier: Atelier, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    said = {"allow": ["Bash(npm run test:*)", "Read", "Nonsense"], "deny": ["Read(.env)"], "ask": ["Bash(git push:*)"]}
    file.write_text(json.dumps({"permissions": said}))
    preview = await atelier.permissions.preview(file)
    assert len(preview) == 5
    assert [bool(line.problem) for line in preview].count(True) == 1
    assert await atelier.permissions.rules() == ()
    added = await atelier.permissions.import_(file)
    assert {"run_command(npm run test:*)", "read_file", "run_command(git push:*)", "read_file(.env)"} <= {
        each.text for each in added
    }
    assert await atelier.permissions.import_(file) == ()
    for content in ("no json", "{}", "\xff"):
        file.write_bytes(content.encode("latin-1"))
        with pytest.raises(UsageError):
            await atelier.permissions.preview(file)
    with pytest.raises(UsageError, match="cannot be read"):
        await atelier.permissions.preview(tmp_path / "nowhere.json")


async def test_a_rule_unused_for_a_month_is_marked(atelier: Atelier) -> None:
    now = atelier.clock.now()
    old, used, new = (
        rule("a", created_at=now - timedelta(days=31)),
        rule("b", created_at=now - timedelta(days=90), last_matched_at=now - timedelta(days=29)),
        rule("c", created_at=now),
    )
    assert [atelier.permissions.unused(each) for each in (old, used, new)] == [True, False, False]


async def test_a_run_gets_the_rules_of_its_scope(atelier: Atelier) -> None:
    workflow, other = await atelier.workflows.create("w"), await atelier.workflows.create("x")
    agent = await atelier.agents.save(AgentConfig(name="Ada", provider="p", model="m"))
    await atelier.permissions.add(
        rule("a", Action.DENY),
        rule("b", scope=RuleScope.WORKFLOW, scope_id=workflow.id),
        rule("c", scope=RuleScope.WORKFLOW, scope_id=other.id),
        rule("d", scope=RuleScope.AGENT, scope_id=agent.id, match=()),
    )
    async for _event in atelier.run("go", agent="Ada", workflow_id=workflow.id):
        pass
    run_id = (await atelier.workflows.get(workflow.id)).head_run_id
    state = fold(await run_events(atelier.repos, run_id or ""))
    assert state is not None
    assert [each.text for each in state.approvals.rules] == ["a", "b", "d"]
    assert len(state.approvals.snapshot) == 64


async def test_rules_of_an_agent_apply_to_its_sub_agents(atelier: Atelier) -> None:
    from atelier_desk.domain.agent import Budget
    from atelier_desk.domain.sub_agent import ChildPlan
    from atelier_desk.engine.run.permission_rules import rules
    from atelier_desk.engine.team.sub_agent_runs import _run_started

    ada = await atelier.agents.save(AgentConfig(name="Ada", provider="p", model="m"))
    bob = await atelier.agents.save(AgentConfig(name="Bob", provider="p", model="m"))
    await atelier.permissions.add(
        rule("calculator", scope=RuleScope.AGENT, scope_id=ada.id),
        rule("read_file", Action.DENY, scope=RuleScope.AGENT, scope_id=ada.id),
        rule("write_file", scope=RuleScope.AGENT, scope_id=bob.id),
        rule("list_directory", Action.DENY, scope=RuleScope.AGENT, scope_id=bob.id),
    )
    workflow = await atelier.workflows.create("w")
    async for _event in atelier.run("go", agent="Ada", workflow_id=workflow.id):
        pass
    run_id = (await atelier.workflows.get(workflow.id)).head_run_id
    parent = fold(await run_events(atelier.repos, run_id or ""))
    assert parent is not None

    def texts(of: RunState) -> set[tuple[str, str]]:
        return {(each.action.value, each.text) for each in rules(of)}

    def child(agent_id: str) -> RunState:
        plan = ChildPlan(id="c", name="C", agent=ada.config, agent_id=agent_id, prompt="p")
        begun = _run_started(parent, plan, Budget())
        assert len(begun.approvals.snapshot) == 64
        return RunState(run_id="c", workflow_id="w", agent=begun.agent, agent_id=agent_id, approvals=begun.approvals)

    assert texts(parent) == {("allow", "calculator"), ("deny", "read_file")}
    assert texts(child(ada.id)) == texts(parent)
    assert texts(child(bob.id)) == {("deny", "read_file"), ("deny", "list_directory")}
    assert texts(child("")) == {("deny", "read_file")}

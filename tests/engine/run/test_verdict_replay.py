"""Past verdicts: each can be reproduced from the journal, and compared with what other rules would decide."""

# judges: app/atelier_desk/engine/run/call_verdict.py
# judges: app/atelier_desk/engine/run/call_facts.py
from __future__ import annotations

import copy
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalScope
from atelier_desk.domain.audit import AuditDecision, AuditFilter
from atelier_desk.domain.events.run import RunEvent
from atelier_desk.domain.permission import Action, DecisionRecord, PermissionRule
from atelier_desk.engine.journal.replay_and_fork import workflow_events
from atelier_desk.engine.run.verdict_replay import replayed
from atelier_desk.storage.row_mapping import to_json
from tests.engine.conftest import Opener, exported_workflow, send_and_wait
from tests.helpers.prompt_injection.attack import PROFILES, attacked
from tests.helpers.prompt_injection.injected_contents import WAYS, contents
from tests.helpers.tool_calls import tool_calls


async def test_every_verdict_of_the_worst_case_is_reproduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with attacked(tmp_path, monkeypatch) as attack:
        every = list(contents(attack.world))
        for number, goal in enumerate(list(dict.fromkeys(content.goal for content in every))[::3]):
            way = WAYS[number % len(WAYS)]
            content = next(each for each in every if (each.goal, each.way) == (goal, way))
            await attack.reached(content, PROFILES[number % len(PROFILES)], by_helper=number % 3 == 1)
        shutil.rmtree(attack.world.root)  # the files of that time are not needed
        found = await attack.replayed()
        assert {one.recorded.action for one in found} == set(Action)
        assert {"mode", "plan", "protected", "selective"} <= {one.recorded.reason for one in found}
        assert [one for one in found if not one.same] == []
        assert [one for one in found if one.differs] == [], "the rules and settings are the same today"


def write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": "x"}


async def test_other_rules_decide_the_same_calls_differently(open_atelier: Opener, tmp_path: Path) -> None:
    (folder := tmp_path / "garden").mkdir()
    (folder / "door").symlink_to(folder)
    steps = [tool_calls(write("a.txt"), write("door/b.txt"), write("secret/c.txt"),
    ("run_command", {"command": "git push origin",
             "modifies_files": True})), tool_calls(write("d.txt")), "done"]  # fmt: skip
    async with open_atelier(steps) as atelier:
        workflow = await atelier.workflows.create("Garden", workspace=(str(folder),))
        [secret] = await atelier.permissions.add(PermissionRule(text="write_file(secret/**)", action=Action.DENY))
        agent = AgentConfig(
            name="Ada", provider="p", model="m", tools=("write_file", "run_command"), approval=ApprovalMode.SELECTIVE
        )
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
        for asked in await atelier.approvals.pending():
            if asked.tool == "run_command":
                await atelier.approvals.reject(asked.id)
            else:
                await atelier.approvals.approve(asked.id)
        await atelier.runs.wait(run_id)
        [last] = await atelier.approvals.pending()
        await atelier.approvals.approve(last.id, scope=ApprovalScope.ALWAYS)
        await atelier.runs.wait(run_id)

        found = await atelier.permissions.trials.replay(workflow.id)
        assert all(one.same for one in found)
        once = {one.detail: one for one in found if not one.answered}
        assert list(once) == ["a.txt", "door/b.txt", "git push origin", "secret/c.txt", "d.txt"]
        assert [one.detail for one in found if one.answered] == ["a.txt", "door/b.txt", "d.txt"]
        assert [one.detail for one in once.values() if one.differs] == ["d.txt"], "it was allowed from then on"
        assert once["d.txt"].today is not None
        assert once["d.txt"].today.rule == f"write_file(/{folder.resolve()}/d.txt)"

        await atelier.permissions.remove(secret.id)
        await atelier.permissions.add(
            PermissionRule(text="write_file(/b.txt)", action=Action.DENY),
            PermissionRule(text="run_command(git push:*)", action=Action.ALLOW),
        )
        shutil.rmtree(folder)
        once = {one.detail: one for one in await atelier.permissions.trials.replay(workflow.id) if not one.answered}
        assert all(one.same for one in once.values()), "the rules of then are in the journal"
        today = {
            detail: one.today.action.value for detail, one in once.items() if one.today is not None and one.differs
        }
        # The link was resolved then; a rule for the file it leads to applies.
        assert today == {"door/b.txt": "deny", "git push origin": "allow", "secret/c.txt": "ask", "d.txt": "allow"}

        async def without_grounds() -> AsyncIterator[RunEvent]:
            async for event in workflow_events(atelier.repos, workflow.id):
                body = event.body
                yield (
                    event.model_copy(update={"body": body.model_copy(update={"grounds": None})})
                    if hasattr(body, "grounds")
                    else event
                )

        settings = await atelier.repos.settings.load()
        old = await replayed(without_grounds(), settings.approvals)
        assert len(old) == len(found)
        assert not any(one.again or one.today or one.differs or one.same for one in old), (
            "nothing is known of them, and nothing claimed"
        )


async def test_attempts_to_leave_the_folders_are_in_the_audit_trail(open_atelier: Opener, tmp_path: Path) -> None:
    (folder := tmp_path / "garden").mkdir()
    async with open_atelier([tool_calls(write("../out.txt")), "done"]) as atelier:
        workflow = await atelier.workflows.create("Garden", workspace=(str(folder),))
        agent = AgentConfig(name="Ada", provider="p", model="m", tools=("write_file",), approval=ApprovalMode.AUTO)
        await send_and_wait(atelier, workflow.id, "go", agent=agent)
        [line] = (await atelier.audit.page(AuditFilter())).lines
        said = (line.entry.decision, line.entry.reason, line.entry.detail)
        assert said == (AuditDecision.DENIED, "outside", "../out.txt")
        [again] = await atelier.permissions.trials.replay(workflow.id)
        assert again.same
        assert not again.differs, "no rule lets it out"
    assert not (tmp_path / "out.txt").exists()


def test_default_facts_are_not_recorded() -> None:
    kept = DecisionRecord(version=1, level="ab", kind="tool", paths=(("/w/a",),), changes=True)
    assert to_json(kept) == '{"version":1,"level":"ab","kind":"tool","changes":true,"paths":[["/w/a"]]}'
    assert DecisionRecord.model_validate_json(to_json(kept)) == kept


async def test_invalid_records_in_an_imported_journal_are_skipped(open_atelier: Opener, tmp_path: Path) -> None:
    (folder := tmp_path / "garden").mkdir()
    async with open_atelier([tool_calls(write("a.txt")), "done"]) as atelier:
        workflow = await atelier.workflows.create("Garden", workspace=(str(folder),))
        agent = AgentConfig(name="Ada", provider="p", model="m", tools=("write_file",), approval=ApprovalMode.AUTO)
        await send_and_wait(atelier, workflow.id, "go", agent=agent)
        exported = await exported_workflow(atelier, workflow.id)

        for name, value in (("kind", "x"), ("redirected", [99]), ("concerns", [["x", "y"]])):
            forged = copy.deepcopy(exported)
            [said] = [event["body"] for event in forged["events"] if event["body"].get("grounds")]
            said["grounds"][name] = value
            imported = await atelier.workflows.import_(json.dumps(forged))
            [one] = await atelier.permissions.trials.replay(imported.workflow.id)
            assert (one.detail, one.again, one.today) == ("a.txt", None, None)

        headless = copy.deepcopy(exported)
        first = next(event for event in headless["events"] if event["run_id"])
        headless["events"].remove(first)
        for number, event in enumerate((each for each in headless["events"] if each["run_id"]), 1):
            event["seq"] = headless["runs"][0]["last_seq"] = number
        imported = await atelier.workflows.import_(json.dumps(headless))
        assert await atelier.permissions.trials.replay(imported.workflow.id) == []

"""Approving the settings of a repository: what is asked, how long it lasts, and where it is listed and revoked."""

# judges: app/atelier_desk/engine/run/permission_rules.py
# judges: app/atelier_desk/engine/run/call_verdict.py
# judges: app/atelier_desk/engine/run/call_facts.py
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.cli import approval_text
from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalRequest, ApprovalScope, OnTimeout
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.domain.permission import Action, RuleScope
from atelier_desk.engine import Atelier
from atelier_desk.workspace import repository_inspection
from atelier_desk.workspace.processes import sandbox_contents
from tests.engine.conftest import Opener, Recorder
from tests.helpers.git_repositories import commit, git
from tests.helpers.tool_calls import tool_call

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not sandbox_contents.available(),
    reason="needs git, and without a sandbox every command asks",
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with its own filter."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = commit(tmp_path / "work")
    git("config", "filter.a=b.clean", "./evil.sh", cwd=folder)
    (folder / "f.txt").write_text("two\n")
    return folder


def call(name: str = "run_command", line: str = "git diff") -> list[ToolCall]:
    arguments = {"command": line, "modifies_files": False} if name == "run_command" else {}
    return [tool_call(name, f"{name}-{line}", **arguments)]


class Turns:
    """Runs in one folder, each in its own workflow."""

    def __init__(self, atelier: Atelier, folder: Path) -> None:
        self._atelier, self._folder = atelier, folder
        self._heard: Recorder | None = None
        self.run_id = ""

    async def begin(self, mode: ApprovalMode = ApprovalMode.SELECTIVE) -> list[ApprovalRequest]:
        """Start a run; returns what it waits for."""
        agent = AgentConfig(
            name="A", provider="p", model="m", tools=("run_command", "git_status", "git_diff"), approval=mode
        )
        workflow = await self._atelier.workflows.create("W", workspace=(str(self._folder),))
        self._heard = Recorder(self._atelier, workflow.id)
        self.run_id = await self._atelier.runs.send(workflow.id, "go", agent=agent)
        await self._atelier.runs.wait(self.run_id)
        return await self._atelier.approvals.pending(workflow.id)

    async def ended(self) -> dict[str, Any]:
        """How its call ended."""
        await self._atelier.runs.wait(self.run_id)
        assert self._heard is not None
        [end] = [event.data for event in self._heard.events if event.chunk_type.value == "tool_end"]
        return end


async def test_an_approval_holds_until_the_settings_change(open_atelier: Opener, work: Path) -> None:
    steps = [call(), "done", call(), "done", call("git_status"), "done", call(), call(line="git add ."), call(), "done"]
    async with open_atelier(steps) as atelier:
        turns = Turns(atelier, work)
        [asked] = await turns.begin()
        assert (asked.reason, asked.about) == ("repository", "filter.a=b.clean (.git/config)")
        told = "\n".join(approval_text.described(asked))
        assert "filter.a=b.clean (.git/config)" in told
        assert "high risk" in told
        await atelier.approvals.approve(asked.id)
        end = await turns.ended()
        assert end["success"], end
        assert "two" in str(end["result"])
        [rule] = await atelier.permissions.rules()
        assert rule.text.startswith("git_settings(")
        assert rule.text.endswith("/work/.git)")
        assert (rule.action, rule.where) == (Action.ALLOW, (RuleScope.FOLDER, str(work)))

        assert await turns.begin(ApprovalMode.PLAN) == []
        assert (await turns.ended())["success"]
        assert await turns.begin() == []
        assert (await turns.ended())["success"]

        git("config", "filter.a=b.smudge", "./other.sh", cwd=work)
        [again] = await turns.begin()
        assert again.about == "filter.a=b.clean (.git/config), filter.a=b.smudge (.git/config)"
        git("config", "--unset", "filter.a=b.smudge", cwd=work)

        await atelier.permissions.remove(rule.id)
        assert [each.reason for each in await turns.begin(ApprovalMode.AUTO)] == ["repository"], (
            "any git command, also under Free"
        )
        assert await turns.begin(ApprovalMode.PLAN) == []
        end = await turns.ended()
        assert not end["success"]
        assert "settings of this git repository" in end["error"]


async def test_ordinary_changes_of_a_repository_need_no_new_approval(open_atelier: Opener, work: Path) -> None:
    async with open_atelier([call(), "done", call(), "done"]) as atelier:
        turns = Turns(atelier, work)
        [asked] = await turns.begin()
        await atelier.approvals.approve(asked.id)
        await turns.ended()
        for line in ("branch.side.remote origin", "remote.up.url https://example.org/x", "user.name Ann"):
            git("config", *line.split(" ", 1), cwd=work)
        assert await turns.begin() == []


async def test_approving_changed_settings_replaces_the_old_rule(open_atelier: Opener, work: Path) -> None:
    async with open_atelier(
        [step for line in ("git diff", "git diff", "git add .") for step in (call(line=line), "done")]
    ) as atelier:
        turns = Turns(atelier, work)
        for _time in range(2):
            [asked] = await turns.begin()
            await atelier.approvals.approve(asked.id)
            await turns.ended()
            [rule] = await atelier.permissions.rules()
            assert asked.always == (rule.text,)
            git("config", "filter.a=b.smudge", "./other.sh", cwd=work)
        git("config", "core.fsmonitor", "./evil.sh", cwd=work)
        [asked] = await turns.begin()
        await atelier.approvals.approve(asked.id)
        assert len(await atelier.permissions.rules()) == 2, (
            "what matters only to commands that write has a rule of its own"
        )


async def test_settings_that_change_after_the_approval_are_not_used(
    open_atelier: Opener, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = repository_inspection.inspect
    async with open_atelier([call(), "done"]) as atelier:
        turns = Turns(atelier, work)
        [asked] = await turns.begin()

        def changed(*given: Any) -> repository_inspection.Repository:
            git("config", "filter.a=b.process", "./other.sh", cwd=work)
            return look(*given)

        monkeypatch.setattr(repository_inspection, "inspect", changed)
        await atelier.approvals.approve(asked.id)
        end = await turns.ended()
        assert not end["success"]
        assert "unsafe_repository" in str(end)


@pytest.mark.parametrize("scope", [ApprovalScope.RUN, None])
async def test_an_approval_for_the_run_and_one_by_timeout_are_not_stored(
    open_atelier: Opener, work: Path, scope: ApprovalScope | None
) -> None:
    async with open_atelier([call(), "done"]) as atelier:
        turns = Turns(atelier, work)
        settings = (await atelier.settings.get()).approvals
        await atelier.settings.update(
            approvals=settings.model_copy(update={"timeout_s": 30.0, "on_timeout": OnTimeout.APPROVE})
        )
        [asked] = await turns.begin()
        if scope is None:
            assert await atelier.approvals.seen(asked.id, 31_000) == 0.0
        else:
            with pytest.raises(UsageError, match="does not cover"):
                await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS, rules=["run_command"])
            await atelier.approvals.approve(asked.id, scope=scope)
        assert (await turns.ended())["success"]
        assert await atelier.permissions.rules() == ()


async def test_a_clone_of_the_same_settings_is_another_repository(work: Path, tmp_path: Path) -> None:
    shutil.copytree(work, tmp_path / "other")
    found = [repository_inspection.inspect("git", folder, [folder]) for folder in (work, tmp_path / "other", work)]
    assert found[0].rule == found[2].rule != found[1].rule
    assert found[0].unknown == found[1].unknown


async def test_the_content_of_an_outside_file_is_not_revealed(work: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("[s3cret]\n\tkey = value\n")
    (work / "own").write_text("[mine]\n\tkey = value\n")
    git("config", "include.path", str(tmp_path / "private"), cwd=work)
    git("config", "--add", "include.path", "../own", cwd=work)
    found = repository_inspection.inspect("git", work, [work])
    assert found.unknown == ("filter.a=b.clean (.git/config)", "include.path (.git/config)", "mine.key (.git/../own)")

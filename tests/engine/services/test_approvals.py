"""Approvals: what a person may decide, how often, how far it reaches, and what happens without a decision."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atelier_desk.domain.approval import (
    ApprovalRequest,
    ApprovalScope,
    ApprovalSettings,
    ApprovalStatus,
    Decision,
)
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import ConflictError, LimitError, NotFoundError, UsageError
from atelier_desk.domain.events.run import ApprovalAskedAgain, ApprovalDecided, EventBody
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.setting_subscribers import SettingSubscribers
from atelier_desk.domain.settings import Settings
from atelier_desk.domain.workflow import Workflow
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.run.reducer.state import CallState
from atelier_desk.engine.services.approvals import ApprovalService
from atelier_desk.engine.services.permissions import PermissionService
from atelier_desk.engine.services.settings import SettingsService
from atelier_desk.storage.data_folder.datadir import DataDir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.storage.writing.journal_commit import Commit
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers.error_codes import raises_code
from tests.helpers.tool_calls import tool_call

ARGUMENTS = {"operation": "eval", "expression": "6*7"}


class Runs:
    """Runs that wait, and their journal: it commits decisions to the requests' rows, and announces them and rules."""

    def __init__(self, repos: Repositories, bus: EventBus) -> None:
        self._repos, self._bus = repos, bus
        self.decided: list[tuple[str, Decision]] = []
        self.rights_withdrawal = self.live = self
        self.env = self.slots = SimpleNamespace()

    async def apply(self) -> None:
        """No run is active."""

    async def load(self, run_id: str) -> SimpleNamespace:
        return SimpleNamespace(handle=run_id)

    def drive(self, live: SimpleNamespace) -> None:
        """No run is active."""

    async def append_if(self, run_id: str, decide: Callable[[Any], Sequence[EventBody]]) -> None:
        waiting = {each.id: each for each in await self._repos.approvals.pending() if each.run_id == run_id}
        state = SimpleNamespace(
            requests=tuple(waiting.values()),
            call=lambda id: CallState(tool_call("CalculatorTool", id, **ARGUMENTS), "asked"),
        )
        for event in decide(state):
            if isinstance(event, ApprovalDecided):
                decision = Decision(**{name: getattr(event, name) for name in Decision.model_fields})
                self.decided.append((event.approval_id, decision))
                changed = {"status": event.status, "note": event.note}
                await self._save(waiting[event.approval_id].model_copy(update=changed), *event.rules)
            elif isinstance(event, ApprovalAskedAgain):
                asked = waiting[event.approval_id]
                await self._save(asked.model_copy(update={"round": asked.round + 1, "seen_ms": 0}))

    async def _save(self, request: ApprovalRequest, *rules: PermissionRule) -> None:
        await self._repos.journal.commit(Commit(approvals=(request,), rules=rules))
        self._bus.changed("approval", request.id)
        if rules:
            self._bus.changed("settings", "approvals")


class Engine:
    """The parts of an open engine that the service uses."""

    def __init__(self, repos: Repositories) -> None:
        self.repos = repos
        self.bus = EventBus()
        self.registry = create_default_tool_registry()
        self.runs = self.journal = Runs(repos, self.bus)
        self.in_force = SettingSubscribers()
        self.settings = SettingsService(self)  # type: ignore[arg-type]
        self.approvals = ApprovalService(self)  # type: ignore[arg-type]
        self.permissions = PermissionService(self)  # type: ignore[arg-type]
        self.clock = SystemClock()
        self.changes: list[tuple[str, str]] = []
        self.bus.on_changed(lambda topic, id: self.changes.append((topic, id)))

    async def asked(self, **fields: Any) -> ApprovalRequest:
        workflow = await self.repos.workflows.create(Workflow(name="w"))
        tool = "CalculatorTool"
        values = {
            "run_id": "r",
            "call_id": "c",
            "tool": tool,
            "section": "core_ops",
            "always": (tool,),
            "arguments": ARGUMENTS,
            **fields,
        }
        request = ApprovalRequest(workflow_id=workflow.id, **values)
        await self.repos.journal.commit(Commit(approvals=(request,)))
        return request


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with await Store.open(None) as store:
        yield Engine(Repositories(store, DataDir(tmp_path / "data").ensure()))


async def test_an_approval_counts_once(engine: Engine) -> None:
    asked = await engine.asked()
    assert await engine.approvals.pending() == await engine.approvals.list(asked.workflow_id) == [asked]
    assert (await engine.approvals.approve(asked.id)).status is ApprovalStatus.APPROVED
    assert engine.runs.decided == [(asked.id, Decision(status=ApprovalStatus.APPROVED))]
    assert engine.changes == [("approval", asked.id)], "announced once"
    for second in (engine.approvals.approve, engine.approvals.reject):
        with pytest.raises(ConflictError, match="approved"):
            await second(asked.id)
    assert len(engine.runs.decided) == 1
    assert await engine.approvals.pending(asked.workflow_id) == []


async def test_a_decision_reads_the_request_before_and_after(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = await engine.asked(), await engine.asked()
    read: list[str] = []
    get = engine.repos.approvals.get

    async def counted(id: str) -> ApprovalRequest:
        read.append(id)
        return await get(id)

    monkeypatch.setattr(engine.repos.approvals, "get", counted)
    await engine.approvals.approve(first.id)
    await engine.approvals.reject(second.id)
    assert read == [first.id, first.id, second.id, second.id]


async def test_an_unknown_approval_is_not_found(engine: Engine) -> None:
    for attempt in (
        engine.approvals.get("x"),
        engine.approvals.approve("x"),
        engine.approvals.reject("x"),
        engine.approvals.seen("x", 1),
    ):
        with pytest.raises(NotFoundError):
            await attempt


async def test_edited_arguments_are_validated_before_anything_is_decided(engine: Engine) -> None:
    asked = await engine.asked()
    for wrong, problem in (
        ({"operation": "eval"}, "expression is required"),
        ({"operation": "eval", "expression": 7}, "expression must be a string"),
        ({"operation": "evil", "expression": "1"}, "eval"),
        ({"operation": "eval", "expression": "1", "shell": "ls"}, "shell is not a parameter"),
        ({"operation": "eval", "expression": float("nan")}, "not JSON"),
        (["eval"], "JSON object"),
    ):
        with raises_code(UsageError, "invalid_arguments", match=problem):
            await engine.approvals.approve(asked.id, wrong)  # type: ignore[arg-type]
    assert engine.runs.decided == []
    assert await engine.approvals.pending() == [asked]
    better: dict[str, object] = {"operation": "eval", "expression": "7*6"}
    await engine.approvals.approve(asked.id, better)
    assert engine.runs.decided[0][1].arguments == better


async def test_the_same_arguments_count_as_unchanged(engine: Engine) -> None:
    asked = await engine.asked(tool="GoneTool", arguments={"a": 1})
    with pytest.raises(UsageError, match="no longer exists"):
        await engine.approvals.approve(asked.id, {"a": 2})
    await engine.approvals.approve(asked.id, {"a": 1})
    assert engine.runs.decided[0][1].arguments is None


async def test_a_reason_is_stored_with_a_length_limit(engine: Engine) -> None:
    asked = await engine.asked()
    with pytest.raises(LimitError, match="2000"):
        await engine.approvals.reject(asked.id, "x" * 2001)
    assert (await engine.approvals.reject(asked.id, " not on Fridays ")).note == "not on Fridays"
    assert engine.runs.decided == [(asked.id, Decision(status=ApprovalStatus.REJECTED, note="not on Fridays"))]


async def test_sleep_of_the_machine_does_not_use_up_the_timeout(engine: Engine) -> None:
    asked = await engine.asked(timeout_s=100)
    assert await engine.approvals.seen(asked.id, 8 * 3600 * 1000) == pytest.approx(40.0)
    with pytest.raises(LimitError):
        await engine.approvals.seen(asked.id, -1)


async def test_without_a_timeout_it_waits_forever(engine: Engine) -> None:
    asked = await engine.asked(timeout_s=0)
    for _ in range(20):
        assert await engine.approvals.seen(asked.id, 60_000) is None
    assert engine.runs.decided == []


async def test_a_decision_just_before_the_timeout_wins(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await engine.asked(timeout_s=30)

    async def too_late(*given: Any, **named: Any) -> None:
        raise ConflictError("decided already")

    monkeypatch.setattr(engine.runs, "append_if", too_late)
    assert await engine.approvals.seen(asked.id, 30_000) is None


async def test_always_stores_a_rule_once_and_it_can_be_undone(engine: Engine) -> None:
    for scope in (ApprovalScope.ALWAYS, cast(ApprovalScope, "always")):
        asked = await engine.asked()
        await engine.approvals.approve(asked.id, scope=scope)
        assert len(await engine.permissions.rules()) == 1
    [tool] = await engine.permissions.rules()
    assert (tool.text, tool.action) == ("CalculatorTool", Action.ALLOW)
    assert engine.runs.decided[0][1].rules == (tool,)
    await engine.approvals.approve((await engine.asked()).id, scope=ApprovalScope.ALWAYS, rules=["section:core_ops"])
    assert [rule.text for rule in (await engine.settings.get()).approvals.rules] == [
        "CalculatorTool",
        "section:core_ops",
    ]
    await engine.permissions.remove(tool.id)
    assert ("settings", "approvals") in engine.changes
    await engine.settings.update(approvals=ApprovalSettings(auto_approve_low=False))
    assert [rule.text for rule in await engine.permissions.rules()] == ["section:core_ops"]
    with pytest.raises(NotFoundError, match=tool.id):
        await engine.permissions.remove(tool.id)


async def test_a_rule_does_not_change_the_other_settings(engine: Engine) -> None:
    kept = ApprovalSettings(timeout_s=0, always_confirm_high=True, risks={"CalculatorTool": "high"})
    await engine.repos.settings.save(Settings(approvals=kept, font_scale=150))
    await engine.approvals.approve((await engine.asked()).id, scope=ApprovalScope.ALWAYS)
    stored = await engine.settings.get()
    assert stored.font_scale == 150
    assert stored.approvals == kept.model_copy(update={"rules": await engine.permissions.rules()})
    assert [rule.text for rule in stored.approvals.rules] == ["CalculatorTool"]


@pytest.mark.parametrize(
    ("scope", "rule", "problem"),
    [
        (ApprovalScope.ALWAYS, "TodoTool", "This one does: CalculatorTool"),
        (ApprovalScope.ALWAYS, "mcp__files", "does not cover"),
        (ApprovalScope.RUN, "run_command(ls)", "does not cover"),
        (ApprovalScope.ALWAYS, "not a rule", "not a rule"),
        (ApprovalScope.ONCE, "CalculatorTool", "always"),
    ],
)
async def test_a_rule_that_does_not_match_the_call_is_refused(
    engine: Engine, scope: ApprovalScope, rule: str, problem: str
) -> None:
    asked = await engine.asked()
    with pytest.raises(UsageError, match=problem):
        await engine.approvals.approve(asked.id, scope=scope, rules=[rule])
    assert engine.runs.decided == []
    assert await engine.permissions.rules() == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"risk": "high"},
        {"reason": "protected"},
        {"reason": "tainted"},
        {"reason": "rule"},
        {"always": ()},
        {"run_id": "r2"},
    ],
)
async def test_a_call_to_be_decided_alone_is_not_decided_with_others(engine: Engine, fields: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"reason": "manual", "risk": "medium", "always": ("CalculatorTool",)}
    first = await engine.asked(**plain)
    second = await engine.asked(**(plain | fields))
    for decide in (engine.approvals.approve_together, engine.approvals.reject_together):
        with pytest.raises(UsageError, match="Decide on each"):
            await decide([first.id, second.id])
    assert [each.status for each in await engine.approvals.pending()] == [ApprovalStatus.PENDING] * 2

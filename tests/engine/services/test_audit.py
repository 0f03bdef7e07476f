"""The audit trail: an entry for each decision on a call, read in pages, filtered, and exported as a spreadsheet."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.audit import AuditDecision, AuditEntry, AuditFilter
from atelier_desk.domain.errors import LimitError, UsageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import remember
from atelier_desk.storage.writing.journal_commit import Commit
from tests.engine.conftest import Opener, send_and_wait
from tests.helpers.tool_calls import tool_calls

KEY = "key-of-the-provider-0123456789"


async def entries(atelier: Atelier, **wanted: Any) -> list[AuditEntry]:
    return [line.entry for line in (await atelier.audit.page(AuditFilter(**wanted))).lines]


def write(path: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": "x"}


async def test_a_run_leaves_one_entry_for_each_call_with_its_reason(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "garden"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    paths = ("secret/x", "b.txt", "c.txt", "d.txt")
    steps = [tool_calls(("read_file", {"path": "a.txt"}), ("no_such_tool", {}), *map(write, paths)), "done"]
    async with open_atelier(steps) as atelier:
        workflow = await atelier.workflows.create("Garden", workspace=(str(folder),))
        rules = (
            ("read_file(a.txt)", Action.ALLOW),
            ("write_file(secret/**)", Action.DENY),
            ("write_file(c.txt)", Action.ASK),
        )
        await atelier.permissions.add(*(PermissionRule(text=text, action=action) for text, action in rules))
        agent = AgentConfig(
            name="Ada", provider="p", model="m", tools=("read_file", "write_file"), approval=ApprovalMode.SELECTIVE
        )
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
        for asked in await atelier.approvals.pending():
            assert not [entry for entry in await entries(atelier) if entry.call_id == asked.call_id], (
                "it is not decided yet"
            )
            if asked.arguments["path"] == "c.txt":
                await atelier.approvals.reject(asked.id, "Not this one.")
            else:
                edited: dict[str, object] = {"path": "e.txt", "content": "x"}
                await atelier.approvals.approve(asked.id, edited if asked.arguments["path"] == "d.txt" else None)
        await atelier.runs.wait(run_id)
        found = {entry.call_id: entry for entry in await entries(atelier)}
        assert len(await entries(atelier)) == 5, "a call of a tool that is not there is not decided about"
        said = {
            id: (one.tool, one.detail, one.decision.value, one.decided_by, one.reason, one.rule, one.edited)
            for id, one in found.items()
        }
        assert said == {
            "c0": ("read_file", "a.txt", "allowed", "", "rule", "read_file(a.txt)", False),
            "c2": ("write_file", "secret/x", "denied", "", "rule", "write_file(secret/**)", False),
            "c3": ("write_file", "b.txt", "approved", "user", "selective", "", False),
            "c4": ("write_file", "c.txt", "rejected", "user", "rule", "write_file(c.txt)", False),
            "c5": ("write_file", '{"path": "e.txt", "content": "x"}', "approved", "user", "selective", "", True),
        }
        one = found["c0"]
        assert (one.workflow_id, one.run_id, one.agent_name, one.mode) == (workflow.id, run_id, "Ada", "selective")
        [message] = [row for row in await atelier.repos.messages.page(workflow.id) if "c0" in row.call_ids]
        assert message.id == one.message_id
        [line, *_rest] = (await atelier.audit.page(AuditFilter())).lines
        assert (line.workflow, line.in_bin) == ("Garden", False)
        events = await atelier.repos.journal.workflow_events(workflow.id)
        assert {entry.id for entry in found.values()} <= {event.id for event in events}, (
            "each is made of an event, and kept with it"
        )
        await atelier.workflows.delete(workflow.id)
        assert (await atelier.audit.page(AuditFilter())).lines[0].in_bin
        await atelier.workflows.purge(workflow.id)
        assert await entries(atelier) == [], "what is deleted for good leaves nothing behind"


async def test_a_stopped_run_is_recorded_as_undecided(open_atelier: Opener, tmp_path: Path) -> None:
    async with open_atelier([tool_calls(write("b.txt"))]) as atelier:
        workflow = await atelier.workflows.create(workspace=(str(tmp_path),))
        agent = AgentConfig(name="Ada", provider="p", model="m", tools=("write_file",), approval=ApprovalMode.SELECTIVE)
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
        await atelier.runs.cancel(run_id)
        [entry] = await entries(atelier)
        assert (entry.decision, entry.decided_by) == (AuditDecision.CANCELLED, "stop")


async def filled(atelier: Atelier, count: int = 0) -> tuple[str, str]:
    """Two workflows with entries of several agents, tools and days, and ``count`` more of one moment."""
    garden, house = await atelier.workflows.create("Garden"), await atelier.workflows.create("House")
    now = atelier.clock.now()
    given = (
        (garden.id, "Ada", "run_command", "git push origin", AuditDecision.DENIED, 0),
        (garden.id, "Bob", "read_file", "notes/Été.md", AuditDecision.ALLOWED, 1),
        (house.id, "Ada", "read_file", "=1+1", AuditDecision.APPROVED, 3),
        (house.id, "Bob", "fetch_web_page", "https://example.org", AuditDecision.REJECTED, 40),
    )
    rows = [
        AuditEntry(
            workflow_id=workflow, run_id="r", call_id="c", agent_id=f"id-{agent}", agent_name=agent, tool=tool,
            detail=detail,
            decision=decision, rule="@rule" if days == 3 else "", created_at=now - timedelta(days=days),
        )
        for workflow, agent, tool, detail, decision, days in given
    ]  # fmt: skip
    more = [
        AuditEntry(
            id=f"{number:032x}", workflow_id=garden.id, run_id="r", call_id=f"m{number}", tool="many", detail="x",
            decision=AuditDecision.ALLOWED, created_at=now - timedelta(days=2),
        )
        for number in range(count)
    ]  # fmt: skip
    await atelier.repos.journal.commit(
        Commit(audit=tuple(row for row in (*rows, *more) if row.workflow_id == garden.id))
    )
    await atelier.repos.journal.commit(Commit(audit=tuple(row for row in rows if row.workflow_id == house.id)))
    return garden.id, house.id


async def test_the_trail_is_filtered_by_actor_decision_words_and_time(atelier: Atelier) -> None:
    garden, house = await filled(atelier)
    now = atelier.clock.now()
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["git push origin", "notes/Été.md", "=1+1"]),
        ({"workflow_id": garden}, ["git push origin", "notes/Été.md"]),
        ({"agent": "Bob"}, ["notes/Été.md"]),
        ({"agent": "id-Ada"}, ["git push origin", "=1+1"]),
        ({"tool": "read_file"}, ["notes/Été.md", "=1+1"]),
        ({"decision": AuditDecision.DENIED}, ["git push origin"]),
        ({"text": "PUSH git"}, ["git push origin"]),
        ({"text": "été"}, ["notes/Été.md"]),
        ({"text": "push zebra"}, []),
        ({"since": now - timedelta(days=2)}, ["git push origin", "notes/Été.md"]),
        ({"until": now - timedelta(days=2)}, ["=1+1"]),
        ({"since": now - timedelta(days=2), "until": now - timedelta(hours=2)}, ["notes/Été.md"]),
        ({"workflow_id": house, "tool": "read_file", "text": "@rule"}, ["=1+1"]),
    ]
    for fields, details in wanted:
        assert [entry.detail for entry in await entries(atelier, **fields)] == details, fields


async def test_the_setting_limits_the_shown_period_and_deletes_nothing(atelier: Atelier) -> None:
    await filled(atelier)
    for days, count in ((30, 3), (2, 2), (60, 4), (0, 4), (30, 3)):
        await atelier.settings.update(audit_days=days)
        assert len(await entries(atelier)) == count, days
        assert len(await entries(atelier, since=atelier.clock.now() - timedelta(days=365))) == count, (
            "no filter goes past it"
        )


async def test_pages_contain_each_entry_once_even_with_equal_times(atelier: Atelier) -> None:
    garden, _house = await filled(atelier, 50)
    seen: list[str] = []
    after = None
    for _page in range(9):
        page = await atelier.audit.page(AuditFilter(workflow_id=garden), after, 7)
        seen += [line.entry.call_id for line in page.lines]
        after = page.next
        if after is None:
            break
    assert len(seen) == 52
    assert set(seen) == {"c", *(f"m{number}" for number in range(50))}
    assert [line.entry.call_id for line in await atelier.audit.newest(AuditFilter(), 5)] == [
        "c",
        "c",
        "m0",
        "m1",
        "m2",
    ]
    for limit in (0, 1001):
        with pytest.raises(LimitError):
            await atelier.audit.page(AuditFilter(), None, limit)


async def test_the_pages_are_read_through_an_index(atelier: Atelier) -> None:
    await filled(atelier)
    for condition, index in (("recency > 5", "newest"), ("workflow = workflow:a AND recency > 5", "by_workflow")):
        plan = str(
            await atelier.repos.store.query(
                f"SELECT id, recency FROM audit WHERE {condition} ORDER BY recency LIMIT 5 EXPLAIN"
            )
        )
        assert f"'index': '{index}'" in plan
        assert "Sort" not in plan


async def test_the_spreadsheet_has_every_entry_and_no_formula(tmp_path: Path, atelier: Atelier) -> None:
    await filled(atelier, 1200)
    file = tmp_path / "trail.csv"
    assert await atelier.audit.export(AuditFilter(), file) == 1203
    content = file.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf"), "spreadsheets take it for UTF-8"
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert len(rows) == 1203
    [risky] = [row for row in rows if row["decision"] == "Approved"]
    assert (risky["call"], risky["rule"], risky["workflow"], risky["agent"]) == ("'=1+1", "'@rule", "House", "Ada")
    assert await atelier.audit.export(AuditFilter(tool="read_file"), file, 1) == 1
    with pytest.raises(UsageError, match="cannot be written"):
        await atelier.audit.export(AuditFilter(), file / "below" / "a file.csv")
    assert len(file.read_text("utf-8-sig").splitlines()) == 2, "a failed one leaves what was there"


async def test_keys_never_reach_the_trail(open_atelier: Opener, tmp_path: Path) -> None:
    line = f"curl -H 'X-Key: {KEY}' https://ada:pw123@example.org/?token=abcdef --password hunter2"
    async with open_atelier([tool_calls(("run_command", {"command": line, "modifies_files": False}))]) as atelier:
        workflow = await atelier.workflows.create(workspace=(str(tmp_path),))
        await atelier.permissions.add(PermissionRule(text="run_command(curl:*)", action=Action.ASK))
        agent = AgentConfig(name="Ada", provider="p", model="m", tools=("run_command",), approval=ApprovalMode.AUTO)
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=agent)
        remember(KEY)  # a call with a key known before is not made at all
        await atelier.runs.cancel(run_id)
        [entry] = await entries(atelier)
        stored = str(await atelier.repos.store.query("SELECT detail, about, search FROM audit"))
        for secret in (KEY, "pw123", "abcdef", "hunter2"):
            assert secret not in stored
        assert entry.detail.startswith("curl -H 'X-Key: ")
        assert "https://•••@example.org/?token=•••" in entry.detail

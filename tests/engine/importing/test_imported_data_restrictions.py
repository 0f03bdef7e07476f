"""Foreign data grants nothing until a person confirms each part of it, and nothing in it continues running."""

from __future__ import annotations

import json
from pathlib import Path

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalFlags, ApprovalScope, ApprovalSettings, OnTimeout
from atelier_desk.domain.mcp import McpServer
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.data_folder_and_backups import restore_backup
from atelier_desk.engine.services.own_tools import OwnToolState
from atelier_desk.storage.copies import backup_signature
from tests.engine.conftest import Opener, send_and_wait
from tests.engine.team.conftest import Cast, call, lead
from tests.helpers.backup_inspection_cache import inspected_once

__all__ = ["inspected_once"]

LOOSE = ApprovalSettings(
    flags=ApprovalFlags(mcp=False, file_ops=False),
    on_timeout=OnTimeout.APPROVE,
    risks={"run_command": "low", "read_file": "high"},
)
TOOL = '''from atelier_desk import tool


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return name
'''


async def fill(atelier: Atelier, folder: Path) -> None:
    """Grant everything there is to grant, and leave a run waiting for an approval."""
    (atelier.own_tools.folder / "greet.py").write_text(TOOL)
    (file,) = await atelier.own_tools.list()
    await atelier.own_tools.confirm(file.file, file.sha256)
    for text, action in (("write_file", Action.ALLOW), ("web_ops", Action.DENY), ("delete_path", Action.ASK)):
        await atelier.permissions.add(PermissionRule(text=text, action=action))
    await atelier.mcp.save(McpServer(name="local", command="/bin/false"))
    await atelier.files.trust(str(folder), True)
    await atelier.files.trust(str(folder.parent), False)
    await atelier.settings.update(approvals=LOOSE.model_copy(update={"rules": ()}))
    free = (await atelier.agents.list())[0]
    await atelier.agents.save(free.config.model_copy(update={"approval": ApprovalMode.AUTO}), free.id)
    workflow = await atelier.workflows.create(workspace=(str(folder),))
    agent = lead(approval="manual", tools=("read_file", "write_file"))
    await send_and_wait(atelier, workflow.id, "Work.", agent=agent)
    assert len(await atelier.approvals.pending()) == 1


async def granted(atelier: Atelier) -> dict[str, object]:
    settings = await atelier.settings.get()
    return {
        "rules": sorted((rule.text, rule.held) for rule in await atelier.permissions.rules()),
        "in force": sorted(rule.text for rule in settings.approvals.rules),
        "tools": [each.state for each in await atelier.own_tools.list()],
        "servers": [each.config.enabled for each in await atelier.repos.mcp_servers.list()],
        "trusted": sorted(settings.folder_trust.values()),
        "free": any(agent.config.approval is ApprovalMode.AUTO for agent in await atelier.agents.list()),
        "waiting": len(await atelier.approvals.pending()),
        "times out": settings.approvals.on_timeout,
        "risks": settings.approvals.risks,
        "asks": settings.approvals.flags,
    }


OFF = {
    "rules": [("delete_path", False), ("web_ops", False), ("write_file", True)],
    "in force": ["delete_path", "web_ops"],
    "tools": [OwnToolState.NEW],
    "servers": [False],
    "trusted": [False],
    "free": False,
    "waiting": 0,
    "times out": OnTimeout.REJECT,
    "risks": {"read_file": "high"},
    "asks": ApprovalFlags(),
}


async def test_a_foreign_backup_grants_nothing_until_each_part_is_confirmed(
    open_atelier: Opener, tmp_path: Path, inspected_once: None
) -> None:
    folder = tmp_path / "work" / "in"
    folder.mkdir(parents=True)
    cast = Cast(Lead=[[call("read_file", "r", path="a.txt")]])
    async with open_atelier(cast) as atelier:
        await fill(atelier, folder)
        before = await granted(atelier)
        assert before["in force"] == ["delete_path", "web_ops", "write_file"]
        assert before["tools"] == [OwnToolState.CONFIRMED]
        root = Path(atelier.datadir.root)
        await atelier.data.backup_create(tmp_path / "mine.zip")
    await restore_backup(tmp_path / "mine.zip", root)
    async with open_atelier(cast) as atelier:
        assert await granted(atelier) == before, "its own backup comes back as it was"
    (root / backup_signature.KEY).unlink()
    await restore_backup(tmp_path / "mine.zip", root, from_elsewhere=True)
    async with open_atelier(cast, start=False) as atelier:
        assert (await atelier.permissions.rules())[0].held, "also where nothing but the database is opened"
    async with open_atelier(cast) as atelier:
        assert await granted(atelier) == OFF
        (workflow,) = await atelier.workflows.list()
        (run,) = await atelier.repos.runs.list(workflow.id)
        assert run.status is RunStatus.CANCELLED
        said = await atelier.permissions.trials.test(
            "write_file", {"path": "a", "content": "x"}, workspace=[str(folder)]
        )
        assert said.action is Action.ASK
        assert backup_signature.marked(root) == b""
        held = next(rule for rule in await atelier.permissions.rules() if rule.held)
        await atelier.permissions.confirm(held.id)
        said = await atelier.permissions.trials.test(
            "write_file", {"path": "a", "content": "x"}, workspace=[str(folder)]
        )
        assert (said.action, said.rule) == (Action.ALLOW, "write_file")
        (file,) = await atelier.own_tools.list()
        await atelier.own_tools.confirm(file.file, file.sha256)
        await atelier.mcp.switch("local", True)
        await atelier.files.trust(str(folder), True)
    async with open_atelier(cast) as atelier:
        after = await granted(atelier)
        assert (after["in force"], after["tools"]) == (
            ["delete_path", "web_ops", "write_file"],
            [OwnToolState.CONFIRMED],
        )
        assert (after["servers"], after["trusted"]) == ([True], [False, True]), "what was confirmed stays so"


async def test_adding_a_suspended_rule_again_confirms_it(atelier: Atelier) -> None:
    rule = PermissionRule(text="write_file", action=Action.ALLOW, held=True)
    await atelier.permissions.add(rule)
    assert (await atelier.settings.get()).approvals.rules == ()
    (same,) = await atelier.permissions.add(PermissionRule(text="write_file", action=Action.ALLOW))
    assert (same.id, same.held) == (rule.id, False)
    assert [each.id for each in (await atelier.settings.get()).approvals.rules] == [rule.id]


async def test_an_imported_export_grants_nothing_either(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "in"
    folder.mkdir(parents=True)
    cast = Cast(Lead=[[call("read_file", "r", path="a.txt")]])
    async with open_atelier(cast) as atelier:
        await fill(atelier, folder)
        await atelier.data.export_jsonl(tmp_path / "export")
        root = Path(atelier.datadir.root)
    root.rename(tmp_path / "old")
    async with open_atelier(cast) as atelier:
        await atelier.data.import_jsonl(tmp_path / "export")
        assert await granted(atelier) == OFF
        assert json.loads((tmp_path / "export" / "manifest.json").read_text())["counts"]["permission_rule"] == 3


async def test_always_on_a_card_confirms_a_suspended_rule(open_atelier: Opener, tmp_path: Path) -> None:
    write = call("write_file", "w", path="a.md", content="x")
    async with open_atelier(Cast(Lead=[[write], "Done."])) as atelier:
        workflow = await atelier.workflows.create(workspace=(str(tmp_path),))
        run_id = await send_and_wait(
            atelier, workflow.id, "Work.", agent=lead(approval="selective", tools=("write_file",))
        )
        (asked,) = await atelier.approvals.pending()
        where = asked.holds
        for text in asked.always:
            rule = PermissionRule(text=text, action=Action.ALLOW, scope=where.scope, scope_id=where.scope_id, held=True)
            await atelier.permissions.add(rule)
        await atelier.approvals.approve(asked.id, scope=ApprovalScope.ALWAYS)
        await atelier.runs.wait(run_id)
        assert [rule.held for rule in await atelier.permissions.rules()] == [False] * len(asked.always)

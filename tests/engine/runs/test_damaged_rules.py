"""While a damaged row may hide a restriction no run continues, whoever starts it; after a repair it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.domain.workflow import RunStatus
from atelier_desk.engine import Atelier
from atelier_desk.storage.row_mapping import record
from atelier_desk.storage.store import Statement
from tests.engine.conftest import Opener, completed, send_and_wait, status_after
from tests.engine.runs.withdrawn_rights import TOUCH, answer, begun, redirect, take_up
from tests.helpers.scripted_teams import ask_user, leader, scripts, spawn

DENIED = "run_command(touch:*)"


async def deny(atelier: Atelier, text: str = DENIED) -> None:
    """Deny it with a rule whose text on the disk is then ``text``."""
    rule = PermissionRule(text=DENIED, action=Action.DENY)
    await atelier.permissions.add(rule)
    if text != DENIED:
        await atelier.store.write(
            Statement("UPDATE $row SET text = $text", {"row": record("permission_rule", rule.id), "text": text})
        )


async def start_of_the_window(atelier: Atelier, run_id: str) -> None:
    await answer(atelier, run_id)
    await atelier.runs.live.interrupt(run_id, "program")
    await atelier.runs.recovery.resume_all()


@pytest.mark.parametrize("goes_on", [answer, redirect, take_up, start_of_the_window])
async def test_a_run_that_nobody_has_in_memory(
    open_atelier: Opener, tmp_path: Path, goes_on: Callable[[Atelier, str], Awaitable[None]]
) -> None:
    async with open_atelier([[ask_user("q")]]) as atelier:
        run_id = await begun(atelier, tmp_path / "work", ApprovalMode.AUTO)
        await atelier.runs.wait(run_id)
    async with open_atelier([[TOUCH], "done"]) as atelier:
        await deny(atelier, "run_command(tovch:*)")
        with suppress(StorageError):
            await goes_on(atelier, run_id)
        assert await status_after(atelier, run_id) in (RunStatus.INTERRUPTED, RunStatus.PAUSED)
        with pytest.raises(StorageError, match="no agent starts"):
            await atelier.runs.steering.resume(run_id)
        await atelier.data.remove_damaged()
        await deny(atelier)
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert not (tmp_path / "work" / "seen").exists()


async def test_a_sub_agent_that_is_answered_alone(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    boss = leader(name="Boss", tools=("run_command", "UserQuestionTool", "SpawnAgentTool"))
    async with open_atelier(scripts(Boss=[[spawn("s", "Helper")]], Helper=[[ask_user("q")]])) as atelier:
        workflow = await atelier.workflows.create("team", "", (str(tmp_path / "work"),))
        run_id = await send_and_wait(atelier, workflow.id, "go", agent=boss)
    async with open_atelier(scripts(Boss=["done"], Helper=[[TOUCH], "done"])) as atelier:
        await deny(atelier, "run_command(tovch:*)")
        await answer(atelier, run_id)
        assert await status_after(atelier, run_id) is RunStatus.INTERRUPTED
        await atelier.data.remove_damaged()
        await deny(atelier)
        await atelier.runs.steering.resume(run_id)
        await completed(atelier, run_id)
        assert not (tmp_path / "work" / "seen").exists()

"""The team's state with signals: few queries, few repaints."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.team.model import AT_ONCE, TeamModel
from atelier_desk.domain.agent import Budget
from atelier_desk.domain.errors import NotFoundError
from tests.desktop.team.sample_team_events import event, started, sub_agent_event, tree
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle


@pytest.fixture
def atelier() -> FakeAtelier:
    return FakeAtelier(teams={"tree": lambda *_: tree()})


@pytest.fixture
def model(qtbot: QtBot, atelier: FakeAtelier) -> TeamModel:
    bridge = FakeBridge(atelier)
    made = TeamModel(bridge, bridge)
    made.bridge_kept = bridge  # type: ignore[attr-defined]
    return made


async def test_opening_reads_the_tree_once(model: TeamModel, atelier: FakeAtelier, qtbot: QtBot) -> None:
    model.set_workflow("w1", "ada")
    model.want("ada")
    await settle()
    assert atelier.calls("teams.tree") == [(("w1", "ada"), {})]
    assert [member.name for member in model.state.walk("ada")] == ["Ada", "Bea", "Dot", "Cid"]
    with qtbot.waitSignal(model.changed):
        pass


async def test_a_few_agents_are_signalled_per_frame(model: TeamModel, qtbot: QtBot) -> None:
    signalled: list[frozenset[str]] = []
    model.changed.connect(signalled.append)
    model.set_workflow("w1", "ada")
    await settle()
    qtbot.waitUntil(lambda: len(signalled) == 2)
    assert [len(runs) for runs in signalled] == [AT_ONCE, 1]
    assert frozenset().union(*signalled) == {"ada", "bea", "cid", "dot"}


async def test_another_workflow_gets_no_signals_of_the_previous_one(model: TeamModel, qtbot: QtBot) -> None:
    signalled: list[frozenset[str]] = []
    model.changed.connect(signalled.append)
    model.set_workflow("w1", "ada")
    await settle()
    qtbot.waitUntil(lambda: len(signalled) == 1)
    model.set_workflow("w2")
    qtbot.waitUntil(lambda: not model._frame_timer.isActive())
    assert len(signalled) == 1


async def test_many_events_are_signalled_once_and_only_changes_of_the_tree_are_queried(
    model: TeamModel, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    signalled: list[frozenset[str]] = []
    model.changed.connect(signalled.append)
    model.set_workflow("w1")
    for each in started():
        model.feed(each)
    qtbot.waitUntil(lambda: not model._reload.isActive() and not model._change_timer.isActive())
    await settle()
    assert len(atelier.calls("teams.tree")) == 1
    before = len(signalled)
    for number in range(500):
        model.feed(event(20, "token", "dot", content="x"))
        model.feed(sub_agent_event(20, "dot", what="sub_agent_progress", tokens_output=number))
    qtbot.waitUntil(lambda: not model._change_timer.isActive())
    await settle()
    qtbot.waitUntil(lambda: not model._change_timer.isActive())
    assert len(signalled) - before <= 2
    assert len(atelier.calls("teams.tree")) == 1
    assert model.root == "ada"


async def test_a_raised_limit_is_read_when_the_run_continues(
    model: TeamModel, atelier: FakeAtelier, qtbot: QtBot
) -> None:
    atelier.set("teams", "tree", lambda *_: tree(ada={"budget": Budget(max_tokens=40)}))
    model.set_workflow("w1", "ada")
    await settle()
    model.feed(event(20, "limit_reached", "ada", reason="tokens", details={"value": 42, "cap": 40}))
    model.feed(event(21, "run_status", "ada", status="paused"))
    atelier.set("teams", "tree", lambda *_: tree(ada={"budget": Budget(max_tokens=240)}))
    model.feed(event(22, "run_status", "ada", status="processing"))
    qtbot.waitUntil(lambda: not model._reload.isActive())
    await settle()
    member = model.get("ada")
    assert member is not None
    assert member.budget == Budget(max_tokens=240)


async def test_a_deleted_turn_is_no_error(model: TeamModel, atelier: FakeAtelier) -> None:
    atelier.set("teams", "tree", NotFoundError("gone"))
    model.set_workflow("w1", "ada")
    await settle()
    assert model.state.members == {}
    assert model.bridge_kept.errors == []  # type: ignore[attr-defined]


async def test_a_late_tree_of_another_workflow_is_ignored(model: TeamModel) -> None:
    model.set_workflow("w1", "ada")
    model.set_workflow("w2")
    await settle()
    assert model.state.members == {}

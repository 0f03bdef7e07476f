"""What is known of the database without asking it is what asking would give."""

from __future__ import annotations

from atelier_desk.domain.workflow import Workflow
from atelier_desk.storage import known
from atelier_desk.storage.commit import Commit
from atelier_desk.storage.known import Known
from atelier_desk.storage.repositories import Repositories
from tests.storage.test_behind import step


def test_a_commit_follows_when_its_workflow_is_known_and_its_numbers_are_next() -> None:
    found = Known()
    assert not found.follows(step(1))
    found.learn(Commit(created=(Workflow(id="w", name="w"),)))
    assert found.follows(step(1))
    assert not found.follows(step(2))
    found.learn(step(1))
    assert not found.follows(step(1))
    assert not found.follows(step(3))
    assert found.follows(step(2))
    assert found.follows(Commit(events=(*step(2).events, *step(3).events, *step(1, run="child").events)))
    assert not found.follows(Commit(events=(*step(2).events, *step(2).events)))
    found.forget("w")
    assert not found.follows(step(2))


def test_parts_of_replies_are_deleted_only_where_there_may_be_some() -> None:
    found = Known()
    clear = Commit(clear_partial=("run",), of="w")
    assert found.needed(clear).clear_partial == ("run",)
    found.learn(step(1))
    assert found.needed(clear).clear_partial == ()
    found.learn(step(8, run="taken-up"))
    assert found.needed(Commit(clear_partial=("taken-up",))).clear_partial == ("taken-up",)


def test_only_so_many_are_remembered(monkeypatch: object) -> None:
    found = Known()
    for number in range(known.MOST + 10):
        found.learn(Commit(created=(Workflow(id=str(number), name="n"),)))
        found.learn(step(1, run=str(number), workflow=str(number)))
    assert found.workflow("9") is None
    assert found.workflow("10") is not None
    assert len(found._runs) == known.MOST


async def test_a_row_follows_its_changes(repos: Repositories) -> None:
    workflow = await repos.workflows.create(Workflow(id="w", name="w"))
    await repos.journal.commit(step(1))
    await repos.workflows.update("w", name="named", pinned=True)
    shown = await repos.workflows.get("w")
    repos.store.known.forget(None)
    assert await repos.workflows.get("w") == shown
    assert (shown.name, shown.stream_seq, shown.created_at) == ("named", 1, workflow.created_at)

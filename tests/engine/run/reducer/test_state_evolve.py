"""Helpers of the reducer: changing a few fields of a state."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from atelier_desk.engine.run.reducer.handler_registry import evolve
from tests.helpers.runs_without_driver import Script, reply


def test_it_equals_replace_and_leaves_the_old_state_unchanged() -> None:
    state = Script().add(reply("hello")).state
    changed = evolve(state, last_seq=9, summary="s")
    assert changed == replace(state, last_seq=9, summary="s")
    assert type(changed) is type(state)
    assert (state.last_seq, state.summary) == (3, "")


def test_the_new_state_is_as_immutable_as_the_old_one() -> None:
    changed = evolve(Script().state, last_seq=9)
    with pytest.raises(FrozenInstanceError):
        changed.last_seq = 10  # type: ignore[misc]

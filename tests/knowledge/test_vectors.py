"""The matrix of vectors against the plain computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from atelier_desk.domain.memory import Memory, MemoryFilter, MemoryScope, MemoryType
from atelier_desk.knowledge import vectors as vectors_module
from atelier_desk.knowledge.vectors import VectorIndex, accepts

ANYTHING = MemoryFilter(scope=None)


def memory(name: str, **fields: object) -> Memory:
    return Memory(id=name, type=MemoryType.KNOWLEDGE, content=name, **fields)


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def nearest(index: VectorIndex, query: np.ndarray, count: int = 10) -> list[str]:
    mask = index.mask(ANYTHING)
    found, _ = index.nearest(query, mask if mask is not None else index.set_mask(ANYTHING, list(index._row_of)), count)
    return [name for name, _ in found]


def test_finds_the_nearest_first_with_their_cosines() -> None:
    index = VectorIndex("e", 2)
    for name, vector in (("a", unit(1, 0)), ("b", unit(1, 1)), ("c", unit(-1, 0))):
        index.put(memory(name), vector)
    found, cosine = index.nearest(unit(1, 0), index.set_mask(ANYTHING, "abc"), 2)
    assert [name for name, _ in found] == ["a", "b"]
    assert found[1][1] == pytest.approx(0.7071, abs=1e-4)
    assert cosine("c") == 0.0
    assert cosine("unknown") is None


def test_loading_keeps_what_is_newer() -> None:
    index = VectorIndex("e", 2)
    index.put(memory("a"), unit(1, 0))
    index.load(["a", "b"], np.stack([unit(0, 1), unit(0, 1)]))
    assert len(index) == 2
    assert nearest(index, unit(1, 0))[0] == "a"
    assert nearest(index, unit(0, 1))[0] == "b"


def test_masks_follow_changes() -> None:
    index = VectorIndex("e", 2)
    wanted = MemoryFilter("w", MemoryScope.WORKFLOW)
    index.set_mask(wanted, [])
    index.put(memory("mine", workflow_id="w"), unit(1, 0))
    index.put(memory("other", workflow_id="x"), unit(1, 0))
    mask = index.mask(wanted)
    assert mask is not None
    assert [name for name, _ in index.nearest(unit(1, 0), mask, 10)[0]] == ["mine"]
    index.put(memory("mine", workflow_id="x"), unit(1, 0))
    mask = index.mask(wanted)
    assert mask is not None
    assert index.nearest(unit(1, 0), mask, 10)[0] == []


def test_only_a_few_masks_are_kept() -> None:
    index = VectorIndex("e", 2)
    filters = [MemoryFilter(str(number)) for number in range(20)]
    for wanted in filters:
        index.set_mask(wanted, [])
    assert index.mask(filters[0]) is None
    assert index.mask(filters[-1]) is not None


@pytest.mark.parametrize(
    ("wanted", "accepted"),
    [
        (MemoryFilter(scope=None), True),
        (MemoryFilter("w", MemoryScope.BOTH), True),
        (MemoryFilter("w", MemoryScope.GENERAL), False),
        (MemoryFilter("x", MemoryScope.BOTH), False),
        (MemoryFilter("w", type=MemoryType.DECISION), False),
        (MemoryFilter("w", tags=("one", "two")), True),
        (MemoryFilter("w", tags=("one", "three")), False),
    ],
)
def test_a_filter_accepts_by_home_type_and_all_tags(wanted: MemoryFilter, accepted: bool) -> None:
    assert accepts(wanted, memory("m", workflow_id="w", tags=("one", "two"))) is accepted


class Machine(RuleBasedStateMachine):
    """Put and remove in any order: always the same order as comparing every vector that is there."""

    def __init__(self) -> None:
        super().__init__()
        self.index = VectorIndex("e", 4)
        self.index.set_mask(ANYTHING, [])
        self.known: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(7)

    @rule(name=st.sampled_from([f"m{number}" for number in range(12)]))
    def put(self, name: str) -> None:
        vector = unit(*self.random.normal(size=4))
        self.index.put(memory(name), vector)
        self.known[name] = vector

    @rule(name=st.sampled_from([f"m{number}" for number in range(12)]))
    def remove(self, name: str) -> None:
        self.index.remove([name])
        self.known.pop(name, None)

    @invariant()
    def agrees(self) -> None:
        query = unit(1, 2, 3, 4)
        mask = self.index.mask(ANYTHING)
        assert mask is not None
        found = self.index.nearest(query, mask, 20)[0]
        assert {name for name, _ in found} == set(self.known)
        for name, value in found:
            assert value == pytest.approx(max(0.0, float(self.known[name] @ query)), abs=1e-5)
        assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
        assert len(self.index) == len(self.known)


def test_many_vectors_are_looked_at_in_short_form_first_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "SKETCH_FROM", 500)
    monkeypatch.setattr(vectors_module, "REFINED", 200)
    random = np.random.default_rng(5)
    topics = random.normal(size=(20, 256))
    matrix = topics[random.integers(0, 20, 3_000)] + 0.7 * random.normal(size=(3_000, 256))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    names = [f"m{number}" for number in range(3_000)]
    index = VectorIndex("e", 256)
    index.load(names, matrix)
    index.prepare()
    mask = index.set_mask(ANYTHING, names)
    found = wanted = 0
    for query in matrix[:50]:
        nearest_ten = {names[row] for row in np.argsort(-(matrix @ query))[:10]}
        hits, cosine = index.nearest(query, mask, 10)
        found += len(nearest_ten & {name for name, _ in hits})
        wanted += 10
        assert hits[0][1] == pytest.approx(1.0, abs=1e-5)
        assert cosine("m2999") == pytest.approx(max(0.0, float(matrix[2999] @ query)), abs=1e-5)
    assert found / wanted >= 0.99
    added = unit(*random.normal(size=256))
    index.put(memory("new"), added)
    index.remove(["m7"])
    mask = index.set_mask(ANYTHING, [*names, "new"])
    assert index.nearest(added, mask, 1)[0][0][0] == "new"
    assert index.nearest(matrix[7], mask, 1)[0][0][0] != "m7"


def test_a_matrix_that_grows_takes_its_short_forms_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_module, "SKETCH_FROM", 200)
    monkeypatch.setattr(vectors_module, "REFINED", 150)
    random = np.random.default_rng(6)
    index = VectorIndex("e", 256)
    index.set_mask(ANYTHING, [])
    known = {f"m{number}": unit(*random.normal(size=256)) for number in range(700)}
    for number, (name, vector) in enumerate(known.items()):
        index.put(memory(name), vector)
        if number == 250:
            index.prepare()
    mask = index.mask(ANYTHING)
    assert mask is not None
    for name in ("m0", "m255", "m256", "m699"):
        assert index.nearest(known[name], mask, 1)[0][0][0] == name


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)

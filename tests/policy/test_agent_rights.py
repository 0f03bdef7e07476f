"""Rights only shrink: no chain of sub-agents gets a right that the root lacks, whatever each one requests."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import ApprovalMode, Budget
from atelier_desk.policy.agent_rights import Rights, grant

NAMES = st.frozensets(st.sampled_from(["a", "b", "c", "d", "e"]))
MODES = st.sampled_from(list(ApprovalMode))


def _cap(values: st.SearchStrategy[float]) -> st.SearchStrategy[float | None]:
    return st.none() | values


BUDGETS = st.builds(
    Budget,
    max_cost=_cap(st.floats(0, 10)),
    max_tokens=_cap(st.integers(1, 1000)),
    max_seconds=_cap(st.floats(0.1, 100)),
    max_tool_calls=_cap(st.integers(0, 50)),
)
RIGHTS = st.builds(
    Rights,
    tools=NAMES,
    mcp_servers=NAMES,
    workspace=NAMES,
    mode=MODES,
    iterations=st.integers(1, 200),
    budget=BUDGETS,
    depth=st.integers(0, 3),
    max_depth=st.integers(0, 6),
)


@given(root=RIGHTS, wanted=st.lists(RIGHTS, min_size=1, max_size=8))
def test_no_chain_of_requests_gives_a_right_that_the_root_lacks(root: Rights, wanted: list[Rights]) -> None:
    holder = root
    for wish in wanted:
        given_ = grant(holder, wish)
        assert given_.within(holder)
        assert given_.within(root)
        assert given_.depth == holder.depth + 1
        holder = given_


@given(root=RIGHTS, wish=RIGHTS)
def test_a_right_that_both_have_is_granted(root: Rights, wish: Rights) -> None:
    given_ = grant(root, wish)
    assert given_.tools == root.tools & wish.tools
    assert given_.mode in (root.mode, wish.mode)
    assert given_.iterations in (root.iterations, wish.iterations)
    for cap in ("max_cost", "max_tokens", "max_seconds", "max_tool_calls"):
        mine, theirs = getattr(root.budget, cap), getattr(wish.budget, cap)
        assert getattr(given_.budget, cap) == min(
            (value for value in (mine, theirs) if value is not None), default=None
        )


@given(root=RIGHTS)
def test_requesting_the_same_rights_gives_the_same_rights(root: Rights) -> None:
    given_ = grant(root, root)
    assert (given_.tools, given_.mode, given_.budget, given_.iterations) == (
        root.tools,
        root.mode,
        root.budget,
        root.iterations,
    )


FULL = Rights(
    tools=frozenset("ab"),
    mcp_servers=frozenset("s"),
    workspace=frozenset("w"),
    mode=ApprovalMode.SELECTIVE,
    iterations=10,
    budget=Budget(max_cost=1.0, max_tokens=100, max_seconds=10, max_tool_calls=5),
    depth=1,
    max_depth=3,
)


def test_every_right_is_compared() -> None:
    """The property above would prove nothing for a right that ``within`` overlooks."""
    beyond = [
        replace(FULL, tools=frozenset("abc")),
        replace(FULL, mcp_servers=frozenset("st")),
        replace(FULL, workspace=frozenset("wx")),
        replace(FULL, mode=ApprovalMode.AUTO),
        replace(FULL, iterations=11),
        replace(FULL, max_depth=4),
        replace(FULL, depth=0),
        *(replace(FULL, budget=FULL.budget.model_copy(update={cap: None})) for cap in Budget.model_fields),
        *(
            replace(FULL, budget=FULL.budget.model_copy(update={cap: getattr(FULL.budget, cap) * 2}))
            for cap in Budget.model_fields
        ),
    ]
    assert FULL.within(FULL)
    for more in beyond:
        assert not more.within(FULL), more
    assert replace(FULL, mode=ApprovalMode.MANUAL, tools=frozenset(), iterations=1, depth=2).within(FULL)

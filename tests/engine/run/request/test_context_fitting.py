"""The context: newest first, within the model's limit, always a request that servers accept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.errors import ContextOverflowError
from atelier_desk.domain.events.run import ContextCompacted, ModelReplied
from atelier_desk.domain.model_messages import ImagePart, Role, TextTurns, ToolSpec
from atelier_desk.domain.opaque_provider_data import ProviderData
from atelier_desk.domain.skill import SkillUse
from atelier_desk.engine.run.reducer.conversation_entries import ContextEntry, EntryKind, History
from atelier_desk.engine.run.reducer.handler_registry import evolve
from atelier_desk.engine.run.reducer.state import inherited_context
from atelier_desk.engine.run.request import context_fitting, prompt_texts
from atelier_desk.engine.run.request.context_fitting import CutResults, ReadyRequest, Shorten, Summarise, messages, plan
from atelier_desk.llm.message_and_call_normalisation import arrange
from atelier_desk.llm.replies.provider_data import for_server
from atelier_desk.llm.token_and_cost_estimates import BYTES_PER_TOKEN, estimate_request
from tests.helpers.runs_without_driver import Script, agent, call, finished, reply, started


def fitted(script: Script, window: int, *, system: str = "You help.") -> ReadyRequest:
    """Compact with digests until a request fits, as the driver does when the model cannot summarise."""
    for _ in range(50):
        step = plan(script.state, system=system, tools=(), window=window)
        if isinstance(step, ReadyRequest):
            return step
        if isinstance(step, CutResults):
            script.add(ContextCompacted(method="cut_results", dropped=step.seqs))
        elif isinstance(step, Shorten):
            script.add(ContextCompacted(method="cut_message", dropped=(step.seq,), kept=step.unshortened))
        else:
            digest = prompt_texts.digest(step.entries, limit=int(window * 0.2 * 3.2))
            script.add(ContextCompacted(method="digest", dropped=tuple(e.seq for e in step.entries), summary=digest))
    raise AssertionError("compaction does not end")


def long_run(turns: int, size: int) -> Script:
    script = Script(message=f"first {'a' * size}")
    for number in range(turns):
        script.add(
            reply("", call(f"c{number}")),
            started(f"c{number}"),
            finished(f"c{number}", text=f"result {number} " + "b" * size),
        )
    return script


def test_everything_is_sent_when_it_fits() -> None:
    script = Script().add(reply("", call("a")), started("a"), finished("a"))
    ready = plan(script.state, system="You help.", tools=(), window=8000)
    assert isinstance(ready, ReadyRequest)
    assert [message.role for message in ready.request.messages] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]


def test_old_results_are_cut_before_anything_is_summarised() -> None:
    script = long_run(6, 3000)
    step = plan(script.state, system="You help.", tools=(), window=6000)
    assert isinstance(step, CutResults)
    newest = script.state.entries[-1]
    assert newest.seq not in step.seqs


def test_old_turns_are_summarised_when_cutting_is_not_enough() -> None:
    script = Script(message="x" * 4000)
    for number in range(6):
        script.add(reply(f"answer {number} " + "y" * 4000))
    step = plan(script.state, system="You help.", tools=(), window=6000)
    assert isinstance(step, Summarise)
    assert script.state.entries[-1] not in step.entries


@given(st.integers(1, 12), st.integers(10, 20_000), st.sampled_from([1024, 2048, 4096, 16_384]))
def test_a_request_never_exceeds_the_context_limit_and_includes_the_newest_message(
    turns: int, size: int, window: int
) -> None:
    script = long_run(turns, size)
    ready = fitted(script, window)
    reserve = ready.request.max_tokens
    assert estimate_request(ready.request) + reserve <= window
    assert ready.request.messages[-1].role is Role.TOOL
    assert f"result {turns - 1} " in ready.request.messages[-1].content


def test_a_summary_comes_first_and_is_merged_into_the_next_one() -> None:
    script = Script(message="start " + "x" * 3000)
    for number in range(8):
        script.add(reply(f"answer {number} " + "y" * 3000))
    fitted(script, 3000)
    assert script.state.conversation[0].kind is EntryKind.SUMMARY
    for number in range(8):
        script.add(reply(f"later {number} " + "z" * 3000))
    fitted(script, 3000)
    summaries = [entry for entry in script.state.conversation if entry.kind is EntryKind.SUMMARY]
    assert len(summaries) == 1


def test_earlier_runs_are_part_of_the_conversation() -> None:
    earlier = Script(message="my name is Ada").add(reply("hello Ada"))
    later = Script(message="what is my name?")
    from atelier_desk.engine.run.reducer.reduce import fold

    state = fold(later.events, inherited_context(earlier.state))
    assert state is not None
    ready = plan(state, system="You help.", tools=(), window=8000)
    assert isinstance(ready, ReadyRequest)
    assert [m.content for m in ready.request.messages[1:]] == ["my name is Ada", "hello Ada", "what is my name?"]


ENTRIES = [
    ContextEntry(seq=1, kind=EntryKind.USER, text="what is the way?"),
    ContextEntry(seq=2, kind=EntryKind.REPLY, text="by the river"),
    ContextEntry(seq=2, kind=EntryKind.REPLY, text="by the river"),
    ContextEntry(seq=3, kind=EntryKind.USER, text="  "),
    ContextEntry(seq=4, kind=EntryKind.SUMMARY, text="in short"),
    ContextEntry(seq=5, kind=EntryKind.REPLY, text="", calls=(call("c1"),)),
    ContextEntry(seq=6, kind=EntryKind.RESULT, text="{}", call_id="c1", tool="CalculatorTool"),
    ContextEntry(seq=7, kind=EntryKind.USER, text="see", images=(ImagePart(media_type="image/png", data="aGk="),)),
    ContextEntry(
        seq=8, kind=EntryKind.REPLY, text="ok", provider_data=ProviderData.pack("local", "scripted", {"reasoning": "x"})
    ),
]


@given(st.lists(st.sampled_from(ENTRIES), max_size=7), st.sampled_from(["You help.", ""]))
def test_text_in_turn_is_sent_like_any_messages(entries: list[ContextEntry], system: str) -> None:
    ready = plan(evolve(Script().state, history=History(entries)), system=system, tools=(), window=100_000)
    assert isinstance(ready, ReadyRequest)
    request = ready.request
    plain = request.model_copy(update={"messages": tuple(request.messages)})
    assert arrange(request.messages) == arrange(plain.messages)
    assert for_server(request, "local") == for_server(plain, "local")
    if isinstance(request.messages, TextTurns):
        assert not any(message.images for message in request.messages)


def test_text_in_turn_is_marked_as_such() -> None:
    def sent(*kinds: EntryKind) -> type:
        history = History(ContextEntry(seq=1, kind=kind, text="a") for kind in kinds)
        ready = plan(evolve(Script().state, history=history), system="You help.", tools=(), window=8000)
        assert isinstance(ready, ReadyRequest)
        return type(ready.request.messages)

    assert sent(EntryKind.USER, EntryKind.REPLY) is TextTurns
    assert sent(EntryKind.USER, EntryKind.USER) is tuple
    assert sent(EntryKind.USER) is tuple  # the newest message follows


def test_instructions_that_fill_the_context_are_a_clear_error() -> None:
    with pytest.raises(ContextOverflowError, match="leaves no room"):
        plan(Script().state, system="x" * 40_000, tools=(), window=4096)


def test_the_learned_factor_is_applied() -> None:
    script = Script(message="x" * 6000)
    assert isinstance(plan(script.state, system="s", tools=(), window=4096), ReadyRequest)
    step = plan(script.state, system="s", tools=(), window=4096, factor=3.0)
    assert isinstance(step, Shorten)
    script.add(ContextCompacted(method="cut_message", dropped=(step.seq,), kept=step.unshortened))
    shortened = plan(script.state, system="s", tools=(), window=4096, factor=3.0)
    assert isinstance(shortened, ReadyRequest)
    assert "characters were cut" in shortened.request.messages[-1].content


def test_dangling_call_gets_a_result_and_orphan_result_is_skipped() -> None:
    script = Script().add(reply("", call("a"), call("b")), started("a"), finished("a"))
    sent = messages(script.state.conversation)
    assert [m.tool_call_id for m in sent if m.role is Role.TOOL] == ["a", "b"]
    assert "cut off" in sent[-1].content
    orphan = [entry for entry in script.state.entries if entry.kind is EntryKind.RESULT]
    assert messages(History(orphan)) == []


def test_groups_keep_a_reply_with_its_results() -> None:
    script = Script().add(
        reply("", call("a"), call("b")), started("a"), finished("a"), started("b"), finished("b"), reply("x")
    )
    assert [len(group) for group in context_fitting.groups(script.state.entries)] == [1, 3, 1]


@given(st.integers(1, 400), st.integers(400, 4000))
def test_digest_is_bounded_and_keeps_the_newest(turns: int, limit: int) -> None:
    script = Script(message="the goal")
    for number in range(turns):
        script.add(reply(f"answer {number}"))
    digest = prompt_texts.digest(script.state.entries, limit=limit)
    assert len(digest) <= limit + 100
    assert f"answer {turns - 1}" in digest


def test_tools_are_sent_as_given() -> None:
    tool = ToolSpec(name="CalculatorTool", description="Calculates.", parameters={"type": "object", "properties": {}})
    ready = plan(Script(config=agent()).state, system="s", tools=(tool,), window=4096, tool_tokens=40)
    assert isinstance(ready, ReadyRequest)
    assert ready.request.tools == (tool,)


def test_an_incompressible_newest_group_is_refused_instead_of_cut_forever() -> None:
    script = Script(message="m" * 260)
    script.add(reply("", *(call(f"c{number}", expression="9" * 260) for number in range(12))))
    for number in range(12):
        script.add(started(f"c{number}"), finished(f"c{number}", text="r" * 260))
    with pytest.raises(ContextOverflowError):
        fitted(script, 1024)


def test_provider_data_is_counted_and_removed_with_its_reply() -> None:
    """Signatures take space like text; compaction removes a reply with them, and the remaining ones keep theirs."""

    def signed(number: int, model: str = "scripted") -> ModelReplied:
        data = ProviderData.pack("local", model, {"reasoning_content": f"{number} " + "thought " * 500})
        called = reply("", call(f"c{number}"))
        return called.model_copy(update={"reply": called.reply.model_copy(update={"provider_data": data})})

    script = Script()
    for number in range(6):
        script.add(signed(number), started(f"c{number}"), finished(f"c{number}"))
    wide = plan(script.state, system="You help.", tools=(), window=40_000)
    assert isinstance(wide, ReadyRequest)
    assert wide.tokens > 6 * 4_000 / BYTES_PER_TOKEN
    summarised = plan(script.state, system="You help.", tools=(), window=6_000)
    assert isinstance(summarised, Summarise)
    script.add(
        ContextCompacted(method="digest", dropped=tuple(entry.seq for entry in summarised.entries), summary="Earlier.")
    )
    ready = plan(script.state, system="You help.", tools=(), window=6_000)
    assert isinstance(ready, ReadyRequest)
    replies = [message for message in ready.request.messages if message.role is Role.ASSISTANT]
    assert replies
    assert all(message.provider_data is not None for message in replies)
    other = script.state.agent.model_copy(update={"model": "other"})
    switched = plan(evolve(script.state, agent=other), system="You help.", tools=(), window=6_000)
    assert isinstance(switched, ReadyRequest)
    assert all(message.provider_data is None for message in switched.request.messages)
    assert switched.tokens < ready.tokens


def with_skill(size: int, turns: int = 6) -> Script:
    script = Script(message="first " + "a" * 400)
    script.add(reply("", call("s", "activate_skill")), started("s", "activate_skill"))
    script.add(
        finished(
            "s", "activate_skill", text="skill " + "s" * size, skill=SkillUse(name="notes", folder="/x", digest="1")
        )
    )
    for number in range(turns):
        script.add(
            reply("", call(f"c{number}")),
            started(f"c{number}"),
            finished(f"c{number}", text=f"result {number} " + "b" * 3000),
        )
    return script


def test_instructions_of_a_skill_survive_compaction_completely() -> None:
    script = with_skill(3000, turns=20)
    ready = fitted(script, 3500)
    assert any(message.content == "skill " + "s" * 3000 for message in ready.request.messages)
    assert script.state.skills_used == (SkillUse(name="notes", folder="/x", digest="1"),)
    again = evolve(script.state, history=inherited_context(script.state), entries=())
    assert again.skills_used == script.state.skills_used, "the next turn has them, too"


def test_too_long_skill_instructions_are_finally_dropped() -> None:
    script = with_skill(40_000)
    ready = fitted(script, 3000)
    assert ready.tokens <= 3000
    assert script.state.skills_used == (), "what is not whole can be taken up again"

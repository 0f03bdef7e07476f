"""Text made storable."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.events.run import ModelReplied
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from atelier_desk.engine.run.lone_surrogates import sanitized
from tests.helpers.tool_calls import tool_call

anything = st.text(st.characters(codec=None), max_size=40)


@given(anything)
def test_repaired_text_can_be_stored_and_repairing_is_idempotent(text: str) -> None:
    fixed = sanitized(text)
    fixed.encode()
    assert sanitized(fixed) is fixed


def test_split_surrogate_pairs_are_joined() -> None:
    assert sanitized("\ud83d" + "\ude00") == "\U0001f600"


def test_valid_text_is_returned_unchanged() -> None:
    body = ModelReplied(reply=ChatReply(content="é", tool_calls=(tool_call("t", "a", k=["v", 1, None]),)))
    assert sanitized(body) is body


def test_values_that_json_cannot_express_are_repaired_too() -> None:
    deep: list[object] = ["\ud800"]
    for _ in range(300):
        deep = [deep]
    fixed = sanitized(deep)
    for _ in range(300):
        fixed = fixed[0]  # type: ignore[assignment]
    assert fixed == ["\ufffd"]


def test_every_text_inside_an_event_is_repaired() -> None:
    call = ToolCall(id="a", name="t", arguments={"k\ud800": ["\udc00", {"x": "y"}]})
    fixed = sanitized(ModelReplied(reply=ChatReply(content="\ud800", tool_calls=(call,))))
    assert fixed.reply.content == "\ufffd"
    assert fixed.reply.tool_calls[0].arguments == {"k\ufffd": ["\ufffd", {"x": "y"}]}

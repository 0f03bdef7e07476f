"""Nearest examples, prompts and grammars."""

import gc
from collections.abc import Sequence

import numpy as np

from atelier_desk.llm.guided.action_selection import Example, Examples, fill_prompt, selection_prompt
from atelier_desk.llm.guided.actions import ACTIONS, action_of, offered
from atelier_desk.llm.guided.choice_grammar import literal, one_of
from atelier_desk.llm.guided.language_data import language
from tests.helpers.tool_calls import tool_call
from tests.llm.guided.tool_specs import specs


class LengthEmbedder:
    """Texts of the same length have similar vectors."""

    id, dimension = "length:64", 64

    def __init__(self) -> None:
        self.calls = 0

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        self.calls += 1
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, min(len(text), 63)] = 1.0
        return vectors

    async def aclose(self) -> None:
        self.calls = -1


async def test_the_nearest_examples_of_the_allowed_actions_come_first() -> None:
    examples = Examples(LengthEmbedder())
    target = language("en").examples["add"][0]
    found = await examples.nearest("x" * len(target), language("en"), ["add", "list"])
    assert len(found) == 4
    assert found[0].similarity == 1.0
    assert len(found[0].request) == len(target)
    assert {example.action for example in found} <= {"add", "list"}


async def test_the_examples_are_embedded_once_for_all_models_of_an_embedder() -> None:
    embedder = LengthEmbedder()
    for _ in range(3):
        await Examples.shared(embedder).nearest("hello", language("en"), ["chat"])
    assert embedder.calls == 1 + 3
    assert Examples.shared(embedder) is Examples.shared(embedder)
    assert Examples.shared(LengthEmbedder()) is not Examples.shared(embedder)
    gc.collect()


async def test_without_an_embedder_common_words_decide() -> None:
    found = await Examples(None).nearest("what are my tasks right now?", language("en"), ["add", "list"])
    assert found[0] == Example("what are my tasks?", "list", found[0].similarity)


def test_a_prompt_has_the_nearest_example_last_and_ends_without_a_space() -> None:
    prompt = selection_prompt("do it", [Example("near", "add"), Example("far", "list")])
    assert prompt == "Request: far\nAction: list\n\nRequest: near\nAction: add\n\nRequest: do it\nAction:"
    assert fill_prompt("do it", [("a b", "b")], "Task") == "Request: a b\nTask: b\n\nRequest: do it\nTask:"


def test_a_grammar_has_the_choices_with_leading_space_and_escapes() -> None:
    assert one_of(["add", "list"]) == 'root ::= " add" | " list"'
    assert literal('a "b" \\ c\nd') == '"a \\"b\\" \\\\ c d"'


def test_only_actions_with_an_enabled_tool_are_offered() -> None:
    assert list(offered([])) == ["chat"]
    assert list(offered(specs("TodoTool"))) == ["add", "list", "done", "chat"]
    assert set(offered(specs("TodoTool", "MemoryTool", "CalculatorTool", "UserQuestionTool"))) == {
        action.name for action in ACTIONS
    }


def test_a_calls_action() -> None:
    def name(tool: str, operation: str) -> str | None:
        action = action_of(tool_call(tool, operation=operation), specs("TodoTool", "ReportTool"))
        return None if action is None else action.name

    assert name("TodoTool", "create") == "add"
    assert name("TodoTool", "delete") is None
    assert name("ReportTool", "write") is None
    assert name("CalculatorTool", "eval") is None, "it is not among the tools"

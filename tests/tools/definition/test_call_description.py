"""How a tool describes one call, by its declarations or by its own code."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.call_presentation_and_subjects import CallText, Presentation
from atelier_desk.support.i18n import _
from atelier_desk.tools.base import Effect, Input, Risk, Tool, ToolContext, ToolResult
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError
from atelier_desk.tools.definition.call_description import SubjectKind, subjects_of, summary_of
from atelier_desk.tools.registry.registry import ToolRegistry
from atelier_desk.tools.registry.sections import Section


class Move(Input):
    operation: Literal["move"]
    source: str
    target: str


class Look(Input):
    operation: Literal["look"]
    paths: list[str] = Field(default=[])


class Files(Tool):
    name: ClassVar[str] = "files"
    section: ClassVar[str] = "file_ops"
    effect: ClassVar[Effect] = Effect.WRITE
    reading: ClassVar[frozenset[str]] = frozenset({"look"})
    risk: ClassVar[Risk] = Risk.MEDIUM
    timeout_s: ClassVar[float] = 7.0
    summaries: ClassVar[dict[str, str]] = {"move": "From {source} to {target}"}
    subjects: ClassVar[dict[str, SubjectKind]] = {"source": "paths", "target": "paths", "paths": "paths"}
    input: ClassVar[Any] = Annotated[Move | Look, Field(discriminator="operation")]

    @property
    def description(self) -> str:
        return "Moves and looks."

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        return ToolResult.ok()


def described(arguments: dict[str, Any]) -> Any:
    registry = ToolRegistry()
    tool = Files()
    registry.register(tool)
    return registry.prepare(tool, arguments).described


def test_effect_time_subjects_and_text_depend_on_the_operation() -> None:
    moved = described({"operation": "move", "source": "a", "target": "b"})
    assert (moved.effect, moved.risk, moved.kind, moved.timeout_s) == (
        Effect.WRITE,
        Risk.MEDIUM,
        ApprovalKind.FILE_OP,
        7.0,
    )
    assert (moved.subjects.paths, str(moved.summary.localized(lambda text, **p: text.format(**p)))) == (
        ("a", "b"),
        "From a to b",
    )
    looked = described({"operation": "look", "paths": ["x", "y"]})
    assert (looked.effect, looked.subjects.paths) == (Effect.READ, ("x", "y"))


def test_invalid_arguments_are_an_error_for_the_model() -> None:
    with pytest.raises(InvalidArgumentsError, match="target is required"):
        described({"operation": "move", "source": "a"})


def test_a_tools_own_effect_overrides_its_sections() -> None:
    class Server(Files):
        kind = ApprovalKind.MCP

    registry = ToolRegistry()
    registry.sections.register(Section("mcp:x", "X", "x", kind=ApprovalKind.DB_OP))
    tool = Server()
    registry.register(tool)
    assert registry.prepare(tool, {"operation": "look"}).described.kind is ApprovalKind.MCP


def test_a_tool_that_fails_to_describe_its_call_counts_as_doing_anything() -> None:
    class Broken(Files):
        def describe(self, input: Any) -> Any:
            raise KeyError("a mistake")

    call = ToolRegistry().prepare(Broken(), {"operation": "look"}).described
    assert (call.effect, call.risk, call.alone, call.idempotent) == (Effect.EXECUTE, Risk.HIGH, True, False)


def test_a_summary_is_one_line_and_short() -> None:
    assert summary_of({"text": "a\n  b"}, "Says {text}") == CallText(text="Says {text}", params={"text": "a b"})
    assert len(summary_of({"text": "x" * 1000}, "{text}").params["text"]) == 200
    assert summary_of({"a": 1, "b": "two", "c": ["no"], "d": ""}).localized(_) == "1 · two"
    assert summary_of({"a": "{not a placeholder}"}).localized(_) == "{not a placeholder}"
    assert summary_of({"command": "touch a", "modifies_files": True}).localized(_) == "touch a"
    assert summary_of({"d": ""}) == CallText()


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("Calculated {value}", ("Calculated", "12 × 7")),
        ("Asked you: {value}", ("Asked you", "12 × 7")),
        ("Wrote “{value}”", ("Wrote", "“12 × 7”")),
        ("{value}", ("", "12 × 7")),
        ("List the tasks", ("List the tasks", "")),
        ("", ("", "12 × 7")),
    ],
)
def test_a_summary_starts_with_the_action_and_then_names_the_object(template: str, parts: tuple[str, str]) -> None:
    assert summary_of({"value": "12 × 7"}, template).parts(_) == parts


def test_a_finished_call_is_described_in_the_past_tense() -> None:
    call = Presentation(summary=CallText(text="Start {name}", params={"name": "Ada"}), done="Started {name}")
    assert (call.words().localized(_), call.words(over=True).localized(_)) == ("Start Ada", "Started Ada")
    assert Presentation(summary=CallText(text="New task")).words(over=True).localized(_) == "New task"


def test_subjects_of_every_kind() -> None:
    kinds: dict[str, SubjectKind] = {"cmd": "command", "url": "hosts", "who": "agents", "server": "server"}
    found = subjects_of({"cmd": "ls", "url": "example.org", "who": ["a", "b"], "server": None}, kinds)
    assert (found.command, found.hosts, found.agents, found.server) == ("ls", ("example.org",), ("a", "b"), "")


class Slow(Files):
    seen: ClassVar[list[ToolContext]] = []

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        self.seen.append(context)
        await asyncio.Event().wait()
        return ToolResult.ok()


async def test_the_time_limit_of_the_call_applies_and_its_thread_can_see_the_end(context: ToolContext) -> None:
    class Hasty(Slow):
        def describe(self, input: Any) -> Any:
            from dataclasses import replace

            return replace(super().describe(input), timeout_s=0.01)

    registry = ToolRegistry()
    registry.register(Hasty())
    outcome = await registry.execute("files", {"operation": "look"}, context)
    assert isinstance(outcome, ToolResult)
    assert (outcome.data["code"], outcome.data["timeout_s"]) == ("timeout", 0.01)
    assert Slow.seen[-1].cancelled
    assert not context.cancelled


async def test_a_stopped_call_is_cancelled(context: ToolContext) -> None:
    registry = ToolRegistry()
    registry.register(Slow())
    before = len(Slow.seen)
    task = asyncio.create_task(registry.execute("files", {"operation": "look"}, context))
    while len(Slow.seen) == before:
        await asyncio.sleep(0)
    assert not Slow.seen[-1].cancelled
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert Slow.seen[-1].cancelled

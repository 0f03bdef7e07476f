"""A call is prepared once: the input that was judged and shown to a person is the one that runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.events.run import ToolCallFinished
from atelier_desk.domain.model_messages import ToolCall
from atelier_desk.engine import Atelier
from atelier_desk.engine.run.call_verdict import Judge
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.tools.base import Call, Effect, Input, Risk, Tool, ToolContext, ToolResult
from atelier_desk.tools.files.file_tool_base import ChangingTool
from atelier_desk.tools.registry import registry as registries
from tests.engine.conftest import Opener
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

WRITE = tool_call("write_file", path="a.txt", content="x")


class Counts(Counter[str]):
    """How often a function is called."""

    def of(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            self[name] += 1
            return real(*given, **named)

        monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    found = Counts()
    found.of(monkeypatch, registries.ToolRegistry, "prepare")
    found.of(monkeypatch, registries.ToolRegistry, "configured")
    found.of(monkeypatch, registries, "validate")
    found.of(monkeypatch, ChangingTool, "describe")
    found.of(monkeypatch, Judge, "judged")
    return found


async def begun(
    atelier: Atelier, folder: Path, mode: ApprovalMode = ApprovalMode.SELECTIVE, tool: str = "write_file"
) -> str:
    folder.mkdir(exist_ok=True)
    stored = await atelier.agents.save(agent(name="Writer", tools=(tool,), approval=mode))
    workflow = await atelier.workflows.create("w", stored.id, (str(folder),))
    return await atelier.runs.send(workflow.id, "go")


async def asked(atelier: Atelier, run_id: str) -> str:
    """The approval that the run waits for; nothing works on it any more."""
    await atelier.runs.wait(run_id)
    (request,) = await atelier.approvals.pending()
    return request.id


async def approved(atelier: Atelier, run_id: str, arguments: dict[str, Any] | None = None) -> None:
    await atelier.approvals.approve(await asked(atelier, run_id), arguments)
    await atelier.runs.wait(run_id)


async def edited(atelier: Atelier, run_id: str) -> None:
    await approved(atelier, run_id, {"path": "a.txt", "content": "y"})


async def nothing(atelier: Atelier, run_id: str) -> None:
    await atelier.runs.wait(run_id)


# ``configured``: once for each of the two requests to the model, and once for each inspection of the call.
TIMES: dict[str, tuple[ToolCall, ApprovalMode, Callable[[Atelier, str], Awaitable[None]], dict[str, int], str]] = {
    "approved": (
        WRITE,
        ApprovalMode.SELECTIVE,
        approved,
        {"prepare": 1, "validate": 1, "describe": 2, "judged": 2, "configured": 4},
        "x",
    ),
    "allowed": (
        WRITE,
        ApprovalMode.AUTO,
        nothing,
        {"prepare": 1, "validate": 1, "describe": 1, "judged": 1, "configured": 3},
        "x",
    ),
    "edited": (
        WRITE,
        ApprovalMode.SELECTIVE,
        edited,
        {"prepare": 2, "validate": 2, "describe": 2, "judged": 2, "configured": 4},
        "y",
    ),
}


@pytest.mark.parametrize("case", TIMES)
async def test_how_often_a_call_is_inspected(case: str, open_atelier: Opener, tmp_path: Path, counts: Counts) -> None:
    call, mode, then, times, content = TIMES[case]
    async with open_atelier([[call], "done"]) as atelier:
        run_id = await begun(atelier, tmp_path / "work", mode)
        await then(atelier, run_id)
        assert (tmp_path / "work" / "a.txt").read_text() == content
    assert dict(counts) == times


async def test_a_restart_prepares_it_again(open_atelier: Opener, tmp_path: Path, counts: Counts) -> None:
    model = ScriptedModel([[WRITE], "done"])
    async with open_atelier(model) as atelier:
        run_id = await begun(atelier, tmp_path / "work")
        await asked(atelier, run_id)
    before = counts["prepare"], counts["judged"]
    async with open_atelier(model) as atelier:
        await approved(atelier, run_id)
        assert (tmp_path / "work" / "a.txt").read_text() == "x"
    assert (*before, counts["prepare"], counts["judged"]) == (1, 1, 2, 2)


class Amount(Input):
    number: Any


class Spend(Tool):
    """Records the inputs it is described by and run with."""

    name: ClassVar[str] = "spend"
    section: ClassVar[str] = "core_ops"
    effect: ClassVar[Effect] = Effect.EXECUTE
    risk: ClassVar[Risk] = Risk.MEDIUM
    input: ClassVar[Any] = Amount

    def __init__(self) -> None:
        self.described: list[BaseModel] = []
        self.ran: list[BaseModel] = []

    @property
    def description(self) -> str:
        return "Spends."

    def describe(self, input: Any) -> Call:
        self.described.append(input)
        return super().describe(input)

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        self.ran.append(input)
        return ToolResult.ok()


SPEND = tool_call("spend", number=1)


async def result_of(atelier: Atelier, run_id: str) -> dict[str, Any]:
    events = await atelier.repos.journal.events(run_id)
    return next(event.body.result for event in events if isinstance(event.body, ToolCallFinished))


@pytest.mark.parametrize("given", [None, {"number": 2}, {"number": True}, {"number": 1.0}])
async def test_the_judged_input_is_what_runs(
    given: dict[str, Any] | None, open_atelier: Opener, tmp_path: Path
) -> None:
    """An edit that compares equal is still an edit: what was prepared from the model's own arguments is not used."""
    tool = Spend()
    async with open_atelier([[SPEND], "done"]) as atelier:
        atelier.registry.register(tool)
        run_id = await begun(atelier, tmp_path / "work", ApprovalMode.MANUAL, "spend")
        await approved(atelier, run_id, given)
    (ran,) = tool.ran
    assert tool.described[-1] is ran
    assert (tool.described[0] is ran) is (given is None)
    assert repr(ran.number) == repr((given or SPEND.arguments)["number"])  # type: ignore[attr-defined]


class Words(Input):
    words: str


class SpendWords(Spend):
    input: ClassVar[Any] = Words


@pytest.mark.parametrize(("later", "code"), [(Spend, None), (SpendWords, "invalid_arguments"), (None, "unknown_tool")])
async def test_a_tool_that_changed_before_its_approval(
    later: type[Spend] | None, code: str | None, open_atelier: Opener, tmp_path: Path
) -> None:
    first, second = Spend(), later() if later is not None else None
    async with open_atelier([[SPEND], "done"]) as atelier:
        atelier.registry.register(first)
        run_id = await begun(atelier, tmp_path / "work", ApprovalMode.MANUAL, "spend")
        approval = await asked(atelier, run_id)
        atelier.registry.unregister("spend")
        if second is not None:
            atelier.registry.register(second)
        await atelier.approvals.approve(approval)
        await atelier.runs.wait(run_id)
        assert (await result_of(atelier, run_id)).get("code") == code
    assert not first.ran
    assert bool(second is not None and second.ran) is (code is None)

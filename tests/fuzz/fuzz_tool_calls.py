"""Fuzz the parser of tool calls: ``python -m tests.fuzz.fuzz_tool_calls [--replies N] [--seed S] [--json FILE]``.

Every reply is streamed through the xml dialect in random pieces. It counts uncaught errors, invented calls (in no
good or damaged call of the reply), good calls that were lost or changed, and processor milliseconds per kilobyte
(including threads; a reply under one kilobyte counts as one). The exit status is 1 when any of the first three is
not 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
import traceback
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    Role,
    TextDelta,
    ToolSpec,
)
from atelier_desk.llm.dialects.xml import XmlModel
from tests.fuzz.generated_replies import NAMES, Reply, generate

REQUEST = ChatRequest(
    model="fuzz",
    messages=(ChatMessage(role=Role.USER, content="go"),),
    tools=tuple(ToolSpec(name=name, description="", parameters={"type": "object"}) for name in NAMES),
)
_SHOWN = 5


class Prepared:
    """A model that streams prepared deltas."""

    def __init__(self, deltas: list[ChatDelta]) -> None:
        self._deltas = deltas

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        for delta in self._deltas:
            yield delta


def prepared(source: random.Random, reply: Reply) -> Prepared:
    """The reply, cut into pieces of a random size."""
    size = source.choice((1, 3, 8, 20, 20, 60, 60, 400, 10**6))
    deltas: list[ChatDelta] = [TextDelta(content=reply.text[at : at + size]) for at in range(0, len(reply.text), size)]
    finish = FinishReason.LENGTH if reply.cut else FinishReason.STOP
    return Prepared([*deltas, ReplyDone(reply=ChatReply(content=reply.text, finish_reason=finish))])


@dataclass
class Figures:
    replies: int = 0
    kilobytes: float = 0.0
    good_calls: int = 0
    damaged_calls: int = 0
    repaired: int = 0
    refused: int = 0
    errors: int = 0
    invented: int = 0
    lost: int = 0
    seconds: float = 0.0
    cpu_ms_per_kb_p50: float = 0.0
    cpu_ms_per_kb_p99: float = 0.0
    cpu_ms_per_kb_max: float = 0.0
    examples: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return bool(self.errors or self.invented or self.lost)


async def read(model: Prepared) -> ChatReply:
    """The finished reply.

    Raises:
        AssertionError: the stream did not end with a reply.
    """
    last = [delta async for delta in XmlModel(model).stream(REQUEST)][-1]
    assert isinstance(last, ReplyDone)
    return last.reply


def judge(reply: Reply, seen: ChatReply, figures: Figures) -> str | None:
    """Compare the parsed calls with the truth; returns what is wrong."""
    good = [(call.name, call.arguments) for call in seen.tool_calls if call.error is None and not call.repaired]
    others = len(seen.tool_calls) - len(good)
    figures.repaired += sum(call.repaired for call in seen.tool_calls)
    figures.refused += sum(call.error is not None for call in seen.tool_calls)
    if not reply.known:
        return None
    figures.good_calls += len(reply.calls)
    figures.damaged_calls += reply.damaged
    missing = sum(call not in good for call in reply.calls)
    surplus = max(0, len(good) - len(reply.calls)) + max(0, others - reply.damaged)
    figures.lost += missing
    figures.invented += surplus
    if missing or surplus or good != reply.calls:
        return (
            f"invented {surplus}, lost {missing}: expected {reply.calls} and {reply.damaged} damaged, got "
            f"{seen.tool_calls}"
        )
    return None


async def fuzz(replies: int, seed: int) -> Figures:
    """Parse ``replies`` generated replies; the same seed gives the same replies."""
    source = random.Random(seed)
    figures = Figures(replies=replies)
    costs = []
    start = time.perf_counter()
    for number in range(replies):
        reply = generate(source)
        model = prepared(source, reply)
        size = max(1.0, len(reply.text.encode("utf-8", "replace")) / 1024)
        try:
            began = time.process_time()
            seen = await read(model)
            costs.append((time.process_time() - began) * 1000 / size)
            seen.model_dump_json().encode("utf-8")
            problem = judge(reply, seen, figures)
        except Exception:
            figures.errors += 1
            problem = traceback.format_exc()
        figures.kilobytes += size
        if problem and len(figures.examples) < _SHOWN:
            figures.examples.append(f"reply {number}: {problem}\n{reply.text!r}")
    figures.seconds = round(time.perf_counter() - start, 1)
    costs.sort()
    figures.cpu_ms_per_kb_p50, figures.cpu_ms_per_kb_p99, figures.cpu_ms_per_kb_max = (
        round(costs[min(len(costs) - 1, int(len(costs) * part))] if costs else 0.0, 3) for part in (0.5, 0.99, 1.0)
    )
    figures.kilobytes = round(figures.kilobytes)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=20_261_121)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = asyncio.run(fuzz(options.replies, options.seed))
    for example in figures.examples:
        print(example, file=sys.stderr)
    report = {key: value for key, value in asdict(figures).items() if key != "examples"} | {"seed": options.seed}
    for key, value in report.items():
        print(f"{key:15} {value}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    return int(figures.failed)


if __name__ == "__main__":
    sys.exit(main())

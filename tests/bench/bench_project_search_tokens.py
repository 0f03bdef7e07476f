"""The same goals with and without projects: ``python -m tests.bench.bench_project_search_tokens``.

An agent is asked where something is done in this repository's own package. Without the sections ``project_ops`` and
``rag_ops`` it searches for definitions whose names contain words of the question; with them it searches by meaning. In
both cases it reads the lines of the results, best first, until it has read the right place. A scripted model follows
this rule in a complete engine. Tokens are those of all requests together, estimated as for requests, including the tool
definitions.

``--local`` asks the built-in model too: with a grammar it writes the search call for the same question, once with each
tool, and gets the result; its tokens are those that its server counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import ApprovalMode, ToolDialect, ToolMode
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.model_messages import ChatMessage, ChatReply, ChatRequest, ReplyDone, Role, ToolCall
from atelier_desk.domain.provider import STARTER
from atelier_desk.engine import Atelier
from atelier_desk.llm.dialects import with_dialect
from atelier_desk.llm.dialects.gbnf_grammar import tools_grammar
from atelier_desk.llm.local.provider import LocalProvider
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.llm.token_and_cost_estimates import estimate_request
from atelier_desk.tools.base import ToolContext
from tests.helpers.runs_without_driver import agent
from tests.helpers.tool_calls import tool_call

CODE = Path(__file__).parents[2] / "app" / "atelier_desk"
FOLDERS = ("knowledge", "llm", "media", "policy", "tools", "workspace")
GOALS = {
    "Which function says whether bytes are those of a PDF?": ("domain/document_formats.py", "def is_pdf"),
    "Where are the tokens of a text estimated?": ("llm/token_and_cost_estimates.py", "def estimate("),
    "Where is the text in a picture recognised by Tesseract?": ("media/ocr.py", "def _tesseract"),
    "How is it decided which entries gitignore leaves out of a walk through folders?": (
        "workspace/gitignore_walk.py",
        "def _left_out",
    ),
    "Which class stops asking a person who does not respond?": ("policy/circuit_breaker.py", "class "),
    "Where is an edit refused because somebody else changed the file after it was read?": (
        "tools/files/file_tool_base.py",
        "def refuse_changed",
    ),
    "How are entities reached from another one along edges, to a depth?": (
        "knowledge/projects/graph.py",
        "def explore",
    ),
    "Where are the words and the vectors of a project's search put together?": (
        "knowledge/projects/index.py",
        "def _search",
    ),
}
FILES = ("list_directory", "glob_files", "search_files", "read_file")
KNOWLEDGE = ("semantic_search", "explore_relationships", "query_entities", "list_projects")
MOST = 8
"""Requests after which an agent gives up."""
SHOWN = 60
"""Lines that are read at a place."""
COMMON = frozenset(
    [
        "where",
        "which",
        "what",
        "with",
        "from",
        "that",
        "this",
        "how",
        "are",
        "the",
        "and",
        "for",
        "its",
        "into",
        "because",
        "after",
        "does",
        "says",
        "like",
        "who",
        "not",
        "another",
    ]
)


class Seeker:
    """One agent with one goal: what it has read determines its next step.

    Attributes:
        shown: whether it has read the right place.
        tokens: of all its requests.
    """

    def __init__(self, goal: str, target: tuple[str, str], *, projects: bool) -> None:
        self._goal, self._target, self._projects = goal, target, projects
        self._left: list[dict[str, Any]] | None = None
        self.shown = False
        self.requests = 0
        self.tokens = 0

    def step(self, request: ChatRequest) -> Step:
        self.requests += 1
        self.tokens += estimate_request(request)
        last = request.messages[-1]
        if last.role is Role.TOOL:
            found = json.loads(last.content)
            path, text = self._target
            if found.get("path") == path and text in str(found.get("content", "")):
                self.shown = True
                return f"It is in {path}."
            if self._left is None:
                self._left = self._places(found)
        if self._left is None and self._projects:
            return [tool_call("semantic_search", "search", query=self._goal, entity="Scope", limit=5)]
        if self._left is None:
            pattern = rf"(def|class) \w*({'|'.join(words(self._goal))})"
            arguments = {"pattern": pattern, "ignore_case": True, "max_results": 300}
            return [tool_call("search_files", "search", **arguments)]
        if not self._left or self.requests >= MOST:
            return "I did not find it."
        return [ToolCall(id=f"read{self.requests}", name="read_file", arguments=self._left.pop(0))]

    def _places(self, found: dict[str, Any]) -> list[dict[str, Any]]:
        """The lines to read next, from the results; among equal texts those with the most different words first."""
        if self._projects:
            rows = [(each["path"], int(str(each.get("lines", "1")).partition("-")[0])) for each in found["results"]]
        else:
            lines = found["matches"]
            lines.sort(key=lambda each: -sum(word in each["text"].casefold() for word in words(self._goal)))
            rows = [(each["path"], each["line"]) for each in lines]
        return [{"path": path, "offset": max(1, line - 2), "limit": SHOWN} for path, line in rows]


def words(goal: str) -> list[str]:
    """The significant words, in order."""
    return list(dict.fromkeys(word for word in re.findall(r"[a-z]{4,}", goal.casefold()) if word not in COMMON))


async def scripted(folder: Path) -> list[dict[str, Any]]:
    """Each goal, with and without the sections."""
    seeker: Seeker | None = None

    def follow(request: ChatRequest) -> Step:
        assert seeker is not None
        return seeker.step(request)

    model: Callable[[Any], ScriptedModel] = lambda _agent: ScriptedModel([follow] * MOST)  # noqa: E731
    rows = []
    async with Atelier.open(folder / "data", fsync=False, model_factory=model, vault=KeyVault(environ={})) as atelier:
        code = copy_folders(folder)
        project = await atelier.projects.create("code", str(code), watched=False)
        await atelier.projects.ingest(project.id)
        await atelier.projects.wait(project.id)
        for goal, target in GOALS.items():
            row: dict[str, Any] = {"goal": goal}
            for name, projects in (("without", False), ("with", True)):
                seeker = Seeker(goal, target, projects=projects)
                tools = FILES + KNOWLEDGE if projects else FILES
                seeking_agent = agent(name="Seeker", tools=tools, tool_mode=ToolMode.DIRECT, approval=ApprovalMode.AUTO)
                workflow = await atelier.workflows.create(workspace=(str(code),))
                run = await atelier.runs.send(workflow.id, goal, agent=seeking_agent)
                await atelier.runs.wait(run)
                row[name] = {"shown": seeker.shown, "requests": seeker.requests, "tokens": seeker.tokens}
            rows.append(row)
    return rows


async def local(folder: Path) -> list[dict[str, Any]]:
    """The built-in model writes the call and reads its result."""
    rows = []
    async with Atelier.open(folder / "local-data", fsync=False, vault=KeyVault(environ={})) as atelier:
        code = copy_folders(folder)
        project = await atelier.projects.create("code", str(code), watched=False)
        await atelier.projects.ingest(project.id)
        await atelier.projects.wait(project.id)
        provider = LocalProvider(folder / "models", SystemClock())
        model = with_dialect(provider, ToolDialect.XML)
        context = ToolContext("w", "r", "c", roots=(code,), workspace=code)
        try:
            for goal, (path, _text) in GOALS.items():
                row: dict[str, Any] = {"goal": goal}
                for name, tool in (("without", "search_files"), ("with", "semantic_search")):
                    [spec] = atelier.registry.get_definitions_by_names([tool])
                    slim = spec.model_copy(update={"description": tool, "parameters": {}})
                    messages: list[ChatMessage] = [
                        ChatMessage(role=Role.SYSTEM, content="Use tools."), ChatMessage(role=Role.USER, content=goal)
                    ]  # fmt: skip
                    grammar = tools_grammar([spec], require_call=True, max_string=60, max_items=2)
                    reply = await answer_text(model, ChatRequest(
                        model=STARTER, messages=tuple(messages), tools=(slim,), temperature=0.0, max_tokens=200,
                        grammar=grammar
                    ))  # fmt: skip
                    result = await atelier.registry.execute(tool, reply.tool_calls[0].arguments, context)
                    text = json.dumps(getattr(result, "data", {}), ensure_ascii=False)
                    messages.append(ChatMessage(role=Role.USER, content=f"{text[:6_000]}\n\n{goal}"))
                    second = await answer_text(model, ChatRequest(
                        model=STARTER, messages=tuple(messages), temperature=0.0, max_tokens=60
                    ))  # fmt: skip
                    counted = sum(each.usage.tokens_input for each in (reply, second) if each.usage is not None)
                    row[name] = {"shown": path in text[:6_000], "characters": len(text), "tokens": counted,
                                 "arguments": reply.tool_calls[0].arguments}  # fmt: skip
                rows.append(row)
        finally:
            await provider.aclose()
    return rows


async def answer_text(model: Any, request: ChatRequest) -> ChatReply:
    last = [delta async for delta in model.stream(request)][-1]
    assert isinstance(last, ReplyDone)
    return last.reply


def copy_folders(place: Path) -> Path:
    """The folders of the package that contain the right places, and some more."""
    code = place / "code"
    if not code.exists():
        for folder in FOLDERS:
            shutil.copytree(CODE / folder, code / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return code


def sums(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Sums over all goals."""
    both = {name: {"shown": sum(row[name]["shown"] for row in rows), "tokens": sum(row[name]["tokens"] for row in rows)}
            for name in ("without", "with")}  # fmt: skip
    return {
        "goals": len(rows),
        **both,
        "saved": round(1 - both["with"]["tokens"] / max(1, both["without"]["tokens"]), 3),
    }


def show(title: str, rows: list[dict[str, Any]]) -> None:
    print(title)
    for row in rows:
        cells = (
            f"{name} {row[name]['tokens']:>7} tokens {'found' if row[name]['shown'] else '-':<6}"
            for name in ("without", "with")
        )
        print("  " + "  ".join(cells) + row["goal"])
    print(f"  {json.dumps(sums(rows))}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the built-in model")
    parser.add_argument("--local", action="store_true", help="the built-in model too")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        rows = await scripted(Path(folder))
        show("scripted", rows)
        figures["scripted"] = {"rows": rows, **sums(rows)}
        if options.local and not options.quick:
            rows = await local(Path(folder))
            show("the built-in model", rows)
            figures["local"] = {"rows": rows, **sums(rows)}
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1), "utf-8")


if __name__ == "__main__":
    asyncio.run(main())

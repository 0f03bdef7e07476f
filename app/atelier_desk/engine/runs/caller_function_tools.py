"""Functions passed to a run as tools by a Python program: available in that run's workflow until the run ends.

After a failed run they stay until the next one starts, because it can be retried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from atelier_desk.domain.errors import ConflictError, NotFoundError, ToolError, UsageError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Input, Outcome, Tool, ToolContext
from atelier_desk.tools.custom import FunctionTool, tool
from atelier_desk.tools.registry.registry import ToolRegistry

GivenTool = str | Callable[..., object]
"""Name of a registered tool, or a typed function with a docstring, decorated with ``tool`` or not."""

_DISPLAY_FIELDS = (
    *("name", "title", "icon", "summaries", "category", "section", "effect", "risk", "subjects"),
    *("idempotent", "timeout_s", "awaits_external_response", "rest_hint", "input"),
)
_OVER = ("completed", "cancelled", "abandoned")
"""Final statuses after which a run's tools are removed.

Runs that stopped at a limit, wait or failed still need them.
"""


class _Given(Tool):
    """A registered name that dispatches to the tool passed by each workflow."""

    spec: ClassVar[ToolSpec]

    def __init__(self) -> None:
        self.tools: dict[str, FunctionTool] = {}

    @property
    def description(self) -> str:
        return self.spec.description

    def definition(self) -> ToolSpec:
        return self.spec

    async def run(self, input: Input, context: ToolContext) -> Outcome:
        given = self.tools.get(context.workflow_id)
        if given is None:
            raise ToolError(f"{self.name} belongs to another workflow and cannot be used here.", code="not_enabled")
        return await given.run(input, context)


class GivenTools:
    """The tools passed to runs of an open Atelier."""

    def __init__(self, registry: ToolRegistry, bus: EventBus) -> None:
        self._registry = registry
        self._bus = bus
        self._given: dict[str, _Given] = {}
        self._listening: dict[str, Callable[[], None]] = {}
        self._failed: set[str] = set()
        """Workflows whose newest run failed and was not resumed."""

    def made(self, tools: Sequence[GivenTool]) -> list[str | FunctionTool]:
        """Convert functions to tools, without registering them.

        Raises:
            UsageError: a function that cannot become a tool; the text says why.
            NotFoundError: a name that is not registered.
            ConflictError: the name of another tool, or one that another run passed with other parameters.
        """
        made = [self._made(each) for each in tools]
        for each in made:
            if isinstance(each, FunctionTool):
                self._check(each)
        return made

    def give(self, workflow_id: str, tools: Sequence[GivenTool]) -> tuple[str, ...]:
        """Make tools available in a workflow until its run ends; return their names, in order. Raises as ``made``."""
        if workflow_id in self._failed:
            self.release(workflow_id)
        made = self.made(tools)
        for each in made:
            if isinstance(each, FunctionTool):
                self._add(workflow_id, each)
        if workflow_id not in self._listening:
            self._listening[workflow_id] = self._bus.subscribe(self._on_event, workflow_id)
        return tuple(dict.fromkeys(each if isinstance(each, str) else each.name for each in made))

    def release(self, workflow_id: str) -> None:
        """Remove the tools of a workflow."""
        self._failed.discard(workflow_id)
        stop = self._listening.pop(workflow_id, None)
        if stop is not None:
            stop()
        for name, given in list(self._given.items()):
            given.tools.pop(workflow_id, None)
            if not given.tools:
                del self._given[name]
                self._registry.unregister(name)

    def _made(self, given: GivenTool) -> str | FunctionTool:
        if isinstance(given, str):
            if not self._registry.has(given):
                near = ", ".join(self._registry.closest(given) or self._registry.get_all_tool_names())
                raise NotFoundError(N_("There is no tool {name}. Closest: {names}."), name=given, names=near)
            return given
        if isinstance(given, FunctionTool):
            return given
        if isinstance(given, Tool) or not callable(given):
            raise UsageError(N_("{value} is neither a function nor the name of a tool."), value=repr(given)[:100])
        return tool(given)

    def _check(self, tool: FunctionTool) -> None:
        """Refuse conflicts before anything is registered."""
        known = self._given.get(tool.name)
        if known is None:
            if self._registry.has(tool.name):
                raise ConflictError(N_("A tool named {name} is already registered."), name=tool.name)
            self._registry.sections.get(tool.section)
        elif known.spec != tool.definition():
            raise ConflictError(
                N_(
                    "Another run uses a tool named {name} with different parameters or a different description. "
                    "Rename one of the two tools."
                ),
                name=tool.name,
            )

    def _add(self, workflow_id: str, tool: FunctionTool) -> None:
        known = self._given.get(tool.name)
        if known is None:
            display = {name: getattr(tool, name) for name in _DISPLAY_FIELDS}
            made: _Given = type(f"{tool.name}_given", (_Given,), {**display, "spec": tool.definition()})()
            self._registry.register(made)
            known = self._given[tool.name] = made
        known.tools[workflow_id] = tool

    def _on_event(self, event: StreamEvent) -> None:
        match event.payload:
            case payloads.WorkflowComplete(status=status) if event.durable:
                if status in _OVER:
                    self.release(event.workflow_id)
                elif status == "error":
                    self._failed.add(event.workflow_id)
            case payloads.WorkflowStart() if event.workflow_id in self._failed:
                self.release(event.workflow_id)
            case payloads.RunStatusChanged(status=status) if event.parent_run_id is None and status != "error":
                self._failed.discard(event.workflow_id)

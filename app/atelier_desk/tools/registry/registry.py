"""The registry of tools: what exists, definitions, and guarded execution."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pydantic import ValidationError

from atelier_desk.domain import limits
from atelier_desk.domain.errors import AtelierError, ConflictError, UsageError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.result_parts import PicturePart
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.tools.base import Call, Effect, Outcome, Risk, Tool, ToolCategory, ToolContext, ToolResult
from atelier_desk.tools.calls.argument_validation import InvalidArgumentsError, closest, describe_errors, validate
from atelier_desk.tools.calls.context import Cancellation
from atelier_desk.tools.calls.error_next_steps import with_next_step
from atelier_desk.tools.calls.result_images import with_ready_pictures
from atelier_desk.tools.calls.result_limits import capped
from atelier_desk.tools.definition.input_schema import listed, operations_of
from atelier_desk.tools.registry.sections import PLANNING, SectionRegistry, of_server
from atelier_desk.workspace.path_resolution import NO_WORKSPACE

log = logging.getLogger(__name__)

Executor = Callable[[Mapping[str, object], ToolContext], Awaitable[Outcome]]

_HEADINGS = {
    ToolCategory.COMMON: "Common Tools",
    ToolCategory.AGENT: "Agent Tools",
    ToolCategory.WORKFLOW: "Workflow Tools",
}


class PreparedCall(NamedTuple):
    """A validated call: it runs with exactly the input that was described and approved."""

    tool: Tool
    input: object
    described: Call


class ToolRegistry:
    """Tools by name.

    Attributes:
        sections: the known sections; a tool's section must be one of them.
        max_result_chars: maximum characters of a result for the model.
    """

    def __init__(
        self, *, max_result_chars: int = limits.RESULT_TO_MODEL, sections: SectionRegistry | None = None
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._definitions: dict[str, ToolSpec] = {}
        self._by_forms: dict[tuple[str, tuple[str, ...]], ToolSpec] = {}
        self.sections = sections if sections is not None else SectionRegistry()
        self.max_result_chars = max_result_chars

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            ConflictError: the name is taken.
            UsageError: a control tool with a section, or another tool without a known one.
        """
        if tool.name in self._tools:
            raise ConflictError(N_("A tool named {name} is already registered."), name=tool.name)
        if tool.category is ToolCategory.CONTROL:
            if tool.section:
                raise UsageError(N_("The control tool {name} cannot be in a section."), name=tool.name)
        elif tool.kind is None:
            tool.kind = self.sections.get(tool.section).kind
        else:
            self.sections.get(tool.section)
        self._tools[tool.name] = tool

    def register_all(self, tools: Iterable[Tool]) -> None:
        """Add several tools, or none if one cannot be added."""
        added: list[str] = []
        try:
            for tool in tools:
                self.register(tool)
                added.append(tool.name)
        except AtelierError:
            for name in added:
                self.unregister(name)
            raise

    def unregister(self, name: str) -> None:
        """Remove a tool; unknown names are ignored."""
        self._tools.pop(name, None)
        self._definitions.pop(name, None)
        self._by_forms.clear()

    def get_tool(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def get_definition(self, name: str) -> ToolSpec | None:
        """Return the cached definition for the model; None for an unknown name."""
        tool = self._tools.get(name)
        if tool is not None and name not in self._definitions:
            self._definitions[name] = tool.definition()
        return self._definitions.get(name)

    def get_executor(self, name: str) -> Executor | None:
        """Return a function that runs the tool through ``execute``; None for an unknown name."""
        if name not in self._tools:
            return None

        async def executor(args: Mapping[str, object], context: ToolContext) -> Outcome:
            return await self.execute(name, args, context)

        return executor

    def has(self, name: str) -> bool:
        return name in self._tools

    def get_all_tool_names(self) -> list[str]:
        """Return names in the order of registration."""
        return list(self._tools)

    def get_tools_by_category(self, category: ToolCategory) -> list[Tool]:
        return [tool for tool in self._tools.values() if tool.category is category]

    def get_tools_by_section(self, section: str) -> list[Tool]:
        """Return the tools of a section.

        Raises:
            NotFoundError: no such section.
        """
        self.sections.get(section)
        return [tool for tool in self._tools.values() if tool.section == section]

    def get_control_tool(self, name: str) -> Tool | None:
        tool = self._tools.get(name)
        return tool if tool is not None and tool.category is ToolCategory.CONTROL else None

    def is_control_tool(self, name: str) -> bool:
        return self.get_control_tool(name) is not None

    def control_tools(self) -> list[ToolSpec]:
        """Return the definitions of all control tools."""
        return self.get_definitions_by_names([tool.name for tool in self.get_tools_by_category(ToolCategory.CONTROL)])

    def configured(
        self, tools: Sequence[str], sections: Sequence[str], *, servers: Sequence[str] = (), workspace: bool = True
    ) -> list[str]:
        """Return the tool names of an agent's configuration: its tools, then those of its sections and MCP ``servers``.

        Missing or not configured tools are skipped; without a ``workspace`` also those that need one.
        """
        there = [section for section in (*sections, *map(of_server, servers)) if self.sections.has(section)]
        names = [*tools, *(tool.name for section in there for tool in self.get_tools_by_section(section))]
        found = ((name, self.get_tool(name)) for name in dict.fromkeys(names))
        return [
            name
            for name, tool in found
            if tool is not None and (workspace or not tool.needs_workspace) and not tool.missing_setup()
        ]

    def get_definitions_by_names(self, names: Sequence[str], edit_forms: Sequence[str] | None = None) -> list[ToolSpec]:
        """Return definitions in the order of ``names``; unregistered names (a removed custom tool) are skipped.

        Args:
            edit_forms: edit forms that the model is offered; None for all.
        """
        return [definition for name in names if (definition := self._definition(name, edit_forms)) is not None]

    def _definition(self, name: str, edit_forms: Sequence[str] | None) -> ToolSpec | None:
        if edit_forms is None or name not in self._tools:
            return self.get_definition(name)
        key = (name, tuple(edit_forms))
        if key not in self._by_forms:
            self._by_forms[key] = self._tools[name].definition_with(edit_forms)
        return self._by_forms[key]

    def closest(self, name: str) -> list[str]:
        """Return the registered names most similar to ``name``."""
        return closest(name, self.get_all_tool_names())

    def unknown(self, name: str, own: Sequence[str] | None = None) -> ToolResult:
        """Return the error for an unregistered name, with the closest of ``own`` (names the run may call), or all if
        none is close.

        None uses every registered name.
        """
        near, hint = self._hint(name, self.get_all_tool_names() if own is None else own)
        return ToolResult.failure(f"There is no tool named {name!r}. {hint}", "unknown_tool", closest=near)

    def refusal(
        self, name: str, own: Sequence[str], *, depth: int = 0, max_depth: int | None = None, workspace: bool = True
    ) -> ToolResult | None:
        """Return the error for a tool that a run may not call, with what to do instead; None if it is in ``own``.

        Codes: ``unknown_tool``, ``not_configured``, ``depth`` for a planning tool at the maximum depth,
        ``no_workspace`` for one that needs a folder, otherwise ``not_enabled``.
        """
        if name in own:
            return None
        tool = self._tools.get(name)
        if tool is None:
            return self.unknown(name, own)
        if lacking := tool.missing_setup():
            return ToolResult.failure(lacking, "not_configured")
        if tool.needs_workspace and not workspace:
            return ToolResult.failure(NO_WORKSPACE, "no_workspace")
        near, hint = self._hint(name, own)
        if tool.section == PLANNING and max_depth is not None and depth >= max_depth:
            why = (
                f"You are at depth {depth} of at most {max_depth}, where no more agents can be started: {name} "
                f"cannot be used here."
            )
            mine = ", ".join(own) or "none"
            return ToolResult.failure(f"{why} Do the work yourself, with your own tools: {mine}.", "depth")
        return ToolResult.failure(f"{name} is not available to you. {hint}", "not_enabled", closest=near)

    def _hint(self, name: str, own: Sequence[str]) -> tuple[list[str], str]:
        near = closest(name, own)
        reaching = [each for each in own if (tool := self._tools.get(each)) is not None and tool.reaches_sections]
        more = f" Tools of sections are reached with {' and '.join(reaching)}." if reaching else ""
        return near, (
            f"Closest of your tools: {', '.join(near)}." if near else f"Your tools: {', '.join(own) or 'none'}."
        ) + more

    def prepare(self, tool: Tool, args: Mapping[str, object]) -> PreparedCall:
        """Validate a call; its arguments are checked only here.

        Raises:
            InvalidArgumentsError: the arguments are invalid; the text is for the model.
            Exception: raised by a check of the tool itself.
        """
        checked = validate(tool, args)
        return PreparedCall(tool, checked, described(tool, checked))

    def prepared(self, name: str, args: Mapping[str, object]) -> PreparedCall | ToolResult:
        """Like ``prepare`` by tool name; if the call cannot run, return the error for the model."""
        tool = self._tools.get(name)
        if tool is None:
            return self.unknown(name)
        try:
            return self.prepare(tool, args)
        except Exception as error:
            return _failed(tool, error)

    def meant(
        self, name: str, args: Mapping[str, object], own: Sequence[str] | None = None
    ) -> tuple[str, dict[str, object]] | ToolResult:
        """Return the tool and arguments that a call really means: the nested call, or its own.

        A ``ToolResult`` is the error for the model: invalid arguments, a tool that would call itself, or an unknown
        name with the closest ones of ``own``, the names the run may call (None: all).
        """
        tool = self._tools.get(name)
        if tool is None or type(tool).stands_for is Tool.stands_for:
            return name, dict(args)
        try:
            meant = tool.stands_for(validate(tool, args))
        except InvalidArgumentsError as error:
            return ToolResult.failure(str(error), error.code)
        if meant is None:
            return name, dict(args)
        if meant[0] == name:
            return ToolResult.failure(
                f"{name} cannot call itself. Give the name of the tool to run.", "invalid_arguments"
            )
        return meant if self.has(meant[0]) else self.unknown(meant[0], own)

    async def execute(self, name: str, args: Mapping[str, object], context: ToolContext) -> Outcome:
        """Prepare and ``run`` a call.

        Errors become results for the model: those of ``refusal``, ``prepared`` and ``run``.
        """
        tool = self._tools.get(name)
        refused = self.unknown(name, context.enabled_tools) if tool is None else self._refusal(tool, context)
        found = refused or self.prepared(name, args)
        return (
            self._finish(found, tool.rest_hint if tool else "")
            if isinstance(found, ToolResult)
            else await self.run(found, context)
        )

    async def run(self, call: PreparedCall, context: ToolContext) -> Outcome:
        """Run a prepared call within its time limit and return a result within its size limits. Raises only
        cancellation.

        Errors become results for the model: those of ``refusal``, ``timeout``, the code of any ``AtelierError`` that
        the tool raised, or ``internal_error``, whose traceback is logged.
        """
        outcome = self._refusal(call.tool, context) or await self._run(call, context)
        # Any other outcome is a request to wait (for a person, sub-agents or the parent), handled by the caller.
        return self._finish(outcome, call.tool.rest_hint) if isinstance(outcome, ToolResult) else outcome

    def format_tool_list_for_context(self, names: Sequence[str] | None = None) -> str:
        """Return the tools as text with parameters, grouped by category, for agents that call them through
        ``invoke_tool``.

        Control tools are not listed: the model has their definitions. ``names`` limits the list to an agent's enabled
        tools.
        """
        lines = ["[AVAILABLE TOOLS] (use invoke_tool to call)"]
        for category, heading in _HEADINGS.items():
            tools = [tool for tool in self.get_tools_by_category(category) if names is None or tool.name in names]
            if tools:
                lines.append(f"\n{heading}:")
                lines.extend(f"- {tool.name}: {_indented(self._as_text(tool))}" for tool in tools)
        if len(lines) == 1:
            lines.append("(none)")
        return "\n".join(lines)

    def _as_text(self, tool: Tool) -> str:
        """Describe a tool without its schema.

        Where the description lists operations with their parameters, only parameters with choices are listed again.
        """
        definition = self.get_definition(tool.name) or tool.definition()
        parameters = listed(definition.parameters, choices=len(operations_of(tool.input)) > 1)
        return "\n".join(
            [
                definition.description,
                *(["Parameters (* = required):", *(f"- {each}" for each in parameters)] * bool(parameters)),
            ]
        )

    def _refusal(self, tool: Tool, context: ToolContext) -> ToolResult | None:
        if tool.category is ToolCategory.CONTROL or context.enabled_tools is None or tool.name in context.enabled_tools:
            return None
        max_depth = context.team.max_depth if context.team is not None else None
        there = bool(context.roots)
        return self.refusal(tool.name, context.enabled_tools, depth=context.depth, max_depth=max_depth, workspace=there)

    async def _run(self, call: PreparedCall, context: ToolContext) -> Outcome:
        context = replace(context, cancelled=Cancellation())
        tool, seconds = call.tool, call.described.timeout_s
        try:
            async with asyncio.timeout(seconds or None) as limit:
                outcome = await tool.run(call.input, context)
            if isinstance(outcome, ToolResult) and any(isinstance(part, PicturePart) for part in outcome.parts):
                return await in_tool_thread(with_ready_pictures, outcome, lambda: context.cancelled)
            return outcome
        except TimeoutError as error:
            if not limit.expired():
                return ToolResult.failure(
                    f"{tool.name}: the operation timed out ({error}). Try again or do without it.", "timeout"
                )
            return ToolResult.failure(
                (
                    f"{tool.name} took longer than {seconds:g} seconds and was stopped. Ask for less at once, or go on "
                    f"without it."
                ),
                "timeout",
                timeout_s=seconds,
            )
        except Exception as error:
            return _failed(tool, error)
        finally:
            context.cancelled.stop()

    def _finish(self, result: ToolResult, hint: str) -> ToolResult:
        return capped(result, hint, to_model=self.max_result_chars)


def described(tool: Tool, checked: object) -> Call:
    """Describe a call.

    ``checked`` is its input. A tool that fails to describe it may do anything: a person is asked.
    """
    try:
        return tool.describe(checked)
    except Exception:
        log.exception("tool %s could not describe its call", tool.name)
        return Call(Effect.EXECUTE, Risk.HIGH, timeout_s=tool.timeout_s, alone=True, unread=True)


def _failed(tool: Tool, error: Exception) -> ToolResult:
    """Return the text for the model about a tool's error."""
    if isinstance(error, AtelierError):
        return ToolResult.failure(with_next_step(str(error), error.code), error.code)
    if isinstance(error, ValidationError):
        return ToolResult.failure(f"{tool.name}: {'; '.join(describe_errors(error.errors()))}.", "invalid_arguments")
    log.error("tool %s failed", tool.name, exc_info=error)
    return ToolResult.failure(
        f"{tool.name} failed: {type(error).__name__}: {str(error)[:500]}. Try other arguments or go on without it.",
        "internal_error",
    )


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")

"""A tool of a user's file in Atelier's own process: only its definition; every call runs in a separate process."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.question import QuestionSpec
from atelier_desk.tools.base import AskUser, Effect, Input, Outcome, Risk, Tool, ToolCategory, ToolContext
from atelier_desk.tools.user_tools import worker_messages
from atelier_desk.tools.user_tools.tool_files import ToolFile
from atelier_desk.tools.user_tools.tool_processes import ToolProcesses

_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any]}
_BOUNDS = {
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length",
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
}  # fmt: skip


class FileTool(Tool):
    """Made by ``make``; each has its own class. ``file`` holds the confirmed bytes."""

    file: ClassVar[ToolFile]
    spec: ClassVar[ToolSpec]
    processes: ClassVar[ToolProcesses]

    @property
    def description(self) -> str:
        return self.spec.description

    def definition(self) -> ToolSpec:
        return self.spec

    async def run(self, input: Input, context: ToolContext) -> Outcome:
        arguments = input.model_dump(mode="json", exclude_unset=True)
        kind, content = await self.processes.call(self.file, self.name, arguments, context.facts(), context.progress)
        if kind == "ask":
            return AskUser(QuestionSpec.model_validate(content["question"]), content["timeout_s"])
        return worker_messages.result(content)


def make(file: ToolFile, described: dict[str, Any], processes: ToolProcesses) -> FileTool:
    """Make the tool from the data of ``worker.describe``."""
    spec = ToolSpec.model_validate(described["spec"])
    attributes = {
        **{name: described[name] for name in worker_messages.PLAIN},
        "name": spec.name,
        "category": ToolCategory(described["category"]),
        "effect": Effect(described["effect"]),
        "risk": Risk(described["risk"]),
        "input": input_of(spec),
        "file": file,
        "spec": spec,
        "processes": processes,
    }
    made: FileTool = type(f"{spec.name}_tool", (FileTool,), attributes)()
    return made


def input_of(spec: ToolSpec) -> type[Input]:
    """Make an input class that checks the definition's schema, so that a person is not asked about an invalid call.

    What the schema omits (a pattern, fields of an object) is checked again by the function's own input.
    """
    required = spec.parameters.get("required", [])
    fields: dict[str, Any] = {}
    for name, schema in spec.parameters["properties"].items():
        kind = _kind(schema) if name in required else _kind(schema) | None
        default = ... if name in required else schema.get("default")
        fields[name] = (kind, FieldInfo(default=default, description=schema.get("description")))
    return create_model(f"{spec.name}_input", __base__=Input, **fields)


def _kind(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:
        return Union[tuple(_kind(option) for option in schema["anyOf"])]  # noqa: UP007 - the members are known at run time
    bounds = {ours: schema[theirs] for theirs, ours in _BOUNDS.items() if theirs in schema}
    if schema.get("type") == "array":
        kind: object = list[_kind(schema.get("items", {}))]  # type: ignore[misc]
    else:
        kind = _TYPES.get(schema.get("type", ""), Any)
    return Annotated[kind, Field(**bounds)] if bounds else kind

"""The base class of tools. Tool modules import from here: it re-exports the types of calls and results.

A tool never imports the engine or the window: services are passed at registration (``builtin``), facts of a call in its
context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, TypeAdapter

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.domain.errors import ToolError
from atelier_desk.domain.model_messages import ToolSpec
from atelier_desk.domain.result_parts import FileChange
from atelier_desk.domain.stream.change_topics import Topic
from atelier_desk.tools.calls.context import ToolContext
from atelier_desk.tools.calls.outcomes import (
    AnswerChild,
    AskParent,
    AskUser,
    JoinChildren,
    NewArtefact,
    Outcome,
    ServerAsks,
    StartChildren,
    ToolResult,
)
from atelier_desk.tools.calls.team_interface import ChildRequest, Colleague, Team
from atelier_desk.tools.definition.call_description import Call, Effect, Risk, SubjectKind, subjects_of, summary_of
from atelier_desk.tools.definition.input_schema import parameters_of, variants_of

__all__ = [
    "AnswerChild",
    "AskParent",
    "AskUser",
    "Call",
    "ChildRequest",
    "Colleague",
    "Effect",
    "Input",
    "JoinChildren",
    "NewArtefact",
    "Outcome",
    "Risk",
    "ServerAsks",
    "StartChildren",
    "Team",
    "Tool",
    "ToolCategory",
    "ToolContext",
    "ToolResult",
    "Topic",
]


class ToolCategory(StrEnum):
    CONTROL = "control"
    COMMON = "common"
    AGENT = "agent"
    WORKFLOW = "workflow"


class Tool(ABC):
    """A tool.

    Subclasses set the class attributes and implement ``run``; ``describe`` returns what depends on a call's arguments.

    Attributes:
        title, purpose: display name and one-line description: English ``N_`` texts. Default: its name and the first
            line of its description.
        icon: name of an icon of the theme.
        summaries: display text of a call: an ``N_`` template by operation (``""`` if there are none) with parameters as
            placeholders; default: the call's values. It says what is to be done, ``done`` what was done ("Calculate",
            "Calculated"), if the texts differ.
        input: a pydantic model, or an annotated union of models discriminated on ``operation``; its JSON schema is the
            definition.
        reading: operations that only read, in a tool with another ``effect``.
        subjects: by parameter, the kind of item it names.
        kind: the approval flag of its calls; None uses its section's.
        idempotent: repeating a call (with the same ``idempotency_key``) has no further effect.
        changes: bus topic announced after a writing call (``memory``, ``report``), for views of such rows; None if
            there is none, or if the journal announces it.
        timeout_s: seconds after which a call is stopped; 0: never.
        awaits_external_response: the loop stops at the call until its result comes from outside; no other call runs
            concurrently.
        needs_workspace: only offered if a folder is granted.
        state_of: name of the tool's state in a run; tools with the same name share it. Empty: the tool's own.
        hands_on: its calls name other tools, or pass them to sub-agents.
        preset: included in the built-in agents, although they do not have all tools of its section.
        reaches_sections: an agent in sections mode reaches its tools through it.
        rest_hint: tells the model how to read the rest of a truncated result.
        abilities: what the starter model can do with it: actions of ``llm.guided``, each with its operation.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    icon: ClassVar[str] = "terminal"
    summaries: ClassVar[Mapping[str, str]] = {}
    done: ClassVar[Mapping[str, str]] = {}
    category: ClassVar[ToolCategory] = ToolCategory.COMMON
    section: ClassVar[str] = ""
    effect: ClassVar[Effect] = Effect.READ
    reading: ClassVar[frozenset[str]] = frozenset()
    risk: ClassVar[Risk] = Risk.LOW
    subjects: ClassVar[Mapping[str, SubjectKind]] = {}
    kind: ApprovalKind | None = None
    idempotent: ClassVar[bool] = False
    timeout_s: ClassVar[float] = 60.0
    changes: ClassVar[Topic | None] = None
    awaits_external_response: ClassVar[bool] = False
    needs_workspace: ClassVar[bool] = False
    state_of: ClassVar[str] = ""
    hands_on: ClassVar[bool] = False
    preset: ClassVar[bool] = False
    reaches_sections: ClassVar[bool] = False
    rest_hint: ClassVar[str] = "Ask for less: narrow the request or lower its limit."
    abilities: ClassVar[Mapping[str, str]] = {}
    input: ClassVar[Any]

    @property
    @abstractmethod
    def description(self) -> str:
        """The text for the model, made from the description template."""

    def out_of_reach(self, call: Call, roots: Sequence[Path]) -> ToolError | None:
        """Return why a call can never run in these granted folders, so that nobody is asked about it.

        None if it may run.
        """
        return None

    def preview(self, input: Any, context: ToolContext) -> Sequence[FileChange]:
        """Return the resulting changes for an approval, without touching files. Runs in a thread.

        Empty if the call changes no file, or cannot tell in advance. Raises the same errors as the call.
        """
        return ()

    def summary_now(self, input: Any, context: ToolContext) -> str:
        """Return the template of an approval's summary if what exists now matters, such as a file that is replaced.

        Empty if the call's own fits. Runs in a thread. Raises the same errors as the call.
        """
        return ""

    @abstractmethod
    async def run(self, input: Any, context: ToolContext) -> Outcome:
        """Run the call with validated ``input``.

        Raise ``ToolError`` for errors the model should read; cancellation arrives as usual.
        """

    def describe(self, input: Any) -> Call:
        """Describe this call from its validated ``input``. Pure: looks only at the arguments."""
        values = dict(input)
        operation = str(values.get("operation", ""))
        return Call(
            effect=Effect.READ if operation in self.reading else self.effect,
            risk=self.risk,
            kind=self.kind or ApprovalKind.TOOL,
            subjects=subjects_of(values, self.subjects),
            timeout_s=self.timeout_s,
            idempotent=self.idempotent,
            alone=self.awaits_external_response,
            summary=summary_of(values, self.summaries.get(operation, "")),
            done=self.done.get(operation, ""),
        )

    def missing_setup(self) -> str:
        """Return what must be set up before the tool can be used, in words for the model.

        Empty if nothing. It is not offered until then.
        """
        return ""

    def read_arguments(self, arguments: dict[str, object]) -> dict[str, object]:
        """Repair arguments before validation; return the same object if unchanged. Otherwise they count as repaired."""
        return arguments

    def stands_for(self, input: Any) -> tuple[str, dict[str, object]] | None:
        """Return the tool and arguments of the nested call, for tools that call others."""
        return None

    def adapter(self) -> TypeAdapter[object]:
        """Validator of the arguments, built once per class."""
        cached = type(self).__dict__.get("_adapter")
        if cached is None:
            cached = TypeAdapter(self.input)
            type(self)._adapter = cached  # type: ignore[attr-defined]
        return cached

    def definition_with(self, edit_forms: Sequence[str]) -> ToolSpec:
        """Return the definition for a model that is offered these edit forms (``llm.profiles``).

        For most tools always the same.
        """
        return self.definition()

    def definition(self) -> ToolSpec:
        """Name, description and JSON schema for the model."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=parameters_of(self.input),
            variants=variants_of(self.input),
            abilities=dict(self.abilities),
            awaits_external_response=self.awaits_external_response,
        )


class Input(BaseModel):
    """Base of tool inputs: unknown fields are refused by name.

    Validators are built at the first call, not at program start.
    """

    model_config = {"extra": "forbid", "populate_by_name": True, "str_strip_whitespace": False, "defer_build": True}

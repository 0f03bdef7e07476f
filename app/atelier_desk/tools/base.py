"""What a tool is. This module is also the one that a tool's file imports from: it brings what a call gets and gives back.

A tool never imports the engine or the screen: what it needs for good it is given when it is registered (``builtin``), the facts of a call
by its context.
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
from atelier_desk.domain.stream.topic import Topic
from atelier_desk.tools.call import Call, Effect, Risk, SubjectKind, subjects_of, summary_of
from atelier_desk.tools.context import ToolContext
from atelier_desk.tools.outcomes import (
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
from atelier_desk.tools.schema import parameters_of, variants_of
from atelier_desk.tools.team import ChildRequest, Colleague, Team

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
    """A tool. Subclasses set the class attributes and implement ``run``; what is known of a call only when its arguments are, they say in
    ``describe``.

    Attributes:
        title, purpose: its name and what it does in a line, for people: English ``N_`` texts. Without them its name and the first line of
            its description are shown.
        icon: name of an icon of the theme.
        summaries: a call in a line, for people: an ``N_`` template for each operation (``""`` when there are none) with parameters as
            placeholders; without one the call's values are shown. It says what is to be done, ``done`` what was done ("Calculate", then
            "Calculated"), where that is another text.
        input: a pydantic model, or an annotated union of models discriminated on ``operation``; its JSON schema is the definition.
        reading: operations that only read, in a tool whose ``effect`` is another.
        subjects: by parameter, what it names.
        kind: which approval flag its calls fall under; None takes its section's when it is registered.
        idempotent: running the same call again (same ``idempotency_key``) has no second effect.
        changes: the topic announced on the bus after a call that writes (``memory``, ``report``), for the screens that list such rows;
            None when there is none, or when the journal announces it already.
        timeout_s: seconds after which a call is stopped; 0 never stops it.
        awaits_external_response: the loop stops at the call until its result comes from outside; no other call runs beside it.
        needs_workspace: it is offered only where the person granted a folder.
        state_of: the name under which a run keeps the tool's state; tools with one name share it. Empty: the tool's own.
        hands_on: its calls name other tools, or hand them on to sub-agents.
        preset: the built-in agents have it, although they do not have all tools of its section.
        reaches_sections: an agent in sections mode reaches its tools with it.
        rest_hint: what the model should do to read what was cut from a long result.
        abilities: what the starter model can do with it: actions of ``llm.guided``, each with the operation that does it.
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
        """The text for the model, from the description template."""

    def out_of_reach(self, call: Call, roots: Sequence[Path]) -> ToolError | None:
        """Why a call cannot run in these granted folders whoever allows it, so that nobody is asked about it; None for one that may."""
        return None

    def preview(self, input: Any, context: ToolContext) -> Sequence[FileChange]:
        """The files as this call would leave them, for whoever is asked about it; nothing is touched. Runs in a thread.

        Empty for a call that changes no file, or cannot say before it runs. Raises what the call itself would.
        """
        return ()

    @abstractmethod
    async def run(self, input: Any, context: ToolContext) -> Outcome:
        """Do it. ``input`` is validated. Raise ``ToolError`` for anything the model should read; cancellation arrives as usual."""

    def describe(self, input: Any) -> Call:
        """What this very call is; ``input`` is validated. Pure: it looks at nothing but the arguments."""
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

    def lacks(self) -> str:
        """What must be set up before it can be used, in words for the model; empty when it can be. It is not offered meanwhile."""
        return ""

    def read_arguments(self, arguments: dict[str, object]) -> dict[str, object]:
        """The arguments as they are meant, before they are checked; the very same object when they are. Others count as mended."""
        return arguments

    def stands_for(self, input: Any) -> tuple[str, dict[str, object]] | None:
        """The tool and arguments that a call only names, for a tool that calls others."""
        return None

    def adapter(self) -> TypeAdapter[object]:
        """Validator of the arguments, built once a class."""
        cached = type(self).__dict__.get("_adapter")
        if cached is None:
            cached = TypeAdapter(self.input)
            type(self)._adapter = cached  # type: ignore[attr-defined]
        return cached

    def definition_with(self, edit_forms: Sequence[str]) -> ToolSpec:
        """The definition for a model that is offered these forms of an edit (``llm.profiles``); the same for most tools."""
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
    """Base of tool inputs: unknown fields are refused by name. Validators are built at the first call, not at each start of the program."""

    model_config = {"extra": "forbid", "populate_by_name": True, "str_strip_whitespace": False, "defer_build": True}

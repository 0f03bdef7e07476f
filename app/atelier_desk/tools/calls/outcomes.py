"""Outcome of a call: a result with its parts, or a request to wait for a person, sub-agents or the parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atelier_desk.domain.question import QuestionSpec
from atelier_desk.domain.result_parts import FileChange, HeldPart, PicturePart, ReportPart, SourcePart, TextPart
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.sub_agent import ChildPlan, TeamCall

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import TaskChanged


@dataclass(frozen=True, slots=True)
class NewArtefact:
    """A file to store with the workflow; ``name`` is its display and download name."""

    name: str
    data: bytes
    media_type: str = "application/octet-stream"


Part = TextPart | PicturePart | FileChange | HeldPart | ReportPart | SourcePart | NewArtefact


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a call.

    Attributes:
        data: the JSON object for the model: ``{"success": true, …}`` or ``{"success": false, "error": …, "code": …}``.
        end: the run ends with this status; ``end_summary`` says how.
        tasks: changes to the workflow's tasks, committed together with the result.
        output: text shown to the user, with its type (``message``, ``report``, ``result`` or ``progress``).
        text: text for the model, filled in by ``ToolRegistry.execute``: ``data`` as JSON, cut to
            ``limits.RESULT_TO_MODEL`` characters.
        truncated: ``text`` or ``data`` was cut.
        parts: texts, images, files to store and file changes, shown on the call's card.
        skill: the skill whose instructions are the result: it stays in the conversation.
        tainted: outside sources of the result's content; the run has then read them too.
        state: value of ``ToolContext.state`` for later calls in this run (plain JSON values); None leaves it unchanged.
    """

    data: dict[str, Any]
    end: Literal["completed", "abandoned"] | None = None
    end_summary: str = ""
    output: tuple[str, Literal["message", "report", "result", "progress"]] | None = None
    tasks: tuple[TaskChanged, ...] = ()
    text: str = ""
    truncated: bool = False
    parts: tuple[Part, ...] = ()
    state: dict[str, Any] | None = None
    skill: SkillUse | None = None
    tainted: tuple[str, ...] = ()

    @property
    def success(self) -> bool:
        return bool(self.data.get("success"))

    @classmethod
    def ok(cls, **data: object) -> ToolResult:
        return cls({"success": True, **data})

    @classmethod
    def failure(cls, error: str, code: str = "tool_error", **data: object) -> ToolResult:
        """Return a failed result; ``error`` is for the model: what was wrong, what is allowed, what to do next."""
        return cls({"success": False, "error": error, "code": code, **data})


@dataclass(frozen=True, slots=True)
class AskUser:
    """Wait durably for a person's answer, which becomes the call's result."""

    question: QuestionSpec
    timeout_s: float | None = None
    """None uses the agent's setting; 0 waits forever."""


@dataclass(frozen=True, slots=True)
class ServerAsks:
    """Wait durably for answers to the server's requests, then repeat the call with them.

    Attributes:
        state: opaque server state, None if there is none; returned with the answers in ``ToolContext.given``.
        answers: those that need no person, by the server's key.
        questions: for a person, each with its server and key.
        note: told to the model with the result.
    """

    server: str
    state: str | None
    answers: Mapping[str, Mapping[str, object]]
    questions: tuple[QuestionSpec, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class StartChildren:
    """Start sub-agents and wait durably until they end; in the background the result comes once they have started.

    ``stop_on_error``: skip later stages after a stage with a failure.
    """

    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


@dataclass(frozen=True, slots=True)
class JoinChildren:
    """Wait for sub-agents started earlier; the result is their reports."""

    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskParent:
    """Wait for the parent's, or the user's, answer."""

    message: str


@dataclass(frozen=True, slots=True)
class AnswerChild:
    """Answer a waiting sub-agent; the result is that sub-agent's report."""

    child_id: str
    message: str


Outcome = ToolResult | AskUser | ServerAsks | StartChildren | JoinChildren | AskParent | AnswerChild

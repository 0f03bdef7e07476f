"""What a call gives back: a result with its parts, or the wish to wait for a person, sub-agents or the parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atelier_desk.domain.question import QuestionSpec
from atelier_desk.domain.result_parts import FileChange, HeldPart, PicturePart, SourcePart, TextPart
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.team import ChildPlan, TeamCall

if TYPE_CHECKING:
    from atelier_desk.domain.events.run import TaskChanged


@dataclass(frozen=True, slots=True)
class NewArtefact:
    """A file to be kept with the workflow; ``name`` is what people see and save it as."""

    name: str
    data: bytes
    media_type: str = "application/octet-stream"


Part = TextPart | PicturePart | FileChange | HeldPart | SourcePart | NewArtefact


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave.

    Attributes:
        data: the JSON object the model reads: ``{"success": true, …}`` or ``{"success": false, "error": …, "code": …}``.
        end: the run ends with this status; ``end_summary`` says how.
        tasks: what the call changes of the workflow's tasks: written with the result, all or none.
        output: text the user is shown, with its type (``message``, ``report``, ``result`` or ``progress``).
        text: what the model reads, filled in by ``ToolRegistry.execute``: ``data`` as JSON, cut to ``limits.RESULT_TO_MODEL`` characters.
        truncated: ``text`` or ``data`` was cut.
        parts: texts, pictures, files to keep and changes of files, which the call's card shows.
        skill: the skill whose instructions the result is: it stays in the conversation.
        tainted: what the result holds of what others had read from outside; the run has then read it too.
        state: what ``ToolContext.state`` is for the tool's later calls in this run (plain JSON values); None leaves it as it is.
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
    def ok(cls, **data: Any) -> ToolResult:
        return cls({"success": True, **data})

    @classmethod
    def failure(cls, error: str, code: str = "tool_error", **data: Any) -> ToolResult:
        """A failed call; ``error`` is written for the model: what was wrong, what is allowed, what to do next."""
        return cls({"success": False, "error": error, "code": code, **data})


@dataclass(frozen=True, slots=True)
class AskUser:
    """The call's result is a person's answer: the run waits, durably, until it comes."""

    question: QuestionSpec
    timeout_s: float | None = None
    """None takes the agent's setting; 0 waits for ever."""


@dataclass(frozen=True, slots=True)
class ServerAsks:
    """The server of the call must know something first: the run waits, durably, until all is answered, and makes the call again.

    Attributes:
        state: of the server, None for none; it comes back with the answers in ``ToolContext.given``.
        answers: those that need no person, by the server's key.
        questions: what a person is asked, each with its server and key.
        note: what the model is told of it with the result.
    """

    server: str
    state: str | None
    answers: Mapping[str, Mapping[str, Any]]
    questions: tuple[QuestionSpec, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class StartChildren:
    """The call wants sub-agents: the run waits, durably, until they are over; in the background it has its result when they have started.

    ``stop_on_error``: after a stage with a failure the later stages are not run.
    """

    kind: TeamCall
    children: tuple[ChildPlan, ...]
    background: bool = False
    stop_on_error: bool = False


@dataclass(frozen=True, slots=True)
class JoinChildren:
    """The call's result are the reports of sub-agents that were started before."""

    child_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskParent:
    """The call's result is the parent's answer, or the user's."""

    message: str


@dataclass(frozen=True, slots=True)
class AnswerChild:
    """Answers a waiting sub-agent; the call's result is that sub-agent's report."""

    child_id: str
    message: str


Outcome = ToolResult | AskUser | ServerAsks | StartChildren | JoinChildren | AskParent | AnswerChild

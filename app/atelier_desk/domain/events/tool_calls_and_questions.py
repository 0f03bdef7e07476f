"""Events of tool calls and of what they ask a person."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from atelier_desk.domain.base_model import new_id
from atelier_desk.domain.call_presentation_and_subjects import Presentation, Subjects
from atelier_desk.domain.events.base_event import CallStatus, Event
from atelier_desk.domain.permission import DecisionRecord, Verdict
from atelier_desk.domain.question import QuestionStatus, UserQuestion
from atelier_desk.domain.result_parts import ResultPart
from atelier_desk.domain.skill import SkillUse
from atelier_desk.domain.task import Task
from atelier_desk.support.i18n import N_


class ToolCallStarted(Event):
    """The intent: committed before the tool runs.

    ``tool`` is what runs, ``via`` the control tool that named it; ``verdict`` the decision (None for calls without one)
    and ``grounds`` its facts (None in older versions); ``taint`` the outside source it reads (a host, server, path or
    command; empty: none); the rest comes from the tool's description of the call.
    """

    type: Literal["tool_call_started"] = "tool_call_started"
    label = N_("{name} started")
    call_id: str
    tool: str
    arguments: dict[str, Any] = {}
    via: str = ""
    server: str = ""
    section: str = ""
    effect: str = "read"
    risk: str = "low"
    idempotent: bool = False
    subjects: Subjects = Subjects()
    presentation: Presentation = Presentation()
    verdict: Verdict | None = None
    grounds: DecisionRecord | None = None
    taint: str = ""


class ToolCallFinished(Event):
    """The result, as JSON for the journal and as text for the model.

    Attributes:
        end: the tool ended the run.
        parts: texts, images, stored files and file changes.
        state: the tool's state for later calls in this run; None leaves it unchanged.
        skill: the skill whose instructions this result is.
        state_of: name of a state shared by several tools, into which ``state`` is merged. Empty: the tool's own,
            replaced.
        tainted: outside sources of the result that were only known afterwards.
    """

    type: Literal["tool_call_finished"] = "tool_call_finished"
    label = N_("{name} ended")
    call_id: str
    tool: str
    status: CallStatus = CallStatus.OK
    result: Any = None
    text: str = ""
    error: str = ""
    code: str = ""
    duration_ms: int = 0
    truncated: bool = False
    parts: tuple[ResultPart, ...] = ()
    state: dict[str, object] | None = None
    state_of: str = ""
    skill: SkillUse | None = None
    tainted: tuple[str, ...] = ()
    end: Literal["completed", "abandoned"] | None = None
    end_summary: str = ""


class OutputShown(Event):
    """The ``output`` tool showed something to the user; a sub-agent's ``result`` and ``report`` are passed to its
    parent with its report.

    ``report`` is the name under which the text was stored, empty if it was not.
    """

    type: Literal["output_shown"] = "output_shown"
    label = N_("Output shown")
    message_id: str = Field(default_factory=new_id)
    call_id: str
    content: str
    output_type: Literal["message", "report", "result", "progress"] = "message"
    report: str = ""


class TaskChanged(Event):
    """A task was created, changed, completed or deleted, by a tool or a person.

    ``task`` is the whole task, ``fields`` the changed fields; None: all (it is new or deleted).
    """

    type: Literal["task_changed"] = "task_changed"
    label = N_("Task")
    action: Literal["create", "update", "complete", "delete"]
    task: Task
    fields: tuple[str, ...] | None = None


class QuestionAsked(Event):
    type: Literal["question_asked"] = "question_asked"
    label = N_("Question asked")
    question: UserQuestion


class QuestionAnswered(Event):
    """A person answered or skipped, or it timed out; becomes the waiting call's result."""

    type: Literal["question_answered"] = "question_answered"
    label = N_("Question answered")
    question_id: str
    call_id: str
    status: QuestionStatus
    selected_options: tuple[str, ...] = ()
    text_response: str = ""

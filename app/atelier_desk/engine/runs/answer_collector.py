"""The short way to a run: one prompt, one answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.model_messages import FinishReason, Usage
from atelier_desk.domain.stream import payloads
from atelier_desk.domain.stream.event import StreamEvent
from atelier_desk.domain.workflow import handed_over

if TYPE_CHECKING:
    from atelier_desk.engine.journal.journal import RunHandle


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A tool call on the way to an answer.

    Attributes:
        result: the tool's JSON object: ``{"success": true, …}`` or ``{"success": false, "error": …, "code": …}``.
        agent: name of the calling agent.
    """

    tool: str
    arguments: dict[str, object]
    success: bool
    result: Any
    duration_ms: int
    agent: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a run.

    Attributes:
        text: what the agent handed over at its end, otherwise its last text. ``str(answer)`` is the same.
        status: ``completed``, ``abandoned``, ``cancelled``, ``limited`` (a limit was reached), ``waiting`` (for a
            person's answer or approval) or ``interrupted``; the last three can continue:
            ``atelier.follow(answer.run_id)``.
        usage: tokens and cost of the run and its sub-agents.
        calls: tool calls of the run and its sub-agents, in the order they ended.
        finish_reason: why the last reply is incomplete: ``length`` (cut off), ``content_filter``, ``empty`` or
            ``repetition``; None if complete.
        data: the object of an agent with an answer schema; None if there is none, or if the answer does not match.
    """

    text: str
    status: str
    usage: Usage
    run_id: str
    workflow_id: str
    calls: tuple[AnswerCall, ...]
    finish_reason: FinishReason | None = None
    data: dict[str, object] | None = None

    def __str__(self) -> str:
        return self.text


@dataclass
class Listener:
    """Builds an answer from a run's stream."""

    run_id: str = ""
    workflow_id: str = ""
    status: str = ""
    last_message: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: list[AnswerCall] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    data: dict[str, object] | None = None
    _begun: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)
    _problem: tuple[str, str] = ("error", "")

    def handle(self, event: StreamEvent) -> None:
        if not self.run_id and event.run_id:
            self.run_id, self.workflow_id = event.correlation_id or event.run_id, event.workflow_id
        root = event.run_id == self.run_id
        match said := event.payload:
            case payloads.MessageAdded() if root and said.role == "assistant" and said.output_type != "progress":
                self.last_message = said.content or self.last_message
            case payloads.ToolStart():
                self._begun[event.run_id, said.call_id] = said.arguments
            case payloads.ToolEnd():
                arguments = self._begun.pop((event.run_id, said.call_id), {})
                self.calls.append(
                    AnswerCall(said.tool, arguments, said.success, said.result, said.duration_ms, event.agent_name)
                )
            case payloads.UsageUpdated() if said.team is not None:
                team = said.team
                unpriced = team.tokens_input + team.tokens_output if team.cost is None else 0
                self.usage = Usage(
                    tokens_input=team.tokens_input,
                    tokens_output=team.tokens_output,
                    cost=team.cost or 0.0,
                    tokens_unpriced=unpriced,
                )
            case payloads.Failure() if root:
                self._problem = (said.code or "error", said.message)
            case payloads.WorkflowComplete() if root:
                self.status, self.data = said.status, said.answer
                self.finish_reason = FinishReason(said.finish_reason) if said.finish_reason else None
                if self.status == "error":
                    self._problem = (self._problem[0], said.error or self._problem[1])

    def answer(self, state: RunHandle | None) -> Answer:
        """
        Args:
            state: of the run, where it is still known.

        Raises:
            AtelierError: the run failed; ``code`` says how.
        """
        if self.status == "error":
            code, problem = self._problem
            raise AtelierError("{problem}", code=code, problem=problem)
        calls = tuple(self.calls)
        text = handed_over(state.current.summary, state.current.result) if state is not None else ""
        return Answer(
            text or self.last_message,
            self.status,
            self.usage,
            self.run_id,
            self.workflow_id,
            calls,
            self.finish_reason,
            self.data,
        )

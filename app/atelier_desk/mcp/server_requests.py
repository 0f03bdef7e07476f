"""Answers a server's requests during calls, and stores its log.

In the older protocol revisions a server asks within its session, without naming the call. With exactly one
open call it is that one; otherwise nobody knows whom to ask, and the server receives an error.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mcp_types import CreateMessageResult, ElicitResult, ErrorData, ListRootsResult, Root

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.question import ACCEPT, QuestionSpec, QuestionStatus, Sampling, UserQuestion
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import elicitation_and_sampling
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from mcp_types import InputRequest, InputResponse

LOGGED = 200
"""Log messages stored per server, the newest."""
LONGEST_LINE = 1_000
"""Characters of one log message."""
MOST_REQUESTS = 10
"""Requests a server may have open at once."""
MOST_TURNS = 50
"""Questions a person may get during one call, one after another; each extends its time."""
MOST_NOTES = 10
NOT_ONE = "The user can be asked only while exactly one call is open at this server."
_REJECTED = -1
"""The protocol's error code for a request that the user rejected."""
_INVALID = -32602
_INTERNAL = -32603


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log message of a server.

    ``level`` is one of the protocol's: debug, info, notice, warning, error, critical, alert, emergency.
    """

    time: datetime
    level: str
    logger: str
    text: str


class RequestHandler(Protocol):
    """Answers a server's requests during one call.

    Attributes:
        roots: folders shared with the server.
        model: model used for the server's sampling requests.
    """

    @property
    def roots(self) -> Sequence[str]: ...

    @property
    def model(self) -> str: ...

    async def refusal(self) -> str | None:
        """Why nobody can be asked now, as text for the server; None when somebody can."""
        ...

    async def ask(self, spec: QuestionSpec) -> UserQuestion: ...

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, object]: ...


@dataclass(slots=True)
class ClientRequests:
    """One open call.

    Attributes:
        limit, seconds: its time limit, in seconds; paused while a person is asked.
        notes: added to the result for the model.
        turns: number of questions to a person so far.
    """

    request_handler: RequestHandler
    limit: asyncio.Timeout | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    turns: int = 0
    _held: int = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Pause the time limit inside the block."""
        self._held += 1
        if self.limit is not None:
            self.limit.reschedule(None)
        try:
            yield
        finally:
            self._held -= 1
            if self.limit is not None and not self._held and not self.limit.expired():
                with suppress(RuntimeError):  # the call has ended while its server is still asking
                    self.limit.reschedule(asyncio.get_running_loop().time() + self.seconds)


class Answers:
    """Answers one server's requests and stores its log.

    Attributes:
        last: who answered for the newest call.
        roots_sent: folders the server received or can ask for; None if it never asked.
    """

    def __init__(self, clock: Clock, server: str) -> None:
        self._clock, self._server = clock, server
        self.open: list[ClientRequests] = []
        self.last: RequestHandler | None = None
        self.roots_sent: list[str] | None = None
        self.lines: deque[LogLine] = deque(maxlen=LOGGED)

    @contextmanager
    def serving(self, desk: RequestHandler) -> Iterator[ClientRequests]:
        """Register a call at the server for the duration of the block."""
        serving = ClientRequests(desk)
        self.open.append(serving)
        self.last = desk
        try:
            yield serving
        finally:
            self.open.remove(serving)

    @property
    def roots(self) -> list[str]:
        """Folders shared with the server now; between calls those of the newest call."""
        desks = [serving.request_handler for serving in self.open] or [
            desk for desk in (self.last,) if desk is not None
        ]
        return list(dict.fromkeys(root for desk in desks for root in desk.roots))

    def note(self, level: str, text: str, logger: str = "") -> None:
        line = shorten(" ".join(redact(text).split()), LONGEST_LINE)
        self.lines.append(LogLine(self._clock.now(), level, shorten(redact(logger), 60), line))

    async def logged(self, params: Any) -> None:
        data = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False, default=str)
        self.note(str(params.level), data[: 4 * LONGEST_LINE], str(params.logger or ""))

    async def list_roots(self, context: object) -> Any:
        self.roots_sent = self.roots
        return _roots(self.roots_sent)

    async def elicited(self, context: object, params: Any) -> Any:
        return await self._answered(
            lambda serving: elicitation_and_sampling.elicitation(params, self._server, live=True)
        )

    async def sampled(self, context: object, params: Any) -> Any:
        return await self._answered(
            lambda serving: elicitation_and_sampling.sampling(
                params, self._server, serving.request_handler.model, live=True
            )
        )

    async def _answered(self, make: Any) -> object:
        if len(self.open) != 1:
            self.note("warning", NOT_ONE)
            return ErrorData(code=_INTERNAL, message=NOT_ONE)
        serving = self.open[0]
        try:
            # A request refused without asking anybody does not extend the call: otherwise it might never end.
            spec: QuestionSpec = make(serving)
            refusal = await serving.request_handler.refusal()
            if refusal is not None:
                return (
                    ErrorData(code=_REJECTED, message=refusal)
                    if spec.sampling is not None
                    else ElicitResult(action="cancel")
                )
            if serving.turns >= MOST_TURNS:
                raise elicitation_and_sampling.UnsupportedRequest(f"it asked {MOST_TURNS} times in one call")
            serving.turns += 1
            with serving.held():
                question = await serving.request_handler.ask(spec)
                if spec.sampling is None:
                    return ElicitResult(**question.elicited)
                if question.status is not QuestionStatus.ANSWERED or ACCEPT not in question.selected_options:
                    return ErrorData(code=_REJECTED, message="User rejected sampling request")
                return CreateMessageResult.model_validate(
                    await serving.request_handler.sample(self._server, spec.sampling)
                )
        except elicitation_and_sampling.UnsupportedRequest as error:
            self.note("warning", str(error))
            if not error.declined:
                return ErrorData(code=_INVALID, message=str(error))
            if len(serving.notes) < MOST_NOTES:
                serving.notes.append(_declined(self._server, error))
            return ElicitResult(action="decline")
        except AtelierError as error:
            return ErrorData(code=_INTERNAL, message=str(error))

    async def sorted(
        self, requests: Mapping[str, InputRequest], desk: RequestHandler
    ) -> tuple[dict[str, dict[str, object]], tuple[QuestionSpec, ...], str]:
        """Sort a server's requests: ready answers, questions for a person, a note for the model.

        Raises:
            UnsupportedRequest: a request cannot be answered at all.
        """
        answers: dict[str, dict[str, object]] = {}
        questions: list[QuestionSpec] = []
        notes: list[str] = []
        refusal = await desk.refusal()
        if len(requests) > MOST_REQUESTS:
            raise elicitation_and_sampling.UnsupportedRequest(
                f"it asks for {len(requests)} things at once; {MOST_REQUESTS} are allowed"
            )
        for key, request in requests.items():
            params: Any = request.params
            if request.method == "roots/list":
                answers[key] = _roots(list(desk.roots)).model_dump(mode="json", by_alias=True, exclude_none=True)
                continue
            try:
                if request.method == "sampling/createMessage":
                    spec = elicitation_and_sampling.sampling(params, self._server, desk.model, key=key)
                else:
                    spec = elicitation_and_sampling.elicitation(params, self._server, key=key)
            except elicitation_and_sampling.UnsupportedRequest as error:
                self.note("warning", str(error))
                if not error.declined:
                    raise
                answers[key] = {"action": "decline"}
                notes.append(_declined(self._server, error))
                continue
            if refusal is None:
                questions.append(spec)
            elif spec.sampling is not None:
                raise elicitation_and_sampling.UnsupportedRequest(refusal)
            else:
                answers[key] = {"action": "cancel"}
                notes.append(refusal)
        return answers, tuple(questions), " ".join(dict.fromkeys(notes))


def responses(answers: Mapping[str, Mapping[str, object]]) -> dict[str, InputResponse]:
    """Convert answers to the SDK's types."""

    def made(answer: Mapping[str, object]) -> InputResponse:
        kind = ElicitResult if "action" in answer else ListRootsResult if "roots" in answer else CreateMessageResult
        return kind.model_validate(dict(answer))

    return {key: made(answer) for key, answer in answers.items()}


def _roots(folders: Sequence[str]) -> Any:
    return ListRootsResult(
        roots=[Root.model_validate({"uri": Path(each).as_uri(), "name": Path(each).name}) for each in folders]
    )


def _declined(server: str, error: elicitation_and_sampling.UnsupportedRequest) -> str:
    return f"The MCP server {server} asked the user for something that was declined without asking: {error}."

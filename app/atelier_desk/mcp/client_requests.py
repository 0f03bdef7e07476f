"""Who answers a server: the calls that are open at it, and what it logs.

Servers of the older eras ask within their session, without saying for which call. Where just one call is open it is that one; else nobody
can say whose person is to answer, and the server is told so.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.domain.clock import Clock
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.question import ACCEPT, QuestionSpec, QuestionStatus, Sampling, UserQuestion
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp import elicitation
from atelier_desk.support.text import shorten

if TYPE_CHECKING:
    from mcp_types import InputRequest, InputResponse

LOGGED = 200
"""Messages of a server's log that are kept, the newest."""
LONGEST_LINE = 1_000
"""Characters of one message."""
MOST_REQUESTS = 10
"""Things that a server may ask for at once."""
MOST_TURNS = 50
"""Things that a person is asked for one call, one after the other; each of them gives it new time."""
MOST_NOTES = 10
NOT_ONE = "The user can be asked only while exactly one call is open at this server."
_REJECTED = -1
"""The protocol's code for what a person did not allow."""
_INVALID = -32602
_INTERNAL = -32603


@dataclass(frozen=True, slots=True)
class LogLine:
    """What a server logged; ``level`` is one of the protocol's: debug, info, notice, warning, error, critical, alert, emergency."""

    time: datetime
    level: str
    logger: str
    text: str


class RequestHandler(Protocol):
    """Who answers for one call.

    Attributes:
        roots: folders that the server may be told of.
        model: that would be asked for it.
    """

    @property
    def roots(self) -> Sequence[str]: ...

    @property
    def model(self) -> str: ...

    async def refusal(self) -> str | None:
        """Why nobody is asked now, in words for the server; None when somebody is."""
        ...

    async def ask(self, spec: QuestionSpec) -> UserQuestion: ...

    async def sample(self, server: str, sampling: Sampling) -> Mapping[str, object]: ...


@dataclass(slots=True)
class ClientRequests:
    """One open call.

    Attributes:
        limit, seconds: the time it has; it stands still while a person is asked.
        notes: what the model is told with the result.
        turns: how often somebody was asked.
    """

    request_handler: RequestHandler
    limit: asyncio.Timeout | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    turns: int = 0
    _held: int = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no time count within."""
        self._held += 1
        if self.limit is not None:
            self.limit.reschedule(None)
        try:
            yield
        finally:
            self._held -= 1
            if self.limit is not None and not self._held and not self.limit.expired():
                with suppress(RuntimeError):  # the call is over, and its server asks still
                    self.limit.reschedule(asyncio.get_running_loop().time() + self.seconds)


class Answers:
    """Answers one server's requests, and keeps what it logs.

    Attributes:
        last: who answered for the newest call.
        roots_sent: the folders it was told of or knows to ask for, None while it never asked.
    """

    def __init__(self, clock: Clock, server: str) -> None:
        self._clock, self._server = clock, server
        self.open: list[ClientRequests] = []
        self.last: RequestHandler | None = None
        self.roots_sent: list[str] | None = None
        self.lines: deque[LogLine] = deque(maxlen=LOGGED)

    @contextmanager
    def serving(self, desk: RequestHandler) -> Iterator[ClientRequests]:
        """A call is open at the server."""
        serving = ClientRequests(desk)
        self.open.append(serving)
        self.last = desk
        try:
            yield serving
        finally:
            self.open.remove(serving)

    @property
    def roots(self) -> list[str]:
        """The folders that the server may be told of now; between calls those of the newest one, for servers that look at them later."""
        desks = [serving.request_handler for serving in self.open] or [desk for desk in (self.last,) if desk is not None]
        return list(dict.fromkeys(root for desk in desks for root in desk.roots))

    def note(self, level: str, text: str, logger: str = "") -> None:
        self.lines.append(LogLine(self._clock.now(), level, shorten(logger, 60), shorten(" ".join(redact(text).split()), LONGEST_LINE)))

    async def logged(self, params: Any) -> None:
        data = params.data if isinstance(params.data, str) else json.dumps(params.data, ensure_ascii=False, default=str)
        self.note(str(params.level), data[: 4 * LONGEST_LINE], str(params.logger or ""))

    async def list_roots(self, context: object) -> Any:
        self.roots_sent = self.roots
        return _roots(self.roots_sent)

    async def elicited(self, context: object, params: Any) -> Any:
        return await self._answered(lambda serving: elicitation.elicitation(params, self._server, live=True))

    async def sampled(self, context: object, params: Any) -> Any:
        return await self._answered(lambda serving: elicitation.sampling(params, self._server, serving.request_handler.model, live=True))

    async def _answered(self, make: Any) -> Any:
        from mcp_types import CreateMessageResult, ElicitResult, ErrorData

        if len(self.open) != 1:
            self.note("warning", NOT_ONE)
            return ErrorData(code=_INTERNAL, message=NOT_ONE)
        serving = self.open[0]
        try:
            # What is refused without asking anybody gives the call no new time: a server that asks on would never come to its end.
            spec: QuestionSpec = make(serving)
            refusal = await serving.request_handler.refusal()
            if refusal is not None:
                return ErrorData(code=_REJECTED, message=refusal) if spec.sampling is not None else ElicitResult(action="cancel")
            if serving.turns >= MOST_TURNS:
                raise elicitation.UnsupportedRequest(f"it asked {MOST_TURNS} times in one call")
            serving.turns += 1
            with serving.held():
                question = await serving.request_handler.ask(spec)
                if spec.sampling is None:
                    return ElicitResult(**question.elicited)
                if question.status is not QuestionStatus.ANSWERED or ACCEPT not in question.selected_options:
                    return ErrorData(code=_REJECTED, message="User rejected sampling request")
                return CreateMessageResult.model_validate(await serving.request_handler.sample(self._server, spec.sampling))
        except elicitation.UnsupportedRequest as error:
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
        """What a server asks for before it answers: the answers that need no person, what a person is asked, and a note for the model.

        Raises:
            Unaskable: it cannot be answered at all.
        """
        answers: dict[str, dict[str, Any]] = {}
        questions: list[QuestionSpec] = []
        notes: list[str] = []
        refusal = await desk.refusal()
        if len(requests) > MOST_REQUESTS:
            raise elicitation.UnsupportedRequest(f"it asks for {len(requests)} things at once; {MOST_REQUESTS} are allowed")
        for key, request in requests.items():
            params: Any = request.params
            if request.method == "roots/list":
                answers[key] = _roots(list(desk.roots)).model_dump(mode="json", by_alias=True, exclude_none=True)
                continue
            try:
                if request.method == "sampling/createMessage":
                    spec = elicitation.sampling(params, self._server, desk.model, key=key)
                else:
                    spec = elicitation.elicitation(params, self._server, key=key)
            except elicitation.UnsupportedRequest as error:
                self.note("warning", str(error))
                if not error.declined:
                    raise
                answers[key] = {"action": "decline"}
                notes.append(_declined(self._server, error))
                continue
            if refusal is None:
                questions.append(spec)
            elif spec.sampling is not None:
                raise elicitation.UnsupportedRequest(refusal)
            else:
                answers[key] = {"action": "cancel"}
                notes.append(refusal)
        return answers, tuple(questions), " ".join(dict.fromkeys(notes))


def responses(answers: Mapping[str, Mapping[str, object]]) -> dict[str, InputResponse]:
    """Answers as the SDK sends them."""
    from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult

    def made(answer: Mapping[str, object]) -> InputResponse:
        kind = ElicitResult if "action" in answer else ListRootsResult if "roots" in answer else CreateMessageResult
        return kind.model_validate(dict(answer))

    return {key: made(answer) for key, answer in answers.items()}


def _roots(folders: Sequence[str]) -> Any:
    from pathlib import Path

    from mcp_types import ListRootsResult, Root

    return ListRootsResult(roots=[Root.model_validate({"uri": Path(each).as_uri(), "name": Path(each).name}) for each in folders])


def _declined(server: str, error: elicitation.UnsupportedRequest) -> str:
    return f"The MCP server {server} asked the user for something that was declined without asking: {error}."

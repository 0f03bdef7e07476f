"""The xml dialect, for models without function calling.

Tools are described in the system prompt, calls are tags in the text, results are tags in a user message. The resulting
``ToolCall`` values are the same as in the native dialect.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from atelier_desk.llm.dialects.argument_parsing import CUT, ParsedArguments, parse_arguments, parse_strict
from atelier_desk.llm.dialects.call_ids import CallIds
from atelier_desk.llm.dialects.gbnf_grammar import tools_grammar
from atelier_desk.llm.dialects.native import TOO_MANY, settle_calls
from atelier_desk.llm.dialects.tool_call_limits import CALL_CHARACTERS, CALL_DEPTH, REPAIR_BYTES
from atelier_desk.llm.dialects.tool_call_scanner import CallScanner, Flaw, Piece, ScannedCall, TextPiece
from atelier_desk.llm.dialects.xml_request import text_request
from atelier_desk.llm.interfaces import ChatModel
from atelier_desk.llm.replies.redaction import REPEATED_KEY
from atelier_desk.llm.secrets import REDACTED

NAMELESS = "call_without_name"
"""Name for a call without one; no tool has this name, and the call carries an error."""

_REFUSED = {
    Flaw.TOO_LONG: (
        f"The arguments are longer than {CALL_CHARACTERS} characters, the most one call may have. Split the work "
        f"over calls."
    ),
    Flaw.TOO_DEEP: f"The arguments are nested more than {CALL_DEPTH} levels deep. Flatten them.",
    Flaw.TOO_MANY: TOO_MANY,
    Flaw.NESTED: (
        "Another <tool_call> began inside this call before its JSON object was complete. Write calls one after the "
        "other and close each "
        "with </tool_call>."
    ),
}


class XmlModel:
    """Rewrites requests, and extracts calls from the reply's text while it streams.

    Args:
        grammar: restrict replies to text or valid calls by a GBNF grammar; for llama.cpp servers only.
    """

    def __init__(self, model: ChatModel, *, grammar: bool = False) -> None:
        self._model = model
        self._grammar = grammar

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        wire = text_request(request)
        if self._grammar and request.tools and not request.grammar:
            wire = wire.model_copy(update={"grammar": tools_grammar(request.tools)})
        reader = _ReplyReader(CallIds(request)) if request.tools else None
        async with aclosing(self._model.stream(wire)) as deltas:
            async for delta in deltas:
                if reader is None:
                    yield delta
                elif isinstance(delta, TextDelta):
                    for shown in reader.feed(delta):
                        yield shown
                elif isinstance(delta, ReplyDone):
                    for shown in reader.finish(delta.reply):
                        yield shown
                    yield ReplyDone(reply=await reader.reply(delta))
                else:
                    yield delta


class _ReplyReader:
    """Scans one reply's text as it arrives and builds the complete reply."""

    def __init__(self, ids: CallIds) -> None:
        self._ids = ids
        self._scanner = CallScanner()
        self._received: list[str] = []
        self._text: list[str] = []

    def feed(self, delta: TextDelta) -> list[ChatDelta]:
        self._received.append(delta.content)
        pieces = self._scanner.feed(delta.content)
        if len(pieces) == 1 and isinstance(pieces[0], TextPiece) and pieces[0].text == delta.content:
            self._text.append(delta.content)
            return [delta]
        return self._deltas(pieces)

    def finish(self, reply: ChatReply) -> list[ChatDelta]:
        """Return the last deltas. The text of a model that did not stream is scanned here."""
        shown = self.feed(TextDelta(content=reply.content)) if not self._received and reply.content else []
        return shown + self._deltas(self._scanner.finish(cut=reply.finish_reason is FinishReason.LENGTH))

    async def reply(self, done: ReplyDone) -> ChatReply:
        """Return the reply with calls removed from its text.

        The reply's own text takes precedence over streamed text.
        """
        if "".join(self._received) != done.reply.content:
            reader = _ReplyReader(self._ids)
            reader.finish(done.reply)
            return await reader._built(done)
        return await self._built(done)

    async def _built(self, done: ReplyDone) -> ChatReply:
        reply = done.reply
        cut = reply.finish_reason is FinishReason.LENGTH
        calls = [
            await _call(scanned, self._ids.at(position), cut=cut, redacted=done.redacted)
            for position, scanned in enumerate(self._scanner.calls)
        ]
        # Calls that the server recognised itself come after those in the text.
        calls += await settle_calls(reply, self._ids, first=len(calls))
        text = "".join(self._text)
        if not calls:
            return reply.model_copy(update={"content": text})
        finish = FinishReason.TOOL_CALLS if reply.finish_reason is FinishReason.STOP else reply.finish_reason
        return reply.model_copy(update={"content": text.strip(), "tool_calls": tuple(calls), "finish_reason": finish})

    def _deltas(self, pieces: Iterable[Piece]) -> list[ChatDelta]:
        return [self._delta(piece) for piece in pieces]

    def _delta(self, piece: Piece) -> ChatDelta:
        if isinstance(piece, TextPiece):
            self._text.append(piece.text)
            return TextDelta(content=piece.text)
        return ToolCallDelta(
            index=piece.position, id=self._ids.at(piece.position), name=piece.name, arguments=piece.fragment
        )


async def _call(scanned: ScannedCall, identifier: str, *, cut: bool, redacted: bool) -> ToolCall:
    if redacted and REDACTED in scanned.raw:
        return ToolCall(
            id=identifier, name=scanned.name or NAMELESS, raw=scanned.raw[:REPAIR_BYTES], error=REPEATED_KEY
        )
    parsed = await _arguments(scanned, cut=cut)
    name, arguments = scanned.name, parsed.arguments
    error = parsed.error
    if not name:
        name, arguments, unnamed = _named(arguments)
        error = error or unnamed
    if error:
        return ToolCall(id=identifier, name=name, raw=scanned.raw[:REPAIR_BYTES], error=error)
    return ToolCall(id=identifier, name=name, arguments=arguments, repaired=parsed.repaired)


async def _arguments(scanned: ScannedCall, *, cut: bool) -> ParsedArguments:
    """Parse the arguments according to the call's flaw: complete JSON without a closing tag is accepted as repaired."""
    flaw = scanned.flaw
    if flaw in (Flaw.TOO_LONG, Flaw.TOO_DEEP, Flaw.TOO_MANY):
        return ParsedArguments(error=_REFUSED[flaw])
    if flaw is Flaw.NESTED:
        try:
            return ParsedArguments(parse_strict(scanned.raw), repaired=True)
        except ValueError:
            return ParsedArguments(error=_REFUSED[flaw])
    if flaw is Flaw.UNCLOSED and cut:
        return ParsedArguments(error=CUT)
    parsed = await parse_arguments(scanned.raw)
    return ParsedArguments(parsed.arguments, parsed.repaired or flaw is not Flaw.NONE, parsed.error)


def _named(call: dict[str, object]) -> tuple[str, dict[str, object], str | None]:
    """Return name and arguments of a call written as ``{"name": …, "arguments": {…}}``, and any error."""
    name = call.get("name")
    arguments = call.get("arguments", call.get("parameters", {}))
    if not isinstance(name, str) or not name.strip() or not isinstance(arguments, dict):
        return (
            NAMELESS,
            {},
            'The call has no tool name. Write <tool_call name="ToolName">{"parameter": "value"}</tool_call>.',
        )
    return name.strip(), arguments, None

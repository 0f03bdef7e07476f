"""Chat with a model too small to call tools: select an action, fill it from the user's words, answer by template.

The results are ordinary replies: text, or one tool call per turn. The model is asked for little, always under a
grammar: which action, and which part of the message, if no pattern decides. Without this, a 135M model got 1 of 18
simple requests right.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from atelier_desk.domain.errors import ProviderError
from atelier_desk.domain.model_messages import (
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    ReplyDone,
    RetryDelta,
    RetryDue,
    Role,
    TextDelta,
    ToolCall,
    Usage,
)
from atelier_desk.llm.guided import reply_builder, tool_result_answers, user_message_arguments
from atelier_desk.llm.guided.action_selection import Example, Examples, fill_prompt, selection_prompt
from atelier_desk.llm.guided.actions import (
    ADD,
    ASK,
    CALCULATE,
    CHAT,
    DONE,
    LIST,
    RECALL,
    REMEMBER,
    Action,
    action_of,
    offered,
)
from atelier_desk.llm.guided.arithmetic_detection import find
from atelier_desk.llm.guided.choice_grammar import one_of
from atelier_desk.llm.guided.language_data import LANGUAGES, detect, language, plain
from atelier_desk.llm.guided.reply_builder import Turn
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.llm.interfaces import ChatModel, Embedder

_ATTACHED = re.compile(r"(?:\A|\n\n)<(?:attached|mentioned)_\w+[ >].*", re.DOTALL)
"""Framed attachments of a message (``engine.run.reducer.state.with_files``).

Their numbers and orders are not the person's.
"""
LONGEST_MESSAGE = 2_000
"""Maximum characters of a message that are considered; the starter cannot use more."""
_COOL = 0.2
"""Default temperature of small talk."""
NEAR = 0.25
"""Below this cosine to every example a message counts as conversation."""
CLEAR = 0.2
"""Margin by which the nearest example decides without the model, compared with examples of other actions."""
_PROGRAM = ("[Note from the program]", "[Summary of the conversation so far]")
_CHAT_TOKENS = 160
_CHAT_TURNS = 4
_CHUNK = 24
_FRAMED = (LIST, ADD, DONE, REMEMBER, RECALL, ASK)
"""The order in which frames are tried, narrowest first."""


class GuidedModel:
    """Wraps the starter model.

    Args:
        model: answers raw prompts under a grammar (``ChatRequest.raw_prompt``), as the local provider does.
        embedder: finds the nearest examples; None compares words instead.
        language: default language of messages, ``en`` or ``fr``.
    """

    def __init__(self, model: ChatModel, embedder: Embedder | None, language: str = "en") -> None:
        self._model = model
        self._examples = Examples.shared(embedder)
        self._default_language = language

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """Answer the last user message, or the tool results after it.

        Raises:
            ProviderError: as the model's; ``no_message`` if the request has no user message.
        """
        asked = next(
            (index for index in reversed(range(len(request.messages))) if _from_person(request.messages[index])), None
        )
        if asked is None:
            raise ProviderError(N_("The request contains no user message."), code="no_message")
        said = request.messages[asked].content
        text = plain(_ATTACHED.sub("", said) or said)[:LONGEST_MESSAGE]
        words = language(detect(text, self._default_language))
        actions = offered(request.tools)
        turn = Turn(request, words, text, actions, find(text, words))
        done = _last_result(request.messages[asked + 1 :])
        if done is not None:
            reply = self._after(turn, *done)
            async for delta in _as_stream(reply):
                yield delta
            return
        if (canned := _smalltalk(turn)) is not None:
            async for delta in _as_stream(canned):
                yield delta
            return
        async with aclosing(self._act(turn)) as deltas:
            async for delta in deltas:
                yield delta

    async def _act(self, turn: Turn) -> AsyncGenerator[ChatDelta, None]:
        async with aclosing(self._decide(turn)) as waits:
            async for waiting in waits:
                yield waiting
        if turn.action is CHAT:
            async with aclosing(self._chat(turn)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        async for delta in _as_stream(reply_builder.reply(turn)):
            yield delta

    async def _decide(self, turn: Turn) -> AsyncGenerator[RetryDelta | RetryDue, None]:
        """Set the turn's action and argument; yields only the model's waits."""
        action = _by_pattern(turn)
        if action is None:
            allowed = _possible(turn)
            nearest = await self._examples.nearest(turn.text, turn.language, allowed)
            labels = _labels(nearest)
            async with aclosing(self._choose(turn, selection_prompt(turn.text, nearest), labels)) as waits:
                async for waiting in waits:
                    yield waiting
            action = turn.actions[turn.chosen]
        turn.action = action
        if action is CALCULATE:
            candidates: Sequence[str] = turn.arithmetic.candidates[: 1 if turn.arithmetic.certain else None]
        elif action.argument and action is not DONE:
            candidates = _arguments(turn, action)
        else:
            return
        if not candidates:
            return
        prompt = fill_prompt(
            turn.text, turn.language.fill.get(action.name, []), turn.language.data["fill_label"].get(action.name, "")
        )
        async with aclosing(self._choose(turn, prompt, candidates)) as waits:
            async for waiting in waits:
                yield waiting
        turn.argument = turn.chosen

    async def _choose(
        self, turn: Turn, prompt: str, choices: Sequence[str]
    ) -> AsyncGenerator[RetryDelta | RetryDue, None]:
        """Set ``turn.chosen`` to the model's choice; a single choice needs no model.

        The grammar is not trusted: an invalid reply counts as the first choice.
        """
        turn.chosen = choices[0]
        if len(choices) == 1:
            return
        request = ChatRequest(
            model=turn.request.model,
            messages=(),
            raw_prompt=prompt,
            grammar=one_of(choices),
            temperature=0.0,
            max_tokens=96,
            stop=("\n",),
            retry=turn.request.retry,
        )
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, RetryDelta | RetryDue):
                    yield delta
                elif isinstance(delta, ReplyDone):
                    said = delta.reply.content.strip()
                    turn.usage += delta.reply.usage or Usage()
                    turn.chosen = said if said in choices else choices[0]

    async def _chat(self, turn: Turn) -> AsyncGenerator[ChatDelta, None]:
        """Small talk: the model's own words in English; in French, which it cannot write, its abilities."""
        if turn.language.code != "en":
            notice = turn.language.text("notice", help=turn.language.help(_abilities(turn)))
            async for delta in _as_stream(reply_builder.text(turn, notice)):
                yield delta
            return
        spoken = [
            message
            for message in turn.request.messages
            if message.role in (Role.USER, Role.ASSISTANT) and message.content
        ]
        system = ChatMessage(role=Role.SYSTEM, content=turn.language.text("system"))
        request = turn.request.model_copy(
            update={
                "messages": (system, *spoken[-_CHAT_TURNS:]),
                "tools": (),
                "temperature": _COOL if turn.request.temperature is None else min(turn.request.temperature, 0.3),
                "max_tokens": min(turn.request.max_tokens, _CHAT_TOKENS),
            }
        )
        async with aclosing(self._model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, ReplyDone):
                    usage = turn.usage + (delta.reply.usage or Usage())
                    yield ReplyDone(reply=delta.reply.model_copy(update={"usage": usage}))
                else:
                    yield delta

    def _after(self, turn: Turn, call: ToolCall, result: ChatMessage) -> ChatReply:
        """Return the reply to a result: complete the task found, perform the confirmed write, or answer."""
        data = tool_result_answers.parse(result.content)
        finished = (
            user_message_arguments.framed(turn.text, DONE.name, turn.language)
            if action_of(call, turn.request.tools) is LIST
            else None
        )
        if finished is not None and data.get("success") and DONE.name in turn.actions and _by_pattern(turn) is DONE:
            return reply_builder.completing(turn, finished, tool_result_answers.open_task(data, finished))
        pending = reply_builder.confirmed(turn, call)
        if pending is None:
            return reply_builder.text(
                turn, tool_result_answers.answer(call, result, turn.language, action_of(call, turn.request.tools))
            )
        action, argument = pending
        yes = turn.language.text("yes")
        agreed = (
            yes in tool_result_answers.chosen(call, data)
            or str(data.get("textResponse") or data.get("response") or "").strip().lower() == yes.lower()
        )
        if data.get("success") and agreed and action.name in turn.actions:
            return reply_builder.writing(turn, action, argument)
        return reply_builder.text(turn, turn.language.text("declined"))


def _from_person(message: ChatMessage) -> bool:
    """Whether a person wrote it: the program's notes and summaries are in brackets, also in the user role."""
    return message.role is Role.USER and not message.content.startswith(_PROGRAM)


def _arguments(turn: Turn, action: Action) -> list[str]:
    """Return candidate arguments.

    From a frame or quotation marks, the message for a search, otherwise all its spans.
    """
    found = user_message_arguments.framed(turn.text, action.name, turn.language) or user_message_arguments.quoted(
        turn.text
    )
    if not found and action is RECALL:
        found = user_message_arguments.clean(turn.text, turn.language)
    return [found] if found else user_message_arguments.spans(turn.text, turn.language)


def _by_pattern(turn: Turn) -> Action | None:
    """Return the action a message is plainly worded for, None if a model has to decide."""
    for action in _FRAMED:
        if (
            action.name in turn.actions
            and user_message_arguments.framed(turn.text, action.name, turn.language) is not None
        ):
            return action
    if CALCULATE.name in turn.actions and turn.arithmetic.certain:
        asks = turn.language.compile(turn.language.data["arithmetic"]["question"]).search(turn.text)
        if asks or turn.arithmetic.bare:
            return CALCULATE
    return None


def _possible(turn: Turn) -> list[str]:
    """Return possible actions: no calculation without numbers, no question is a fact, none completes a task unasked."""
    impossible = {DONE.name}
    if not turn.arithmetic.candidates:
        impossible.add(CALCULATE.name)
    if turn.language.question.search(turn.text):
        impossible.add(REMEMBER.name)
    return [name for name in turn.actions if name not in impossible]


def _labels(nearest: Sequence[Example]) -> list[str]:
    """Return actions to choose from: of the nearest examples, nearest first; one if clear; chat if nothing is near."""
    if not nearest or nearest[0].similarity < NEAR:
        return [CHAT.name]
    first = nearest[0]
    rival = max((example.similarity for example in nearest if example.action != first.action), default=0.0)
    if first.similarity - rival >= CLEAR:
        return [first.action]
    return list(dict.fromkeys(example.action for example in nearest))


def _smalltalk(turn: Turn) -> ChatReply | None:
    """Return the canned reply to a greeting, thanks and similar, if the whole message is one.

    It determines the language itself.
    """
    bare = turn.text.strip(" \t,;:.!?…-")
    for code in dict.fromkeys((turn.language.code, *LANGUAGES)):
        words = language(code)
        for pattern, name in words.smalltalk:
            if pattern.match(bare):
                able = words.help(_abilities(turn))
                return reply_builder.text(turn, able if name == "help" else words.text(name, help=able))
    return None


def _abilities(turn: Turn) -> list[str]:
    """Return the offered actions worth telling a person."""
    return [name for name in turn.actions if name != CHAT.name] or [CHAT.name]


def _last_result(messages: Sequence[ChatMessage]) -> tuple[ToolCall, ChatMessage] | None:
    """Return the last tool result of this turn and its call."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in reversed(messages):
        if message.role is Role.TOOL:
            call = calls.get(message.tool_call_id or "")
            return call or ToolCall(id=message.tool_call_id or "", name=message.name or ""), message
    return None


async def _as_stream(reply: ChatReply) -> AsyncGenerator[ChatDelta, None]:
    """Stream a complete reply."""
    for start in range(0, len(reply.content), _CHUNK):
        yield TextDelta(content=reply.content[start : start + _CHUNK])
    yield ReplyDone(reply=reply)

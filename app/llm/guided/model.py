"""A chat model made of one too small to call tools: it selects an action, fills it from the user's words, and answers by template.

What comes out are ordinary replies: text, or one tool call a turn. The model itself is asked for little, always under a grammar: which
action, and which part of the message, when no pattern can tell. Measured reasons are in the reference on the starter model.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from app.domain.base import new_id
from app.domain.chat import (
    ChatDelta,
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ReplyDone,
    RetryDelta,
    Role,
    TextDelta,
    ToolCall,
    Usage,
)
from app.domain.errors import ProviderError
from app.i18n import N_
from app.llm.guided import answers, fill
from app.llm.guided.actions import ADD, ASK, CALCULATE, CHAT, LIST, RECALL, REMEMBER, Action, action_of, offered
from app.llm.guided.arithmetic import Arithmetic, find
from app.llm.guided.grammar import one_of
from app.llm.guided.language import Language, detect, language, plain
from app.llm.guided.select import Example, Examples, fill_prompt, selection_prompt

if TYPE_CHECKING:
    from app.llm.base import ChatModel, Embedder

LONGEST_MESSAGE = 2_000
"""Characters of a message that are looked at; the starter cannot make use of more."""
NEAR = 0.25
"""Below this cosine to every example a message is taken for conversation."""
CLEAR = 0.2
"""So much nearer than any example of another action, the nearest example decides without the model."""
_PROGRAM = ("[Note from the program]", "[Summary of the conversation so far]")
_CHAT_TOKENS = 160
_CHAT_TURNS = 4
_CHUNK = 24
_RECALL_LIMIT = 5
_FRAMED = (LIST, ADD, REMEMBER, RECALL, ASK)
"""The order in which frames are tried: the narrowest first."""


@dataclass
class _Turn:
    """What one reply is made from, and what it cost."""

    request: ChatRequest
    language: Language
    text: str
    actions: dict[str, Action]
    arithmetic: Arithmetic
    usage: Usage = field(default_factory=Usage)
    action: Action = CHAT
    argument: str = ""
    chosen: str = ""


class GuidedModel:
    """Wraps the starter.

    Args:
        model: answers raw prompts under a grammar (``ChatRequest.raw_prompt``); the local provider does.
        embedder: finds the nearest examples; None compares words instead.
        tools: objects with ``name`` and ``examples``, which are added to the built-in examples.
        language: of messages that do not tell theirs, ``en`` or ``fr``.
    """

    def __init__(self, model: ChatModel, embedder: Embedder | None = None, tools: Sequence[Any] = (), language: str = "en") -> None:
        self._model = model
        self._examples = Examples.shared(embedder) if not tools else Examples(embedder, tools)
        self._default_language = language

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        """Answer the last user message, or the tool results after it.

        Raises:
            ProviderError: as the model's; ``no_message`` when the request holds no user message.
        """
        asked = next((index for index in reversed(range(len(request.messages))) if _from_person(request.messages[index])), None)
        if asked is None:
            raise ProviderError(N_("The request holds no message of the user."), code="no_message")
        text = plain(request.messages[asked].content)[:LONGEST_MESSAGE]
        words = language(detect(text, self._default_language))
        actions = offered([tool.name for tool in request.tools])
        turn = _Turn(request, words, text, actions, find(text, words))
        done = _last_result(request.messages[asked + 1 :])
        if done is not None:
            reply = self._after(turn, *done)
            async for delta in _said(reply, turn):
                yield delta
            return
        if (canned := _smalltalk(turn)) is not None:
            async for delta in _said(canned, turn):
                yield delta
            return
        async with aclosing(self._act(turn)) as deltas:
            async for delta in deltas:
                yield delta

    async def _act(self, turn: _Turn) -> AsyncGenerator[ChatDelta, None]:
        async with aclosing(self._decide(turn)) as waits:
            async for waiting in waits:
                yield waiting
        if turn.action is CHAT:
            async with aclosing(self._chat(turn)) as deltas:
                async for delta in deltas:
                    yield delta
            return
        async for delta in _said(_reply(turn), turn):
            yield delta

    async def _decide(self, turn: _Turn) -> AsyncGenerator[RetryDelta, None]:
        """Set the turn's action and argument; what is yielded are the waits of the model."""
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
        elif action.argument:
            candidates = _arguments(turn, action)
        else:
            return
        if not candidates:
            return
        prompt = fill_prompt(turn.text, turn.language.fill.get(action.name, []), turn.language.data["fill_label"].get(action.name, ""))
        async with aclosing(self._choose(turn, prompt, candidates)) as waits:
            async for waiting in waits:
                yield waiting
        turn.argument = turn.chosen

    async def _choose(self, turn: _Turn, prompt: str, choices: Sequence[str]) -> AsyncGenerator[RetryDelta, None]:
        """Set ``turn.chosen`` to what the model says of the choices; a single choice needs no model.

        The grammar is not trusted: a reply that is none of the choices counts as the first.
        """
        turn.chosen = choices[0]
        if len(choices) == 1:
            return
        request = ChatRequest(
            model=turn.request.model, messages=(), raw_prompt=prompt, grammar=one_of(choices), temperature=0.0, max_tokens=96, stop=("\n",)
        )
        async with aclosing(self._asked(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, RetryDelta):
                    yield delta
                elif isinstance(delta, ReplyDone):
                    said = delta.reply.content.strip()
                    turn.usage += delta.reply.usage or Usage()
                    turn.chosen = said if said in choices else choices[0]

    def _asked(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """The model's stream, as something that can be closed: every model's stream is an asynchronous generator."""
        return cast("AsyncGenerator[ChatDelta, None]", self._model.stream(request))

    async def _chat(self, turn: _Turn) -> AsyncGenerator[ChatDelta, None]:
        """Small talk: the model's own words in English; in French, which it cannot write, what it can do."""
        if turn.language.code != "en":
            notice = turn.language.text(
                "notice", help=turn.language.help([name for name in turn.actions if name != CHAT.name] or [CHAT.name])
            )
            async for delta in _said(_text(turn, notice), turn):
                yield delta
            return
        spoken = [message for message in turn.request.messages if message.role in (Role.USER, Role.ASSISTANT) and message.content]
        system = ChatMessage(role=Role.SYSTEM, content=turn.language.text("system"))
        request = turn.request.model_copy(
            update={
                "messages": (system, *spoken[-_CHAT_TURNS:]),
                "tools": (),
                "temperature": min(turn.request.temperature, 0.3),
                "max_tokens": min(turn.request.max_tokens, _CHAT_TOKENS),
            }
        )
        async with aclosing(self._asked(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, ReplyDone):
                    usage = turn.usage + (delta.reply.usage or Usage())
                    yield ReplyDone(reply=delta.reply.model_copy(update={"usage": usage}))
                else:
                    yield delta

    def _after(self, turn: _Turn, call: ToolCall, result: ChatMessage) -> ChatReply:
        """What follows a result: the write that was just confirmed, or the answer."""
        pending = _confirmed(call, turn.language)
        if pending is None:
            return _text(turn, answers.answer(call, result, turn.language))
        action, argument = pending
        data = answers.parse(result.content)
        yes = turn.language.text("yes")
        agreed = (
            yes in answers.chosen(call, data) or str(data.get("textResponse") or data.get("response") or "").strip().lower() == yes.lower()
        )
        if data.get("success") and agreed and action.name in turn.actions:
            return _writing(turn, action, argument)
        return _text(turn, turn.language.text("declined"))


def _from_person(message: ChatMessage) -> bool:
    """Whether a person wrote it: notes and summaries of the program come in brackets, also in the user's role."""
    return message.role is Role.USER and not message.content.startswith(_PROGRAM)


def _reply(turn: _Turn) -> ChatReply:
    """The reply that carries the action's call, or a text when the message lacks what the call needs."""
    action, argument, words = turn.action, turn.argument, turn.language
    if action is LIST:
        return _calling(turn, action, {"operation": "list"})
    if not argument:
        return _text(turn, words.text("nothing", ability=words.data["abilities"][action.name]))
    if action is CALCULATE:
        return _calling(turn, action, {"operation": "eval", "expression": argument})
    if action is RECALL:
        return _calling(turn, action, {"operation": "search", "query": argument, "limit": _RECALL_LIMIT, "threshold": 0.0})
    if action is ASK:
        return _asking(turn, *fill.question_for_user(argument, words))
    if ASK.name in turn.actions and not fill.explicit(turn.text, action.name, words):
        return _confirming(turn, action, argument)
    return _writing(turn, action, argument)


def _arguments(turn: _Turn, action: Action) -> list[str]:
    """What the argument may be: what a frame or quotation marks tell, the message for a search, else all its spans."""
    found = fill.framed(turn.text, action.name, turn.language) or fill.quoted(turn.text)
    if not found and action is RECALL:
        found = fill.clean(turn.text, turn.language)
    return [found] if found else fill.spans(turn.text, turn.language)


def _by_pattern(turn: _Turn) -> Action | None:
    """The action a message is plainly worded for, None when it takes a model to tell."""
    for action in _FRAMED:
        if action.name in turn.actions and fill.framed(turn.text, action.name, turn.language) is not None:
            return action
    if CALCULATE.name in turn.actions and turn.arithmetic.certain:
        asks = turn.language.compile(turn.language.data["arithmetic"]["question"]).search(turn.text)
        if asks or turn.arithmetic.bare:
            return CALCULATE
    return None


def _possible(turn: _Turn) -> list[str]:
    """The actions a message may be meant for: no calculation without numbers, no question is a fact to remember."""
    impossible = set()
    if not turn.arithmetic.candidates:
        impossible.add(CALCULATE.name)
    if turn.language.question.search(turn.text):
        impossible.add(REMEMBER.name)
    return [name for name in turn.actions if name not in impossible]


def _labels(nearest: Sequence[Example]) -> list[str]:
    """The actions to choose from: those of the nearest examples, the nearest first; one when it is clear; chat when nothing is near."""
    if not nearest or nearest[0].similarity < NEAR:
        return [CHAT.name]
    first = nearest[0]
    rival = max((example.similarity for example in nearest if example.action != first.action), default=0.0)
    if first.similarity - rival >= CLEAR:
        return [first.action]
    return list(dict.fromkeys(example.action for example in nearest))


def _smalltalk(turn: _Turn) -> ChatReply | None:
    """The canned reply to a greeting, thanks and the like, when the whole message is one."""
    bare = turn.text.strip(" \t,;:.!?…-")
    able = [name for name in turn.actions if name != CHAT.name] or [CHAT.name]
    for pattern, name in turn.language.smalltalk:
        if pattern.match(bare):
            return _text(turn, turn.language.text(name, help=turn.language.help(able), abilities=""))
    return None


def _last_result(messages: Sequence[ChatMessage]) -> tuple[ToolCall, ChatMessage] | None:
    """The last tool result of this turn and the call it answers."""
    calls = {call.id: call for message in messages for call in message.tool_calls}
    for message in reversed(messages):
        if message.role is Role.TOOL:
            call = calls.get(message.tool_call_id or "")
            return call or ToolCall(id=message.tool_call_id or "", name=message.name or ""), message
    return None


def _text(turn: _Turn, content: str) -> ChatReply:
    return ChatReply(content=content, usage=turn.usage, model=turn.request.model)


def _calling(turn: _Turn, action: Action, arguments: dict[str, Any]) -> ChatReply:
    """The reply with one call, to the first of the action's tools that is enabled."""
    enabled = {tool.name for tool in turn.request.tools}
    name = next(tool for tool in action.tools if tool in enabled)
    call = ToolCall(id=f"call_{new_id()}", name=name, arguments=arguments)
    return ChatReply(tool_calls=(call,), usage=turn.usage, finish_reason=FinishReason.TOOL_CALLS, model=turn.request.model)


def _writing(turn: _Turn, action: Action, argument: str) -> ChatReply:
    if action is REMEMBER:
        kind = fill.memory_type(argument, turn.language)
        return _calling(turn, action, {"operation": "add", "type": kind, "content": argument})
    level, _rest = fill.take_priority(turn.text, turn.language)
    _level, name = fill.take_priority(argument, turn.language)
    arguments = {"operation": "create", "name": (name or argument)[:128]}
    return _calling(turn, action, arguments if level is None else {**arguments, "priority": level})


def _asking(turn: _Turn, question: str, options: Sequence[str]) -> ChatReply:
    """A question to the user, through whichever of the two tools is enabled."""
    if "UserQuestionTool" not in {tool.name for tool in turn.request.tools}:
        arguments: dict[str, Any] = {"question": question}
        return _calling(turn, ASK, {**arguments, "options": list(options)} if options else arguments)
    arguments = {"operation": "ask", "question": question, "questionType": "checkbox" if options else "text"}
    if options:
        arguments["options"] = [{"id": str(number), "label": option} for number, option in enumerate(options, 1)]
    return _calling(turn, ASK, arguments)


def _confirming(turn: _Turn, action: Action, argument: str) -> ChatReply:
    """A question whether to write; the question itself holds the argument, so that nothing else need be remembered."""
    words = turn.language
    return _asking(turn, words.text(f"confirm_{action.name}", text=argument), (words.text("yes"), words.text("no")))


def _confirmed(call: ToolCall, words: Language) -> tuple[Action, str] | None:
    """The write a confirming question was about, None for any other call."""
    if action_of(call.name, call.arguments) is not ASK:
        return None
    question = str(call.arguments.get("question", ""))
    for action in (ADD, REMEMBER):
        before, _, after = words.data["texts"][f"confirm_{action.name}"].partition("{text}")
        if question.startswith(before) and question.endswith(after):
            return action, question[len(before) : len(question) - len(after)]
    return None


async def _said(reply: ChatReply, turn: _Turn) -> AsyncIterator[ChatDelta]:
    """A reply that is whole already, as a stream."""
    for start in range(0, len(reply.content), _CHUNK):
        yield TextDelta(content=reply.content[start : start + _CHUNK])
    yield ReplyDone(reply=reply)

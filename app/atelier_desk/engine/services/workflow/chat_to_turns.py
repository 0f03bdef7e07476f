"""Convert the tree of a chat to turns: a message of the person with its answer, each after its predecessor. Pure.

Exports are untrusted: messages may follow themselves or missing ones, and clocks may run backwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import heappop, heappush

from atelier_desk.domain.imported_chat import Chat, ChatMessageNode
from atelier_desk.tools.calls.stable_record_ids import stable_id

TEXT_MOST = 64 * 1024**2
"""Maximum characters of all turns of one chat: a long message with many answers is in each turn."""
FILE_TEXT_LEAST, FILE_TEXT_TIMES = 16 * 1024**2, 4
"""Maximum characters of all turns of one file: the larger of a number and a multiple of its bytes uncompressed."""


@dataclass(frozen=True)
class Turn:
    """A turn.

    ``id`` is derived from the chat and its last message, so that it is the same in every export; ``previous`` is the
    preceding turn. ``asked`` is None for an answer without a question.
    """

    id: str
    previous: str
    asked: ChatMessageNode | None
    answers: tuple[ChatMessageNode, ...]
    began: datetime | None
    ended: datetime | None


class TextLimit:
    """The characters that the turns of a file of ``size`` bytes may still have: ``left``."""

    def __init__(self, size: int) -> None:
        self.left = max(FILE_TEXT_LEAST, FILE_TEXT_TIMES * size)


@dataclass
class _Open:
    """An unfinished turn."""

    previous: str = ""
    asked: ChatMessageNode | None = None
    answers: list[ChatMessageNode] = field(default_factory=list)


def workflow_id(key: str) -> str:
    """Return the id of the workflow for a chat with this ``Chat.key``."""
    return stable_id(_valid_text(key), "imported chat")


def turn_id(key: str, message_id: str) -> str:
    """Return the id of the turn that ends with a message of the chat."""
    return stable_id(_valid_text(f"{key}\x00{message_id}"), "imported turn")


def _valid_text(text: str) -> str:
    """Replace lone surrogates, which cannot be hashed."""
    return text.encode("utf-8", "backslashreplace").decode()


def linked(parents: Mapping[str, str], real: Set[str] | Mapping[str, object]) -> dict[str, str]:
    """Return, for each real message, its nearest real ancestor, empty for none.

    Intermediate ones are skipped, and cycles begin at the first visited message.
    """
    found: dict[str, str] = {}
    for start in real:
        path: list[str] = []
        at, seen = parents.get(start, ""), {start}
        while at and at in parents and at not in real and at not in seen and at not in found:
            seen.add(at)
            path.append(at)
            at = parents[at]
        end = found[at] if at in found and at not in real else at if at in real else ""
        for passed in path:
            found[passed] = end
        found[start] = end
    return {each: found[each] if found[each] != each else "" for each in real}


def in_order(nodes: Iterable[ChatMessageNode]) -> tuple[ChatMessageNode, ...]:
    """Return all messages, each after its parent, otherwise by time. Times never decrease."""
    given = {each.id: each for each in nodes}
    places = {each: number for number, each in enumerate(given)}
    children: dict[str, list[str]] = {}
    for each in given.values():
        children.setdefault(each.parent if each.parent in given else "", []).append(each.id)
    found: dict[str, ChatMessageNode] = {}
    ready: list[tuple[float, int, str]] = []

    def release(parent: str) -> None:
        before = found[parent].time if parent else None
        for each in children.get(parent, ()):
            node = given[each]
            time = max(filter(None, (before, node.time)), default=None)
            given[each] = replace(node, parent=parent, time=time)
            heappush(ready, (time.timestamp() if time else 0.0, places[each], each))

    def drain() -> None:
        while ready:
            _time, _place, each = heappop(ready)
            if each not in found:
                found[each] = given[each]
                release(each)

    release("")
    drain()
    for first, node in list(given.items()):
        if first not in found:  # part of a cycle: it becomes the start
            given[first] = replace(node, parent="")
            heappush(ready, (0.0, places[first], first))
            drain()
    return tuple(found.values())


def turns(chat: Chat, known: Collection[str], limit: TextLimit) -> list[Turn]:
    """Return the turns of a chat that are not ``known``, each after its predecessor, and count them in ``limit``.

    Raises:
        OverflowError: they have more characters than ``TEXT_MOST``, or than its file may still have.
    """
    children: dict[str, list[ChatMessageNode]] = {}
    for node in chat.nodes:
        children.setdefault(node.parent, []).append(node)
    result: list[Turn] = []
    length = 0
    waiting: list[tuple[ChatMessageNode, _Open]] = [(node, _Open()) for node in reversed(children.get("", []))]
    while waiting:
        node, turn = waiting.pop()
        if node.role == "user":
            turn = _Open(turn.previous, node)
        else:
            turn.answers.append(node)
        following = children.get(node.id, [])
        ended = turn_id(chat.key, node.id)
        asked_again = node.role == "user" and following and all(each.role == "assistant" for each in following)
        goes_on = len(following) == 1 and following[0].role == "assistant" and ended not in known
        if asked_again and ended not in known:
            # Each answer to the same message is a version of the turn.
            waiting += [(each, _Open(turn.previous, node)) for each in reversed(following)]
            continue
        if goes_on:
            waiting.append((following[0], turn))
            continue
        waiting += [(each, _Open(ended)) for each in reversed(following)]
        if ended in known:
            continue
        made = _ended(ended, turn)
        length += sum(
            len(each.text) + len(each.reasoning) for each in (*([turn.asked] if turn.asked else []), *turn.answers)
        )
        if length > min(TEXT_MOST, limit.left):
            raise OverflowError(chat.key)
        result.append(made)
    limit.left -= length
    by_time = sorted(enumerate(result), key=lambda each: (each[1].began.timestamp() if each[1].began else 0.0, each[0]))
    return [turn for _place, turn in by_time]


def _ended(id: str, turn: _Open) -> Turn:
    nodes = [*([turn.asked] if turn.asked else []), *turn.answers]
    return Turn(id, turn.previous, turn.asked, tuple(turn.answers), nodes[0].time, nodes[-1].time)

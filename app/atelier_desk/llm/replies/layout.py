"""The order of the parts of a reply, kept as what is not in the reply itself. Pure.

Servers want their thoughts back between the very texts and calls between which they came. A layout is a list of blocks of
``provider_data``: of a text its length, of a call that it stood there, since both are in the reply; anything else is kept whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Block = dict[str, Any]
TEXT, CALL = "text", "tool_use"
"""Types of blocks that are not kept whole. A text has ``length``, in characters, and ``gap``: characters before it that are not the
model's; both may have more fields."""
GAP = "\n\n"
"""Stands between texts, and between thoughts, that came in parts of their own."""


def laid_out(
    kept: Any,
    content: str,
    calls: Sequence[Block],
    *,
    text: Callable[[str, Block], Sequence[Block]],
    call: Callable[[Block, Block], Block] = lambda call, _block: call,
) -> list[Block] | None:
    """Texts, calls and the rest in the order in which they came; None when text or calls are no longer those that came.

    Args:
        kept: what ``provider_data`` holds, which may be anything.
        calls: in the server's form, as many as there are.
        text: a text in the server's form, given with its block; ``call`` is given a call with its block.
    """
    layout = blocks_of(kept)
    lengths = [block.get(field, 0) for block in layout for field in ("gap", "length") if block.get("type") == TEXT]
    came = sum(1 for block in layout if block.get("type") == CALL)
    if came != len(calls) or not all(isinstance(length, int) and length >= 0 for length in lengths) or sum(lengths) != len(content):
        return None
    out: list[Block] = []
    at, waiting = 0, iter(calls)
    for block in layout:
        if block.get("type") == TEXT:
            at += block.get("gap", 0)
            out += text(content[at : at + block.get("length", 0)], block)
            at += block.get("length", 0)
        else:
            out.append(call(next(waiting), block) if block.get("type") == CALL else block)
    return out


def blocks_of(kept: Any) -> list[Block]:
    """The blocks of a layout; none of what is no layout."""
    return [block for block in kept if isinstance(block, dict)] if isinstance(kept, list) else []


def gap_before(blocks: Iterable[Block]) -> str:
    """What to put before the next text of a reply that has these blocks."""
    return GAP if any(block.get("length") for block in blocks) else ""

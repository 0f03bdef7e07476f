"""Store the order of a reply's parts without duplicating its content. Pure.

Servers expect reasoning back exactly between the texts and calls where it occurred. A layout is a list of blocks in
``provider_data``: for a text its length, for a call its position, since both are in the reply; anything else is stored
completely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Block = dict[str, Any]
TEXT, CALL = "text", "tool_use"
"""Types of blocks without their content.

A text has ``length`` in characters, and ``gap``: preceding characters that are not the model's; both may have more
fields.
"""
GAP = "\n\n"
"""Separator between texts, and between reasoning parts, that came separately."""


def laid_out(
    kept: Any,
    content: str,
    calls: Sequence[Block],
    *,
    text: Callable[[str, Block], Sequence[Block]],
) -> list[Block] | None:
    """Return texts, calls and other blocks in their original order; None if text or calls have changed.

    Args:
        kept: content of ``provider_data``, possibly anything.
        calls: in the server's format, all of them.
        text: converts a text and its block to the server's format.
    """
    layout = blocks_of(kept)
    lengths = [block.get(field, 0) for block in layout for field in ("gap", "length") if block.get("type") == TEXT]
    came = sum(1 for block in layout if block.get("type") == CALL)
    if (
        came != len(calls)
        or not all(isinstance(length, int) and length >= 0 for length in lengths)
        or sum(lengths) != len(content)
    ):
        return None
    out: list[Block] = []
    at, waiting = 0, iter(calls)
    for block in layout:
        if block.get("type") == TEXT:
            at += block.get("gap", 0)
            out += text(content[at : at + block.get("length", 0)], block)
            at += block.get("length", 0)
        else:
            out.append(next(waiting) if block.get("type") == CALL else block)
    return out


def blocks_of(kept: Any) -> list[Block]:
    """Return the blocks of a layout; empty for invalid data."""
    return [block for block in kept if isinstance(block, dict)] if isinstance(kept, list) else []


def gap_before(blocks: Iterable[Block]) -> str:
    """Return the separator before the next text of a reply with these blocks."""
    return GAP if any(block.get("length") for block in blocks) else ""

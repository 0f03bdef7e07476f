"""The benchmark's conversations: turns that are stored as memories, and questions whose evidence is known.

The data file begins with a description of its format.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from atelier_desk.domain.memory import Memory, MemoryType

DATA = Path(__file__).with_name("data") / "conversations.txt"


class Asked(NamedTuple):
    """A question and the ids of the turns that answer it, ``evidence``.

    ``kind`` is ``plain``, ``next to`` (the answer needs the turn before or after), ``near`` (never mentioned, but about
    these people) or ``foreign`` (about something that was never mentioned).
    """

    kind: str
    text: str
    evidence: tuple[str, ...] = ()


def read() -> tuple[list[Memory], list[Asked]]:
    """All turns, by conversation, and all questions."""
    turns: list[Memory] = []
    asked: list[Asked] = []
    name, day = "", datetime(2026, 1, 1, tzinfo=UTC)
    for line in DATA.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("== "):
            name, *date = line[3:].split()
            day = datetime.fromisoformat(date[0]).replace(tzinfo=UTC) if date else day
            number = 0
        elif line.startswith("! "):
            asked.append(Asked("foreign" if name == "foreign" else "near", line[2:]))
        elif line[:2] in ("? ", "~ "):
            text, _, evidence = line[2:].rpartition(" | ")
            ids = tuple(f"{name}-{int(each)}" for each in evidence.split(","))
            asked.append(Asked("plain" if line[0] == "?" else "beside", text, ids))
        else:
            number += 1
            speaker, _, text = line.partition(": ")
            time = day + timedelta(minutes=number)
            turn = Memory(
                id=f"{name}-{number}",
                type=MemoryType.CONTEXT,
                content=text,
                run_id=name,
                agent_source=speaker,
                created_at=time,
                updated_at=time,
            )
            turns.append(turn)
    return turns, asked

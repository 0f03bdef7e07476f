"""The process that draws formulas and diagrams: both are pure Python and would hold up the window's thread from any other thread of it.

Reads one JSON array a line, ``["formula" | "diagram", source]``, and answers each with one line: what was drawn, null when it is broken.
It ends when its input does. No Qt.
"""

from __future__ import annotations

import json
import sys

from atelier_desk.desktop.chat.markdown.math import body_of

EM = 16.0
"""Pixels of the letter size that formulas are made in; they are scaled when they are shown."""
LONGEST = {"formula": 2_000, "diagram": 5_000}
"""Characters; what is longer is shown as its source."""

CPU_S = 10
"""Seconds of work that one drawing may take: also when the window that would end the process was killed."""
MEMORY = 1 << 30
"""Bytes the process may ask for; what needs more is broken."""
LONGEST_ANSWER = 2_000_000
"""Characters of what was drawn."""


def formula(source: str) -> str:
    """SVG of a formula with its marks, in black."""
    import ziamath

    ziamath.config.svg2 = False  # QtSvg draws only the bars of ``symbol`` and ``use``
    body, display = body_of(source)
    return str(ziamath.Latex(body, size=EM, inline=not display).svg())


def diagram(source: str) -> str:
    """A Mermaid diagram drawn with the letters of boxes and lines; empty for a kind that cannot be drawn so."""
    import termaid

    return str(termaid.render(source)).strip("\n")


def draw(kind: str, source: str) -> str | None:
    """What is drawn; None when the source is broken or too long."""
    if len(source) > LONGEST[kind]:
        return None
    try:
        drawn = (formula if kind == "formula" else diagram)(source)
        return drawn if 0 < len(drawn) <= LONGEST_ANSWER else None
    except Exception:  # whatever a broken source makes of a library that expects whole ones
        return None


def bound() -> None:
    """Let the system end the process when the next drawing takes too long, and refuse it too much memory, where the system can."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        for limit, most in ((resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + CPU_S), (resource.RLIMIT_AS, MEMORY)):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
    except (ImportError, OSError, ValueError):
        return  # Windows has no such limits, and an owner may have set lower ones


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # nothing that a library prints is taken for an answer
    for line in sys.stdin:
        kind, source = json.loads(line)
        bound()
        answers.write(json.dumps(draw(kind, source)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()

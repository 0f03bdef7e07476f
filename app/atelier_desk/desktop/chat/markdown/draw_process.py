"""The process that draws formulas and diagrams: both are pure Python and would hold up the window's thread from any other thread of it.

It is asked with ``["formula" | "diagram", source]`` and answers with what was drawn, null when it is broken. No Qt.
"""

from __future__ import annotations

from atelier_desk.markdown.math import body_of
from atelier_desk.support.worker.child import serve

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


def main() -> None:
    """Answer ``[kind, source]`` with what is drawn."""
    serve(lambda request, _data, _tell: draw(*request), memory=MEMORY, cpu_s=CPU_S + 1)


if __name__ == "__main__":
    main()

"""The process that draws formulas and diagrams: what untrusted sources make of the libraries cannot hold up or end the window.

It is asked with ``["formula" | "diagram" | "dark diagram", source]`` and answers with what was drawn (SVG; PNG in base64), null when it is
broken. No Qt.
"""

from __future__ import annotations

import base64

from atelier_desk.markdown.math import body_of
from atelier_desk.support.worker.child import serve

EM = 16.0
"""Pixels of the letter size that formulas are made in; they are scaled when they are shown."""
LONGEST = {"formula": 2_000, "diagram": 10_000, "dark diagram": 10_000}
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


def diagram(source: str, *, dark: bool = False) -> str:
    """PNG of a Mermaid diagram, in base64."""
    from atelier_desk.desktop.chat.markdown.mermaid import diagram_png

    return base64.b64encode(diagram_png(source, dark=dark)).decode()


def draw(kind: str, source: str) -> str | None:
    """What is drawn; None when the source is broken or too long."""
    if len(source) > LONGEST[kind]:
        return None
    try:
        drawn = formula(source) if kind == "formula" else diagram(source, dark=kind == "dark diagram")
        return drawn if 0 < len(drawn) <= LONGEST_ANSWER else None
    except Exception:  # whatever a broken source makes of a library that expects whole ones
        return None


def main() -> None:
    """Answer ``[kind, source]`` with what is drawn."""
    serve(lambda request, _data, _tell: draw(*request), memory=MEMORY, cpu_s=CPU_S + 1)


if __name__ == "__main__":
    main()

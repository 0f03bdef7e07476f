"""The process that draws formulas and diagrams: untrusted input to these libraries cannot block or crash the window.

Requests are ``["formula" | "diagram" | "dark diagram", source]``; the answer is the drawing (SVG, or PNG in base64),
null if the source is invalid. No Qt.
"""

from __future__ import annotations

import base64

from atelier_desk.markdown.math import body_of
from atelier_desk.support.worker.child import serve

EM = 16.0
"""Font size in pixels at which formulas are drawn; they are scaled for display."""
SCALE = 2.0
"""Image pixels per pixel of a diagram; its text is 16 pixels high: sharp at 200 %."""
LONGEST = {"formula": 2_000, "diagram": 10_000, "dark diagram": 10_000}
"""Maximum characters by kind; longer ones are shown as source."""

CPU_S = 10
"""CPU seconds per drawing, enforced by the system: also when the window that would end the process was killed."""
MEMORY = 1 << 30
"""Maximum bytes of memory of the process; drawings that need more fail."""
LONGEST_ANSWER = 2_000_000
"""Maximum characters of a drawing."""


def formula(source: str) -> str:
    """SVG of a formula, in black."""
    import ziamath

    ziamath.config.svg2 = False  # QtSvg draws only the bars of ``symbol`` and ``use``
    body, display = body_of(source)
    return str(ziamath.Latex(body, size=EM, inline=not display).svg())


def diagram(source: str, *, dark: bool = False) -> str:
    """PNG of a Mermaid diagram, in base64."""
    from atelier_desk.desktop.chat.markdown.mermaid import diagram_png

    return base64.b64encode(diagram_png(source, dark=dark, scale=SCALE)).decode()


def draw(kind: str, source: str) -> str | None:
    """The drawing; None if the source is invalid or too long."""
    if len(source) > LONGEST[kind]:
        return None
    try:
        drawn = formula(source) if kind == "formula" else diagram(source, dark=kind == "dark diagram")
        return drawn if 0 < len(drawn) <= LONGEST_ANSWER else None
    except Exception:  # the libraries raise anything on invalid sources
        return None


def main() -> None:
    """Answer ``[kind, source]`` requests with drawings."""
    serve(lambda request, _data, _tell: draw(*request), memory=MEMORY, cpu_s=CPU_S + 1)


if __name__ == "__main__":
    main()

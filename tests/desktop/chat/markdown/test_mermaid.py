"""Diagrams from untrusted text: what is drawn, and what stays code."""

from __future__ import annotations

import base64
import struct
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from atelier_desk.desktop.chat.markdown import mermaid
from atelier_desk.desktop.chat.markdown.draw_process import draw
from tests.helpers.pixel_colours import colours

pytest.importorskip("mmdr", reason="there is no wheel for this system")

KINDS = {
    "flowchart": "flowchart LR\n A[Start] --> B{Ready?}\n B -->|yes| C[(Store)]",
    "sequence": "sequenceDiagram\n A->>B: Hello\n loop each\n B-->>A: Hi\n end",
    "class": "classDiagram\n Animal <|-- Duck\n Animal : +int age",
    "state": "stateDiagram-v2\n [*] --> Still\n Still --> [*]",
    "entities": "erDiagram\n CUSTOMER ||--o{ ORDER : places",
    "gantt": "gantt\n dateFormat YYYY-MM-DD\n One :a1, 2026-01-01, 30d",
    "pie": 'pie title Pets\n "Dogs" : 386\n "Cats" : 85',
    "mindmap": "mindmap\n root((Atelier))\n  Agents",
    "front matter": "---\ntitle: Hi\nconfig:\n  theme: forest\n---\nflowchart LR\n A-->B",
    "accents": "flowchart LR\n A[Résumé : été] --> B[naïve œuvre]",
    "half a letter": "flowchart LR\n A[a\ud800b] --> B",
    "emoji": "flowchart LR\n A[\U0001f4c4 Report] --> B[✅ Done]",
}


def image(source: str, *, dark: bool = False) -> QImage | None:
    drawn = draw("dark diagram" if dark else "diagram", source)
    return QImage.fromData(base64.b64decode(drawn)) if drawn else None


@pytest.mark.parametrize("source", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("dark", "ground"), [(False, "#ffffff"), (True, "#1e1f24")])
def test_each_kind_is_drawn_on_the_themes_background(source: str, dark: bool, ground: str) -> None:
    drawn = image(source, dark=dark)
    assert drawn is not None
    assert drawn.pixelColor(0, 0).name() == ground
    assert len(colours(drawn)) > 5, "the picture is not empty"


def test_custom_colours_are_drawn_on_white_and_a_custom_theme_is_ignored() -> None:
    own = image("flowchart LR\n A[a]-->B[b]\n style A fill:#ff99cc", dark=True)
    asked = image("%%{init: {'theme': 'default'}}%%\nflowchart LR\n A[a]-->B[b]", dark=True)
    assert own is not None
    assert asked is not None
    assert own.pixelColor(0, 0).name() == "#ffffff"
    assert "#ff99cc" in colours(own)
    assert "#ececff" not in colours(asked), "the light theme's boxes"


@pytest.mark.parametrize(
    "source",
    [
        "",
        "nonsense",
        "flowchart LR\n A" + "(" * 2_000,
        "<!DOCTYPE a [<!ENTITY b 'c'>]>\nflowchart LR\n A-->B",
        "graph TD\n" + "".join(f"subgraph s{each}\n" for each in range(300)) + "A\n" + "end\n" * 300,
        "flowchart TD\n" + "\n".join(f"n{each}-->n{each * 7 % 400}" for each in range(300)),
        "flowchart LR\n" + "\n".join(f"n{each}-->n{each + 1}" for each in range(400)),
        "sequenceDiagram\n" + "\n".join(f"A{each}->>A{each + 1}: x" for each in range(250)),
        "flowchart LR\n A[" + "x" * 6_000 + "]",
        "flowchart LR\n A[" + "x" * 20_000 + "]",
        "flowchart LR\n A[שלום]-->B",
        "flowchart LR\n A[مرحبا]-->B",
    ],
    ids=lambda source: repr(source[:30]),
)
def test_broken_too_large_or_fontless_diagrams_stay_code(source: str) -> None:
    assert draw("diagram", source) is None


@pytest.mark.parametrize(
    "wish",
    [
        'flowchart TD\n A@{{ img: "{url}", label: "x", w: 60, h: 60 }} --> B',
        "flowchart TD\n A[\"<img src='{url}'/>hey\"] --> B",
        '%%{{init: {{"themeCSS": ".node rect{{fill:url({url})}} @import \'{url}\';"}}}}%%\nflowchart TD\n A-->B',
        'flowchart TD\n A-->B\n click A "{url}" _blank',
        "flowchart TD\n A[\"<script>location='{url}'</script><iframe src='{url}'></iframe>x\"] --> B",
    ],
)
def test_nothing_named_in_the_source_is_loaded(wish: str, tmp_path: Path) -> None:
    """The named image is red: if it were loaded, the drawing would change."""
    red = QImage(60, 60, QImage.Format.Format_RGB32)
    red.fill(QColor("#ff0000"))
    path = tmp_path / "red.png"
    assert red.save(str(path))
    drawn = [draw("diagram", wish.format(url=url)) for url in (path.as_uri(), (tmp_path / "not.png").as_uri())]
    assert drawn[0] == drawn[1]
    if drawn[0]:
        assert "#ff0000" not in colours(QImage.fromData(base64.b64decode(drawn[0])))


def _collection(font: bytes) -> bytes:
    """A font as the only one of a collection (``.ttc``), like the system's Chinese and Japanese ones."""
    head = bytearray(b"ttcf" + struct.pack(">HHII", 1, 0, 1, 16) + font[:12])
    tables = struct.unpack(">H", font[4:6])[0]
    for each in range(tables):
        name, check, start, length = struct.unpack(">4sIII", font[12 + 16 * each : 28 + 16 * each])
        head += struct.pack(">4sIII", name, check, start + 16, length)
    return bytes(head) + font[12 + 16 * tables :]


def test_letters_missing_in_the_usual_font_come_from_a_system_font(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's fonts are replaced by one that claims to be the only font with ``ж``."""
    serif = next(Path("/usr/share/fonts").rglob("DejaVuSerif.ttf"), None) if sys.platform == "linux" else None
    if serif is None:
        pytest.skip("this font is not here")
    source = "flowchart LR\n A[жж] --> B[Latin]"
    usual = draw("diagram", source)
    monkeypatch.setattr(mermaid, "_letters", lambda: frozenset(map(chr, range(0x20, 0x250))))
    monkeypatch.setattr(mermaid, "_LINUX", (str(tmp_path),))
    mermaid._wide_letters.cache_clear()
    assert draw("diagram", source) is None, "boxes instead of letters are unreadable"
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "NotoSansCJK-Regular.ttc").write_bytes(_collection(serif.read_bytes()))
    mermaid._wide_letters.cache_clear()
    drawn = draw("diagram", source)
    mermaid._wide_letters.cache_clear()
    assert drawn is not None
    assert drawn != usual, "in the letters of that font"

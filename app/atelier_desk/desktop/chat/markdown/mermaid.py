"""Mermaid diagrams as PNG: layout by mmdr, painting by novasvg.

No browser, script or network; the source cannot name files. No Qt. Imported only to draw: the libraries are large, and
not available for every system.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from functools import cache
from pathlib import Path

import mmdr
import novasvg
from novasvg import fonts

_LEAST = 0.5
"""A drawing that fits only below this scale would be unreadable."""
_SIDE, _AREA = 16_000, 12_000_000
"""Maximum pixels of an image's longest side and of its area."""
_PAPER = {"default": "#ffffff", "dark": "#1e1f24"}
"""Background by theme: the surface colours of the window."""
_COLOURS = re.compile(r"\b(?:fill|color|background)\s*:", re.IGNORECASE)
_FACE, _WIDE_FACE = "trebuchet ms", "atelier wide"
_STACK = f'"{_FACE}", verdana, arial, sans-serif'
"""The font families requested by drawings."""
_FOLDERS = {
    "win32": ("C:/Windows/Fonts",),
    "darwin": ("/System/Library/Fonts", "/System/Library/Fonts/Supplemental", "/Library/Fonts"),
}
_LINUX = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_WIDE = re.compile(
    r"cjk.*regular|sourcehan.*regular|notosans(?:sc|tc|jp|kr)\b|wqy|droidsansfallback|nanumgothic\.|ipa(?:ex)?g|unifont"
    r"|msyh\.|msjh\.|yugothm|malgun\.|simsun|hiragino sans gb|applesdgothicneo|stheiti light|pingfang|arial unicode",
    re.IGNORECASE,
)
"""File names of fonts with Chinese, Japanese or Korean characters: of Linux distributions, Windows and macOS."""


def diagram_png(source: str, *, dark: bool, scale: float) -> bytes:
    """The image of a diagram on the theme's background, with at most ``scale`` pixels per drawing pixel.

    A diagram that sets colours is drawn on white: its colours were chosen for that, and light text on them would be
    unreadable.

    Raises:
        ValueError: it is invalid, too large, or has characters that no available font contains.
    """
    theme = "dark" if dark and not _COLOURS.search(source) else "default"
    source, family = _drawable(source)
    # The last directive wins, whatever theme the source requests: it may be unreadable on this background.
    svg = mmdr.render(f'{source}\n%%{{init: {{"theme": "{theme}"}}}}%%').svg()
    document = novasvg.Document.load_from_data(svg.replace(_FACE, family))
    if document is None or not (document.width >= 1 and document.height >= 1):
        raise ValueError("not a drawing")
    width, height = document.width, document.height
    scale = min(scale, _SIDE / max(width, height), math.sqrt(_AREA / (width * height)))
    if scale < _LEAST:
        raise ValueError("too large")
    png: bytes = document.render_to_bitmap(
        round(width * scale), round(height * scale), novasvg.Color(_PAPER[theme])
    ).to_png()
    return png


def _drawable(source: str) -> tuple[str, str]:
    """The source without emoji missing in the fonts, and the font family that has all other characters."""
    if any(unicodedata.bidirectional(each) in {"R", "AL"} for each in source):
        raise ValueError("letters from right to left")  # they would be drawn unjoined and in the wrong order
    missing = {each for each in set(source) if not each.isspace() and each not in _letters()}
    letters = {each for each in missing if unicodedata.category(each)[0] in "LMN" and not "\ufe00" <= each <= "\ufe0f"}
    if letters and not letters <= _wide_letters():
        raise ValueError("letters that no font here has")
    if missing - letters:
        source = "".join(each for each in source if each not in missing - letters)
    return source, _WIDE_FACE if letters else _FACE


@cache
def _letters() -> frozenset[str]:
    face = fonts.get_font_face_for_family_stack(_STACK)
    return frozenset() if face.is_null() else frozenset(map(chr, face.codepoints()))


@cache
def _wide_letters() -> frozenset[str]:
    """The characters of the first font found for Chinese, Japanese or Korean; empty without one."""
    for path in wide_fonts():
        if fonts.add_font_face_from_file(_WIDE_FACE, False, False, str(path)):
            fonts.add_font_face_from_file(_WIDE_FACE, True, False, str(path))
            return frozenset(map(chr, fonts.get_font_face(_WIDE_FACE).codepoints()))
    return frozenset()


def wide_fonts() -> list[Path]:
    """Font files with Chinese, Japanese or Korean characters on this system."""
    folders = (Path(each).expanduser() for each in _FOLDERS.get(sys.platform, _LINUX))
    return sorted(
        path for folder in folders if folder.is_dir() for path in folder.rglob("*.[to]t[fc]") if _WIDE.search(path.name)
    )

"""A key with modifiers, as in the settings (``Ctrl+Alt+Space``), translated for each system."""

from __future__ import annotations

from dataclasses import dataclass

KEYSYMS = {
    "Space": "space",
    "Enter": "KP_Enter",
    "Esc": "Escape",
    "PgUp": "Prior",
    "PgDown": "Next",
    "Ins": "Insert",
    "Del": "Delete",
    "Backspace": "BackSpace",
    **{
        name: name for name in ("Return", "Tab", "Home", "End", "Left", "Right", "Up", "Down", "Print", "Pause", "Menu")
    },
}
"""Qt's key names to X11's (``keysymdef.h``, without ``XK_``), also used by the desktop portal."""
SIGNS = {
    ",": "comma",
    ".": "period",
    "-": "minus",
    "+": "plus",
    ";": "semicolon",
    ":": "colon",
    "/": "slash",
    "\\": "backslash",
    "=": "equal",
    "'": "apostrophe",
    "`": "grave",
    "[": "bracketleft",
    "]": "bracketright",
    "<": "less",
    "*": "asterisk",
    "!": "exclam",
    "#": "numbersign",
}
VIRTUAL = {
    "Space": 0x20,
    "Return": 0x0D,
    "Tab": 0x09,
    "Esc": 0x1B,
    "Backspace": 0x08,
    "PgUp": 0x21,
    "PgDown": 0x22,
    "End": 0x23,
    "Home": 0x24,
    "Left": 0x25,
    "Up": 0x26,
    "Right": 0x27,
    "Down": 0x28,
    "Print": 0x2C,
    "Ins": 0x2D,
    "Del": 0x2E,
    "Pause": 0x13,
}
"""Windows' virtual-key codes (``winuser.h``); letters and digits are their ASCII codes, F1 is 0x70."""


@dataclass(frozen=True, slots=True)
class Keys:
    """``held`` is a subset of Ctrl, Alt, Shift and Meta; ``key`` is Qt's name of the key pressed with them."""

    held: frozenset[str]
    key: str

    @classmethod
    def read(cls, text: str) -> Keys:
        """Parse a shortcut of the settings; ``Ctrl++`` is the plus sign with Ctrl."""
        head, key = (text[:-1], "+") if text.endswith("+") else (text.rpartition("+")[0], text.rpartition("+")[2])
        return cls(frozenset(filter(None, head.split("+"))), key)

    @property
    def keysym(self) -> str:
        """X11's name of the key; empty if unknown."""
        if len(self.key) == 1 and self.key.isascii() and self.key.isalnum():
            return self.key.lower()
        if self.key[:1] == "F" and self.key[1:].isdigit():
            return self.key
        return KEYSYMS.get(self.key) or SIGNS.get(self.key, "")

    @property
    def virtual(self) -> int:
        """Windows' code of the key; 0 if unknown."""
        if len(self.key) == 1 and self.key.isascii() and self.key.isalnum():
            return ord(self.key.upper())
        if self.key[:1] == "F" and self.key[1:].isdigit() and 1 <= int(self.key[1:]) <= 24:
            return 0x6F + int(self.key[1:])
        return VIRTUAL.get(self.key, 0)

    @property
    def trigger(self) -> str:
        """The portal's notation, such as ``CTRL+ALT+space``: modifiers, then the keysym (XDG "shortcuts")."""
        names = {"Ctrl": "CTRL", "Alt": "ALT", "Shift": "SHIFT", "Meta": "LOGO"}
        return "+".join([*(there for name, there in names.items() if name in self.held), self.keysym])

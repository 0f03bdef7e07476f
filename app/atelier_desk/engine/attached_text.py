"""Names and bytes of what is attached: a name in one line, whether it looks like a secret's, and bytes as text."""

from __future__ import annotations

import re

from atelier_desk.domain import limits
from atelier_desk.domain.encodings import guessed, marked
from atelier_desk.engine.run.sanitize import mended
from atelier_desk.support.text import readable_name

_CONTROL = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_UNSHOWN = re.compile("[\x00-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""What a name may not bring into a line: line ends, control characters, and what turns the direction of the text."""
_SECRET = re.compile(
    r"^(\.env(\..+)?|.*\.env|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|credentials(\.\w+)?|secrets?(\.\w+)?|.*service.?account.*\.json|\.git-credentials|\.aws|\.ssh|\.gnupg)$",
    re.IGNORECASE,
)
_HARMLESS = (".example", ".sample", ".template", ".dist", ".pub")


def looks_secret(name: str) -> bool:
    """Whether files of this name hold keys or passwords as a rule: ``.env``, ``id_rsa``, ``*.pem`` … but not ``.env.example``."""
    return _SECRET.match(name) is not None and not name.lower().endswith(_HARMLESS)


def shown_name(name: str) -> str:
    """A file's name in one line: what would break it, or turn it around, is a blank."""
    return mended(_UNSHOWN.sub(" ", readable_name(name))).strip()[: limits.ATTACHED_NAME] or "?"


def decode(content: bytes) -> tuple[str, str]:
    """Bytes as text, and the encoding they were read in. Never fails: what is no text shows by ``binary``."""
    if found := marked(content):
        mark, encoding = found
        return content[len(mark) :].decode(encoding, "replace"), encoding.removesuffix("-le").removesuffix("-be")
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = guessed(content)
        return content.decode(encoding), encoding


def binary(text: str) -> bool:
    """Whether this was no text: it holds control characters that no text has (logs hold bells, backspaces and escapes)."""
    return _CONTROL.search(text) is not None

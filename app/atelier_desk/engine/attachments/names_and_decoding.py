"""Names and bytes of attachments: one-line names, suspected secrets, and decoding."""

from __future__ import annotations

import re

from atelier_desk.domain import limits
from atelier_desk.domain.encoding_detection import guessed, marked
from atelier_desk.engine.run.lone_surrogates import sanitized
from atelier_desk.support.visible_and_shortened_text import readable_name

_CONTROL = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f]")
_UNSHOWN = re.compile("[\x00-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
"""Characters removed from displayed names: line ends, control characters and direction overrides."""
_SECRET = re.compile(
    r"^(\.env(\..+)?|.*\.env|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|credentials(\.\w+)?|secrets?(\.\w+)?|.*service.?account.*\.json|\.git-credentials|\.aws|\.ssh|\.gnupg)$",
    re.IGNORECASE,
)
_HARMLESS = (".example", ".sample", ".template", ".dist", ".pub")


def is_secret_name(name: str) -> bool:
    """Whether files of this name usually contain keys or passwords.

    ``.env``, ``id_rsa``, ``*.pem`` … but not ``.env.example``.
    """
    return _SECRET.match(name) is not None and not name.lower().endswith(_HARMLESS)


def shown_name(name: str) -> str:
    """Return a file's name on one line, with line ends and direction overrides replaced by spaces."""
    return sanitized(_UNSHOWN.sub(" ", readable_name(name))).strip()[: limits.ATTACHED_NAME] or "?"


def decode(content: bytes) -> tuple[str, str]:
    """Decode bytes; return the text and its encoding. Never fails; check the result with ``binary``."""
    if found := marked(content):
        mark, encoding = found
        return content[len(mark) :].decode(encoding, "replace"), encoding.removesuffix("-le").removesuffix("-be")
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = guessed(content)
        return content.decode(encoding), encoding


def binary(text: str) -> bool:
    """Whether this is not text: it has control characters other than those in logs (bells, backspaces and escapes)."""
    return _CONTROL.search(text) is not None

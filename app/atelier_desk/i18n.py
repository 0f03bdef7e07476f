"""Translation for every layer: gettext catalogues made with Babel, switched while the program runs.

A leaf module: it imports nothing of Atelier. Strings are written in English in the code, marked with ``_`` (translated now) or
``N_`` (marked for extraction, translated later by whoever shows them), with named ``{placeholders}`` and never f-strings, so that a
translator sees whole sentences.
"""

from __future__ import annotations

import gettext
import locale
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path

LANGUAGES = ("en", "fr")
DOMAIN = "atelier"

_current: gettext.NullTranslations = gettext.NullTranslations()
_language = "en"
_listeners: list[Callable[[str], None]] = []


def N_(message: str) -> str:
    """Mark a message for extraction and return it unchanged."""
    return message


def _(message: str, /, **params: object) -> str:
    """Translate a message into the current language and fill in its named placeholders."""
    text = _current.gettext(message) if message else ""
    return text.format(**params) if params else text


def ngettext(singular: str, plural: str, /, n: int, **params: object) -> str:
    """Translate with the language's plural rule (French counts 0 as singular); ``{n}`` is filled in."""
    return _current.ngettext(singular, plural, n).format(n=n, **params)


def language() -> str:
    """The current language's code, ``en`` or ``fr``."""
    return _language


def system_language() -> str:
    """The first supported language the environment names, ``en`` when it names none."""
    names = [os.environ.get(key, "") for key in ("LC_ALL", "LC_MESSAGES", "LANG")]
    names.append(locale.getlocale()[0] or "")
    for name in names:
        code = name[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"


def catalogue_dir() -> Path:
    """Where the compiled catalogues are: beside the package in a checkout, inside it in a wheel."""
    packaged = Path(str(resources.files("atelier_desk"))) / "_translations"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "translations"


def set_language(code: str) -> str:
    """Switch the language for the whole process and tell the listeners; an unknown code means the system's language."""
    global _current, _language
    code = code if code in LANGUAGES else system_language()
    _current = gettext.translation(DOMAIN, str(catalogue_dir()), languages=[code], fallback=True)
    _language = code
    for listener in list(_listeners):
        listener(code)
    return code


def on_language_changed(listener: Callable[[str], None]) -> Callable[[], None]:
    """Call ``listener(code)`` after each switch; returns a function that stops it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener) if listener in _listeners else None

"""Translations: gettext catalogues made with Babel, switchable while the program runs.

Of Atelier it imports only ``text``. Messages are written in English in the code, marked with ``_``
(translated now) or ``N_`` (marked for extraction, translated when shown), with named ``{placeholders}`` and
never f-strings, so that a translator sees complete sentences.
"""

from __future__ import annotations

import contextlib
import gettext
import locale
import os
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from atelier_desk.support.visible_and_shortened_text import filled, visible

if TYPE_CHECKING:
    from babel import Locale

DOMAIN = "atelier"


def catalogue_dir() -> Path:
    """Folder of the compiled catalogues: in a checkout next to the package, else inside it."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "_translations"
    return packaged if packaged.is_dir() else package.parents[1] / "translations"


def catalogues(folder: Path) -> tuple[str, ...]:
    """Codes of the languages with a compiled catalogue in a folder."""
    return tuple(sorted({path.parent.parent.name for path in folder.glob(f"*/LC_MESSAGES/{DOMAIN}.mo")} - {"en"}))


LANGUAGES = ("en", *catalogues(catalogue_dir()))
"""Codes of all languages: English, in which the code is written, and each catalogue's."""

_NAMES = {"en": ("English", "English"), "fr": ("français", "French")}
"""Each language in itself and in English: for these two Babel would load 5 MB that stay."""

_current: gettext.NullTranslations = gettext.NullTranslations()
_language = "en"
_spoken: ContextVar[str] = ContextVar("language", default="")
"""Language of a task and those it starts; empty for the process's language."""


def N_(message: str) -> str:
    """Mark a message for extraction and return it unchanged."""
    return message


def _(message: str, /, **params: object) -> str:
    """Translate a message and fill in its placeholders, with hidden characters made visible."""
    text = _translations().gettext(message) if message else ""
    return filled(text, _seen(params)) if params else text


def ngettext(singular: str, plural: str, /, n: int, **params: object) -> str:
    """Translate with the language's plural rule; fills in ``{n}``.

    French, for example, uses the singular for 0.
    """
    return filled(_translations().ngettext(singular, plural, n), {"n": n, **_seen(params)})


def _seen(params: dict[str, object]) -> dict[str, object]:
    return {name: visible(value) if isinstance(value, str) else value for name, value in params.items()}


@cache
def in_every_language(message: str) -> str:
    """A message in each language, for searching."""
    return " ".join(dict.fromkeys(_catalogue(code).gettext(message) for code in LANGUAGES)) if message else ""


def language() -> str:
    """The current language's code: one of ``LANGUAGES``."""
    return _spoken.get() or _language


def program_language() -> str:
    """The code of the process's language, whatever the language of this task."""
    return _language


@contextlib.contextmanager
def spoken(code: str) -> Iterator[None]:
    """Use another language in this task and tasks started inside.

    An unknown code changes nothing.
    """
    token = _spoken.set(code if code in LANGUAGES else _spoken.get())
    try:
        yield
    finally:
        _spoken.reset(token)


@cache
def native_name(code: str) -> str:
    """A language's own name: ``Français``."""
    name = _NAMES[code][0] if code in _NAMES else _locale(code).get_display_name() or code
    return name[:1].upper() + name[1:]


@cache
def english_name(code: str) -> str:
    """A language's English name: ``French``."""
    return _NAMES[code][1] if code in _NAMES else _locale(code).get_display_name("en") or code


def _locale(code: str) -> Locale:
    from babel import Locale

    return Locale.parse(code)


def system_language() -> str:
    """The first supported language in the environment; ``en`` without one."""
    names = [os.environ.get(key, "") for key in ("LC_ALL", "LC_MESSAGES", "LANG")]
    names.append(locale.getlocale()[0] or "")
    for name in names:
        code = name[:2].lower()
        if code in LANGUAGES:
            return code
    return "en"


def set_language(code: str) -> str:
    """Set the process's language; an unknown code selects the system's language."""
    global _current, _language
    code = code if code in LANGUAGES else system_language()
    _current = _catalogue(code)
    _language = code
    return code


def _translations() -> gettext.NullTranslations:
    code = _spoken.get()
    return _catalogue(code) if code else _current


@cache
def _catalogue(code: str) -> gettext.NullTranslations:
    """Cached: gettext caches parsed catalogues, but looks for the file each time."""
    return gettext.translation(DOMAIN, str(catalogue_dir()), languages=[code], fallback=True)

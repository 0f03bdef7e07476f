"""Errors by who must act on them.

An error carries an English template and named values, never a finished sentence, so that the screen and the command line can show
it in the reader's language: ``error.localized(_)``. ``code`` is stable and machine readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from atelier_desk.support import number_format
from atelier_desk.support.text import visible

_EMPTY = re.compile(r"(?<!\s)\s*\(\)")
"""What is left of a detail in parentheses."""


class AtelierError(Exception):
    """Base of all errors Atelier raises on purpose.

    Attributes:
        code: stable identifier, for scripts and tests.
        template: the English sentence with named placeholders, marked with ``N_`` where it is written.
        params: the values of the placeholders.
        recoverable: whether trying again may succeed without changing anything.
    """

    code = "error"
    recoverable = False

    def __init__(self, template: str, /, *, code: str | None = None, recoverable: bool | None = None, **params: object) -> None:
        super().__init__(template, params)
        self.template = template
        self.params = params
        if code is not None:
            self.code = code
        if recoverable is not None:
            self.recoverable = recoverable

    def __str__(self) -> str:
        return self.template.format(**self.params) if self.params else self.template

    def localized(self, translate: Callable[..., str]) -> str:
        """The sentence in the reader's language, and so the errors among its values; ``translate`` is ``atelier_desk.support.i18n._``."""
        return self._filled(translate, self.params)

    def in_words(self, translate: Callable[..., str]) -> str:
        """The same without ``detail``, which is what a server or a library said in its own words."""
        if "detail" not in self.params:
            return self.localized(translate)
        return _EMPTY.sub("", self._filled(translate, {**self.params, "detail": ""}))

    def _filled(self, translate: Callable[..., str], values: Mapping[str, object]) -> str:
        return translate(self.template, **{name: _shown(value, translate) for name, value in values.items()})


def _shown(value: object, translate: Callable[..., str]) -> object:
    """A value as a sentence of the reader's language has it: numbers in groups of thousands, times in the local zone, errors in words, and
    no character that hides or reorders others."""
    if isinstance(value, AtelierError):
        return value.localized(translate)
    if isinstance(value, datetime):
        return number_format.moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number_format.number(value, 0 if isinstance(value, int) else 6, trim=True)
    return visible(value) if isinstance(value, str) else value


class UsageError(AtelierError):
    """The person or script asked for something impossible: wrong argument, unknown name."""

    code = "usage"


class NotFoundError(UsageError):
    """The named thing does not exist, or belongs to another workflow."""

    code = "not_found"


class LimitError(UsageError):
    """A value is over one of the limits in ``domain.limits``."""

    code = "over_limit"


class ConflictError(UsageError):
    """The thing exists already, or changed meanwhile."""

    code = "conflict"


class StorageError(AtelierError):
    """The database or a file in the data folder cannot be used; subclasses of ``code`` say why."""

    code = "storage"


class ProviderError(AtelierError):
    """A model server refused, failed or answered nonsense.

    Attributes:
        status: HTTP status, None when no answer came.
        retry_after_s: seconds the server asked to wait, None when it did not say.
    """

    code = "provider"

    def __init__(
        self,
        template: str,
        /,
        *,
        code: str | None = None,
        status: int | None = None,
        retry_after_s: float | None = None,
        recoverable: bool | None = None,
        **params: object,
    ) -> None:
        super().__init__(template, code=code, recoverable=recoverable, **params)
        self.status = status
        self.retry_after_s = retry_after_s


class ContextOverflowError(ProviderError):
    """The request was longer than the model's window; ``n_ctx`` tokens when the server said so."""

    code = "context_overflow"

    def __init__(
        self, template: str, /, *, n_ctx: int | None = None, n_prompt: int | None = None, status: int | None = None, **params: object
    ) -> None:
        super().__init__(template, code=None, status=status, retry_after_s=None, recoverable=None, **params)
        self.n_ctx = n_ctx
        self.n_prompt = n_prompt


class ToolError(AtelierError):
    """A tool could not do what the model asked; the text is written for the model and is not translated."""

    code = "tool_error"


class CancelledByUser(AtelierError):
    """A person stopped the work; what was done so far is kept."""

    code = "cancelled"

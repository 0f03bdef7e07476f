"""Errors, grouped by who must act.

An error has an English template and named values instead of a finished sentence, so that window and terminal can show
it in the reader's language: ``error.localized(_)``. ``code`` is stable and machine readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from atelier_desk.support import locale_format
from atelier_desk.support.visible_and_shortened_text import filled, visible

_EMPTY = re.compile(r"(?<!\s)\s*\(\)")
"""Left over when a detail in parentheses is empty."""
SETTINGS_CHANGED = "settings_changed"
"""Code of the error of a provider whose connections were closed, because its settings changed."""
CHARGED = frozenset({"timeout", "truncated", "bad_response", "server_error"})
"""Codes of errors after which a service may have done what it was asked, unless the error says otherwise."""


class AtelierError(Exception):
    """Base of all deliberately raised errors.

    Attributes:
        code: stable identifier, for scripts and tests.
        template: the English sentence with named placeholders, marked with ``N_`` where it is written.
        params: values of the placeholders.
        recoverable: whether a retry may succeed without any change.
    """

    code = "error"
    recoverable = False

    def __init__(
        self, template: str, /, *, code: str | None = None, recoverable: bool | None = None, **params: object
    ) -> None:
        super().__init__(template, params)
        self.template = template
        self.params = params
        if code is not None:
            self.code = code
        if recoverable is not None:
            self.recoverable = recoverable

    def __str__(self) -> str:
        return filled(self.template, self.params) if self.params else self.template

    def localized(self, translate: Callable[..., str]) -> str:
        """Return the sentence in the reader's language, including nested errors.

        ``translate`` is ``atelier_desk.support.i18n._``.
        """
        return self._filled(translate, self.params)

    def in_words(self, translate: Callable[..., str]) -> str:
        """Like ``localized`` without ``detail``, the message of a server or library."""
        if "detail" not in self.params:
            return self.localized(translate)
        return _EMPTY.sub("", self._filled(translate, {**self.params, "detail": ""}))

    def _filled(self, translate: Callable[..., str], values: Mapping[str, object]) -> str:
        return translate(self.template, **{name: _shown(value, translate) for name, value in values.items()})


def _shown(value: object, translate: Callable[..., str]) -> object:
    """Format a value for the reader.

    Grouped numbers, local times, errors as sentences, no invisible or reordering characters.
    """
    if isinstance(value, AtelierError):
        return value.localized(translate)
    if isinstance(value, datetime):
        return locale_format.moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return locale_format.number(value, 0 if isinstance(value, int) else 6, trim=True)
    return visible(value) if isinstance(value, str) else value


class UsageError(AtelierError):
    """The request is invalid: a wrong argument or unknown name."""

    code = "usage"


class NotFoundError(UsageError):
    """The named item does not exist, or belongs to another workflow."""

    code = "not_found"


class LimitError(UsageError):
    """A value exceeds a limit of ``domain.limits``."""

    code = "over_limit"


class ConflictError(UsageError):
    """The item already exists, or changed meanwhile."""

    code = "conflict"


class StorageError(AtelierError):
    """The database or a file in the data folder cannot be used; ``code`` says why."""

    code = "storage"


class ProviderError(AtelierError):
    """A model server refused, failed or gave an invalid answer.

    Attributes:
        status: HTTP status, None without an answer.
        retry_after_s: seconds to wait as requested by the server, None if it did not say.
        charged: whether the service may have done, and charge for, what it was asked: not if it refused it, or was not
            reached.
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
        charged: bool | None = None,
        **params: object,
    ) -> None:
        super().__init__(template, code=code, recoverable=recoverable, **params)
        self.status = status
        self.retry_after_s = retry_after_s
        self.charged = self.code in CHARGED if charged is None else charged


class ContextOverflowError(ProviderError):
    """The request was longer than the model's context; ``n_ctx`` tokens, if the server said so."""

    code = "context_overflow"

    def __init__(
        self,
        template: str,
        /,
        *,
        n_ctx: int | None = None,
        n_prompt: int | None = None,
        status: int | None = None,
        **params: object,
    ) -> None:
        super().__init__(
            template, code=None, status=status, retry_after_s=None, recoverable=None, charged=False, **params
        )
        self.n_ctx = n_ctx
        self.n_prompt = n_prompt


class ToolError(AtelierError):
    """A tool could not fulfil the call; the text is for the model and not translated."""

    code = "tool_error"


class CancelledByUser(AtelierError):
    """A person stopped the work; what was done is kept."""

    code = "cancelled"

"""API keys and request header values: in the system's keyring, in a file chosen by the user, or in memory; never in
logs, events or errors.

Every key that passes through is remembered, so that ``redact`` can hide it wherever text leaves the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from atelier_desk.domain.errors import AtelierError, ProviderError, StorageError, UsageError
from atelier_desk.domain.provider import KeyPlace, KeyState, header_variable
from atelier_desk.llm.secret_encodings import base64_forms, compact_forms, plain_forms, replace_secrets
from atelier_desk.support.i18n import N_

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from atelier_desk.domain.provider import ProviderConfig, ProviderDraft

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter values are not hidden: a local server's dummy key such as ``none`` would blank out ordinary words."""

SHORTEST_IN_REPLIES = 16
"""In replies, shorter values and those without a digit are not hidden: ``lm-studio`` and ``postgres`` are words that a
model writes into files.
"""
LONGEST_SECRET = 16_384

NOT_WRITTEN = N_(
    "Keys cannot be saved, so nothing was changed. Free up disk space or unlock the keyring, then try again."
)

_log = logging.getLogger(__name__)
_seen: set[str] = set()
_forms: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
"""Of the secrets in ``_seen``: their plain forms and those in base64, longest first."""
_reply_forms: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
"""The same of those that are no ordinary words, see ``redact_reply``."""
_compact_forms: tuple[bytes, ...] = ()
"""Of the same secrets: their forms without separators. Ordinary words may be spelled in other ways."""
_beginnings: tuple[frozenset[str], dict[str, tuple[str, ...]], tuple[str, ...]] = frozenset(), {}, ()
"""Of the secrets in ``_reply_forms``: their first characters, those with the same first ``_HEAD`` characters, and all
that is shorter of these.
"""
_HEAD = 3
_shortest_form = SHORTEST_SECRET
_lock = threading.Lock()


def remember(secret: str) -> None:
    """Hide this value from now on, in each of its encodings."""
    global _beginnings, _compact_forms, _forms, _reply_forms, _shortest_form
    with _lock:
        if len(secret) < SHORTEST_SECRET or secret in _seen:
            return
        if not _seen:
            _write_no_core_dumps()
        _seen.add(secret)
        _forms = _with_forms(_forms, secret)
        _shortest_form = min(len(each) for forms in _forms for each in forms)
        if len(secret) < SHORTEST_IN_REPLIES or not any(char.isdigit() for char in secret):
            return
        _reply_forms = _with_forms(_reply_forms, secret)
        _compact_forms = (*_compact_forms, *compact_forms(secret))
        first, heads, shorter = _beginnings
        head = secret[:_HEAD]
        starts = {*shorter, *(head[:length] for length in range(1, _HEAD))}
        _beginnings = (
            first | {secret[0]},
            {**heads, head: (*heads.get(head, ()), secret)},
            tuple(sorted(starts, key=len, reverse=True)),
        )


def _write_no_core_dumps() -> None:
    """From now on a crash writes no file of this process's memory, which has secrets in it."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _with_forms(forms: tuple[tuple[str, ...], tuple[str, ...]], secret: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    plain, in_base64 = forms
    return (
        tuple(sorted({*plain, *plain_forms(secret)}, key=len, reverse=True)),
        tuple(sorted({*in_base64, *base64_forms(secret)}, key=len, reverse=True)),
    )


def redact(text: str) -> str:
    """Replace every key handed out by Atelier with ``[redacted]``, also an encoded one."""
    if len(text) < _shortest_form:
        return text
    return replace_secrets(text, *_forms, _compact_forms, REDACTED)


def redact_reply(text: str) -> str:
    """Hide keys in what a model wrote, but no value that may be an ordinary word there."""
    return replace_secrets(text, *_reply_forms, _compact_forms, REDACTED) if len(text) >= _shortest_form else text


def unfinished_secret(text: str) -> int:
    """Return where a secret begins that the end of ``text`` may be the start of; the length of ``text`` if none does.

    Called for every piece of a reply: most texts contain no first characters of a secret.
    """
    first, heads, shorter = _beginnings
    found = length = len(text)
    if first.isdisjoint(text):
        return length
    for head, secrets in heads.items():
        start = text.find(head, -LONGEST_SECRET)
        while 0 <= start < found:
            if any(len(each) > length - start and each.startswith(text[start:]) for each in secrets):
                found = start
            start = text.find(head, start + 1)
    if found == length and text.endswith(shorter):
        return length - len(next(each for each in shorter if text.endswith(each)))
    return found


class SecretFile(Protocol):
    """A file of secrets, implemented by ``storage.data_folder.plaintext_api_keys``. Failures are ``OSError``."""

    @property
    def there(self) -> bool: ...

    def write(self, entries: Mapping[str, str]) -> None: ...

    def entries(self) -> dict[str, str]: ...

    def remove(self) -> None: ...


class KeyVault:
    """Keys by provider name, and header values by provider and header.

    They are stored in the file of ``use_file`` if it exists (the user's choice), otherwise in the system's keyring if
    it encrypts; if there is none, they stay in this object until the program ends, and ``place`` is ``MEMORY`` so that
    the screen can say so. The keyring may ask its user to unlock it, so calls can take long: coroutines use
    ``key_for``, which waits in a thread.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        backend: object = None,
        service: str = "Atelier",
        session: bool = False,
    ) -> None:
        """``backend`` is a keyring backend, None to detect it.

        ``environ`` resolves ``api_key_env``; with ``session`` the keyring is neither read nor written.
        """
        self._environ = os.environ if environ is None else environ
        self._backend = backend
        self._service = service
        self._probed = session or backend is not None
        self._file: SecretFile | None = None
        self._file_failed = False
        self._keys: dict[str, str] = {}
        self._missing: set[str] = set()
        self._lock = threading.RLock()

    @property
    def place(self) -> KeyPlace:
        """Where keys are stored from now on."""
        with self._lock:
            backend = self._keyring()
            return KeyPlace.MEMORY if backend is None else KeyPlace.FILE if backend is self._file else KeyPlace.KEYRING

    @property
    def persistent(self) -> bool:
        """Whether keys outlive the program."""
        return self.place is not KeyPlace.MEMORY

    def use_file(self, file: SecretFile) -> None:
        """Store keys in this file while it exists; ``store_in_file`` creates it."""
        with self._lock:
            self._file = file

    def store_in_file(self) -> None:
        """Write this session's keys to the file, and store keys there from now on.

        Raises:
            UsageError: there is a keyring, which is safer (code ``keyring``).
            OSError: the file cannot be written.
        """
        with self._lock:
            place = self.place
            if place is KeyPlace.KEYRING or self._file is None:
                raise UsageError(
                    N_("This computer has a system keyring: keys are kept there, not in a file."), code="keyring"
                )
            if place is KeyPlace.MEMORY:
                there = self._in_file() if self._file.there else {}  # do not overwrite an unreadable file
                self._file.write({**there, **self._keys})
                self._file_failed = False
                self._missing.clear()

    def leave_file(self) -> None:
        """Delete the file. Its keys first move to the keyring if there is one by now; otherwise they are kept until the
        program ends.

        Raises:
            OSError: the file cannot be read or deleted; it stays unchanged.
        """
        with self._lock:
            if self._file is None or not self._file.there:
                return
            there = self._in_file()
            # Keys that could not be written to the file are newer than its content.
            self._keys = {**there, **self._keys} if self._file_failed else {**self._keys, **there}
            self._missing.clear()
            for entry, value in self._keys.items():
                if (keyring := self._system()) is not None:
                    self._ask(keyring, lambda: _store(keyring, self._service, entry, value))  # noqa: B023 - called at once
            self._file.remove()
            self._file_failed = False

    def drafted(self, draft: ProviderDraft) -> KeyVault:
        """Return an in-memory vault for testing a draft: typed values, and stored ones under its name. May wait for the
        keyring.

        Raises:
            ProviderError: a text is not a valid key or header value (code ``auth``).
        """
        made = KeyVault(environ=self._environ, session=True)
        name = draft.config.name
        if key := draft.key or self.get(name):
            made.set(name, key)
        for header, form in draft.config.headers.items():
            if value := draft.headers.get(header) or ("" if form else self.get(_entry(name, header))):
                made.set_header(name, header, value)
        return made

    def get(self, provider: str) -> str | None:
        """Return the stored key of a provider, None if there is none."""
        with self._lock:
            if provider in self._keys:
                return self._keys[provider]
            if provider in self._missing:
                return None
            keyring = self._keyring()
            key = (
                self._ask(keyring, lambda: keyring.get_password(self._service, provider))
                if keyring is not None
                else None
            )
            if key:
                remember(key)
                self._keys[provider] = key
            else:
                self._missing.add(provider)
            return key or None

    def set(self, provider: str, key: str) -> bool:
        """Store a key. True if the keyring accepted it, False if it lasts for this session only.

        Raises:
            ProviderError: the text is not a valid key (code ``auth``).
        """
        return self._store(provider, _checked(key, provider))

    def set_header(self, provider: str, header: str, value: str) -> bool:
        """Store a request header's value, like ``set``.

        Raises:
            ProviderError: the text is not a valid header value (code ``auth``).
        """
        return self._store(_entry(provider, header), _checked_header(value, header))

    def store(self, entry: str, value: str) -> bool:
        """Store another secret under a name with a colon, which no provider has, for ``get`` and ``delete``. Returns as
        ``set``.

        Raises:
            ProviderError: it is empty, has a null character, or is longer than ``LONGEST_SECRET`` (code ``auth``).
        """
        if not value or "\0" in value or len(value) > LONGEST_SECRET:
            raise ProviderError(
                N_(
                    "This value cannot be stored as a secret: it is empty, contains a null character or has more "
                    "than {most} characters."
                ),
                code="auth",
                most=LONGEST_SECRET,
            )
        remember(value)
        return self._store(entry, value)

    def delete(self, provider: str) -> None:
        """Delete a key, also from the keyring; a missing one is no error.

        Raises:
            StorageError: it is in the file, which cannot be written now (code ``keys``); it is then not deleted.
        """
        with self._lock:
            keyring = self._keyring()
            if self._file is not None and self._file.there:
                self._delete_in_file(self._file, provider)
            elif keyring is not None:
                self._ask(keyring, lambda: _remove(keyring, self._service, provider))
            self._keys.pop(provider, None)
            self._missing.add(provider)

    def _delete_in_file(self, file: SecretFile, entry: str) -> None:
        """Delete an entry even if the file failed before: it must not reappear at the next start."""
        try:
            entries = self._in_file()
        except OSError:
            return  # an unreadable file, so nothing reappears from it
        if entries.pop(entry, None) is None:
            return
        try:
            file.write(entries)
        except OSError:
            raise StorageError(NOT_WRITTEN, code="keys") from None

    def copy(self, provider: str, to: str, headers: Iterable[str]) -> None:
        """Also store a provider's key and these header values under another name. May wait for the keyring.

        Raises:
            StorageError: persistent secrets would not be persistent under the new name (code ``keys``).
        """
        for old, new in [(provider, to), *((_entry(provider, each), _entry(to, each)) for each in headers)]:
            persistent = self.persistent
            if (value := self.get(old)) and not self._store(new, value) and persistent:
                raise StorageError(NOT_WRITTEN, code="keys")

    def delete_provider(self, provider: str, headers: Iterable[str]) -> None:
        """Delete a provider's key and these header values, if present. Raises as ``delete``."""
        for entry in (provider, *(_entry(provider, each) for each in headers)):
            if self.get(entry):
                self.delete(entry)

    def delete_header(self, provider: str, header: str) -> None:
        """Delete a header's value, like ``delete``."""
        self.delete(_entry(provider, header))

    def invalidate(self, provider: str) -> None:
        """Read the keyring again next time: another program may have changed a key or header. Session values stay."""
        with self._lock:
            entries = {
                entry for entry in (*self._keys, *self._missing, provider) if entry.partition("/")[0] == provider
            }
            if self._keyring() is not None:
                for entry in entries:
                    self._keys.pop(entry, None)
            self._missing -= entries

    def resolve(self, config: ProviderConfig) -> str | None:
        """Return the key to use: the variable ``api_key_env`` if set, otherwise the stored one.

        Raises:
            ProviderError: the variable is not set, or is not a valid key (code ``auth``).
        """
        if not config.api_key_env:
            key = self.get(config.name)
            if key is None and config.has_key:
                raise ProviderError(
                    N_(
                        "{provider} needs its API key again: it was lost when Atelier closed. Enter it in the "
                        "provider's settings."
                    ),
                    code="auth",
                    provider=config.name,
                )
            return key
        value = self._environ.get(config.api_key_env, "").strip()
        if not value:
            raise ProviderError(
                N_("The environment variable {variable}, which should hold the key of {provider}, is not set."),
                code="auth",
                variable=config.api_key_env,
                provider=config.name,
            )
        return _checked(value, config.name)

    def state(self, config: ProviderConfig, *, needed: bool = False) -> KeyState:
        """Return the state of a provider's key; ``needed``: its service requires one. May wait for the keyring."""
        if config.api_key_env:
            return KeyState.VARIABLE if self._environ.get(config.api_key_env, "").strip() else KeyState.UNSET
        if config.has_key and self.get(config.name):
            return KeyState.SAVED if self.persistent else KeyState.SESSION
        return KeyState.REQUIRED if config.has_key or (needed and not config.headers) else KeyState.NONE

    async def key_for(self, config: ProviderConfig) -> str | None:
        """Like ``resolve`` without blocking the event loop."""
        with self._lock:
            known = bool(config.api_key_env) or config.name in self._keys or config.name in self._missing
        return self.resolve(config) if known else await asyncio.to_thread(self.resolve, config)

    async def headers_for(self, config: ProviderConfig) -> dict[str, str]:
        """Return the user's request headers with present values, names in lower case.

        Raises:
            ProviderError: a variable is not set, or a value is missing from the keyring (code ``auth``).
        """
        return await asyncio.to_thread(self._headers, config) if config.headers else {}

    def _headers(self, config: ProviderConfig) -> dict[str, str]:
        return {name.lower(): self._header(config, name, form) for name, form in config.headers.items()}

    def _header(self, config: ProviderConfig, name: str, form: str) -> str:
        variable = header_variable(form)
        if not variable:
            value = self.get(_entry(config.name, name))
            if value is None:
                raise ProviderError(
                    N_("The value of the header {header} of {provider} was lost when Atelier closed. Enter it again."),
                    code="auth",
                    header=name,
                    provider=config.name,
                )
            return _checked_header(value, name)
        if not self._environ.get(variable, "").strip():
            raise ProviderError(
                N_(
                    "The environment variable {variable}, which should hold the header {header} of {provider}, is "
                    "not set."
                ),
                code="auth",
                variable=variable,
                header=name,
                provider=config.name,
            )
        return _checked_header(form.strip().partition("$")[0] + self._environ[variable].strip(), name)

    def _store(self, entry: str, value: str) -> bool:
        with self._lock:
            self._keys[entry] = value
            self._missing.discard(entry)
            keyring = self._keyring()
            if keyring is None:
                return False
            return self._ask(keyring, lambda: _store(keyring, self._service, entry, value)) is True

    def _in_file(self) -> dict[str, str]:
        """Return the file's content and hide each value from now on. Raises ``OSError``."""
        entries = self._file.entries() if self._file is not None else {}
        for value in entries.values():
            remember(value)
        return entries

    def _keyring(self) -> Any:
        """Return where keys go.

        While the file exists nothing goes to the keyring: the file would hide it after the next start.
        """
        with self._lock:
            if self._file is not None and self._file.there:
                return None if self._file_failed else self._file
            return self._system()

    def _system(self) -> object:
        if not self._probed:
            self._probed = True
            self._backend = _usable_backend()
        return self._backend

    def _ask(self, keyring: object, call: Any) -> Any:
        """Call the keyring; one that fails is not used again in this session."""
        from keyring.errors import KeyringError

        try:
            return call()
        except (KeyringError, OSError, RuntimeError) as error:
            _log.warning("The keyring cannot be used (%s); keys are kept for this session only.", type(error).__name__)
            if keyring is self._file:
                self._file_failed = True
                with contextlib.suppress(OSError):  # its content is still known, at least for this session
                    self._keys = {**self._in_file(), **self._keys}
            else:
                self._backend = None
            return None


def _checked(key: str, provider: str) -> str:
    """Return the stripped key; HTTP headers allow only visible ASCII."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key or len(key) > 8192:
        raise ProviderError(
            N_("This cannot be a key for {provider}: a key is one word of at most 8192 visible ASCII characters."),
            code="auth",
            provider=provider,
        )
    remember(key)
    return key


def _checked_header(value: str, header: str) -> str:
    """Return the stripped header value; only visible ASCII and spaces are allowed."""
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or len(value) > 8192:
        raise ProviderError(
            N_(
                "The value of the header {header} must be one line of at most 8192 visible ASCII characters and spaces."
            ),
            code="auth",
            header=header,
        )
    remember(value)
    remember(value.rpartition(" ")[2])  # the token of "Bearer TOKEN": a server may repeat it without the prefix
    return value


def _entry(provider: str, header: str) -> str:
    """Return the keyring entry of a header's value; provider names have no slash."""
    return f"{provider}/{header.lower()}"


def _store(keyring: Any, service: str, provider: str, key: str) -> bool:
    keyring.set_password(service, provider, key)
    return True


def _remove(keyring: Any, service: str, provider: str) -> None:
    if keyring.get_password(service, provider) is not None:
        keyring.delete_password(service, provider)


def _usable_backend() -> object:
    """Return the keyring backend if it encrypts, else None."""
    import keyring

    try:
        backend = keyring.get_keyring()
        for candidate in getattr(backend, "backends", None) or [backend]:
            module = type(candidate).__module__
            refused = module.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt"))
            if candidate.priority > 0 and not refused:
                return candidate
    except (keyring.errors.KeyringError, AtelierError, OSError, RuntimeError) as error:
        _log.warning("No keyring can be used (%s).", type(error).__name__)
    return None

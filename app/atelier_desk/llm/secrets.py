"""API keys and the values of request headers: in the system's keyring, in a file that a person chose, or in memory for the session; never
in a log, event or error.

Every key that passes through here is remembered so that ``redact`` can hide it wherever text leaves the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from atelier_desk.domain.errors import AtelierError, ProviderError, StorageError, UsageError
from atelier_desk.domain.provider import KeyPlace, KeyState, header_variable
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.provider import ProviderConfig, ProviderDraft

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter values are not hidden: a local server's dummy key such as ``none`` would blank out ordinary words."""

LONGEST_SECRET = 16_384

NOT_WRITTEN = N_(
    "Keys cannot be written where they are kept, so nothing was changed. Free space on the disk, or unlock the keyring; then try again."
)

_log = logging.getLogger(__name__)
_seen: set[str] = set()
_lock = threading.Lock()


def remember(secret: str) -> None:
    """Hide this value from now on, in each form it may leave the program in."""
    if len(secret) >= SHORTEST_SECRET:
        with _lock:
            _seen.update({secret, quote(secret, safe="")})


def redact(text: str) -> str:
    """The text with every key Atelier ever handed out replaced by ``[redacted]``."""
    with _lock:
        secrets = sorted(_seen, key=len, reverse=True)
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


class SecretFile(Protocol):
    """A file of secrets; ``storage.folder.key_file`` has it. What goes wrong is an ``OSError``."""

    @property
    def there(self) -> bool: ...

    def write(self, entries: Mapping[str, str]) -> None: ...

    def entries(self) -> dict[str, str]: ...

    def remove(self) -> None: ...


class KeyVault:
    """Keys by provider name, and values of headers by provider and header.

    The file of ``use_file`` holds them while it is there, which is a person's choice; else the system's keyring when there is one that
    encrypts; if not, they live in this object until the program ends, and ``place`` is ``MEMORY`` so that the screen can say so. The
    keyring may ask its owner to unlock it, so calls can take long: coroutines use ``key_for``, which waits in a thread.
    """

    def __init__(
        self, *, environ: Mapping[str, str] | None = None, backend: object = None, service: str = "Atelier", session: bool = False
    ) -> None:
        """``backend`` is a keyring backend, found by itself when None; ``environ`` is where ``api_key_env`` is looked up; with ``session``
        the keyring is neither read nor written."""
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
        """Where keys are kept from now on."""
        with self._lock:
            backend = self._keyring()
            return KeyPlace.MEMORY if backend is None else KeyPlace.FILE if backend is self._file else KeyPlace.KEYRING

    @property
    def persistent(self) -> bool:
        """Whether keys outlive the program."""
        return self.place is not KeyPlace.MEMORY

    def use_file(self, file: SecretFile) -> None:
        """Where keys are kept while it is there; ``keep_in_file`` makes it."""
        with self._lock:
            self._file = file

    def keep_in_file(self) -> None:
        """Write what is known for this session into the file, and keep keys there from now on.

        Raises:
            UsageError: there is a keyring, which is the safer place (code ``keyring``).
            OSError: the file cannot be written.
        """
        with self._lock:
            place = self.place
            if place is KeyPlace.KEYRING or self._file is None:
                raise UsageError(N_("This machine has a system keyring: keys are kept there, not in a file."), code="keyring")
            if place is KeyPlace.MEMORY:
                there = self._in_file() if self._file.there else {}  # one that cannot be read is not written over
                self._file.write({**there, **self._keys})
                self._file_failed = False
                self._missing.clear()

    def leave_file(self) -> None:
        """Delete the file. What it held goes to the keyring if there is one by now, before the file is gone; else it is known until the
        program ends.

        Raises:
            OSError: the file cannot be read or deleted; it stays as it is.
        """
        with self._lock:
            if self._file is None or not self._file.there:
                return
            there = self._in_file()
            # What could not be written into the file is newer than what stands there.
            self._keys = {**there, **self._keys} if self._file_failed else {**self._keys, **there}
            self._missing.clear()
            for entry, value in self._keys.items():
                if (keyring := self._system()) is not None:
                    self._ask(keyring, lambda: _store(keyring, self._service, entry, value))  # noqa: B023 - called at once
            self._file.remove()
            self._file_failed = False

    def drafted(self, draft: ProviderDraft) -> KeyVault:
        """A vault for trying a draft: what was typed, and what is kept here under its name, in memory alone. May ask the keyring, and wait.

        Raises:
            ProviderError: a text cannot be a key or the value of a header (code ``auth``).
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
        """The key kept for a provider, None when there is none."""
        with self._lock:
            if provider in self._keys:
                return self._keys[provider]
            if provider in self._missing:
                return None
            keyring = self._keyring()
            key = self._ask(keyring, lambda: keyring.get_password(self._service, provider)) if keyring is not None else None
            if key:
                remember(key)
                self._keys[provider] = key
            else:
                self._missing.add(provider)
            return key or None

    def set(self, provider: str, key: str) -> bool:
        """Keep a key. True when the keyring took it, False when it lives for this session alone.

        Raises:
            ProviderError: the text cannot be a key (code ``auth``).
        """
        return self._keep(provider, _checked(key, provider))

    def set_header(self, provider: str, header: str, value: str) -> bool:
        """Keep the value of a request header, as ``set`` does a key.

        Raises:
            ProviderError: the text cannot be the value of a header (code ``auth``).
        """
        return self._keep(_entry(provider, header), _checked_header(value, header))

    def keep(self, entry: str, value: str) -> bool:
        """Keep any other secret under a name with a colon, which no provider has; ``get`` and ``delete`` take the same name. Returns as
        ``set`` does.

        Raises:
            ProviderError: it is empty, has a null character, or is longer than ``LONGEST_SECRET`` (code ``auth``).
        """
        if not value or "\0" in value or len(value) > LONGEST_SECRET:
            raise ProviderError(
                N_("This cannot be kept as a secret: it is empty, has a null character or over {most} characters."),
                code="auth",
                most=LONGEST_SECRET,
            )
        remember(value)
        return self._keep(entry, value)

    def delete(self, provider: str) -> None:
        """Forget a key, in the keyring too; no error when there is none.

        Raises:
            StorageError: it stands in the file, which cannot be written now (code ``keys``); it is not forgotten then.
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
        """Also in one that failed before: what is deleted must not be there again after the next start."""
        try:
            entries = self._in_file()
        except OSError:
            return  # nothing can be read from it, so nothing comes back from it
        if entries.pop(entry, None) is None:
            return
        try:
            file.write(entries)
        except OSError:
            raise StorageError(NOT_WRITTEN, code="keys") from None

    def copy(self, provider: str, to: str, headers: Iterable[str]) -> None:
        """Keep a provider's key and the values of these headers under another name too. May ask the keyring, and wait.

        Raises:
            StorageError: what outlived the program would not under its new name (code ``keys``).
        """
        for old, new in [(provider, to), *((_entry(provider, each), _entry(to, each)) for each in headers)]:
            persistent = self.persistent
            if (value := self.get(old)) and not self._keep(new, value) and persistent:
                raise StorageError(NOT_WRITTEN, code="keys")

    def forget(self, provider: str, headers: Iterable[str]) -> None:
        """Delete a provider's key and the values of these headers, where there are any. Raises as ``delete``."""
        for entry in (provider, *(_entry(provider, each) for each in headers)):
            if self.get(entry):
                self.delete(entry)

    def delete_header(self, provider: str, header: str) -> None:
        """Forget the value of a header, as ``delete`` a key."""
        self.delete(_entry(provider, header))

    def forget_cached(self, provider: str) -> None:
        """Ask the keyring again next time: another program may have changed the key or a header. What is for the session only stays."""
        with self._lock:
            entries = {entry for entry in (*self._keys, *self._missing, provider) if entry.partition("/")[0] == provider}
            if self._keyring() is not None:
                for entry in entries:
                    self._keys.pop(entry, None)
            self._missing -= entries

    def resolve(self, config: ProviderConfig) -> str | None:
        """The key to use now: the variable ``api_key_env`` names if any, else the kept one.

        Raises:
            ProviderError: the variable is not set, or its value cannot be a key (code ``auth``).
        """
        if not config.api_key_env:
            key = self.get(config.name)
            if key is None and config.has_key:
                raise ProviderError(
                    N_("{provider} needs its API key again: it was not kept after Atelier closed. Enter it in the provider's settings."),
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
        """How a provider's key stands; ``needed`` is whether its service takes no request without one. May ask the keyring, and wait."""
        if config.api_key_env:
            return KeyState.VARIABLE if self._environ.get(config.api_key_env, "").strip() else KeyState.UNSET
        if config.has_key and self.get(config.name):
            return KeyState.SAVED if self.persistent else KeyState.SESSION
        return KeyState.REQUIRED if config.has_key or (needed and not config.headers) else KeyState.NONE

    async def key_for(self, config: ProviderConfig) -> str | None:
        """``resolve`` without blocking the event loop."""
        with self._lock:
            known = bool(config.api_key_env) or config.name in self._keys or config.name in self._missing
        return self.resolve(config) if known else await asyncio.to_thread(self.resolve, config)

    async def headers_for(self, config: ProviderConfig) -> dict[str, str]:
        """The owner's request headers with their values as of now, names in lower case.

        Raises:
            ProviderError: a variable is not set, or a value is not in the keyring (code ``auth``).
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
                    N_("The value of the header {header} of {provider} was not kept after Atelier closed. Enter it again."),
                    code="auth",
                    header=name,
                    provider=config.name,
                )
            return _checked_header(value, name)
        if not self._environ.get(variable, "").strip():
            raise ProviderError(
                N_("The environment variable {variable}, which should hold the header {header} of {provider}, is not set."),
                code="auth",
                variable=variable,
                header=name,
                provider=config.name,
            )
        return _checked_header(form.strip().partition("$")[0] + self._environ[variable].strip(), name)

    def _keep(self, entry: str, value: str) -> bool:
        with self._lock:
            self._keys[entry] = value
            self._missing.discard(entry)
            keyring = self._keyring()
            if keyring is None:
                return False
            return self._ask(keyring, lambda: _store(keyring, self._service, entry, value)) is True

    def _in_file(self) -> dict[str, str]:
        """All that the file holds; each is hidden from now on. Raises ``OSError``."""
        entries = self._file.entries() if self._file is not None else {}
        for value in entries.values():
            remember(value)
        return entries

    def _keyring(self) -> Any:
        """Where keys go now. As long as the file is there nothing goes to the keyring: the file would hide it after the next start."""
        with self._lock:
            if self._file is not None and self._file.there:
                return None if self._file_failed else self._file
            return self._system()

    def _system(self) -> object:
        if not self._probed:
            self._probed = True
            self._backend = _usable_backend()
        return self._backend

    def _ask(self, keyring: Any, call: Any) -> Any:
        """Run a keyring call; a keyring that fails is not used again in this session."""
        from keyring.errors import KeyringError

        try:
            return call()
        except (KeyringError, OSError, RuntimeError) as error:
            _log.warning("The keyring cannot be used (%s); keys are kept for this session only.", type(error).__name__)
            if keyring is self._file:
                self._file_failed = True
                with contextlib.suppress(OSError):  # what it holds is known still, if only for this session
                    self._keys = {**self._in_file(), **self._keys}
            else:
                self._backend = None
            return None


def _checked(key: str, provider: str) -> str:
    """The key without white space around it; a key goes into an HTTP header, where only visible ASCII may stand."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key or len(key) > 8192:
        raise ProviderError(
            N_("This cannot be a key for {provider}: a key is one word of visible ASCII characters, 8192 at most."),
            code="auth",
            provider=provider,
        )
    remember(key)
    return key


def _checked_header(value: str, header: str) -> str:
    """A header's value without white space around it; visible ASCII and spaces alone may stand in one."""
    value = value.strip()
    if not value or not value.isascii() or not value.isprintable() or len(value) > 8192:
        raise ProviderError(
            N_("This cannot be the value of the header {header}: it is one line of visible ASCII characters and spaces, 8192 at most."),
            code="auth",
            header=header,
        )
    remember(value)
    remember(value.rpartition(" ")[2])  # the token of "Bearer TOKEN": a server may repeat it without the word before it
    return value


def _entry(provider: str, header: str) -> str:
    """What the keyring has a header's value under; names of providers have no slash."""
    return f"{provider}/{header.lower()}"


def _store(keyring: Any, service: str, provider: str, key: str) -> bool:
    keyring.set_password(service, provider, key)
    return True


def _remove(keyring: Any, service: str, provider: str) -> None:
    from keyring.errors import PasswordDeleteError

    try:
        keyring.delete_password(service, provider)
    except PasswordDeleteError:
        _log.debug("The keyring held no key of that name.")


def _usable_backend() -> object:
    """The keyring backend when there is one that encrypts, else None."""
    import keyring
    from keyring.errors import KeyringError

    try:
        backend = keyring.get_keyring()
        for candidate in getattr(backend, "backends", None) or [backend]:
            module = type(candidate).__module__
            refused = module.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt"))
            if candidate.priority > 0 and not refused:
                return candidate
    except (KeyringError, AtelierError, OSError, RuntimeError) as error:
        _log.warning("No keyring can be used (%s).", type(error).__name__)
    return None

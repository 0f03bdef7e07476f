"""API keys: kept in the system's keyring, or in memory for the session alone; never in a file, a log, an event or an error.

Every key that passes through here is remembered so that ``redact`` can hide it wherever text leaves the program.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from atelier_desk.domain.errors import AtelierError, ProviderError
from atelier_desk.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.provider import ProviderConfig

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter values are not hidden: a local server's dummy key such as ``none`` would blank out ordinary words."""

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


class KeyVault:
    """Keys by provider name.

    The system's keyring holds them when there is one that encrypts; if not, they live in this object until the program ends, and
    ``persistent`` is False so that the screen can say so. Nothing falls back to a plain file. The keyring may ask its owner to unlock
    it, so calls can take long: coroutines use ``key_for``, which waits in a thread.
    """

    def __init__(
        self, *, environ: Mapping[str, str] | None = None, backend: Any = None, service: str = "Atelier", session: bool = False
    ) -> None:
        """``backend`` is a keyring backend, found by itself when None; ``environ`` is where ``api_key_env`` is looked up; with ``session``
        the keyring is neither read nor written."""
        self._environ = os.environ if environ is None else environ
        self._backend = backend
        self._service = service
        self._probed = session or backend is not None
        self._keys: dict[str, str] = {}
        self._missing: set[str] = set()
        self._lock = threading.RLock()

    @property
    def persistent(self) -> bool:
        """Whether keys outlive the program; False on a machine without a usable keyring."""
        return self._keyring() is not None

    def get(self, provider: str) -> str | None:
        """The key kept for a provider, None when there is none."""
        with self._lock:
            if provider in self._keys:
                return self._keys[provider]
            if provider in self._missing:
                return None
            keyring = self._keyring()
            key = self._ask(lambda: keyring.get_password(self._service, provider)) if keyring is not None else None
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
        key = _checked(key, provider)
        with self._lock:
            self._keys[provider] = key
            self._missing.discard(provider)
            keyring = self._keyring()
            if keyring is None:
                return False
            return self._ask(lambda: _store(keyring, self._service, provider, key)) is True

    def delete(self, provider: str) -> None:
        """Forget a key, in the keyring too; no error when there is none."""
        with self._lock:
            self._keys.pop(provider, None)
            self._missing.add(provider)
            keyring = self._keyring()
            if keyring is not None:
                self._ask(lambda: _remove(keyring, self._service, provider))

    def forget_cached(self, provider: str) -> None:
        """Ask the keyring again next time: another program may have changed the key. A session-only key stays."""
        with self._lock:
            if self._keyring() is not None:
                self._keys.pop(provider, None)
            self._missing.discard(provider)

    def resolve(self, config: ProviderConfig) -> str | None:
        """The key to use now: the variable ``api_key_env`` names if any, else the kept one.

        Raises:
            ProviderError: the variable is not set, or its value cannot be a key (code ``auth``).
        """
        if not config.api_key_env:
            return self.get(config.name)
        value = self._environ.get(config.api_key_env, "").strip()
        if not value:
            raise ProviderError(
                N_("The environment variable {variable}, which should hold the key of {provider}, is not set."),
                code="auth",
                variable=config.api_key_env,
                provider=config.name,
            )
        return _checked(value, config.name)

    async def key_for(self, config: ProviderConfig) -> str | None:
        """``resolve`` without blocking the event loop."""
        with self._lock:
            known = bool(config.api_key_env) or config.name in self._keys or config.name in self._missing
        return self.resolve(config) if known else await asyncio.to_thread(self.resolve, config)

    def _keyring(self) -> Any:
        with self._lock:
            if not self._probed:
                self._probed = True
                self._backend = _usable_backend()
            return self._backend

    def _ask(self, call: Any) -> Any:
        """Run a keyring call; a keyring that fails is not used again in this session."""
        from keyring.errors import KeyringError

        try:
            return call()
        except (KeyringError, OSError, RuntimeError) as error:
            _log.warning("The keyring cannot be used (%s); keys are kept for this session only.", type(error).__name__)
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


def _store(keyring: Any, service: str, provider: str, key: str) -> bool:
    keyring.set_password(service, provider, key)
    return True


def _remove(keyring: Any, service: str, provider: str) -> None:
    from keyring.errors import PasswordDeleteError

    try:
        keyring.delete_password(service, provider)
    except PasswordDeleteError:
        _log.debug("The keyring held no key of that name.")


def _usable_backend() -> Any:
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

"""A keyring in memory."""

from __future__ import annotations

import threading

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class MemoryKeyring(KeyringBackend):
    """A keyring that reports itself as encrypted."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.passwords: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.threads: set[int] = set()
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self.threads.add(threading.get_ident())
        if self.locked:
            raise KeyringLocked
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked(f"cannot keep {password}")
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise PasswordDeleteError

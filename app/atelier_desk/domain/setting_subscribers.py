"""Who applies a setting subscribes to its key: the engine's parts, and the window's."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atelier_desk.domain.settings import Settings


class SettingSubscribers:
    """Each is called with the values of its keys when one of them changed; nobody else is disturbed by it."""

    def __init__(self) -> None:
        self.applied: Settings | None = None
        """What was published last."""
        self._subscribers: list[tuple[Callable[..., object], tuple[str, ...]]] = []

    def subscribe(self, apply: Callable[..., object], *keys: str, at_once: bool = True) -> None:
        """Call ``apply`` with the values of these settings, by keys as ``approvals.timeout_s``, whenever one of them changed, and now if
        they are known: ``at_once`` false leaves that out, for what only follows a change. What it returns is waited for."""
        self._subscribers.append((apply, keys))
        if at_once and self.applied is not None:
            apply(*_values(self.applied, keys))

    async def publish(self, settings: Settings) -> None:
        """Apply what differs from the settings before; the first ones altogether. One that fails keeps no other from its settings: a rule
        made stricter holds whatever else goes wrong. What the first of them raised is raised in the end."""
        before, self.applied = self.applied, settings
        failed: Exception | None = None
        for apply, keys in tuple(self._subscribers):
            values = _values(settings, keys)
            if before is None or values != _values(before, keys):
                try:
                    outcome = apply(*values)
                    if isawaitable(outcome):
                        await outcome
                except Exception as error:
                    failed = failed or error
        if failed is not None:
            raise failed


def _values(settings: Settings, keys: tuple[str, ...]) -> list[Any]:
    found: list[object] = []
    for key in keys:
        value: Any = settings
        for part in key.split("."):
            value = getattr(value, part)
        found.append(value)
    return found

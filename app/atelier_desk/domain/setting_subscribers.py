"""Subscriptions to settings, for parts of the engine and the window."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atelier_desk.domain.settings import Settings


class SettingSubscribers:
    """Calls subscribers with their values when one of them changes, and only these."""

    applied: Settings
    """The last published settings; unset before the first ones."""

    def __init__(self) -> None:
        self._subscribers: list[tuple[Callable[..., object], tuple[str, ...]]] = []

    def subscribe(self, apply: Callable[..., object], *keys: str, at_once: bool = True) -> None:
        """Call ``apply`` with the values of these settings (keys such as ``approvals.timeout_s``) whenever one changes.

        Called immediately if they are known; not with ``at_once`` False. Awaitable results are awaited.
        """
        self._subscribers.append((apply, keys))
        if at_once and hasattr(self, "applied"):
            apply(*_values(self.applied, keys))

    async def publish(self, settings: Settings) -> None:
        """Apply differences from the previous settings; the first time, all of them.

        A failing subscriber does not prevent the others: a stricter rule takes effect whatever else fails. The first
        exception is raised at the end.
        """
        before, self.applied = getattr(self, "applied", None), settings
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


def _values(settings: Settings, keys: tuple[str, ...]) -> list[object]:
    found: list[object] = []
    for key in keys:
        value: object = settings
        for part in key.split("."):
            value = getattr(value, part)
        found.append(value)
    return found

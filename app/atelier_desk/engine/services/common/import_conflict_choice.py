"""Handling of existing items during an import."""

from __future__ import annotations

from enum import StrEnum

from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_


class OnConflict(StrEnum):
    """Skip the new item, overwrite the existing one, or rename the new one."""

    SKIP = "skip"
    OVERWRITE = "overwrite"
    RENAME = "rename"

    @classmethod
    def parse(cls, value: str) -> OnConflict:
        """Return the value with this name.

        Raises:
            UsageError: there is none; the error lists them.
        """
        try:
            return cls(value)
        except ValueError:
            raise UsageError(
                N_("Unknown conflict option {value}; allowed: {allowed}."),
                value=value,
                allowed=", ".join(each.value for each in cls),
            ) from None

"""Identities inside values: replacing them wherever they stand, also in texts that name one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORD = re.compile(r"[0-9A-Za-z_-]{8,}")
"""What may be an identity in a text; shorter words never are."""


def renamed(value: Any, ids: Mapping[str, str]) -> Any:
    """A JSON value with every identity that ``ids`` knows replaced by its new one; keys of objects stay."""
    if isinstance(value, str):
        return _WORD.sub(lambda match: ids.get(match[0], match[0]), value)
    if isinstance(value, list):
        return [renamed(each, ids) for each in value]
    if isinstance(value, dict):
        return {key: renamed(each, ids) for key, each in value.items()}
    return value

"""Data that a model server sends with a reply or call and expects back unchanged.

Signatures, encrypted or plain reasoning.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.base_model import Model


class ProviderData(Model):
    """An opaque value of one server, stored in the journal and returned only to the same provider and model.

    Stored packed, so that nothing that processes texts (new ids in a copy, repaired surrogates, a search) can alter it:
    servers refuse conversations with a changed value.

    Attributes:
        provider, model: its origin: name of the configured provider, and the requested model.
        size: bytes of the value as JSON.
        data: the packed value; empty if not stored: larger than ``limits.PROVIDER_DATA``, or containing an API key.
    """

    provider: str
    model: str
    size: int = 0
    data: str = ""

    @classmethod
    def pack(cls, provider: str, model: str, value: Mapping[str, object]) -> ProviderData:
        """Pack a JSON object; above the limit only its size is stored."""
        text = json.dumps(value, separators=(",", ":")).encode()
        data = base64.b64encode(zlib.compress(text)).decode() if len(text) <= limits.PROVIDER_DATA else ""
        return cls(provider=provider, model=model, size=len(text), data=data)

    def value(self) -> dict[str, Any]:
        """Return the object as it was sent; empty if not stored or, in a foreign file, unreadable."""
        try:
            unpacker = zlib.decompressobj()
            found = json.loads(unpacker.decompress(base64.b64decode(self.data, validate=True), limits.PROVIDER_DATA))
        except (ValueError, RecursionError, zlib.error):
            return {}
        return found if isinstance(found, dict) else {}

    def belongs_to(self, provider: str, model: str) -> bool:
        """Whether a request to this provider and model may contain it."""
        return bool(self.data) and (self.provider, self.model) == (provider, model)

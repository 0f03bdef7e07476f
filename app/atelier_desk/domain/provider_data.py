"""What a model server sends along with a reply or a call and wants back unchanged: signatures, encrypted or plain reasoning."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from atelier_desk.domain import limits
from atelier_desk.domain.base import Model


class ProviderData(Model):
    """An opaque value of one server's, kept in the journal and given back to the same provider and model only.

    It is kept packed, so that nothing that looks into texts on the way (new identities in a copy, mended surrogates, a search) can change
    it: one letter less and its server refuses the conversation.

    Attributes:
        provider, model: who it came from: the configured provider's name, and the model as it was asked for.
        size: bytes of the value as JSON.
        data: the packed value; empty when it is not kept: larger than ``limits.PROVIDER_DATA``, or with an API key in it.
    """

    provider: str
    model: str
    size: int = 0
    data: str = ""

    @classmethod
    def pack(cls, provider: str, model: str, value: dict[str, Any]) -> ProviderData:
        """Keep a JSON object; one over the limit leaves only its size."""
        text = json.dumps(value, separators=(",", ":")).encode()
        data = base64.b64encode(zlib.compress(text)).decode() if len(text) <= limits.PROVIDER_DATA else ""
        return cls(provider=provider, model=model, size=len(text), data=data)

    def value(self) -> dict[str, Any]:
        """The object as it was sent; empty when it is not kept or, from a file of a stranger's, cannot be read."""
        try:
            unpacker = zlib.decompressobj()
            found = json.loads(unpacker.decompress(base64.b64decode(self.data, validate=True), limits.PROVIDER_DATA))
        except (ValueError, RecursionError, zlib.error):
            return {}
        return found if isinstance(found, dict) else {}

    def belongs_to(self, provider: str, model: str) -> bool:
        """Whether a request to this provider and model may hold it."""
        return bool(self.data) and (self.provider, self.model) == (provider, model)

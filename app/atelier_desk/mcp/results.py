"""Content of a server's answer as plain values: texts, images, files and links to resources.

Secrets that the server received from us are removed.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atelier_desk.domain import limits
from atelier_desk.llm.secrets import REDACTED, redact
from atelier_desk.mcp.message_limits import MOST_VALUES
from atelier_desk.media.image_headers import kind_of

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ReadResourceResult

PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")
MOST_PARTS = 200
"""Parts of one answer; the rest is dropped."""
_SUFFIXES = {
    "audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf", "text/plain": ".txt",
    "application/json": ".json", "image/svg+xml": ".svg", "application/gzip": ".gz", "application/zip": ".zip",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """An image; ``data`` is base64."""

    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class File:
    """A file; ``name`` has no folder."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Content of a call's result.

    Attributes:
        text: all its texts.
        structured: any JSON value; None for none.
        links: linked resources: ``uri``, ``name``, ``description``, ``mime_type``.
        note: how the call went, for the model.
        left_out: what was dropped, in English, for the model.
    """

    failed: bool
    text: str = ""
    structured: object = None
    pictures: tuple[Picture, ...] = ()
    files: tuple[File, ...] = ()
    links: tuple[dict[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    note: str = ""


def read(result: CallToolResult) -> Answer:
    """Read a call's result."""
    texts: list[str] = []
    taken = _Taken()
    blocks: list[Any] = list(result.content)
    for block in blocks[:MOST_PARTS]:
        kind = block.type
        if kind == "text":
            texts.append(block.text)
        elif kind in ("image", "audio"):
            taken.blob(block.data, block.mime_type, kind)
        elif kind == "resource_link":
            taken.link(block)
        elif kind == "resource":
            inner = block.resource
            text = getattr(inner, "text", None)
            if text is not None:
                texts.append(f"[{inner.uri}]\n{text}")
            else:
                taken.blob(inner.blob, inner.mime_type or "", str(inner.uri))
    if len(result.content) > MOST_PARTS:
        taken.left_out.append(f"{len(result.content) - MOST_PARTS} more parts")
    structured = hidden(result.structured_content)
    return Answer(
        failed=result.is_error,
        text=redact("\n\n".join(text for text in texts if text)),
        structured=None if _same(structured, texts) else structured,
        pictures=tuple(taken.pictures),
        files=tuple(taken.files),
        links=tuple(taken.links),
        left_out=tuple(map(redact, taken.left_out)),
    )


def contents(result: ReadResourceResult) -> tuple[str, bytes, str]:
    """A resource's texts, else the bytes of its first part; and its media type."""
    texts: list[str] = []
    data, kind = b"", ""
    parts: list[Any] = list(result.contents)
    for part in parts[:MOST_PARTS]:
        kind = kind or part.mime_type or ""
        text = getattr(part, "text", None)
        if text is not None:
            texts.append(text)
        elif not data:
            try:
                content = base64.b64decode(part.blob, validate=True)[: limits.ATTACHED_FILE + 1]
            except (binascii.Error, ValueError):
                continue
            data = b"" if _has_secret(content) else content
    return redact("\n\n".join(texts)), b"" if texts else data, kind


def hidden(value: object) -> object:
    """A JSON value without secrets known to this program."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = json.dumps(value, ensure_ascii=False)
    clean = redact(text)
    try:
        return value if clean == text else json.loads(clean)
    except ValueError:  # a number was a secret
        return REDACTED


def _has_secret(content: bytes) -> bool:
    """Whether a file contains a secret known to this program, in UTF-8 or, if it is ASCII, in UTF-16 or UTF-32."""
    text = content.replace(b"\0", b"").decode("utf-8", "replace")
    return redact(text) != text


def _same(structured: object, texts: list[str]) -> bool:
    """Whether the text repeats the structured value, for clients that read only one."""
    if structured is None or len(texts) != 1 or texts[0].count(",") > MOST_VALUES:
        return False
    try:
        said = json.loads(texts[0])
    except ValueError:
        said = texts[0]
    return bool(said == structured or {"result": said} == structured)


class _Taken:
    """Parts of an answer other than texts."""

    def __init__(self) -> None:
        self.pictures: list[Picture] = []
        self.files: list[File] = []
        self.links: list[dict[str, str]] = []
        self.left_out: list[str] = []
        self._bytes = 0

    def blob(self, data: str, media_type: str, name: str) -> None:
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self.left_out.append(f"{name} ({media_type}): its data is damaged")
            return
        self._bytes += len(content)
        if self._bytes > limits.ATTACHED_FILE:
            self.left_out.append(f"{name} ({media_type}, {len(content)} bytes): too large")
        elif _has_secret(content):
            self.left_out.append(f"{name} ({media_type}): it contains a secret of the user")
        # scaled, converted and inspected by ``tools.calls.result_images``
        elif media_type in PICTURES or kind_of(content):
            self.pictures.append(Picture(media_type, data))
        else:
            self.files.append(
                File(
                    _file_name(redact(name), media_type, len(self.files) + 1),
                    redact(media_type) or "application/octet-stream",
                    content,
                )
            )

    def link(self, block: Any) -> None:
        said = {
            "uri": str(block.uri),
            "name": block.name,
            "description": block.description or "",
            "mime_type": block.mime_type or "",
        }
        self.links.append({key: redact(value)[:2_000] for key, value in said.items() if value})


def _file_name(name: str, media_type: str, number: int) -> str:
    last = name.rstrip("/").rpartition("/")[2]
    kept = "".join(each for each in last if each.isalnum() or each in "._- ").strip(". ")[:80] or f"file-{number}"
    suffix = _SUFFIXES.get(media_type, "")
    return (
        kept
        if "." in kept or not suffix
        else f"{kept}-{number}{suffix}"
        if kept in ("audio", "image")
        else kept + suffix
    )

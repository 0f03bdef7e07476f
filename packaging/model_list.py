"""Build the shipped list of hosted models from a checkout of the models.dev repository: ``make models
FROM=FOLDER``.

The repository has one TOML file per model, ``providers/SERVICE/models/NAME.toml``, which may inherit values from
``models/MAKER/NAME.toml`` (``base_model``, less ``base_model_omit``). The list has what models.dev would serve
about the services that Atelier knows (``atelier_desk.llm.model_catalogue``). Its date is that of the checkout's
newest commit.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from atelier_desk.engine.services.models import LIST_OLD_DAYS
from atelier_desk.llm.model_catalogue import SHIPPED, ModelList, known_models, read, store
from atelier_desk.llm.provider_presets import PRESETS

LEAST = 0.5
"""The smallest accepted share of the previous number of models: with fewer, the checkout is incomplete or its
format has changed.
"""


class Unusable(Exception):
    """The folder cannot be used; the message says why, and what to do."""


def answer_of(folder: Path) -> dict[str, Any]:
    """What models.dev would serve about the services that Atelier knows: by service, its models by name.

    Raises:
        Unusable: the folder is no such checkout, or one of its files cannot be read.
    """
    services = folder / "providers"
    if not services.is_dir():
        raise Unusable(f"{folder} has no folder providers: it is no checkout of the models.dev repository.")
    found: dict[str, Any] = {}
    for service in sorted(services / each.id for each in PRESETS if each.id):
        files = sorted((service / "models").rglob("*.toml"))
        models = {path.relative_to(service / "models").with_suffix("").as_posix(): path for path in files}
        found[service.name] = {"models": {name: _resolved(_read(path), folder) for name, path in models.items()}}
    return found


def day_of(folder: Path) -> date:
    """The date of the checkout's newest commit.

    Raises:
        Unusable: it has no commit.
    """
    order = ["git", "-C", str(folder), "log", "-1", "--format=%cs"]
    log = subprocess.run(order, capture_output=True, text=True, check=False)
    try:
        return date.fromisoformat(log.stdout.strip())
    except ValueError:
        raise Unusable(
            f"{folder} has no commit with a date: clone the repository instead of copying its files."
        ) from None


def build_list(folder: Path, before: ModelList) -> ModelList:
    """The new list.

    Raises:
        Unusable: it cannot be built, would be older than ``before``, or has lost most of its models.
    """
    models = known_models(answer_of(folder))
    new = ModelList(day_of(folder), models)
    if new.day < before.day:
        raise Unusable(f"The checkout is of {new.day}, the shipped list of {before.day}: pull the repository first.")
    if new.count < LEAST * before.count:
        raise Unusable(
            f"Only {new.count} models were found where {before.count} are listed: the repository's form may have "
            f"changed."
        )
    return new


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unusable(f"{path} cannot be read: {error}") from None


def _resolved(model: dict[str, Any], folder: Path) -> dict[str, Any]:
    base = model.get("base_model")
    if not isinstance(base, str):
        return model
    merged = _merged(_resolved(_read(folder / "models" / f"{base}.toml"), folder), model)
    for dotted in model.get("base_model_omit", ()):
        *above, last = dotted.split(".")
        table: Any = merged
        for name in above:
            table = table.get(name, {})
        table.pop(last, None)
    return merged


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` on top of ``base``, merged table by table."""
    both = {
        name: _merged(base[name], over[name])
        for name in over
        if isinstance(over[name], dict) and isinstance(base.get(name), dict)
    }
    return {**base, **over, **both}


def main(arguments: list[str]) -> int:
    if arguments == ["--age"]:
        shipped = read(SHIPPED)
        age = (datetime.now(UTC).date() - shipped.day).days
        if age > LIST_OLD_DAYS:
            print(
                f"The list of hosted models is {age} days old ({shipped.day}): make models FROM=FOLDER refreshes it "
                f"before a release."
            )
        return 0
    if len(arguments) != 1 or not arguments[0]:
        print("Name a checkout of https://github.com/anomalyco/models.dev: make models FROM=FOLDER", file=sys.stderr)
        return 2
    before = read(SHIPPED)
    try:
        new = build_list(Path(arguments[0]), before)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 1
    store(SHIPPED, new)
    old, now = (
        {(service, name) for service, models in each.models.items() for name in models} for each in (before, new)
    )
    print(f"{before.day} -> {new.day}: {new.count} models, {len(now - old)} new, {len(old - now)} gone.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

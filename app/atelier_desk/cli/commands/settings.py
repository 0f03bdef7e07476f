"""``atelier settings``: values of the settings pages, by key."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator

from pydantic import BaseModel

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import UsageError
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_, _

ELSEWHERE = frozenset({"first_start_done", "confirmed_tools", "window", "approvals.rules", "folder_trust"})
"""Keys with commands of their own (``approvals``, ``files trust`` …), or the window's state."""


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = dict(_flat(await atelier.settings.get()))
    return Result(found, Table((_("setting"), _("value")), [(key, _value_text(value)) for key, value in found.items()]))


async def get(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    value = _known(dict(_flat(await atelier.settings.get())), arguments.key)
    return Result(value, _value_text(value))


async def set_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    _known(dict(_flat(await atelier.settings.get())), arguments.key)
    try:
        value = json.loads(arguments.value)
    except ValueError:
        value = arguments.value
    await atelier.settings.set(arguments.key, value)
    return await get(atelier, arguments, out)


def _flat(model: BaseModel, before: str = "") -> Iterator[tuple[str, object]]:
    """Dotted keys and their JSON values, in the model's order."""
    plain = model.model_dump(mode="json")
    for name in type(model).model_fields:
        key, value = f"{before}{name}", getattr(model, name)
        if key in ELSEWHERE:
            continue
        if isinstance(value, BaseModel):
            yield from _flat(value, f"{key}.")
        else:
            yield key, plain[name]


def _known(found: dict[str, object], key: str) -> object:
    if key not in found:
        raise UsageError(N_("There is no setting {key}. Settings: {names}."), key=key, names=", ".join(found))
    return found[key]


def _value_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

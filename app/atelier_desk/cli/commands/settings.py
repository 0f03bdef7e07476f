"""``atelier settings``: what the window's settings pages keep, by key."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier

ELSEWHERE = frozenset({"first_start_done", "confirmed_tools", "window", "approvals.rules", "folder_trust"})
"""What has a command of its own (``tools own confirm``, ``approvals``, ``files trust``), or is the window's own memory."""


def register(add: Adder) -> None:
    group = add.group("settings", _("settings of the program"))
    group.command("list", _("every setting and its value"), "settings:list_", needs=DATABASE)
    get = group.command("get", _("the value of one setting"), "settings:get", needs=DATABASE)
    get.add_argument("key", metavar="KEY")
    change = group.command("set", _("change a setting; applies at once"), "settings:set_")
    change.add_argument("key", metavar="KEY")
    change.add_argument("value", metavar="VALUE", help=_("a JSON value or a plain word"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    found = dict(_flat(await atelier.settings.get()))
    if out.json:
        data(out, found)
        return 0
    table(out, [(key, _told(value)) for key, value in found.items()], (_("setting"), _("value")))
    return 0


async def get(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    value = _known(dict(_flat(await atelier.settings.get())), arguments.key)
    outcome(out, value, _told(value))
    return 0


async def set_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    import json

    _known(dict(_flat(await atelier.settings.get())), arguments.key)
    try:
        value = json.loads(arguments.value)
    except ValueError:
        value = arguments.value
    await atelier.settings.set(arguments.key, value)
    return await get(atelier, arguments, out)


def _flat(model: BaseModel, before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and JSON values, in the order of the model."""
    from pydantic import BaseModel

    plain = model.model_dump(mode="json")
    for name in type(model).model_fields:
        key, value = f"{before}{name}", getattr(model, name)
        if key in ELSEWHERE:
            continue
        if isinstance(value, BaseModel):
            yield from _flat(value, f"{key}.")
        else:
            yield key, plain[name]


def _known(found: dict[str, Any], key: str) -> Any:
    from atelier_desk.domain.errors import UsageError

    if key not in found:
        raise UsageError(N_("There is no setting {key}. Settings: {names}."), key=key, names=", ".join(found))
    return found[key]


def _told(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

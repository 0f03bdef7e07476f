"""``atelier models list``: what the configured providers offer."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import _

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.engine.atelier import Atelier


def register(add: Adder) -> None:
    group = add.group("models", _("models of the configured providers"))
    listing = group.command("list", _("all models that can be reached"), "models:list_", needs=DATABASE)
    listing.add_argument("--provider", metavar="P", help=_("of this provider alone"))


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Providers that do not answer are named on standard error; the others' models are listed."""
    from atelier_desk.domain.errors import ProviderError

    names = [arguments.provider] if arguments.provider else [each.name for each in await atelier.providers.list() if each.enabled]
    models: list[ModelInfo] = []
    failed = 0
    for name in names:
        try:
            models += await atelier.providers.models(name)
        except ProviderError as error:
            failed += 1
            out.note(_("{provider}: {problem}", provider=name, problem=error.localized(_)), "warn")
    print_models(out, models)
    return 1 if arguments.provider and failed else 0


def print_models(out: Output, models: list[ModelInfo]) -> None:
    """The models as JSON or as a table."""
    from atelier_desk.cli.output import data, table

    if out.json:
        data(out, [model.model_dump(mode="json") for model in models])
        return
    rows = [
        (each.provider, each.name, str(each.context_window or "?"), _price(each.price_input), _price(each.price_output), each.label)
        for each in models
    ]
    table(out, rows, (_("provider"), _("name"), _("window"), _("$/M in"), _("$/M out"), _("label")))


def _price(value: Any) -> str:
    return "?" if value is None else f"{value:g}"

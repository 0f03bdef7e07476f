"""``atelier models``: what the configured providers offer, and what is known better here than there."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk import figures
from atelier_desk.cli.parser import DATABASE, Adder, number
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.provider import ModelInfo
    from atelier_desk.engine.atelier import Atelier


EDITED = (
    "label", "context_window", "max_output_tokens", "supports_tools", "supports_vision", "supports_thinking", "price_input", "price_output",
    "price_cache_read", "price_cache_write",
)  # fmt: skip
"""The fields ``edit`` can change; those of the settings window."""


def register(add: Adder) -> None:
    group = add.group("models", _("models of the configured providers"))
    listing = group.command("list", _("all models that can be reached"), "models:list_", needs=DATABASE)
    listing.add_argument("--provider", metavar="P", help=_("of this provider only"))

    group.command(
        "refresh",
        _("update the list of hosted models, limits and prices from models.dev"),
        "models:refresh",
        needs=DATABASE,
    )
    use = group.command("use", _("use a model for the default agent, those with the same model, and new workflows"), "models:use")
    use.add_argument("provider", metavar="PROVIDER")
    use.add_argument("model", metavar="MODEL")
    edit = group.command("edit", _("edit what is known about a model; other values are kept"), "models:edit", needs=DATABASE)
    edit.add_argument("provider", metavar="PROVIDER")
    edit.add_argument("model", metavar="MODEL")
    edit.add_argument("--window", metavar="N", type=number(int, least=1), dest="context_window", help=_("context window in tokens"))
    edit.add_argument(
        "--max-output", metavar="N", type=number(int, least=1), dest="max_output_tokens",
        help=_("max reply length in tokens"),
    )  # fmt: skip
    for option, dest, help in (
        ("--price-in", "price_input", _("US dollars per million input tokens")),
        ("--price-out", "price_output", _("US dollars per million output tokens")),
        ("--price-cache-read", "price_cache_read", _("US dollars per million cached input tokens")),
        ("--price-cache-write", "price_cache_write", _("US dollars per million tokens written to the cache")),
    ):
        edit.add_argument(option, metavar="USD", type=number(float, least=0), dest=dest, help=help)
    edit.add_argument("--label", metavar="TEXT", help=_("its display name"))
    for option, dest, help in (
        ("--tools", "supports_tools", _("whether it can call tools")),
        ("--vision", "supports_vision", _("whether it supports images")),
        ("--thinking", "supports_thinking", _("whether it supports thinking")),
    ):
        edit.add_argument(option, choices=("yes", "no"), dest=dest, help=help)
    edit.add_argument("--reset", action="store_true", help=_("reset all changes first"))


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.domain.errors import UsageError

    given = {name: getattr(arguments, name) for name in EDITED if getattr(arguments, name) is not None}
    changes = {name: value == "yes" if name.startswith("supports_") else value for name, value in given.items()}
    if not changes and not arguments.reset:
        raise UsageError(N_("Name something to change; see atelier models edit --help."))
    if arguments.reset:
        info = await atelier.models.reset(arguments.provider, arguments.model)
    if changes:
        info = await atelier.models.edit(arguments.provider, arguments.model, **changes)
    print_models(out, [info])
    return 0


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
    state = await atelier.models.list_state()
    if state.old:
        say = N_("The list of hosted models is {days} days old: newer models and prices may be missing. atelier models refresh fetches it.")
        out.note(_(say, days=state.age), "warn")
    return 1 if arguments.provider and failed else 0


async def refresh(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Ctrl-C leaves the old list in use."""
    from atelier_desk.cli.output import data, line

    state = await atelier.models.refresh_list()
    if out.json:
        data(out, {"day": state.day.isoformat(), "models": state.models, "services": state.services})
        return 0
    text = ngettext(
        "The list of hosted models is of {day} now: {n} model of {services} services.",
        "The list of hosted models is of {day} now: {n} models of {services} services.",
        state.models, day=state.day.isoformat(), services=state.services,
    )  # fmt: skip
    line(out, text)
    return 0


def print_models(out: Output, models: list[ModelInfo]) -> None:
    """The models as JSON or as a table."""
    from atelier_desk.cli.output import data, table

    if out.json:
        data(out, [model.model_dump(mode="json") for model in models])
        return
    rows = [
        (each.provider, each.name, _window(each.context_window), _price(each.price_input), _price(each.price_output), each.label)
        for each in models
    ]
    table(out, rows, (_("provider"), _("name"), _("context"), _("$/M input"), _("$/M output"), _("label")))


def _window(tokens: int | None) -> str:
    return figures.number(tokens) if tokens else "?"


def _price(value: float | None) -> str:
    return "?" if value is None else figures.number(value, 4, trim=True)


async def use(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    changed = [each.name for each in await atelier.agents.use_model(arguments.provider, arguments.model)]
    said = _("{model} is used for {agents}.", model=arguments.model, agents=", ".join(changed)) if changed else _("It is used already.")
    outcome(out, {"agents": changed}, said)
    return 0

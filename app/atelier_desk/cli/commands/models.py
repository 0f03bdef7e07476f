"""``atelier models``: what the configured providers offer, and what is known better here than there."""

from __future__ import annotations

import argparse

from atelier_desk import figures
from atelier_desk.cli.output import Output, data, line, table
from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.engine.atelier import Atelier
from atelier_desk.i18n import N_, _, ngettext

EDITED = (
    "label", "context_window", "max_output_tokens", "supports_tools", "supports_vision", "supports_thinking", "price_input", "price_output",
    "price_cache_read", "price_cache_write",
)  # fmt: skip
"""The fields ``edit`` can change; those of the settings window."""


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
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

"""``atelier models``: models of the configured providers, and their overrides."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import ProviderError, UsageError
from atelier_desk.domain.provider import ModelInfo
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.model_names import model_name
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext

EDITED = (
    "label", "context_window", "max_output_tokens", "supports_tools", "supports_vision", "supports_thinking",
    "price_input", "price_output",
    "price_cache_read", "price_cache_write",
)  # fmt: skip
"""Fields that ``edit`` can change; the same as in the settings window."""


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    given = {name: getattr(arguments, name) for name in EDITED if getattr(arguments, name) is not None}
    changes = {name: value == "yes" if name.startswith("supports_") else value for name, value in given.items()}
    if not changes and not arguments.reset:
        raise UsageError(N_("Specify what to change; see atelier models edit --help."))
    if arguments.reset:
        info = await atelier.models.reset(arguments.provider, arguments.model)
    if changes:
        info = await atelier.models.edit(arguments.provider, arguments.model, **changes)
    return models_table([info])


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Providers that do not answer are named on standard error; other models are listed."""
    names = (
        [arguments.provider]
        if arguments.provider
        else [each.name for each in await atelier.providers.list() if each.enabled]
    )
    models: list[ModelInfo] = []
    failed = 0
    for name in names:
        try:
            models += await atelier.providers.models(name)
        except ProviderError as error:
            failed += 1
            out.note(_("{provider}: {problem}", provider=name, problem=error.localized(_)), "warn")
    state = await atelier.models.list_state()
    if state.old:
        say = N_(
            "The list of hosted models is {days} days old: newer models and prices may be missing. To update it: "
            "atelier models refresh"
        )
        out.note(_(say, days=state.age), "warn")
    return models_table(models, FAILED if arguments.provider and failed else OK)


async def refresh(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Refresh limits and prices; Ctrl-C keeps the old list."""
    state = await atelier.models.refresh_list()
    text = ngettext(
        "List of hosted models updated ({day}): {n} model from {services} services.",
        "List of hosted models updated ({day}): {n} models from {services} services.",
        state.models,
        day=state.day.isoformat(),
        services=state.services,
    )
    return Result({"day": state.day.isoformat(), "models": state.models, "services": state.services}, text)


def models_table(models: list[ModelInfo], status: int = OK) -> Result:
    rows = (
        (
            each.provider,
            each.name,
            _window(each.context_window),
            _price(each.price_input),
            _price(each.price_output),
            model_name(each) if each.label else "",
        )
        for each in models
    )
    header = (_("provider"), _("name"), _("context"), _("$/M input"), _("$/M output"), _("label"))
    return Result(models, Table(header, rows), status=status)


def _window(tokens: int | None) -> str:
    return locale_format.number(tokens) if tokens else "?"


def _price(value: float | None) -> str:
    return "?" if value is None else locale_format.number(value, 4, trim=True)


async def use(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    changed = [each.name for each in await atelier.agents.use_model(arguments.provider, arguments.model)]
    message = (
        _("{model} is now used by: {agents}.", model=arguments.model, agents=", ".join(changed))
        if changed
        else _("This model is already in use.")
    )
    return Result({"agents": changed}, message)

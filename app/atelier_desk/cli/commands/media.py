"""``atelier media``: services that describe images or create images and 3D models."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.parser import FAILED, OK
from atelier_desk.cli.terminal_io import Output
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import input_checks
from atelier_desk.presentation.media_connection_test_text import connection_test_text
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import cost_bound
from atelier_desk.web.media_generation import SERVICES as KNOWN


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    state = await atelier.media.state()
    settings = state.settings

    def key(variable: str, service: str) -> str:
        return variable or (_("saved") if service in state.keys else "-")

    by = KNOWN.get(settings.models)
    rows = [
        (_("describing images"), settings.sees or "-", "-", "-", "-"),
        (
            _("generating images"),
            settings.images_model or "-",
            settings.images or "-",
            key(settings.images_key_env, "images"),
            _price(settings.images_price),
        ),
        (
            _("generating 3D models"),
            by.title if by is not None else "-",
            (settings.models_address or by.address) if by is not None else "-",
            key(settings.models_key_env, settings.models),
            _price(settings.models_price),
        ),
    ]
    value = {**settings.model_dump(mode="json"), "keys": state.keys}
    return Result(value, Table((_("purpose"), _("service"), _("address"), _("key"), _("price")), rows))


def _price(dollars: float | None) -> str:
    return "-" if dollars is None else cost_bound(dollars, up=True)


async def _changed(atelier: Atelier, arguments: Namespace, out: Output, **fields: object) -> Result:
    await atelier.media.use(input_checks.changed((await atelier.media.state()).settings, _("settings"), **fields))
    return await list_(atelier, arguments, out)


async def describe(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return await _changed(atelier, arguments, out, sees=arguments.model)


async def images(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    address = arguments.address.rstrip("/")
    return await _changed(
        atelier, arguments, out,
        images=address, images_model=arguments.model, images_key_env=arguments.api_key_env,
        images_price=arguments.price,
    )  # fmt: skip


async def models(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    address = arguments.address.rstrip("/")
    return await _changed(
        atelier, arguments, out,
        models=arguments.service, models_address=address, models_key_env=arguments.api_key_env,
        models_price=arguments.price,
    )  # fmt: skip


async def test(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.media.test(arguments.what)
    return Result(
        {"answers": True, "model_listed": found.known, "balance": found.balance},
        connection_test_text(arguments.what, (await atelier.media.state()).settings.images_model, found),
        status=FAILED if found.known is False else OK,
    )


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    service = {"images": "images", "models": (await atelier.media.state()).settings.models}.get(arguments.what, "")
    fields: dict[str, dict[str, str | None]] = {
        "describe": {"sees": ""},
        "images": {"images": "", "images_model": "", "images_key_env": "", "images_price": None},
        "models": {"models": "off", "models_address": "", "models_key_env": "", "models_price": None},
    }
    left = await _changed(atelier, arguments, out, **fields[arguments.what])
    if service not in ("", "off"):
        await atelier.media.forget_key(service)
    return left

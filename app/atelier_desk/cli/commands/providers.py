"""``atelier providers``: list, add, edit, remove, test and models."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier

EDITABLE = ("base_url", "api_key_env", "enabled")
KINDS = ("openai", "mistral", "ollama", "local")


def register(add: Adder) -> None:
    group = add.group("providers", _("model servers"))
    group.command("list", _("all providers"), "providers:list_", needs=DATABASE)
    added = group.command("add", _("configure a server"), "providers:add_")
    added.add_argument("name", metavar="NAME")
    added.add_argument("--kind", choices=KINDS, required=True)
    added.add_argument("--base-url", metavar="U", default="", help=_("the server's address, when it is not the kind's usual one"))
    added.add_argument(
        "--api-key-env", metavar="VAR", default="", help=_("the environment variable that holds the key; only its name is stored")
    )
    edit = group.command("edit", _("change a server; what is not named stays as it is"), "providers:edit")
    edit.add_argument("name", metavar="NAME")
    edit.add_argument("--base-url", metavar="U", help=_("the server's address; empty for the kind's usual one"))
    edit.add_argument("--api-key-env", metavar="VAR", help=_("the environment variable that holds the key; empty to forget it"))
    switch = edit.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", dest="enabled", default=None, help=_("use it"))
    switch.add_argument("--disable", action="store_false", dest="enabled", default=None, help=_("keep it without using it"))
    remove = group.command("remove", _("forget a server and its key"), "providers:remove")
    remove.add_argument("name", metavar="NAME")
    test = group.command("test", _("reach a server"), "providers:test")
    test.add_argument("name", metavar="NAME")
    models = group.command("models", _("the models a server offers"), "providers:models", needs=DATABASE)
    models.add_argument("name", metavar="NAME")


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table

    providers = await atelier.providers.list()
    if out.json:
        data(out, [provider.model_dump(mode="json") for provider in providers])
        return 0
    rows = [(each.name, each.kind.value, each.base_url or "-", _key(each.has_key, each.api_key_env)) for each in providers]
    table(out, rows, (_("name"), _("kind"), _("address"), _("key")))
    return 0


async def add_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.engine.services import checks

    if arguments.kind == "local":
        raise UsageError(N_("The local provider is built in and need not be added."))
    config = checks.build(
        ProviderConfig,
        _("provider"),
        name=arguments.name,
        kind=arguments.kind,
        base_url=arguments.base_url,
        api_key_env=arguments.api_key_env,
    )
    await atelier.providers.save(config, new=True)
    if out.json:
        data(out, config.model_dump(mode="json"))
    else:
        line(out, _("Added {name}; try it with: atelier providers test {name}", name=config.name))
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.engine.services import checks

    old = await atelier.providers.get(arguments.name)
    changes = {name: getattr(arguments, name) for name in EDITABLE if getattr(arguments, name) is not None}
    if not changes:
        raise UsageError(N_("Name something to change; see atelier providers edit --help."))
    config = await atelier.providers.save(checks.changed(old, _("provider"), **changes))
    if out.json:
        data(out, config.model_dump(mode="json"))
    else:
        line(out, _("Changed {name}", name=config.name))
    return 0


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    await atelier.providers.delete(arguments.name)
    if out.json:
        data(out, {"removed": arguments.name})
    else:
        line(out, _("Removed {name}", name=arguments.name))
    return 0


async def test(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when the server answers, 1 when not."""
    from atelier_desk.cli.figures import duration
    from atelier_desk.cli.output import data, line

    health = await atelier.providers.test(arguments.name)
    if out.json:
        data(out, health.model_dump(mode="json"))
    elif health.ok:
        text = ngettext(
            "{name} answers in {time} and offers {n} model.",
            "{name} answers in {time} and offers {n} models.",
            health.models,
            name=arguments.name,
            time=duration(health.latency_ms),
        )
        line(out, text)
    else:
        out.note(_("{name} cannot be used: {problem}", name=arguments.name, problem=health.message), "error")
    return 0 if health.ok else 1


async def models(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.commands.models import print_models

    print_models(out, await atelier.providers.models(arguments.name))
    return 0


def _key(kept: bool, variable: str) -> str:
    return f"${variable}" if variable else (_("in the keyring") if kept else "-")

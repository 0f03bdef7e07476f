"""``atelier providers``: list, add, edit, remove, test and models."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from atelier_desk import figures
from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.domain.provider import ProviderHealth
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.llm.presets import Preset

EDITABLE = ("base_url", "api_key_env", "enabled")
KEY_STYLES = ("auto", "bearer", "api-key", "x-api-key", "x-goog-api-key")


def register(add: Adder) -> None:
    from atelier_desk.llm.registry import provider_types

    kinds = [entry.kind for entry in provider_types()]
    group = add.group("providers", _("model servers"))
    group.command("list", _("all providers"), "providers:list_", needs=DATABASE)
    services = group.command(
        "presets", _("services and programs that can be added, with what each needs"), "providers:presets_", needs=DATABASE
    )
    services.add_argument("search", metavar="WORDS", nargs="?", default="", help=_("only those with these words"))
    added = group.command("add", _("configure a server"), "providers:add_")
    added.add_argument("name", metavar="NAME")
    added.add_argument("--kind", choices=kinds, help=_("the server's API; required without --preset"))
    added.add_argument("--preset", metavar="SERVICE", default="", help=_("a service of atelier providers presets: its kind and address"))
    added.add_argument("--base-url", metavar="U", default="", help=_("the server's address, if not the default"))
    added.add_argument(
        "--api-key-env", metavar="VAR", default="", help=_("the environment variable that holds the key; only its name is stored")
    )
    connection_options(added)
    added.add_argument("--no-test", action="store_true", help=_("do not test the server"))
    edit = group.command("edit", _("edit a server; other values are kept"), "providers:edit")
    edit.add_argument("name", metavar="NAME")
    edit.add_argument("--base-url", metavar="U", help=_("the server's address; empty for the default"))
    edit.add_argument("--api-key-env", metavar="VAR", help=_("the environment variable with the key; empty to remove it"))
    connection_options(edit)
    switch = edit.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", dest="enabled", default=None, help=_("enable it"))
    switch.add_argument("--disable", action="store_false", dest="enabled", default=None, help=_("disable it"))
    rename = group.command("rename", _("rename a server; agents and workflows keep using it"), "providers:rename")
    rename.add_argument("name", metavar="NAME")
    rename.add_argument("to", metavar="NEW")
    remove = group.command("remove", _("remove a server and its key"), "providers:remove")
    remove.add_argument("name", metavar="NAME")
    test = group.command("test", _("test a server"), "providers:test")
    test.add_argument("name", metavar="NAME")
    file = group.command(
        "key-file", _("whether keys are kept in a file, where there is no system keyring"), "providers:key_file", needs=DATABASE
    )
    file.add_argument("on", metavar="on|off", choices=("on", "off"), nargs="?", help=_("on keeps them there, off deletes the file"))
    models = group.command("models", _("the models a server offers"), "providers:models", needs=DATABASE)
    models.add_argument("name", metavar="NAME")


def connection_options(parser: argparse.ArgumentParser) -> None:
    """How a server is reached, beside its address and key."""
    parser.add_argument("--ca-file", metavar="FILE", help=_("a PEM file with the certificate of the authority that signed the server's"))
    parser.add_argument(
        "--header",
        metavar="'NAME: $VAR'",
        action="append",
        help=_("sent with each request; only the variable's name is stored, a value of its own goes to the keyring (repeatable)"),
    )
    parser.add_argument("--api-version", metavar="V", help=_("sent as ?api-version=V (Azure)"))
    parser.add_argument(
        "--key-style",
        choices=KEY_STYLES,
        help=_("the header of the key: Authorization: Bearer, api-key, x-api-key or x-goog-api-key; auto knows which"),
    )


def connection_fields(arguments: argparse.Namespace, out: Output) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of a ``ProviderConfig`` that the options of ``connection_options`` give, and the values of headers for the keyring.

    Raises:
        UsageError: a header is not ``NAME: VALUE``.
    """
    from atelier_desk.cli.files import path_of
    from atelier_desk.cli.header_options import headers_of

    fields: dict[str, Any] = {}
    if arguments.ca_file is not None:
        fields["ca_file"] = str(path_of(out, arguments.ca_file)) if arguments.ca_file else ""
    if arguments.api_version is not None:
        fields["api_version"] = arguments.api_version
    if arguments.key_style is not None:
        fields["key_style"] = arguments.key_style
    headers, secrets = headers_of(arguments.header)
    if headers:
        fields["headers"] = headers
    return fields, secrets


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table
    from atelier_desk.key_words import key_words

    providers = await atelier.providers.list()
    if out.json:
        data(out, [provider.model_dump(mode="json") for provider in providers])
        return 0
    states = await atelier.keys.states()
    rows = [(each.name, each.kind, each.base_url or "-", key_words(states[each.name], each.api_key_env) or "-") for each in providers]
    table(out, rows, (_("name"), _("kind"), _("address"), _("key")))
    return 0


def _need_keyring(atelier: Atelier, secrets: dict[str, str]) -> None:
    from atelier_desk.cli.header_options import need_keyring
    from atelier_desk.domain.provider import NO_KEYRING

    need_keyring(atelier.vault.persistent, secrets, NO_KEYRING)


async def presets_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """What ``add --preset`` takes, by its id."""
    from atelier_desk.cli.output import data, table
    from atelier_desk.llm.presets import PRESETS

    wanted = arguments.search.casefold().split()
    found = [each for each in PRESETS if all(word in f"{each.id} {each.title} {each.words}".casefold() for word in wanted)]
    if out.json:
        facts = ("id", "title", "kind", "url", "keys", "env", "needs_key")
        data(out, [{name: getattr(each, name) for name in facts} for each in found])
        return 0
    rows = [(each.id, each.title, _(each.needs), each.keys or "-", each.env or "-") for each in found]
    table(out, rows, (_("name"), _("service"), _("needs"), _("keys"), _("default variable")))
    return 0


def _preset(name: str) -> Preset:
    from atelier_desk.domain.errors import NotFoundError
    from atelier_desk.llm.presets import PRESETS

    found = next((each for each in PRESETS if name.casefold() in (each.id, each.title.casefold())), None)
    if found is None:
        raise NotFoundError(N_("There is no service {name}. Services: {names}."), name=name, names=", ".join(each.id for each in PRESETS))
    return found


async def add_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.engine.services.common import checks
    from atelier_desk.llm.registry import provider_type

    if arguments.preset:
        preset = _preset(arguments.preset)
        arguments.kind, arguments.base_url = arguments.kind or preset.kind, arguments.base_url or preset.url
        if not arguments.base_url:
            raise UsageError(N_("{name} needs the address of your own: --base-url {example}"), name=preset.title, example=preset.example)
    if arguments.kind is None:
        raise UsageError(N_("Say which server it is: --preset SERVICE, see atelier providers presets; or --kind KIND."))
    if provider_type(arguments.kind).builtin:
        raise UsageError(N_("The local provider is built in and need not be added."))
    fields, secrets = connection_fields(arguments, out)
    _need_keyring(atelier, secrets)
    config = checks.build(
        ProviderConfig,
        _("provider"),
        name=arguments.name,
        kind=arguments.kind,
        base_url=arguments.base_url,
        api_key_env=arguments.api_key_env,
        **fields,
    )
    config = await atelier.providers.save(config, new=True)
    if secrets:
        await atelier.providers.set_headers(config.name, secrets)
    outcome(out, config.model_dump(mode="json"), _("Added {name}.", name=config.name))
    if not arguments.no_test:
        tell_health(out, config.name, await atelier.providers.test(config.name))
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.errors import UsageError
    from atelier_desk.engine.services.common import checks

    old = await atelier.providers.get(arguments.name)
    fields, secrets = connection_fields(arguments, out)
    _need_keyring(atelier, secrets)
    changes = {name: getattr(arguments, name) for name in EDITABLE if getattr(arguments, name) is not None} | fields
    if not changes:
        raise UsageError(N_("Name something to change; see atelier providers edit --help."))
    if "headers" in changes:
        gone = {name for name, value in secrets.items() if not value}
        changes["headers"] = {name: value for name, value in {**old.headers, **changes["headers"]}.items() if name not in gone}
        secrets = {name: value for name, value in secrets.items() if value}
    config = await atelier.providers.save(checks.changed(old, _("provider"), **changes))
    if secrets:
        await atelier.providers.set_headers(config.name, secrets)
    outcome(out, config.model_dump(mode="json"), _("Changed {name}", name=config.name))
    return 0


async def rename(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    config = await atelier.providers.rename(arguments.name, arguments.to)
    outcome(out, config.model_dump(mode="json"), _("Renamed {name} to {to}.", name=arguments.name, to=config.name))
    return 0


async def remove(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    await atelier.providers.delete(arguments.name)
    outcome(out, {"removed": arguments.name}, _("Removed {name}", name=arguments.name))
    return 0


async def test(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Status 0 when the server answers, 1 when not."""
    from atelier_desk.cli.output import data

    health = await atelier.providers.test(arguments.name)
    if out.json:
        data(out, health.model_dump(mode="json"))
    else:
        tell_health(out, arguments.name, health)
    return 0 if health.ok else 1


def tell_health(out: Output, name: str, health: ProviderHealth) -> None:
    """The verdict on a server in one sentence, the same when it is added and when it is tested; on standard error when it is bad."""
    from atelier_desk.cli.output import line

    if not health.ok:
        out.note(_("{name} cannot be used: {problem}", name=name, problem=health.message), "error")
    elif out.json:
        return
    elif not health.models:
        line(out, _("{name} answers in {time}. {note}", name=name, time=figures.duration(health.latency_ms), note=health.message))
    else:
        text = ngettext(
            "{name} answers in {time} and offers {n} model.",
            "{name} answers in {time} and offers {n} models.",
            health.models,
            name=name,
            time=figures.duration(health.latency_ms),
        )
        line(out, text)


async def models(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.commands.models import print_models

    offered = await atelier.providers.models(arguments.name)
    if not offered:
        out.note(_("{name} has no list of models; enter the name of the model yourself.", name=arguments.name), "warn")
    print_models(out, offered)
    return 0


async def key_file(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    """Where keys are kept, after switching the file on or off when that is asked for."""
    from atelier_desk.cli.output import outcome
    from atelier_desk.domain.provider import KeyPlace

    store = await (atelier.keys.use_file(arguments.on == "on") if arguments.on else atelier.keys.store())
    said = {
        KeyPlace.KEYRING: N_("Keys are kept in the system keyring."),
        KeyPlace.FILE: N_("Keys are kept unencrypted in {path}, which only your user account can read. Backups and exports leave it out."),
        KeyPlace.MEMORY: N_("No system keyring found, and no file of keys: keys are lost when Atelier closes."),
    }
    path = store.file if store.place is KeyPlace.FILE else None
    outcome(out, {"place": store.place.value, "file": path}, _(said[store.place], path=store.file))
    return 0

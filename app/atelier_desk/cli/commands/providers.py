"""``atelier providers``: list, add, edit, remove, test and models."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Note, Result, Table, print_note, report
from atelier_desk.cli.commands.models import models_table
from atelier_desk.cli.file_arguments import path_of
from atelier_desk.cli.headers_and_secrets import headers_of, need_keyring
from atelier_desk.cli.parser import FAILED
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.provider import NO_KEYRING, KeyPlace, ProviderConfig, ProviderHealth
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import input_checks
from atelier_desk.llm.provider_presets import PRESETS, Preset
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.presentation.api_key_text import shortcut_text
from atelier_desk.presentation.provider_test_text import problem_text
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext

EDITABLE = ("base_url", "api_key_env", "enabled")


def connection_fields(arguments: Namespace, out: Output) -> tuple[dict[str, object], dict[str, str]]:
    """Fields of a ``ProviderConfig`` from the options, and header values for the keyring.

    Raises:
        UsageError: a header is not ``NAME: VALUE``.
    """
    fields: dict[str, object] = {}
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


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    providers = await atelier.providers.list()
    states = await atelier.keys.states()
    rows = (
        (each.name, each.kind, each.base_url or "-", shortcut_text(states[each.name], each.api_key_env) or "-")
        for each in providers
    )
    return Result(providers, Table((_("name"), _("kind"), _("address"), _("key")), rows))


def _need_keyring(atelier: Atelier, secrets: dict[str, str]) -> None:
    need_keyring(atelier.vault.persistent, secrets, NO_KEYRING)


async def presets(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Values of ``add --preset``, by id."""
    wanted = arguments.search.casefold().split()
    found = [
        each for each in PRESETS if all(word in f"{each.id} {each.title} {each.words}".casefold() for word in wanted)
    ]
    facts = ("id", "title", "kind", "url", "keys", "env", "needs_key")
    rows = ((each.id, each.title, _(each.needs), each.keys or "-", each.env or "-") for each in found)
    return Result(
        [{name: getattr(each, name) for name in facts} for each in found],
        Table((_("name"), _("service"), _("requirements"), _("keys"), _("default variable")), rows),
    )


def _preset(name: str) -> Preset:
    found = next((each for each in PRESETS if name.casefold() in (each.id, each.title.casefold())), None)
    if found is None:
        raise NotFoundError(
            N_("There is no service {name}. Services: {names}."),
            name=name,
            names=", ".join(each.id for each in PRESETS),
        )
    return found


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    if arguments.preset:
        preset = _preset(arguments.preset)
        arguments.kind, arguments.base_url = arguments.kind or preset.kind, arguments.base_url or preset.url
        if not arguments.base_url:
            raise UsageError(
                N_(
                    "{name} has no fixed address. Specify the address of your endpoint, for example: "
                    "--base-url {example}"
                ),
                name=preset.title,
                example=preset.example,
            )
    if arguments.kind is None:
        raise UsageError(N_("Specify the server: --preset SERVICE (see atelier providers presets) or --kind KIND."))
    if provider_type(arguments.kind).builtin:
        raise UsageError(N_("The local provider is built in and does not need to be added."))
    fields, secrets = connection_fields(arguments, out)
    _need_keyring(atelier, secrets)
    config = input_checks.build(
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
    status = report(out, Result(config, _("Added {name}.", name=config.name)))
    if not arguments.no_test:
        health = await atelier.providers.test(config.name)
        if not health.ok:
            out.note(_verdict(config.name, health), "error")
        else:
            print_note(out, _verdict(config.name, health))
    return status


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    old = await atelier.providers.get(arguments.name)
    fields, secrets = connection_fields(arguments, out)
    _need_keyring(atelier, secrets)
    changes = {name: getattr(arguments, name) for name in EDITABLE if getattr(arguments, name) is not None} | fields
    if not changes:
        raise UsageError(N_("Specify what to change; see atelier providers edit --help."))
    if "headers" in changes:
        gone = {name for name, value in secrets.items() if not value}
        changes["headers"] = {
            name: value for name, value in {**old.headers, **changes["headers"]}.items() if name not in gone
        }
        secrets = {name: value for name, value in secrets.items() if value}
    config = await atelier.providers.save(input_checks.changed(old, _("provider"), **changes))
    if secrets:
        await atelier.providers.set_headers(config.name, secrets)
    return Result(config, _("Changed {name}.", name=config.name))


async def rename(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    config = await atelier.providers.rename(arguments.name, arguments.to)
    return Result(config, _("Renamed {name} to {to}.", name=arguments.name, to=config.name))


async def remove(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.providers.delete(arguments.name)
    return Result({"removed": arguments.name}, _("Removed {name}.", name=arguments.name))


async def test(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Exit status 0 when the server answers, else 1."""
    health = await atelier.providers.test(arguments.name)
    text = _verdict(arguments.name, health)
    return Result(health, text) if health.ok else Result(health, Note(text, "error"), status=FAILED)


def _verdict(name: str, health: ProviderHealth) -> str:
    """Result of a connection test in one sentence, for ``add`` and ``test``."""
    if not health.ok:
        return _("{name} cannot be used. {problem}", name=name, problem=problem_text(health))
    time = locale_format.duration(health.latency_ms)
    if not health.models:
        return _("{name} answered in {time}. {note}", name=name, time=time, note=health.message)
    return ngettext(
        "{name} answered in {time} and offers {n} model.", "{name} answered in {time} and offers {n} models.",
        health.models,
        name=name, time=time,
    )  # fmt: skip


async def models(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    offered = await atelier.providers.models(arguments.name)
    if not offered:
        out.note(_("{name} has no list of models; enter the name of the model yourself.", name=arguments.name), "warn")
    return models_table(offered)


async def key_file(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    """Say where keys are stored, after turning the key file on or off when requested."""
    store = await (atelier.keys.use_file(arguments.on == "on") if arguments.on else atelier.keys.store())
    texts = {
        KeyPlace.KEYRING: N_("API keys are stored in the system keyring."),
        KeyPlace.FILE: N_(
            "Keys are kept unencrypted in {path}, which only your user account can read. Backups and "
            "exports do not contain this file."
        ),
        KeyPlace.MEMORY: N_("No system keyring or key file found: keys are lost when Atelier closes."),
    }
    path = store.file if store.place is KeyPlace.FILE else None
    return Result({"place": store.place.value, "file": path}, _(texts[store.place], path=store.file))

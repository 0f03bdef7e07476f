"""The grammar of ``atelier providers``."""

from __future__ import annotations

import argparse

from atelier_desk.cli.parser import DATABASE, AddCommands, flag
from atelier_desk.llm.provider_type_registry import provider_types
from atelier_desk.support.i18n import _

KEY_STYLES = ("auto", "bearer", "api-key", "x-api-key", "x-goog-api-key")


def register(add: AddCommands) -> None:
    kinds = [entry.kind for entry in provider_types()]
    group = add.group("providers")
    group.command("list", _("list all providers"), needs=DATABASE)
    services = group.command(
        "presets", _("list the services and programs that can be added, and what each needs"), needs=DATABASE
    )
    services.add_argument(
        "search", metavar="WORDS", nargs="?", default="", help=_("only services that match these words")
    )
    added = group.command("add", _("add a provider"))
    added.add_argument("name")
    added.add_argument("--kind", choices=kinds, help=_("the server's API; required without --preset"))
    added.add_argument(
        "--preset",
        metavar="SERVICE",
        default="",
        help=_("a service listed by `atelier providers presets`; sets the kind and the address"),
    )
    added.add_argument("--base-url", metavar="U", default="", help=_("the server's address, if not the default"))
    added.add_argument(
        "--api-key-env",
        metavar="VAR",
        default="",
        help=_("the environment variable that holds the key; only its name is stored"),
    )
    connection_options(added)
    flag(added, "--no-test", _("do not test the server"))
    edit = group.command("edit", _("edit a provider; other values are kept"))
    edit.add_argument("name")
    edit.add_argument("--base-url", metavar="U", help=_("the server's address; empty for the default"))
    edit.add_argument(
        "--api-key-env", metavar="VAR", help=_("the environment variable that holds the key; empty for none")
    )
    connection_options(edit)
    switch = edit.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", dest="enabled", default=None, help=_("enable the provider"))
    switch.add_argument("--disable", action="store_false", dest="enabled", default=None, help=_("disable the provider"))
    rename = group.command("rename", _("rename a provider; agents and workflows keep using it"))
    rename.add_argument("name")
    rename.add_argument("to", metavar="NEW")
    remove = group.command("remove", _("remove a provider and its key"))
    remove.add_argument("name")
    test = group.command("test", _("test a provider"))
    test.add_argument("name")
    file = group.command(
        "key-file", _("show or set whether keys are stored in a file when there is no system keyring"), needs=DATABASE
    )
    file.add_argument(
        "on",
        metavar="on|off",
        choices=("on", "off"),
        nargs="?",
        help=_("on: store keys in a file; off: delete the file"),
    )
    models = group.command("models", _("list the models that a provider offers"), needs=DATABASE)
    models.add_argument("name")


def connection_options(parser: argparse.ArgumentParser) -> None:
    """Add the connection options apart from address and key."""
    parser.add_argument(
        "--ca-file",
        metavar="FILE",
        help=_("a PEM file with the certificate of the authority that signed the server's certificate"),
    )
    parser.add_argument(
        "--header",
        metavar="'NAME: $VAR'",
        action="append",
        help=_(
            "a header sent with each request; for $VARIABLE, only the name is stored; any other value is "
            "stored in the keyring (repeatable)"
        ),
    )
    parser.add_argument("--api-version", metavar="V", help=_("API version, sent as ?api-version=V (Azure)"))
    parser.add_argument(
        "--key-style",
        choices=KEY_STYLES,
        help=_(
            "the header that carries the key: Authorization: Bearer, api-key, x-api-key or x-goog-api-key; auto uses "
            "the usual one"
        ),
    )

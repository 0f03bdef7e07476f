"""The grammar of ``atelier models``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands, flag, number
from atelier_desk.support.i18n import _


def register(add: AddCommands) -> None:
    group = add.group("models")
    listing = group.command("list", _("list all available models"), needs=DATABASE)
    listing.add_argument("--provider", metavar="P", help=_("only models from this provider"))

    group.command(
        "refresh",
        _("update the list of hosted models, with their limits and prices, from models.dev"),
        needs=DATABASE,
    )
    use = group.command(
        "use", _("set the model of the default agent, of agents that had the same model, and of new workflows")
    )
    use.add_argument("provider")
    use.add_argument("model")
    edit = group.command("edit", _("edit a model's data; values you do not specify are kept"), needs=DATABASE)
    edit.add_argument("provider")
    edit.add_argument("model")
    edit.add_argument(
        "--window", metavar="N", type=number(int, least=1), dest="context_window", help=_("context window in tokens")
    )
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
    edit.add_argument("--label", metavar="TEXT", help=_("display name"))
    for option, dest, help in (
        ("--tools", "supports_tools", _("whether the model can call tools")),
        ("--vision", "supports_vision", _("whether the model supports images")),
        ("--thinking", "supports_thinking", _("whether the model supports thinking")),
    ):
        edit.add_argument(option, choices=("yes", "no"), dest=dest, help=help)
    flag(edit, "--reset", _("discard all earlier changes first"))

"""The grammar of ``atelier media``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands, number
from atelier_desk.support.i18n import _

SERVICES = ("tripo", "meshy")
"""Same as in ``web.media_generation``, which takes too long to load for a help text."""


def register(add: AddCommands) -> None:
    group = add.group("media")
    group.command("list", _("list the services that are set up"), needs=DATABASE)
    sees = group.command("describe", _("choose the model that describes images"))
    sees.add_argument("model", metavar="PROVIDER/MODEL")
    images = group.command("images", _("choose the service that generates images"))
    images.add_argument(
        "address",
        metavar="U",
        help=_("the address of an OpenAI-compatible image endpoint, such as https://api.openai.com/v1"),
    )
    images.add_argument("model", help=_("the model to use, such as gpt-image-1"))
    models = group.command("models", _("choose the service that generates 3D models"))
    models.add_argument("service", choices=SERVICES)
    models.add_argument("--address", metavar="U", default="", help=_("the address of another server with the same API"))
    for each in (images, models):
        variable = _("the environment variable that holds the key; only its name is stored")
        each.add_argument("--api-key-env", metavar="VAR", default="", help=variable)
        price = _("price per item in US dollars; with a monthly limit, nothing is generated without a known price")
        each.add_argument("--price", metavar="USD", type=number(float, least=0), help=price)
    test = group.command("test", _("check a service's key, free of charge"), needs=DATABASE)
    test.add_argument("what", choices=("images", "models"))
    remove = group.command("remove", _("disable a service and remove its key"))
    remove.add_argument("what", choices=("describe", "images", "models"))

"""The grammar of ``atelier web``."""

from __future__ import annotations

from atelier_desk.cli.parser import DATABASE, AddCommands, number
from atelier_desk.support.i18n import _

SERVICES = ("ddgs", "searxng", "brave", "tavily", "off")
MOST = 20
"""Both as in ``web.search``, which takes too long to load for a help text."""


def register(add: AddCommands) -> None:
    group = add.group("web")
    group.command("show", _("show the search service and the number of cached pages"), needs=DATABASE)
    use = group.command("use", _("choose the search service"))
    use.add_argument("service", choices=SERVICES, help=_("ddgs needs no key; off disables search"))
    use.add_argument(
        "--address",
        metavar="U",
        default="",
        help=_("the address of a SearXNG server, or of another server with the service's API"),
    )
    use.add_argument(
        "--api-key-env",
        metavar="VAR",
        default="",
        help=_("the environment variable that holds the key; only its name is stored"),
    )
    price = _("price per search in US dollars; with a monthly limit, paid services without a known price are not used")
    use.add_argument("--price", metavar="USD", type=number(float, least=0), help=price)
    pages = group.command("scripts", _("choose whether pages that need JavaScript are rendered in a browser"))
    pages.add_argument(
        "how",
        choices=("auto", "off"),
        help=_("auto: render pages that need JavaScript in an installed browser; off: read them without JavaScript"),
    )
    pages.add_argument("--browser", metavar="PATH", default="", help=_("the browser's path; detected if omitted"))
    test = group.command("search", _("run a web search"), needs=DATABASE)
    test.add_argument("query", metavar="TEXT")
    test.add_argument(
        "--limit", type=int, choices=range(1, MOST + 1), default=8, metavar="N", help=_("maximum number of results")
    )
    group.command("clear", _("clear the page cache"))

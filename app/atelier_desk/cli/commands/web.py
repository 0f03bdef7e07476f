"""``atelier web``: who searches the web, a search, a page as agents see it, and the pages that were kept."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from atelier_desk.cli.parser import DATABASE, Adder
from atelier_desk.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.cli.output import Output
    from atelier_desk.engine.atelier import Atelier
    from atelier_desk.engine.services.web import WebState


SERVICES = ("ddgs", "searxng", "brave", "tavily", "off")
MOST = 20
"""Both as ``web.search`` has them, which takes too long to load for a help text."""


def register(add: Adder) -> None:
    group = add.group("web", _("searching the web, and the pages that agents fetched"))
    group.command("show", _("show the search service and the number of cached pages"), "web:show", needs=DATABASE)
    use = group.command("use", _("choose the search service"), "web:use")
    use.add_argument("service", choices=SERVICES, help=_("ddgs needs no key; off disables search"))
    use.add_argument("--address", metavar="U", default="", help=_("the address of a SearXNG server, or of another server of the service"))
    use.add_argument(
        "--api-key-env", metavar="VAR", default="", help=_("the environment variable that holds the key; only its name is stored")
    )
    pages = group.command("scripts", _("choose whether pages that need JavaScript are rendered in a browser"), "web:scripts")
    pages.add_argument("how", choices=("auto", "off"), help=_("auto uses an installed browser; off reads such pages without JavaScript"))
    pages.add_argument("--browser", metavar="PATH", default="", help=_("the browser's path; detected if omitted"))
    test = group.command("search", _("run a web search"), "web:search", needs=DATABASE)
    test.add_argument("query", metavar="TEXT")
    test.add_argument("--limit", type=int, choices=range(1, MOST + 1), default=8, metavar="N", help=_("most results"))
    group.command("clear", _("clear the page cache"), "web:clear")


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, table
    from atelier_desk.figures import number
    from atelier_desk.web.search import ENGINES

    state = await atelier.web.state()
    if out.json:
        settings = state.settings.model_dump(mode="json")
        data(out, {**settings, "keys": list(state.keys), "found_browser": state.program, "pages": state.pages, "bytes": state.size})
        return 0
    key = state.settings.key_env or (_("saved") if state.settings.search in state.keys else "-")
    rows = [
        (_("search"), _(ENGINES[state.settings.search].title)),
        (_("address"), state.settings.address or ENGINES[state.settings.search].address or "-"),
        (_("key"), key),
        (_("pages that need JavaScript"), _shown_by(state)),
        (_("cached pages"), number(state.pages)),
    ]
    table(out, rows, (_("setting"), _("value")))
    return 0


def _shown_by(state: WebState) -> str:
    if state.settings.scripts == "off":
        return _("read without it")
    return f"{state.browser} ({state.program})" if state.browser else _("no browser was found")


async def use(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.domain.settings import WebSettings
    from atelier_desk.engine.services.common import checks

    kept = (await atelier.web.state()).settings.model_dump(include={"scripts", "browser"})
    settings = checks.build(
        WebSettings, _("web"), search=arguments.service, address=arguments.address, key_env=arguments.api_key_env, **kept
    )
    await atelier.web.use(settings)
    return await show(atelier, arguments, out)


async def scripts(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.engine.services.common import checks

    kept = (await atelier.web.state()).settings
    await atelier.web.use(checks.changed(kept, _("web"), scripts=arguments.how, browser=arguments.browser))
    return await show(atelier, arguments, out)


async def search(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, line

    hits = await atelier.web.search(arguments.query, arguments.limit)
    if out.json:
        data(out, [{"title": hit.title, "url": hit.url, "excerpt": hit.excerpt, "date": hit.date} for hit in hits])
        return 0
    for hit in hits:
        line(out, hit.title + (f"  ({hit.date})" if hit.date else ""))
        line(out, f"  {hit.url}")
        line(out, f"  {hit.excerpt}")
    if not hits:
        line(out, _("Nothing was found."))
    return 0


async def clear(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

    count = await atelier.web.clear_cache()
    outcome(out, {"removed": count}, ngettext("{count} page was removed.", "{count} pages were removed.", count, count=count))
    return 0

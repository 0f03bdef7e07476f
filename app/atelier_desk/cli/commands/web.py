"""``atelier web``: who searches the web, a search, a page as agents see it, and the pages that were kept."""

from __future__ import annotations

import argparse

from atelier_desk.cli.output import Output, data, line, outcome, table
from atelier_desk.domain.settings import WebSettings
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import checks
from atelier_desk.engine.services.web import WebState
from atelier_desk.figures import number
from atelier_desk.i18n import _, ngettext
from atelier_desk.web.search import ENGINES


async def show(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
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
    kept = (await atelier.web.state()).settings.model_dump(include={"scripts", "browser"})
    settings = checks.build(
        WebSettings, _("web"), search=arguments.service, address=arguments.address, key_env=arguments.api_key_env, **kept
    )
    await atelier.web.use(settings)
    return await show(atelier, arguments, out)


async def scripts(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    kept = (await atelier.web.state()).settings
    await atelier.web.use(checks.changed(kept, _("web"), scripts=arguments.how, browser=arguments.browser))
    return await show(atelier, arguments, out)


async def search(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
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
    count = await atelier.web.clear_cache()
    outcome(out, {"removed": count}, ngettext("{count} page was removed.", "{count} pages were removed.", count, count=count))
    return 0

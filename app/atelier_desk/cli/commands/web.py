"""``atelier web``: search provider, search, pages as agents see them, and the page cache."""

from __future__ import annotations

from argparse import Namespace

from atelier_desk.cli.command_result import Result, Table
from atelier_desk.cli.terminal_io import Output
from atelier_desk.domain.settings import WebSettings
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.common import input_checks
from atelier_desk.engine.services.web import WebState
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import cost_bound, number
from atelier_desk.web.search import ENGINES


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    state = await atelier.web.state()
    settings, engine = state.settings, ENGINES[state.settings.search]
    rows = [
        (_("search"), _(engine.title)),
        (_("address"), settings.address or engine.address or "-"),
        (_("key"), settings.key_env or (_("saved") if settings.search in state.keys else "-")),
        (_("price"), "-" if settings.price is None else cost_bound(settings.price, up=True)),
        (_("pages that need JavaScript"), _shown_by(state)),
        (_("cached pages"), number(state.pages)),
    ]
    more = {"keys": state.keys, "found_browser": state.program, "pages": state.pages, "bytes": state.size}
    return Result({**settings.model_dump(mode="json"), **more}, Table((_("setting"), _("value")), rows))


def _shown_by(state: WebState) -> str:
    if state.settings.scripts == "off":
        return _("read without JavaScript")
    return f"{state.browser} ({state.program})" if state.browser else _("no browser was found")


async def use(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    kept = (await atelier.web.state()).settings.model_dump(include={"scripts", "browser"})
    settings = input_checks.build(
        WebSettings, _("settings"),
        search=arguments.service, address=arguments.address, key_env=arguments.api_key_env, price=arguments.price,
        **kept,
    )  # fmt: skip
    await atelier.web.use(settings)
    return await show(atelier, arguments, out)


async def scripts(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    settings = (await atelier.web.state()).settings
    await atelier.web.use(
        input_checks.changed(settings, _("settings"), scripts=arguments.how, browser=arguments.browser)
    )
    return await show(atelier, arguments, out)


async def search(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    hits = await atelier.web.search(arguments.query, arguments.limit)
    return Result(
        [{"title": hit.title, "url": hit.url, "excerpt": hit.excerpt, "date": hit.date} for hit in hits],
        ((hit.title + (f"  ({hit.date})" if hit.date else ""), f"  {hit.url}", f"  {hit.excerpt}") for hit in hits),
        () if hits else _("Nothing was found."),
    )


async def clear(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    count = await atelier.web.clear_cache()
    return Result(
        {"removed": count}, ngettext("{count} page was removed.", "{count} pages were removed.", count, count=count)
    )

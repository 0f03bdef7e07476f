"""Web: the search service with address and key, and cached pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.settings.api_key_note import KeyNote
from atelier_desk.desktop.settings.fields import PRICE, PRICE_HINT, Address, Choice, Line, Number, Secret
from atelier_desk.desktop.settings.form_page import FormPage
from atelier_desk.desktop.settings.imported_grant_confirmation import HeldList
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.settings import WebSettings
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import size
from atelier_desk.web.browser.browser_discovery import KNOWN
from atelier_desk.web.search import ENGINES

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.engine.services.web import WebState
    from atelier_desk.web.search import WebHit


SERVICE = N_("The service that receives agents' web searches.")
SCRIPTS = N_(
    "Some pages need JavaScript to show their text. They are rendered in an installed browser with an "
    "empty, temporary profile that can reach public addresses only."
)
HOW = (("auto", N_("Rendered in an installed browser")), ("off", N_("Read without JavaScript")))


def _with_address(kind: str) -> bool:
    return ENGINES[kind].keyed or kind == "searxng"


@settings_page("web", order=80, icon="globe", title=N_("Web and media"), section=N_("Web"))
class WebPage(FormPage):
    """The page of web search.

    Controls: ``web-search``, ``web-address``, ``web-key``, ``web-key-env``, ``web-apply``, ``web-test``,
    ``web-clear``, ``web-scripts``, ``web-browser``.
    """

    titles = {"key_env": N_("Environment variable"), "price": N_("Price per search ($)")}

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._state: WebState | None = None
        browser = N_("Path to the browser; leave empty to search for one.")
        services = [(name, engine.title) for name, engine in ENGINES.items()]
        self.build_form(
            WebSettings,
            "web",
            Choice(
                "search", N_("Search service"), SERVICE, choices=services, owns=("address", "key", "key_env", "price")
            ),
            Address(
                "address", N_("Address"), N_("Leave empty for the service's default."), example=self._usual_address
            ),
            Secret("key", N_("API key"), example=self._key_hint),
            Line("key_env", N_("or environment variable"), example=N_("environment variable name")),
            Number("price", N_("Price per search ($)"), PRICE_HINT, **PRICE),
            Choice("scripts", N_("Pages that need JavaScript"), SCRIPTS, choices=HOW),
            Line("browser", N_("Browser"), browser, example=self._program_hint),
        )
        card = self.section(N_("Search"))
        self.held = HeldList(self, lambda grant: grant.kind is HeldKind.SEARCH)
        card.body.addWidget(self.held)
        for key in ("search", "address", "key"):
            self.form.row(self, card, key)
        self.key_note = KeyNote(bridge, "web", self)
        self.key_note.variable_requested.connect(self.form.controls["key_env"].setFocus)
        card.body.addWidget(self.key_note)
        for key in ("key_env", "price"):
            self.form.row(self, card, key)
        self.test = self.button("web-test", N_("Test"), lambda: self.try_form(N_("Searching…"), self._test))
        self.forget_button = self.button("web-forget-key", N_("Delete the key"), self._delete_key)
        self.button_row(card, self.test, self.forget_button)
        made = self.section(N_("Pages that need JavaScript"))
        for key in ("scripts", "browser"):
            self.form.row(self, made, key)
        self.found = self.add_text(made, self._browser_text, "web-browser-found")
        pages = self.section(N_("Fetched pages"))
        self.stats = self.add_text(pages, self._counts, "web-stats")
        hint = N_("Web pages are cached for a week. Pages from your own network are never cached.")
        self.clear = self.action_row(pages, N_("Clear cache"), hint, N_("Clear"), self._clear, "web-clear")
        self.build_foot()
        self.end()
        self.check()

    async def read(self) -> WebSettings:
        self._state = await self.bridge.engine.web.state()
        await self.held.load()
        self.clear.setEnabled(self._state.pages > 0)
        for widget in (self.found, self.stats, self.form.controls["browser"]):
            bind_text(widget)
        return self._state.settings

    def _counts(self) -> str:
        if self._state is None:
            return ""
        counted = ngettext("{count} page", "{count} pages", self._state.pages, count=number(self._state.pages))
        return f"{counted} · {size(self._state.size)}"

    def _browser_text(self) -> str:
        state = self._state
        if state is None:
            return ""
        if not state.browser:
            return _("No suitable browser found. Supported: {names}.", names=KNOWN)
        if state.root:
            return _(
                "Found: {name}. It is not used while Atelier runs as root, because its sandbox would not work.",
                name=state.browser,
            )
        return _("Found: {name}, {path}", name=state.browser, path=state.program)

    def _program_hint(self) -> str:
        return (self._state.program if self._state is not None else "") or "/usr/bin/chromium"

    def _usual_address(self) -> str:
        return ENGINES[self._kind()].address or "https://search.example.org"

    def _key_hint(self) -> str:
        return _("saved – type to replace") if self._has_key() else ""

    def _kind(self) -> str:
        return str(self.value("search"))

    def _has_key(self) -> bool:
        return self._state is not None and self._kind() in self._state.keys

    def values(self) -> dict[str, object]:
        kind = self._kind()
        without = {"key_env": not ENGINES[kind].keyed, "address": not _with_address(kind)}
        values = super().values() | {key: "" for key, absent in without.items() if absent}
        return values if ENGINES[kind].keyed else values | {"price": None}

    def complete(self, entered: WebSettings) -> bool:
        return entered.search != "searxng" or bool(entered.address)

    def check(self) -> None:
        super().check()
        kind, entered = self._kind(), self.entered()
        self.form.show_field("address", _with_address(kind))
        for key in ("key", "key_env", "price"):
            self.form.show_field(key, ENGINES[kind].keyed)
        self.key_note.setVisible(ENGINES[kind].keyed)
        scripts = self.value("scripts") != "off"
        self.form.show_field("browser", scripts)
        self.found.setVisible(scripts and self._state is not None)
        for key in ("address", "key"):
            bind_text(self.form.controls[key])
        self.test.setEnabled(entered is not None and self.complete(entered) and kind != "off")
        self.forget_button.setVisible(self._has_key())

    async def use(self, entered: WebSettings, secrets: dict[str, str]) -> bool:
        return await self.bridge.engine.web.use(entered, self._key(secrets))

    async def _test(self, entered: WebSettings, secrets: dict[str, str]) -> Outcome:
        found: list[WebHit] = await self.bridge.engine.web.test(entered, self._key(secrets))
        first = found[0].title if found else ""
        return (
            lambda: _("Works. First result: {title}", title=first) if found else _("Works, but found no results."),
            "ok",
        )

    def _key(self, secrets: dict[str, str]) -> str:
        return secrets.get("key", "") if ENGINES[self._kind()].keyed else ""

    def _delete_key(self) -> None:
        self.call(self.bridge.engine.web.forget_key(self._kind()))

    def _clear(self) -> None:
        async def job() -> None:
            count = await self.bridge.engine.web.clear_cache()
            toast(self, ngettext("{count} page was removed.", "{count} pages were removed.", count, count=count))

        self.jobs.once("web-clear", job)

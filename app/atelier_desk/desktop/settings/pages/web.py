"""Web: who searches it, with address and key, and the pages that were fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.held_list import HeldList
from atelier_desk.desktop.settings.key_note import KeyNote, saved_words
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.wrong import wrong_fields, wrong_words
from atelier_desk.desktop.widgets import FlowLayout, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.from_elsewhere import HeldKind
from atelier_desk.domain.settings import WebSettings
from atelier_desk.figures import size
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.web.browser.installed import KNOWN
from atelier_desk.web.search import ENGINES

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.web import WebState
    from atelier_desk.web.search import Hit


@settings_page("web", order=52, icon="globe", title=N_("Web"))
class WebPage(SettingsPage):
    """``web-search``, ``web-address``, ``web-key``, ``web-key-env``, ``web-apply``, ``web-test``, ``web-clear``;
    ``web-scripts``, ``web-browser``."""

    topics = ("settings",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._saved = WebSettings()
        self._state: WebState | None = None
        self._complained = self._long = False
        card = self.section(N_("SEARCH"))
        self.held = HeldList(self, lambda grant: grant.kind is HeldKind.SEARCH)
        card.body.addWidget(self.held)
        self.engine = control(ComboBox(self), "web-search")
        self.address = control(QLineEdit(self), "web-address", hint=lambda: ENGINES[self._kind()].address or "https://search.example.org")
        self.key = control(QLineEdit(self), "web-key", hint=self._key_hint)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.env = control(QLineEdit(self), "web-key-env", hint=N_("environment variable name"))
        for name in ENGINES:
            self.engine.addItem("", name)
        say(self.engine, items=[engine.title for engine in ENGINES.values()])
        about = N_("The service that receives agents' web searches.")
        self.row(card, self.engine, N_("Search service"), about, stretch=True)
        self._address_row = self.row(card, self.address, N_("Address"), N_("Leave empty for the service's default."), stretch=True)
        self._key_row = self.row(card, self.key, N_("API key"), stretch=True)
        self.key_note = KeyNote(bridge, "web", self)
        self.key_note.variable_wanted.connect(self.env.setFocus)
        card.body.addWidget(self.key_note)
        self._env_row = self.row(card, self.env, N_("or environment variable"), stretch=True)
        self.apply = control(QPushButton(self), "web-apply", N_("Save"), look="primary", on=self._apply)
        self.test = control(QPushButton(self), "web-test", N_("Test"), on=self._test)
        self.forget = control(QPushButton(self), "web-forget-key", N_("Forget the key"), on=self._forget)
        buttons = FlowLayout(spacing=8)
        for button in (self.test, self.forget):
            buttons.addWidget(button)
        card.body.addLayout(buttons)
        self.busy = Busy(self)
        made = self.section(N_("PAGES THAT NEED JAVASCRIPT"))
        self.scripts = control(ComboBox(self), "web-scripts")
        for value in ("auto", "off"):
            self.scripts.addItem("", value)
        say(self.scripts, items=[N_("Rendered in an installed browser"), N_("Read without JavaScript")])
        about = N_(
            "Some pages need JavaScript to show their text. They are rendered in an installed browser with an "
            "empty, temporary profile that can reach public addresses only."
        )
        self.row(made, self.scripts, N_("Pages that need JavaScript"), about, stretch=True)
        self.program = control(QLineEdit(self), "web-browser", hint=self._program_hint)
        self._program_row = self.row(
            made, self.program, N_("Browser"), N_("Path of the browser; leave empty to search for one."), stretch=True
        )
        self.found = control(label("", "muted", self, wrap=True), "web-browser-found")
        made.body.addWidget(self.found)
        pages = self.section(N_("FETCHED PAGES"))
        self.stats = control(label("", "muted", self, wrap=True), "web-stats")
        pages.body.addWidget(self.stats)
        hint = N_("Web pages are cached for a week. Pages of your own network are never cached.")
        self.clear = self.deed(pages, N_("Clear cache"), hint, N_("Clear"), self._clear, "web-clear")
        note = QWidget(self)
        fill(QVBoxLayout(note), self.busy, margins=(0, 0, 0, 0))
        self.foot(note, self.apply)
        self.end()
        self.engine.currentIndexChanged.connect(lambda _index: self._show_fields())
        self.scripts.currentIndexChanged.connect(lambda _index: self._show_fields())
        for field in (self.address, self.key, self.env, self.program):
            field.textEdited.connect(lambda _text: self._touched())
            field.textChanged.connect(lambda _text: self._check())
        self._show_fields()

    async def load(self) -> None:
        state = await self.bridge.engine.web.state()
        await self.held.load()
        fresh = self._state is None or state.settings != self._saved
        self._state, self._saved = state, state.settings
        if fresh:
            self.engine.setCurrentIndex(max(0, self.engine.findData(state.settings.search)))
            self.address.setText(state.settings.address)
            self.env.setText(state.settings.key_env)
            self.scripts.setCurrentIndex(max(0, self.scripts.findData(state.settings.scripts)))
            self.program.setText(state.settings.browser)
        say(self.found, lambda: self._browser_said(state))
        say(self.program)
        say(self.stats, lambda: self._counts(state))
        self.clear.setEnabled(state.pages > 0)
        self._show_fields()

    @staticmethod
    def _counts(state: WebState) -> str:
        counted = ngettext("{count} page", "{count} pages", state.pages, count=number(state.pages))
        return f"{counted} · {size(state.size)}"

    @staticmethod
    def _browser_said(state: WebState) -> str:
        if not state.browser:
            return _("No suitable browser found. Supported: {names}.", names=KNOWN)
        if state.root:
            return _("Found: {name}. It is not used when running as root, since it cannot sandbox itself then.", name=state.browser)
        return _("Found: {name}, {path}", name=state.browser, path=state.program)

    def _program_hint(self) -> str:
        return (self._state.program if self._state is not None else "") or "/usr/bin/chromium"

    def _kind(self) -> str:
        return str(self.engine.currentData() or "ddgs")

    def _key_hint(self) -> str:
        kept = self._state is not None and self._kind() in self._state.keys
        return _("stored; type to replace") if kept else ""

    def _show_fields(self) -> None:
        kind = self._kind()
        keyed = ENGINES[kind].keyed
        self._address_row.setVisible(keyed or kind == "searxng")
        self._key_row.setVisible(keyed)
        self._env_row.setVisible(keyed)
        self.key_note.setVisible(keyed)
        scripts = self.scripts.currentData() != "off"
        self._program_row.setVisible(scripts)
        self.found.setVisible(scripts and self._state is not None)
        say(self.address)
        say(self.key)
        self._check()

    def _touched(self) -> None:
        """What is said is about what was there before."""
        self._complained = False
        if not self.busy.running:
            self.busy.hide()

    def _values(self) -> dict[str, object]:
        kind = self._kind()
        keyed = ENGINES[kind].keyed
        address = self.address.text().strip().rstrip("/") if keyed or kind == "searxng" else ""
        how = {"scripts": self.scripts.currentData() or "auto", "browser": self.program.text().strip()}
        return {"search": kind, "address": address, "key_env": self.env.text().strip() if keyed else "", **how}

    def _entered(self) -> tuple[WebSettings | None, str]:
        try:
            return WebSettings.model_validate(self._values()), self.key.text().strip() if ENGINES[self._kind()].keyed else ""
        except ValueError:
            return None, ""

    def _check(self) -> None:
        entered, key = self._entered()
        kind = self._kind()
        there = entered is not None and (kind != "searxng" or bool(entered.address))
        self.apply.setEnabled(there and (entered != self._saved or bool(key)))
        self.test.setEnabled(there and kind != "off")
        self.forget.setVisible(self._state is not None and kind in self._state.keys)
        if entered is None:
            titles = {"address": N_("Address"), "key_env": N_("Variable"), "browser": N_("Browser")}
            self._complained = True
            self.busy.note(wrong_words(wrong_fields(WebSettings, self._values()), titles), "error")
        elif self._complained:
            self._touched()

    def _apply(self) -> None:
        entered, key = self._entered()
        if entered is None:
            return

        async def job() -> None:
            try:
                kept = await self.bridge.engine.web.use(entered, key)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self._saved = entered
            self.key.clear()
            await self.load()
            self.busy.note(*saved_words(kept))

        self.jobs.once("web", job)

    def _test(self) -> None:
        entered, key = self._entered()
        if entered is None:
            return

        async def job() -> None:
            try:
                found: list[Hit] = await self.bridge.engine.web.test(entered, key)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            first = found[0].title if found else ""
            self.busy.note(_("Works. First result: {title}", title=first) if found else _("Works, but found no results."), "ok")

        task = self.jobs.once("web", job)
        if task is not None:
            self.busy.watch(task, N_("Searching"))

    def _forget(self) -> None:
        self.call(self.bridge.engine.web.forget_key(self._kind()))

    def _clear(self) -> None:
        async def job() -> None:
            count = await self.bridge.engine.web.clear_cache()
            toast(self, ngettext("{count} page was removed.", "{count} pages were removed.", count, count=count))

        self.jobs.once("web-clear", job)

"""Web: who searches it, with address and key, and the pages that were fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import FlowLayout, control, label, say
from atelier_desk.desktop.widgets.format import size
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.settings import WebSettings
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.web.search import ENGINES

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.engine.services.web import WebState
    from atelier_desk.web.search import Hit


@settings_page("web", order=52, icon="globe", title=N_("Web"))
class WebPage(SettingsPage):
    """``web-search``, ``web-address``, ``web-key``, ``web-key-env``, ``web-apply``, ``web-test``, ``web-clear``."""

    topics = ("settings",)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._saved = WebSettings()
        self._state: WebState | None = None
        card = self.section(N_("SEARCH"))
        self.engine = control(ComboBox(self), "web-search")
        self.address = control(QLineEdit(self), "web-address", hint=lambda: ENGINES[self._kind()].address or "https://search.example.org")
        self.key = control(QLineEdit(self), "web-key", hint=self._key_hint)
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.env = control(QLineEdit(self), "web-key-env", hint=N_("name of an environment variable"))
        for name in ENGINES:
            self.engine.addItem("", name)
        say(self.engine, items=[engine.title for engine in ENGINES.values()])
        about = N_("Who is asked when an agent searches the web. What it searches for goes there.")
        self.row(card, self.engine, N_("Search by"), about, stretch=True)
        self._address_row = self.row(card, self.address, N_("Address"), N_("Empty for the service's own, where it has one."), stretch=True)
        self._key_row = self.row(card, self.key, N_("API key"), N_("Goes to the system's keyring and is not shown again."), stretch=True)
        self._env_row = self.row(card, self.env, N_("or from variable"), stretch=True)
        self.apply = control(QPushButton(self), "web-apply", N_("Use this search"), look="primary", on=self._apply)
        self.test = control(QPushButton(self), "web-test", N_("Test"), on=self._test)
        self.forget = control(QPushButton(self), "web-forget-key", N_("Forget the key"), on=self._forget)
        buttons = FlowLayout(spacing=8)
        for button in (self.apply, self.test, self.forget):
            buttons.addWidget(button)
        card.body.addLayout(buttons)
        self.busy = Busy(self)
        card.body.addWidget(self.busy)
        pages = self.section(N_("FETCHED PAGES"))
        self.stats = control(label("", "muted", self, wrap=True), "web-stats")
        pages.body.addWidget(self.stats)
        hint = N_(
            "Pages of the web are kept for a week, so that a page that is read again need not be fetched. None is of your own network."
        )
        self.clear = self.deed(pages, N_("Remove them"), hint, N_("Remove"), self._clear, "web-clear")
        self.end()
        self.engine.currentIndexChanged.connect(lambda _index: self._show_fields())
        for field in (self.address, self.key, self.env):
            field.textChanged.connect(lambda _text: self._check())
        self._show_fields()

    async def load(self) -> None:
        state = await self.bridge.engine.web.state()
        fresh = self._state is None or state.settings != self._saved
        self._state, self._saved = state, state.settings
        if fresh:
            self.engine.setCurrentIndex(max(0, self.engine.findData(state.settings.search)))
            self.address.setText(state.settings.address)
            self.env.setText(state.settings.key_env)
        say(self.stats, lambda: self._counts(state))
        self.clear.setEnabled(state.pages > 0)
        self._show_fields()

    @staticmethod
    def _counts(state: WebState) -> str:
        counted = ngettext("{count} page", "{count} pages", state.pages, count=number(state.pages))
        return f"{counted} · {size(state.size)}"

    def _kind(self) -> str:
        return str(self.engine.currentData() or "ddgs")

    def _key_hint(self) -> str:
        kept = self._state is not None and self._kind() in self._state.keys
        return _("kept; type another to replace it") if kept else ""

    def _show_fields(self) -> None:
        kind = self._kind()
        keyed = ENGINES[kind].keyed
        self._address_row.setVisible(keyed or kind == "searxng")
        self._key_row.setVisible(keyed)
        self._env_row.setVisible(keyed)
        say(self.address)
        say(self.key)
        self._check()

    def _entered(self) -> tuple[WebSettings | None, str]:
        kind = self._kind()
        keyed = ENGINES[kind].keyed
        address = self.address.text().strip().rstrip("/") if keyed or kind == "searxng" else ""
        env = self.env.text().strip() if keyed else ""
        try:
            return WebSettings.model_validate(
                {"search": kind, "address": address, "key_env": env}
            ), self.key.text().strip() if keyed else ""
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
            self.busy.note(
                _("An address begins with https:// or http://, without a name, password or query; a variable is one word."), "error"
            )
        elif self.busy.isVisible() and not self.busy.running:
            self.busy.hide()

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
            self._check()
            said = _("Changed.") if kept else _("Changed. This system has no keyring: the key is forgotten when the program ends.")
            self.busy.note(said, "ok" if kept else "warn")

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
            self.busy.note(_("It answers: {title}", title=first) if found else _("It answers, and found nothing."), "ok")

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

"""Notices of a transcript: limits, loops, retries, errors, ends; with buttons while the run waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.cards.limit_card import LimitButtons, limit_value
from atelier_desk.desktop.chat.transcript.spacing import INSIDE
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.chat.transcript.view import EntryWidget
from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.icons import known
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.desktop.widgets import FlowLayout, bind, control, label
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.engine.services.agent_gallery import current_name
from atelier_desk.presentation.model_names import unlisted_model_name
from atelier_desk.presentation.rows.transcript_entries import Entry
from atelier_desk.presentation.run_notices import limit_title, notice_kind, retry_text, too_little
from atelier_desk.presentation.unreadable_values import readable, unreadable
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import duration, tokens
from atelier_desk.support.visible_and_shortened_text import shorten, visible


@dataclass(frozen=True, slots=True)
class Offer:
    """A button of a notice; ``name`` is its object name, ``variant`` that of the style sheet."""

    text: str
    variant: str
    name: str
    action: Callable[[], object]
    tip: str = ""


class NoticeCard(EntryWidget):
    """A notice of the engine: limit, loop, retry or error. While the run waits for a decision it shows the options."""

    def __init__(self, entry: Entry, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(entry, parent)
        self.setObjectName("notice-card")
        self._host = host
        self._card = HeadedCard(self)
        self._card.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = QWidget(self._card)
        self._flow = FlowLayout(self._buttons)
        self._limit: LimitButtons | None = None
        self._card.words.addWidget(self._buttons)
        if entry.topic == "error":
            self._more = control(QPushButton(self._card), "notice-details", look="link", on=self._toggle_details)
            self._details = control(label("", "muted", self._card, wrap=True), "notice-detail")
            self._details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._card.words.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
            self._card.words.addWidget(self._details)
            host.picked_changed.connect(self.refresh)
        bind(self.refresh)

    def refresh(self) -> None:
        icon, role, variant, title, text = notice_words(self.entry)
        mark(self._card, variant if self.entry.actionable else "card")
        self._card.show_head(icon, role, title, text)
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        limited = self.entry.topic == "limit_reached"
        self._show_limit(limited and self.entry.actionable)
        offered = self._offers() if self.entry.actionable and not limited else []
        for offer in offered:
            button = control(QPushButton(offer.text, self._buttons), offer.name, look=offer.variant, on=offer.action)
            button.setToolTip(plain_tip(offer.tip))
            button.show()
            self._flow.addWidget(button)
        self._buttons.setVisible(bool(offered))
        if self.entry.topic == "error":
            self._show_details()
        self._buttons.updateGeometry()
        self._card.body.activate()  # so that the next height includes the new buttons
        self.height_changed.emit()

    def _toggle_details(self) -> None:
        opened = self._host.state.open_reports
        (opened.discard if self.entry.id in opened else opened.add)(self.entry.id)
        self.refresh()
        self._host.unfolded.emit()

    def _show_details(self) -> None:
        """Show the error code and the server's message."""
        found = "\n".join(filter(None, (str(self.entry.details.get(name) or "") for name in ("code", "detail"))))
        opened = self.entry.id in self._host.state.open_reports
        self._more.setVisible(bool(found))
        self._more.setText(_("Hide details") if opened else _("Details"))
        self._details.setVisible(bool(found) and opened)
        self._details.setText(found)

    def _show_limit(self, on: bool) -> None:
        """Show the field to raise the limit that was reached."""
        if on and self._limit is None:
            self._limit = LimitButtons(self._host, self._card)
            self._card.words.addWidget(self._limit)
        elif not on and self._limit is not None:
            self._limit.hide()
            self._limit.deleteLater()
            self._limit = None
        if self._limit is not None:
            details = self.entry.details
            self._limit.show_limit(
                self.entry.run_id, str(details.get("limit", "")), float(details.get("cap") or 0), details
            )

    def _offers(self) -> list[Offer]:
        run_id = self.entry.run_id

        def resume(**changes: object) -> Callable[[], object]:
            return lambda: self._host.resume_requested.emit(run_id, changes)

        def stop() -> None:
            self._host.stop_requested.emit(run_id)

        if self.entry.topic == "error":
            return self._after_error(resume())
        if self.entry.topic == "run_finished":
            more = partial(self._host.continue_requested.emit, "stopped")
            tip = _("Continue where the model stopped")
            return [Offer(_("Continue"), "", "notice-continue-reply", more, tip)]
        if self.entry.topic == "run_interrupted":
            return [
                Offer(_("Continue"), "primary", "notice-resume", resume()),
                Offer(_("Stop"), "", "notice-stop", stop),
            ]
        return [
            Offer(_("Continue"), "primary", "notice-continue", resume()),
            Offer(_("Finish now"), "", "notice-finish", resume(finish=True)),
            Offer(_("Stop"), "", "notice-stop", stop),
        ]

    def _after_error(self, retry: Callable[[], object]) -> list[Offer]:
        """Correct the provider's settings, ask the same model again, or the one that was picked since."""
        details = self.entry.details
        offers: list[Offer] = []
        provider = str(details.get("provider") or "")
        if provider and details.get("code") in _IN_PROVIDER_SETTINGS:
            open_ = partial(self._host.provider_requested.emit, provider)
            offers.append(Offer(_("Open provider settings"), "primary", "notice-provider", open_))
        if details.get("recoverable", True):
            asked = self._model_label(str(details.get("model_provider") or ""), str(details.get("model") or ""))
            tip = _("Ask {name} again", name=asked) if asked else ""
            offers.append(Offer(_("Retry"), "" if offers else "primary", "notice-retry", retry, tip))
        if picked := self._picked_instead():
            ask = partial(self._host.ask_picked_requested.emit, self.entry.run_id)
            tip = _("Send the same message again as another version of this turn")
            name = visible(shorten(picked, _NAME)).replace("&", "&&")
            offers.append(Offer(_("Ask {name} instead", name=name), "", "notice-ask-picked", ask, tip))
        return offers

    def _picked_instead(self) -> str:
        """Return the name of the model picked since the failure, else of the agent; empty if neither is another one."""
        details, picked = self.entry.details, self._host.picked
        if not details.get("model") or not picked.model:
            return ""
        if (picked.provider, picked.model) != (details.get("model_provider"), details["model"]):
            return self._model_label(picked.provider, picked.model)
        same = str(details.get("agent_id") or "") in {"", picked.agent_id}
        return "" if same else current_name(picked.agent_name)

    def _model_label(self, provider: str, model: str) -> str:
        return self._host.models.get((provider, model)) or unlisted_model_name(provider, model)

    def fit(self, width: int) -> int:
        height = self._card.fit(width)
        self._card.setGeometry(0, 0, width, height)
        return height + theme().px(INSIDE)


_NAME = 40
"""Characters of a model's name on a button."""
_IN_PROVIDER_SETTINGS = {"auth", "disabled", "held"}
"""Codes of errors that last until something is entered, enabled or confirmed at the provider."""
_OWN = {"internal_error", "storage", "query", "io", "damaged", "damaged_row", "taken", "disk_full", "read_only"}
"""Codes of errors caused by Atelier or its database, not by a model or server."""
_ENDED = {
    "command": N_("The command that was showing this run has ended. Everything up to this point is saved."),
    "program": N_("Atelier was closed during this run. Everything up to this point is saved."),
    "next_start": N_("Atelier was closed during this run, which was set to continue at the next start."),
    "killed": N_("Atelier stopped unexpectedly during this run. Everything up to this point is saved."),
    "damaged": N_("Data that controls what agents may do is damaged. Everything up to this point is saved."),
}


def notice_words(entry: Entry) -> tuple[str, Role, str, str, str]:
    """Icon, colour, card variant, title and text of a notice; the title says so if its details are unreadable."""
    return readable(lambda: _notice_words(entry), lambda: ("info", "muted", "card", unreadable(), entry.content))


def _notice_words(entry: Entry) -> tuple[str, Role, str, str, str]:
    details = entry.details
    role: Role
    if entry.topic == "error":
        own = details.get("code") in _OWN
        title = _("Internal error in Atelier") if own else _("The model could not answer")
        return "circle-alert", "err", "card-err", title, str(details.get("words") or entry.content)
    if entry.topic == "limit_reached":
        kind = str(details.get("limit", ""))
        used, most = (float(details.get(key) or 0) for key in ("value", "cap"))
        value, cap = limit_value(kind, used), limit_value(kind, most)
        waits = _("{value} of {cap} used. The run is waiting for your decision.", value=value, cap=cap)
        text = waits if entry.actionable else _("{value} of {cap} used.", value=value, cap=cap)
        why = _("See the newer notice below.") if details.get("superseded") else too_little(kind, used, most, details)
        text = " ".join(filter(None, (text, why)))
        return "octagon-x", "warn", "card-warn", limit_title(kind, details), text
    if entry.topic == "loop_detected":
        count = int(details.get("count") or 0)
        text = ngettext(
            "“{tool}” was called {n} time with the same arguments and result.",
            "“{tool}” was called {n} times with the same arguments and result.",
            count,
            tool=tool_title(str(details.get("tool", ""))),
        )
        return "refresh-cw", "warn", "card-warn", _("The agent is repeating itself"), text
    if entry.topic == "context_compacted":
        before, after = (int(details.get(name) or 0) for name in ("tokens_before", "tokens_after"))
        text = _("{before} → {after} tokens; older parts were shortened.", before=tokens(before), after=tokens(after))
        if not after:  # results are shortened before the remaining tokens are counted
            text = _("The history had {before} tokens; older parts were shortened.", before=tokens(before))
        return "archive", "muted", "card", _("Older messages were shortened for the model"), text
    if (kind_of := notice_kind(entry.topic, details)) is not None:
        role, variant = ("warn", "card-warn") if kind_of.warning else ("muted", "card")
        return known(kind_of.icon, "info"), role, variant, *kind_of.text(details)
    if entry.topic == "run_interrupted":
        return (
            "power",
            "warn",
            "card-warn",
            _("Interrupted"),
            _(_ENDED.get(str(details.get("ended", "")), _ENDED["program"])),
        )
    if entry.topic == "retry":
        delay_ms = float(details.get("delay_s") or 0) * 1000
        delay = duration(delay_ms) if delay_ms >= 50 else ""
        title, text = retry_text(str(details.get("reason", "")), details, delay)
        return "refresh-cw", "muted", "card", title, text
    if entry.topic == "run_finished":
        titles = {
            "completed": _("Completed"),
            "cancelled": _("Stopped"),
            "abandoned": _("The agent gave up"),
            "error": _("Failed"),
        }
        status = str(details.get("status", ""))
        icons = {
            "completed": "circle-check",
            "cancelled": "circle-stop",
            "abandoned": "circle-x",
            "error": "circle-alert",
        }
        role = "ok" if status == "completed" else ("err" if status == "error" else "muted")
        return icons.get(status, "info"), role, "card", titles.get(status, status), entry.content
    return "info", "muted", "card", entry.content or entry.topic, ""

"""The card of a run that stopped at a limit: which agent, which limit, and the options."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.cards.headed_card import HeadedCard
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.panes.spin_box_padding import pad
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import FlowLayout, bind, control
from atelier_desk.desktop.widgets.wheel_safe_inputs import DoubleSpinBox
from atelier_desk.presentation.run_notices import MONEY, limit_title, too_little
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import cost, duration, number, tokens
from atelier_desk.support.visible_and_shortened_text import visible

_UNITS = {
    "time": N_("{amount} s"),
    "tokens": N_("{amount} tokens"),
    "cost": N_("${amount}"),
    "month": N_("${amount}"),
}
"""Format of the amount by kind of limit."""
_MOST = 1_000_000_000.0
_FIRST = {"iterations": 10.0, "tool_calls": 10.0, "tokens": 10_000.0, "cost": 0.5, "month": 5.0, "time": 300.0}
"""Suggested increase of a limit that is zero, by kind."""


def limit_value(kind: str, value: float) -> str:
    """A limit's value formatted with its unit."""
    if kind in MONEY:
        return cost(value)
    if kind == "time":
        return duration(value * 1000)
    if kind == "tokens":
        return tokens(int(value))
    return number(value)


class RaiseField(DoubleSpinBox):
    """The field for the increase of a limit; suggests doubling it, or what the next request lacks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("limit-amount")
        self.kind = ""
        bind(self._apply_style)

    def _apply_style(self) -> None:
        self.setFixedWidth(theme().px(150))
        pad(self)

    def show_kind(self, kind: str, cap: float, lacking: float = 0.0) -> None:
        """Set decimals, step and unit for this kind; a value typed by the user is not replaced.

        ``lacking``: the smallest increase that helps.
        """
        before, _amount, after = _(_UNITS.get(kind, "")).partition("{amount}")
        self.setPrefix(f"+ {before}")
        self.setSuffix(after)
        self.setAccessibleName(visible(_("Amount to add to the limit")))
        if kind == self.kind:
            return
        self.kind = kind
        amount = max(cap if cap > 0 else _FIRST.get(kind, 10.0), lacking)
        money = kind in MONEY
        self.setDecimals(4 if money and amount < 0.01 else 2 if money else 0)
        self.setRange(10.0 ** -self.decimals(), _MOST)
        self.setSingleStep(max(self.minimum(), amount / 4 if money else float(round(amount / 4))))
        self.setGroupSeparatorShown(True)
        self.setValue(math.ceil(amount * 10.0 ** self.decimals() - 1e-6) / 10.0 ** self.decimals())


class LimitButtons(QWidget):
    """Buttons of a run stopped at a limit: raise it, finish with a last answer, or stop."""

    def __init__(self, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self._host = host
        self.run_id = ""
        self.amount = RaiseField(self)
        self.raising = control(
            QPushButton(self),
            "notice-raise",
            N_("Raise the limit"),
            look="primary",
            on=lambda: self._resume({"raise_limits": {self.amount.kind: self.amount.value()}}),
        )
        self.finish = control(
            QPushButton(self),
            "notice-finish",
            N_("Finish now"),
            tip=N_("Get a final answer based on the work so far"),
            on=lambda: self._resume({"finish": True}),
        )
        self.stop = control(
            QPushButton(self), "notice-stop", N_("Stop"), on=lambda: self._host.stop_requested.emit(self.run_id)
        )
        self.allow = control(
            QPushButton(self),
            "notice-allow-unpriced",
            N_("Allow this month"),
            tip=N_(
                "Until the end of the month, also send requests without a known price; they do not count toward the "
                "limit"
            ),
            on=lambda: self._resume({"raise_limits": {"unpriced": 1.0}}),
        )
        self.price = control(
            QPushButton(self),
            "notice-enter-price",
            N_("Enter a price"),
            look="primary",
            on=lambda: self._host.price_requested.emit(self.run_id),
        )
        self.again = control(
            QPushButton(self),
            "notice-continue-priced",
            N_("Continue"),
            tip=N_("Once the price is entered"),
            on=lambda: self._resume({}),
        )
        flow = FlowLayout(self)
        for widget in (self.amount, self.raising, self.price, self.again, self.allow, self.finish, self.stop):
            flow.addWidget(widget)

    def _resume(self, changes: dict[str, object]) -> None:
        self._host.resume_requested.emit(self.run_id, changes)

    def show_limit(self, run_id: str, kind: str, cap: float, details: Mapping[str, Any]) -> None:
        """``details`` as of ``too_little``."""
        self.run_id = run_id
        unpriced, priced = kind == "unpriced", kind == "priced"
        self.finish.setVisible(kind not in ("month", "unpriced", "priced"))  # a last answer would also cost something
        for widget in (self.amount, self.raising):
            widget.setVisible(not (unpriced or priced))
        for widget in (self.price, self.allow):
            widget.setVisible(unpriced)
        self.again.setVisible(unpriced or priced)
        lacking = float(details.get("needed") or 0) - max(0.0, float(details.get("left") or 0))
        self.amount.show_kind(kind, cap, lacking)


class LimitCard(HeadedCard):
    """``limit-card``: a run of a team stopped at a limit."""

    def __init__(self, host: TranscriptHost, parent: QWidget | None = None) -> None:
        super().__init__(parent, "card-warn")
        self.setObjectName("limit-card")
        self._shown: tuple[str, str, str, float, float, Mapping[str, object]] = ("", "", "", 0.0, 0.0, {})
        self.buttons = LimitButtons(host, self)
        self.words.addWidget(self.buttons)
        bind(self._show)

    def show_limit(
        self, run_id: str, agent: str, kind: str, value: float, cap: float, details: Mapping[str, object]
    ) -> None:
        """Show a limit that was reached.

        Args:
            kind: a ``LimitKind`` value.
            value, cap: in the unit of the kind: US dollars, tokens, seconds, calls or steps.
            details: as in ``too_little``.
        """
        self._shown = (run_id, agent, kind, value, cap, details)
        self._show()

    def _show(self) -> None:
        run_id, agent, kind, value, cap, details = self._shown
        problem = limit_title(kind, {"value": value, "cap": cap})
        title = _("{agent}: {problem}", agent=agent or _("Agent"), problem=problem)
        used = {"value": limit_value(kind, value), "cap": limit_value(kind, cap)}
        text = (
            _("{value} of {cap} used. The run is waiting for your decision.", **used)
            if cap
            else _("The run is waiting for your decision.")
        )
        text = " ".join(filter(None, (text, too_little(kind, value, cap, details))))
        self.show_head("octagon-x", "warn", title, text)
        self.buttons.show_limit(run_id, kind, cap, details)
        self.setAccessibleName(visible(f"{title}. {text}"))

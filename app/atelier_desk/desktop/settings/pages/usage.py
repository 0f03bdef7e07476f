"""Usage: tokens, cost and time by day, model, agent and workflow, as chart and table, from recorded runs."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field
from PySide6.QtCore import QDate
from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.time_format import locale
from atelier_desk.desktop.settings.bar_chart import Bar, BarChart
from atelier_desk.desktop.settings.fields import Choice, Number, Toggle
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.usage_table import UsageTable
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.usage import MonthUsage, UsageBy, UsageGroup, UsageRow, UsageSum, as_csv, grouped, summed
from atelier_desk.presentation.cost_text import CURRENCY, LEFT_OUT, cost_text, month_text, saved_text
from atelier_desk.presentation.model_names import name_of_key
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import day as day_words
from atelier_desk.support.locale_format import duration, number, tokens
from atelier_desk.support.regular_files import replace_file

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

PERIODS = (
    (1, N_("Today")),
    (7, N_("Last 7 days")),
    (30, N_("Last 30 days")),
    (90, N_("Last 90 days")),
    (0, N_("All time")),
)
BY = (
    (UsageBy.DAY, N_("By day")),
    (UsageBy.MODEL, N_("By model")),
    (UsageBy.AGENT, N_("By agent")),
    (UsageBy.WORKFLOW, N_("By workflow")),
)
MEASURES = (("tokens", N_("Tokens")), ("cost", N_("Cost")), ("time", N_("Duration")))


class Shown(BaseModel):
    """What the page shows: ``period`` in days, 0 for all."""

    period: int = 30
    by: UsageBy = UsageBy.DAY
    measure: str = "tokens"


class MonthlyLimit(BaseModel):
    """The part of ``MonthUsage`` that can be edited."""

    limit: float = Field(default=0, ge=0, le=1_000_000)
    unpriced: bool = False


SHOWN = (
    Choice("period", N_("Period"), choices=PERIODS),
    Choice("by", N_("Totals"), choices=BY),
    Choice("measure", N_("Chart"), choices=MEASURES),
)
MONTHLY_LIMIT = (
    Number(
        "limit",
        N_("Monthly cost limit"),
        N_(
            "The budget per month for all requests together, in addition to the limits per run. When it is "
            "reached, agents stop and ask you; a warning appears at 80%. 0 means no limit."
        ),
        places=2,
        prefix=lambda: _("${amount}").partition("{amount}")[0],
        suffix=lambda: _("${amount}").partition("{amount}")[2],
    ),
    Toggle(
        "unpriced",
        N_("Requests without a known price"),
        N_(
            "When a limit is set, Atelier does not send requests without a known price. You can allow them "
            "until the end of the month; they do not count toward the limit."
        ),
    ),
)
SLOW_S = 1.0
"""Seconds after which the page shows that it is loading."""
MOST_BARS = 12
"""Maximum horizontal bars; the table has all."""
MOST_DAYS = 92
"""Maximum vertical bars by day; longer periods are shown by month."""


@settings_page("usage", order=92, icon="chart-column", title=N_("Usage"), part_of="data")
class UsagePage(SettingsPage):
    """``usage-period``, ``usage-by``, ``usage-measure``, ``usage-export``, ``usage-chart``, ``usage-table``,
    ``usage-summary``.
    """

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._rows: list[UsageRow] | None = None
        """None: not read yet."""
        self._leaves_out = False
        self._month: MonthUsage | None = None
        self._period = Shown().period
        self.choices = Form(Shown, self, "usage", *SHOWN)
        self.choices.show_values(Shown())
        self.choices.hide()
        self.export = self.button("usage-export", N_("Export as CSV…"), self.export_csv)
        self.button_row(None, *self.choices.controls.values(), self.export)
        self.column.addSpacing(8)
        self.busy = Busy(self)
        self.column.addWidget(self.busy)
        card = self.section()
        card.heading.hide()
        self.summary = self.add_text(card, name="usage-summary", look="strong")
        self.chart = BarChart(self)
        self.chart.setObjectName("usage-chart")
        card.body.addWidget(self.chart)
        self.legend = self.add_text(card, look="small")
        self.empty = self.add_text(card, N_("No usage in this period"))
        card = self.section(N_("Monthly limit"))
        self.limits = Form(MonthlyLimit, self, "usage", *MONTHLY_LIMIT)
        self.limits.controls["limit"].setKeyboardTracking(False)
        self.limits.row(self, card, "limit", stretch=False)
        self.month = self.add_text(
            card, lambda: month_text(self._month) if self._month is not None else "", "usage-month"
        )
        self.add_text(card, CURRENCY, look="small")
        self.limits.row(self, card, "unpriced", stretch=False)
        self.table = UsageTable(self._named, self)
        self.column.addWidget(self.table)
        self.note = self.add_text(None, look="small")
        self.end()
        self.choices.changed.connect(self._choose)
        self.limits.changed.connect(self._save_limit)
        self._show()

    def _by(self) -> UsageBy:
        return UsageBy(self.choices.read()["by"])

    def _choose(self) -> None:
        if self.choices.read()["period"] == self._period:
            self._show()
        else:
            self.reload()

    def _save_limit(self) -> None:
        """Saved at once: what differs from the month's."""
        entered, month = self.limits.made(), self._month

        async def save() -> None:
            if month is None or entered.limit != month.limit:
                await self.bridge.engine.settings.update(monthly_cost_limit=entered.limit, monthly_warned="")
            if month is not None and entered.unpriced != month.unpriced:
                await self.bridge.engine.usage.allow_unpriced(entered.unpriced)
            await self._read_month()

        self.jobs.start(save(), "limit")

    async def _read_month(self) -> None:
        month = self._month = await self.bridge.engine.usage.month()
        limit = self.limits.controls["limit"]
        typing = limit.cleanText() != limit.textFromValue(limit.value())
        if not typing:
            self.limits.show_values(MonthlyLimit(limit=month.limit, unpriced=month.unpriced))
        bind_text(self.month)

    async def load(self) -> None:
        usage = self.bridge.engine.usage
        self._period = self.choices.read()["period"]
        reading = self.jobs.start(usage.rows(self._period), "rows")
        while not (await asyncio.wait({reading}, timeout=SLOW_S))[0]:
            if not self.busy.running:
                self.busy.watch(reading, N_("Reading the history…"))
            if (progress := await usage.reading()) is not None:
                self.busy.set_progress(*progress)
        if reading.cancelled() or reading.exception() is not None:  # reported by the jobs
            return
        self._rows = reading.result() or []
        self._leaves_out = await usage.leaves_out(self._period)
        await self._read_month()
        self._show()

    def _show(self) -> None:
        by, rows = self._by(), self._rows or []
        groups, total = grouped(rows, by), summed(rows)
        there = bool(groups)
        for part in (self.chart, self.legend, self.summary, self.table):
            part.setVisible(there)
        self.empty.setVisible(not there and self._rows is not None)
        self.export.setEnabled(there)
        self.table.show_groups(groups[::-1] if by is UsageBy.DAY else groups, total)
        self._show_words(total)
        self._show_bars(groups, by)

    def _show_words(self, total: UsageSum) -> None:
        usage = total.usage
        count = ngettext("{number} token", "{number} tokens", total.tokens, number=number(total.tokens))
        cost = _("cost unknown") if total.cost is None else cost_text(total)
        facts = [count, cost, saved_text(total), _("generation time: {time}", time=duration(total.duration_ms))]
        self.summary.setText(" · ".join(filter(None, facts)))
        notes = [_("The usage of a copied workflow includes that of the original.")]
        if usage.tokens_unpriced:
            text = ngettext(
                "{number} token has no known price. Prices can be entered in Settings → Providers; they apply from "
                "then on.",
                "{number} tokens have no known price. Prices can be entered in Settings → Providers; they apply "
                "from "
                "then on.",
                usage.tokens_unpriced,
                number=number(usage.tokens_unpriced),
            )
            notes.insert(0, text)
        if usage.estimated:
            notes.append(_("Values that servers do not report are estimated."))
        notes = notes if total.requests else []
        if self._leaves_out:
            notes.append(_(LEFT_OUT))
        self.note.setText(" ".join(notes))
        self.note.setVisible(bool(notes))

    def _show_bars(self, groups: list[UsageGroup], by: UsageBy) -> None:
        measure = str(self.choices.read()["measure"])
        if by is UsageBy.DAY:
            bars = [self._bar(name, total, measure) for name, total in self._along_time(groups)]
        else:
            ranked = sorted(groups, key=lambda group: -sum(_parts(group.total, measure)))[:MOST_BARS]
            bars = [self._bar(self._named(group), group.total, measure) for group in ranked]
        self.chart.show_bars(bars, upright=by is UsageBy.DAY)
        self.legend.setText(_("Vivid colour: sent · muted colour: received") if measure == "tokens" else "")
        self.legend.setVisible(bool(self.legend.text()) and bool(groups))
        what = {"tokens": _("tokens"), "cost": _("cost"), "time": _("duration")}[measure]
        text = "; ".join(
            _("{name}: {text}", name=bar.name, text=bar.text) for bar in bars if bar.length or measure == "cost"
        )
        sums = self.choices.controls["by"].currentText().lower()
        self.chart.setAccessibleName(_("Bar chart: {what}, {by}", what=what, by=sums))
        self.chart.setAccessibleDescription(text)

    def _along_time(self, groups: list[UsageGroup]) -> list[tuple[str, UsageSum]]:
        """Every day of the period, including those without usage; every month of a long period."""
        if not groups:
            return []
        found = {date.fromisoformat(group.key): group.total for group in groups}
        days = self._period
        last = max(max(found), utc_now().astimezone().date())
        first = min(min(found), last - timedelta(days=days - 1)) if days else min(found)
        if (last - first).days < MOST_DAYS:
            each = [first + timedelta(days=number) for number in range((last - first).days + 1)]
            return [(_day(day, "d MMM"), found.get(day, UsageSum())) for day in each]
        months: dict[date, UsageSum] = {}
        month = first.replace(day=1)
        while month <= last:
            months[month] = UsageSum()
            month = (month + timedelta(days=32)).replace(day=1)
        for day, total in found.items():
            months[day.replace(day=1)] += total
        return [(_day(month, "MMM yyyy"), total) for month, total in months.items()]

    def _bar(self, name: str, total: UsageSum, measure: str) -> Bar:
        words = {"tokens": tokens(total.tokens), "cost": cost_text(total), "time": duration(total.duration_ms)}
        return Bar(name, _parts(total, measure), words[measure])

    def _named(self, group: UsageGroup) -> str:
        if self._by() is UsageBy.DAY:
            return day_words(date.fromisoformat(group.key))
        name = name_of_key(group.name) if self._by() is UsageBy.MODEL else group.name
        return name or _("unknown")

    def export_csv(self) -> None:
        """Ask for a file and export all figures of the period."""
        ask_save(self.window(), _("Export usage"), "atelier-usage.csv", _("CSV (*.csv)"), self.export_to)

    def export_to(self, path: Path) -> None:
        """Export the figures of the period."""
        try:
            replace_file(path, as_csv(self._rows or []).encode("utf-8-sig"))
        except OSError as error:
            self.show_error(_("The file could not be written: {reason}", reason=error.strerror or str(error)))
        else:
            toast(self, _("Saved as {name}", name=path.name))


def _parts(total: UsageSum, measure: str) -> tuple[float, ...]:
    """The lengths of a bar's parts."""
    if measure == "tokens":
        return float(total.usage.tokens_input), float(total.usage.tokens_output)
    return (total.cost or 0.0,) if measure == "cost" else (float(total.duration_ms),)


def _day(day: date, form: str) -> str:
    return locale().toString(QDate(day.year, day.month, day.day), form)

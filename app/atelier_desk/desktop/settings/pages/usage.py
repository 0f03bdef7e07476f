"""Usage: tokens, cost and time by day, model, agent and workflow, as chart and table, from recorded runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate
from PySide6.QtWidgets import QCheckBox, QComboBox, QPushButton, QWidget

from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_save
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.time_format import locale
from atelier_desk.desktop.settings.bar_chart import Bar, BarChart
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.progress_line import Busy
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.usage_table import UsageTable
from atelier_desk.desktop.widgets import bind, bind_text, control, fill, label
from atelier_desk.desktop.widgets.flow_layout import FlowLayout
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox, DoubleSpinBox
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.usage import MonthUsage, UsageBy, UsageGroup, UsageRow, UsageSum, as_csv, grouped, summed
from atelier_desk.presentation.cost_text import CURRENCY, cost_text, month_text, saved_text
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.number_format import day as day_words
from atelier_desk.support.number_format import duration, number, tokens

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
        self._rows: list[UsageRow] = []
        self.period = self._chooser("usage-period", PERIODS, N_("Period"))
        self.by = self._chooser("usage-by", BY, N_("Totals"))
        self.measure = self._chooser("usage-measure", MEASURES, N_("Chart"))
        self.period.setCurrentIndex(2)
        self.export = control(QPushButton(self), "usage-export", N_("Export as CSV…"), on=self.export_csv)
        choosers = QWidget(self)
        row = FlowLayout(choosers)
        for each in (self.period, self.by, self.measure, self.export):
            row.addWidget(each)
        self.column.addWidget(choosers)
        self.column.addSpacing(8)
        self.busy = Busy(self)
        self.column.addWidget(self.busy)
        self.summary = control(label("", "strong", self, wrap=True), "usage-summary")
        self.picture = self.section()
        self.picture.heading.hide()
        self.chart = control(BarChart(self), "usage-chart")
        self.legend = label("", "small", self, wrap=True)
        self.empty = bind_text(label("", "muted", self, wrap=True), N_("No usage in this period"))
        fill(self.picture.body, self.summary, self.chart, self.legend, self.empty)
        self._add_month()
        self.table = UsageTable(self._named, self)
        self.column.addWidget(self.table)
        self.note = label("", "small", self, wrap=True)
        self.column.addWidget(self.note)
        self.end()
        self.period.activated.connect(lambda _index: self.reload())
        for box in (self.by, self.measure):
            box.activated.connect(lambda _index: self._show())
        self._show()

    def _add_month(self) -> None:
        """``usage-limit``: the monthly cost limit, saved while typing."""
        self._month: MonthUsage | None = None
        section = self.section(N_("Monthly limit"))
        self.limit = control(DoubleSpinBox(self), "usage-limit", name=N_("Monthly cost limit"))
        self.limit.setRange(0, 1_000_000)
        self.limit.setDecimals(2)
        bind(self._show_unit, on="language")
        self.limit.setKeyboardTracking(False)
        self.limit.valueChanged.connect(self._save_limit)
        about = N_(
            "The budget per month for all requests together, in addition to the limits per run. When it is "
            "reached, agents stop and ask you; a warning appears at 80%. 0 means no limit."
        )
        self.row(section, self.limit, N_("Monthly cost limit"), about)
        self.month = control(label("", "muted", self, wrap=True), "usage-month")
        section.body.addWidget(self.month)
        bind_text(self.month, lambda: month_text(self._month) if self._month is not None else "")
        section.body.addWidget(bind_text(label("", "small", self, wrap=True), CURRENCY))
        self.unpriced = control(
            QCheckBox(self), "usage-unpriced", name=N_("Requests without a known price"), on=self._allow
        )
        about = N_(
            "When a limit is set, Atelier does not send requests without a known price. You can allow them "
            "until the end of the month; they do not count toward the limit."
        )
        self.row(section, self.unpriced, N_("Requests without a known price"), about)

    def _show_unit(self) -> None:
        before, _amount, after = _("${amount}").partition("{amount}")
        self.limit.setPrefix(before)
        self.limit.setSuffix(after)

    def _save_limit(self, dollars: float) -> None:
        async def save() -> None:
            await self.bridge.engine.settings.update(monthly_cost_limit=dollars)
            await self._read_month()

        self.jobs.start(save(), "limit")

    def _allow(self) -> None:
        async def save() -> None:
            await self.bridge.engine.usage.allow_unpriced(self.unpriced.isChecked())
            await self._read_month()

        self.jobs.start(save(), "unpriced")

    async def _read_month(self) -> None:
        self._month = await self.bridge.engine.usage.month()
        if self.limit.cleanText() == self.limit.textFromValue(self.limit.value()):  # nothing is being typed
            self.limit.blockSignals(True)
            self.limit.setValue(self._month.limit)
            self.limit.blockSignals(False)
        self.unpriced.setChecked(self._month.unpriced)
        bind_text(self.month)

    def _chooser(self, name: str, choices: Sequence[tuple[object, str]], caption: str) -> QComboBox:
        box = control(ComboBox(self), name)
        for value, _text in choices:
            box.addItem("", value)
        return bind_text(box, items=[text for _value, text in choices], name=caption)

    async def load(self) -> None:
        usage = self.bridge.engine.usage
        reading = self.jobs.start(usage.rows(self.period.currentData()), "rows")
        while not (await asyncio.wait({reading}, timeout=SLOW_S))[0]:
            if not self.busy.running:
                self.busy.watch(reading, N_("Reading the history…"))
            if (progress := await usage.reading()) is not None:
                self.busy.set_progress(*progress)
        if reading.cancelled() or reading.exception() is not None:  # reported by the jobs
            return
        self._rows = reading.result() or []
        await self._read_month()
        self._show()

    def _show(self) -> None:
        by = UsageBy(self.by.currentData())
        groups, total = grouped(self._rows, by), summed(self._rows)
        there = bool(groups)
        for part in (self.chart, self.legend, self.summary, self.table):
            part.setVisible(there)
        self.empty.setVisible(not there)
        self.export.setEnabled(there)
        self.table.show_groups(groups[::-1] if by is UsageBy.DAY else groups, total)
        self._show_words(total)
        self._show_bars(groups, by)

    def _show_words(self, total: UsageSum) -> None:
        usage = total.usage
        count = ngettext("{number} token", "{number} tokens", total.tokens, number=number(total.tokens))
        cost = _("cost unknown") if total.cost is None else cost_text(total)
        facts = [count, cost, saved_text(total), _("{time} of generation", time=duration(total.duration_ms))]
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
        self.note.setText(" ".join(notes))
        self.note.setVisible(bool(total.requests))

    def _show_bars(self, groups: list[UsageGroup], by: UsageBy) -> None:
        measure = str(self.measure.currentData())
        if by is UsageBy.DAY:
            bars = [self._bar(name, total, measure) for name, total in self._along_time(groups)]
        else:
            ranked = sorted(groups, key=lambda group: -sum(_parts(group.total, measure)))[:MOST_BARS]
            bars = [self._bar(self._named(group), group.total, measure) for group in ranked]
        self.chart.show_bars(bars, upright=by is UsageBy.DAY)
        self.legend.setText(_("Strong colour: sent · soft colour: received") if measure == "tokens" else "")
        self.legend.setVisible(bool(self.legend.text()) and bool(groups))
        what = {"tokens": _("tokens"), "cost": _("cost"), "time": _("duration")}[measure]
        text = "; ".join(
            _("{name}: {text}", name=bar.name, text=bar.text) for bar in bars if bar.length or measure == "cost"
        )
        self.chart.setAccessibleName(_("Bar chart: {what}, {by}", what=what, by=self.by.currentText().lower()))
        self.chart.setAccessibleDescription(text)

    def _along_time(self, groups: list[UsageGroup]) -> list[tuple[str, UsageSum]]:
        """Every day of the period, including those without usage; every month of a long period."""
        if not groups:
            return []
        found = {date.fromisoformat(group.key): group.total for group in groups}
        days = int(self.period.currentData() or 0)
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
        if UsageBy(self.by.currentData()) is UsageBy.DAY:
            return day_words(date.fromisoformat(group.key))
        return group.name or _("unknown")

    def export_csv(self) -> None:
        """Ask for a file and export all figures of the period."""
        ask_save(self.window(), _("Export usage"), "atelier-usage.csv", _("CSV (*.csv)"), self.export_to)

    def export_to(self, path: Path) -> None:
        """Export the figures of the period."""
        try:
            path.write_text(as_csv(self._rows), encoding="utf-8-sig", newline="")
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

"""``atelier usage``: tokens, cost and time by day, model, agent or workflow."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from atelier_desk.cli.command_arguments.usage import BY
from atelier_desk.cli.command_result import Note, Result, Table
from atelier_desk.cli.file_arguments import path_of
from atelier_desk.cli.slow_command_notes import history_noted
from atelier_desk.cli.terminal_io import Output, in_thread
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.usage import UsageBy, UsageSum, as_csv, grouped, summed
from atelier_desk.engine.atelier import Atelier
from atelier_desk.presentation.cost_text import CURRENCY, LEFT_OUT, cost_text, month_text, saved_text
from atelier_desk.presentation.model_names import name_of_key
from atelier_desk.support.i18n import N_, _
from atelier_desk.support.locale_format import duration
from atelier_desk.support.locale_format import number as figure
from atelier_desk.support.regular_files import replace_file


async def show(atelier: Atelier, arguments: Namespace, out: Output) -> Result | int:
    if arguments.limit is not None:
        await atelier.settings.update(monthly_cost_limit=arguments.limit, monthly_warned="")
    if arguments.allow_unpriced is not None:
        await atelier.usage.allow_unpriced(arguments.allow_unpriced)
    async with history_noted(atelier, out, _("Reading the history…")):
        rows = await atelier.usage.rows(arguments.days)
        leaves_out = await atelier.usage.leaves_out(arguments.days)
    if arguments.csv:
        return await _write(as_csv(rows), arguments.csv, out)
    month = await atelier.usage.month()
    groups, total = grouped(rows, UsageBy(arguments.by)), summed(rows)
    header = (_("day"), _("model"), _("agent"), _("workflow"))[BY.index(arguments.by)]
    names = [name_of_key(g.name) if arguments.by == UsageBy.MODEL else g.name or g.key for g in groups]
    cells = ((name or _("unknown"), *_cells(g.total)) for name, g in zip(names, groups, strict=True))
    return Result(
        {
            "by": arguments.by,
            "rows": [{"key": g.key, "name": g.name, **_plain(g.total)} for g in groups],
            "total": _plain(total),
            "month": asdict(month),
        },
        Table(
            (header, _("requests"), _("sent"), _("cached"), _("received"), _("cost"), _("duration")),
            chain(cells, [(_("Total"), *_cells(total))]),
        ),
        saved_text(total) or (),
        month_text(month),
        Note(_(LEFT_OUT)) if leaves_out else (),
        Note(_(CURRENCY)),
    )


async def _write(text: str, name: str, out: Output) -> int:
    if name == "-":
        out.write(text.replace("\r\n", "\n"))
        return 0
    path = path_of(out, name)
    try:
        await in_thread(lambda: _save(path, text))
    except OSError as error:
        raise UsageError(N_("{path} cannot be written: {reason}"), path=path, reason=error.strerror or error) from None
    out.note(_("Written to {path}", path=path))
    return 0


def _save(path: Path, text: str) -> str:
    replace_file(path, text.encode("utf-8-sig"))
    return ""


def _cells(total: UsageSum) -> tuple[str, ...]:
    usage = total.usage
    counts = (total.requests, usage.tokens_input, usage.tokens_cached, usage.tokens_output)
    return (*(figure(count) for count in counts), cost_text(total), duration(total.duration_ms))


def _plain(total: UsageSum) -> dict[str, object]:
    """A sum as JSON.

    ``cost`` is null when no price is known, ``cost_estimated`` is what of it no server confirmed,
    ``tokens_unpriced`` are the tokens it does not cover, ``saved`` is what caching saved.
    """
    usage = total.usage
    return {
        "requests": total.requests,
        "tokens_input": usage.tokens_input,
        "tokens_cached": usage.tokens_cached,
        "tokens_stored": usage.tokens_stored,
        "tokens_output": usage.tokens_output,
        "tokens_unpriced": usage.tokens_unpriced,
        "cost": None if total.cost is None else round(total.cost, 8),
        "cost_estimated": round(usage.cost_estimated, 8),
        "saved": round(usage.saved, 8),
        "duration_ms": total.duration_ms,
    }

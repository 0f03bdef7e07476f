"""Output of ``atelier mcp`` about servers: sentences and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from atelier_desk.cli.command_result import Note, Shown
from atelier_desk.engine.services.common.mcp_status import McpHealth, McpStatus
from atelier_desk.mcp.config_import.found_server import FoundServer
from atelier_desk.presentation import mcp_server_text
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import _, ngettext


def found_text(where: str, each: FoundServer) -> Iterator[Shown]:
    """Preview of a server: what would run and which values it needs; secrets only by name."""
    yield f"{each.name}  ({where})"
    if each.problem is not None or each.config is None:
        yield Note(f"  {each.problem.localized(_) if each.problem else ''}", "error")
        return
    if each.told:
        yield f"  {each.told}"
    yield _(
        "  {what}: {place}",
        what=_("Command") if each.config.transport == "stdio" else _("Address"),
        place=each.config.place,
    )
    hidden = _("(secret)")
    asked = {ask.name for ask in each.open}
    for name, text in {**each.config.env, **each.config.headers}.items():
        if name not in asked:
            yield f"  {name} = {text or hidden}"
    for ask in each.open:
        yield f"  {mcp_server_text.needed_value(ask.name, ask.told)}"
    for warning in each.warnings:
        yield Note(f"  {warning.localized(_)}", "warn")


def preview(where: str, each: FoundServer) -> dict[str, object]:
    """The preview as JSON."""
    config = each.config.model_dump(mode="json") if each.config is not None else None
    asks = [
        {
            "name": ask.name,
            "key": ask.key,
            "told": ask.told,
            "secret": ask.secret,
            "required": ask.required,
            "given": bool(ask.value),
        }
        for ask in each.asks
    ]
    problem = str(each.problem) if each.problem is not None else ""
    return {
        "name": each.name,
        "from": where,
        "told": each.told,
        "config": config,
        "asks": asks,
        "warnings": [str(w) for w in each.warnings],
        "problem": problem,
    }


def described(row: McpStatus) -> dict[str, object]:
    """A server as JSON."""
    known = row.known
    return {
        "name": row.name,
        "state": row.state.value,
        "reason": row.reason,
        "latency_ms": row.latency_ms,
        "ping_ms": row.ping_ms,
        "failures": row.failures,
        "retry_s": round(row.retry_s),
        "tools": row.tools,
        "new": list(row.waiting.new),
        "changed": list(row.waiting.changed),
        "gone": list(row.waiting.gone),
        "missing_secrets": list(row.missing),
        "title": known.title,
        "version": known.version,
        "protocol": known.protocol,
        "rejected": [each.model_dump() for each in known.rejected],
        "config": row.config.model_dump(mode="json"),
    }


def health_of(health: McpHealth) -> dict[str, object]:
    return {each.name: getattr(health, each.name) for each in fields(health) if each.name != "error"}


def health_text(name: str, health: McpHealth) -> Iterator[Shown]:
    """Result of a connection test in one sentence; on standard error when it failed."""
    if not health.ok:
        yield Note(health.message, "error")
        return
    yield ngettext(
        "{name} answered in {time} and offers {n} tool (protocol {protocol}).",
        "{name} answered in {time} and offers {n} tools (protocol {protocol}).",
        health.tools, name=name, time=locale_format.duration(health.latency_ms), protocol=health.protocol,
    )  # fmt: skip
    for each in health.left_out:
        yield Note(_("Left out: {what}", what=each), "warn")


def waits_of(row: McpStatus) -> Iterator[Shown]:
    """What needs a person's attention."""
    if row.reason:
        yield Note(row.reason, "error")
    if row.retry_s:
        yield Note(
            _("Retrying {name} in {time}.", name=row.name, time=locale_format.duration(row.retry_s * 1000)),
            "warn",
        )
    if row.missing:
        yield Note(_("{name} is missing secrets: {names}", name=row.name, names=", ".join(row.missing)), "warn")
    waiting = row.waiting
    if waiting:
        names = ", ".join((*waiting.new, *waiting.changed, *waiting.gone))
        yield Note(
            _(
                "The tools of {name} have changed since you approved them: {names}. Review them with: "
                "atelier mcp tools {name}",
                name=row.name,
                names=names,
            ),
            "warn",
        )

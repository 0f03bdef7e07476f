"""A sent request as text and as JSON: titles of rows, details, and copies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from atelier_desk.desktop.panes.time_format import clock_time, number, short_number
from atelier_desk.desktop.questions.approval_text import tool_title
from atelier_desk.desktop.theme.manager import Role
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.locale_format import size
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.domain.attachment import Attachment
    from atelier_desk.domain.model_messages import ChatMessage, ToolSpec
    from atelier_desk.engine.services.request.sent_request_data import Omitted, RequestSummary, SentItem, SentRequest

EXCERPT = 120
_KINDS: dict[str, tuple[str, str, Role]] = {
    "system": (N_("System"), "settings", "muted"),
    "user": (N_("You"), "message-square", "accent"),
    "reply": (N_("Reply"), "sparkles", "accent"),
    "result": (N_("Result"), "terminal", "ok"),
    "note": (N_("Note"), "info", "muted"),
    "summary": (N_("Summary"), "archive", "warn"),
    "missing": (N_("Missing result"), "triangle-alert", "warn"),
}
_METHODS = {
    "cut_results": N_("Tool results shortened"),
    "summary": N_("Older messages summarised by the model"),
    "digest": N_("Older messages condensed without the model"),
    "cut_message": N_("Long message shortened"),
}


def excerpt(text: str) -> str:
    """The beginning of a text in one line."""
    return shorten(" ".join(text[: EXCERPT * 2].split()), EXCERPT)


def tokens_text(count: int) -> str:
    """A token count in short."""
    return ngettext("{count} token", "{count} tokens", count, count=short_number(count))


def searched(request: SentRequest) -> str:
    """Describes that tools were loaded by search, and the tokens that listing them would have taken."""
    return ngettext(
        "{n} tool available through search instead of being listed (saves {tokens})",
        "{n} tools available through search instead of being listed (saves {tokens})",
        request.searched_tools, tokens=tokens_text(request.searched_tokens),
    )  # fmt: skip


def item_icon(item: SentItem) -> tuple[str, Role]:
    if item.pinned:
        return "pin", "accent"
    _words, icon, role = _KINDS.get(item.kind, ("", "circle", "muted"))
    return icon, role


def item_name(item: SentItem) -> str:
    """A message's kind: System, You, Reply, Result of a tool …"""
    if item.kind == "result" and item.tool:
        return _("Result of “{tool}”", tool=tool_title(item.tool))
    words = _KINDS.get(item.kind)
    return _(words[0]) if words is not None else item.kind


def item_facts(item: SentItem) -> str:
    facts = [tokens_text(item.tokens)]
    if item.pinned:
        facts.append(_("pinned"))
    if item.cut:
        facts.append(_("shortened"))
    if item.attached:
        facts.append(ngettext("{n} attachment", "{n} attachments", len(item.attached)))
    if item.returned_bytes:
        facts.append(_("{size} of provider data", size=size(item.returned_bytes)))
    return " · ".join(facts)


def message_text(message: ChatMessage) -> str:
    """A message as text: reasoning, text, its calls, and a note about images."""
    parts = []
    if message.reasoning:
        parts.append(f"<thinking>\n{message.reasoning}\n</thinking>")
    if message.content:
        parts.append(message.content)
    parts += [f"{call.name}({json.dumps(call.arguments, ensure_ascii=False, indent=1)})" for call in message.tool_calls]
    if message.images:
        pictures = ngettext("{n} image", "{n} images", len(message.images))
        parts.append(f"[{pictures}]")
    return "\n\n".join(parts)


def attached_text(attached: tuple[Attachment, ...], message: ChatMessage) -> str:
    """What the model received of each attachment, one per line."""
    lines = []
    for each in attached:
        if each.picture and message.images:
            given = _("image, {width} × {height} pixels", width=number(each.width), height=number(each.height))
        elif each.picture:
            given = _("name only: this model cannot see images")
        elif each.cut:
            given = _(
                "excerpt: {given} of {count} characters",
                given=number(len(each.text)),
                count=number(each.characters),
            )
        else:
            given = ngettext(
                "full text: {count} character",
                "full text: {count} characters",
                each.characters,
                count=number(each.characters),
            )
        lines.append(_("{name}, {given}", name=each.name, given=given))
    return "\n".join(f"[{line}]" for line in lines)


def item_text(item: SentItem, message: ChatMessage) -> str:
    """A message of a request with remarks, such as the size of opaque data returned to its server."""
    parts = [*([attached_text(item.attached, message)] if item.attached else []), message_text(message)]
    if item.returned_bytes:
        text = _("{size} of provider data from this reply was sent back unchanged.", size=size(item.returned_bytes))
        parts.append(f"[{text}]")
    if item.withheld_bytes:
        text = _(
            "{size} of provider data from this reply was left out: it belongs to another provider or model, or was "
            "not stored.",
            size=size(item.withheld_bytes),
        )
        parts.append(f"[{text}]")
    return "\n\n".join(filter(None, parts))


def message_line(message: ChatMessage) -> str:
    """A message in one line."""
    calls = ", ".join(tool_title(call.name) for call in message.tool_calls)
    return excerpt(message.content) or (f"→ {calls}" if calls else "")


def tool_text(tool: ToolSpec) -> str:
    return f"{tool.description}\n\n{json.dumps(tool.parameters, ensure_ascii=False, indent=2)}"


def left_title(left: Omitted) -> str:
    return _(_METHODS.get(left.method, left.method))


def left_facts(left: Omitted) -> str:
    facts = [ngettext("{n} entry", "{n} entries", len(left.entries))]
    if left.tokens_before:
        facts.append(
            _(
                "{before} → {after} tokens",
                before=short_number(left.tokens_before),
                after=short_number(left.tokens_after),
            )
        )
    if left.undone:
        facts.append(_("undone"))
    return " · ".join(facts)


def left_text(left: Omitted) -> str:
    """Why entries were left out, what replaces them, and the entries in full."""
    window = number(left.window) if left.window else ""
    why = _(
        "The request had about {before} tokens; the model's context window has {window}.",
        before=number(left.tokens_before),
        window=window,
    )
    parts = [f"{clock_time(left.time)} · {why}" if window and left.tokens_before else clock_time(left.time)]
    if left.summary:
        parts.append(_headed(_("Sent instead"), left.summary))
    for entry in left.entries:
        words = _KINDS.get(entry.kind)
        name = tool_title(entry.tool) if entry.tool else (_(words[0]) if words is not None else entry.kind)
        parts.append(_headed(f"{name} · {tokens_text(entry.tokens_before)}", entry.before))
        if entry.after:
            parts.append(_headed(_("Part that was sent"), entry.after))
    return "\n\n".join(parts)


def _headed(heading: str, text: str) -> str:
    return f"── {heading} ──\n{text}"


def request_title(summary: RequestSummary, place: int) -> str:
    """``Request 3 → Read a file``: its number in the run and its result."""
    calls = ", ".join(dict.fromkeys(map(tool_title, summary.calls)))
    return _("Request {number}", number=place) + (f" → {calls}" if calls else "")


def request_facts(summary: RequestSummary) -> str:
    count = short_number(summary.tokens_input)
    if summary.window:
        size = _("{used} of {window} tokens", used=count, window=short_number(summary.window))
    else:
        size = tokens_text(summary.tokens_input)
    return " · ".join(
        filter(None, ("≈ " + size if summary.estimated else size, clock_time(summary.time), summary.model))
    )


def as_json(request: SentRequest) -> str:
    """The request as JSON as sent, with its destination; ``wire`` if its text was created for the xml dialect."""
    summary = request.summary
    document: dict[str, object] = {
        "provider": summary.provider,
        "model": summary.model,
        "dialect": summary.dialect,
        "temperature": request.temperature,
        "max_tokens": request.limit,
        "context_window": request.window,
        "messages": [_message_json(message) for message in request.messages],
        "tools": [tool.model_dump(mode="json", exclude={"variants", "abilities"}) for tool in request.tools],
    }
    if request.wire is not None:
        document["wire"] = [_message_json(message) for message in request.wire]
    return json.dumps(document, ensure_ascii=False, indent=2)


def _message_json(message: ChatMessage) -> dict[str, object]:
    """A message without opaque data for its server, of which only type and size are included."""
    packed: object = {"data"}
    exclude: Any = {"provider_data": packed, "tool_calls": {"__all__": {"provider_data": packed}}}
    return message.model_dump(mode="json", exclude_defaults=True, exclude=exclude)

"""Text about chats of other programs: contents of a file, and result of an import."""

from __future__ import annotations

from collections.abc import Mapping

from atelier_desk.domain.imported_chat import ChatFilePreview, ChatPreview, ImportedChats
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import day, number


def found_text(preview: ChatFilePreview) -> str:
    """Number of chats, their dates, and how many exist already."""
    chats = preview.chats
    own = bool(chats) and not any(each.source for each in chats)
    told = [
        ngettext("{number} workflow", "{number} workflows", len(chats), number=number(len(chats)))
        if own
        else ngettext("{number} chat", "{number} chats", len(chats), number=number(len(chats)))
    ]
    first = min((each.first for each in chats if each.first), default=None)
    last = max((each.last for each in chats if each.last), default=None)
    if first is not None and last is not None:
        since, until = day(first), day(last)
        told.append(since if since == until else _("{first} to {last}", first=since, last=until))
    here = sum(not each.new_turns for each in chats)
    if here and own:
        told.append(ngettext("{number} already exists", "{number} already exist", here, number=number(here)))
    elif here:
        told.append(ngettext("{number} already imported", "{number} already imported", here, number=number(here)))
    return " · ".join(told)


def state_text(chat: ChatPreview) -> str:
    """State of a chat: ``not imported yet``, ``already imported``, ``2 new turns``, ``deleted``."""
    if chat.there and not chat.source:
        return _("recently deleted, imported as a copy") if chat.deleted else _("already exists, imported as a copy")
    if chat.deleted:
        return _("recently deleted")
    if not chat.there:
        return _("not imported yet")
    if not chat.new_turns:
        return _("already imported")
    return ngettext("{n} new turn", "{n} new turns", chat.new_turns)


def done_words(done: ImportedChats, *, workflows: bool = False) -> str:
    """Result of an import of chats, or of exported ``workflows``."""
    told = []
    if workflows:
        return ngettext("{n} workflow imported", "{n} workflows imported", len(done.created))
    if done.created or not (done.extended or done.unchanged):
        told.append(ngettext("{n} chat imported", "{n} chats imported", len(done.created)))
    if done.extended:
        told.append(ngettext("{n} updated", "{n} updated", len(done.extended)))
    if done.unchanged:
        told.append(ngettext("{n} already imported", "{n} already imported", done.unchanged))
    return " · ".join(told)


def stopped_words(n: int, *, workflows: bool = False) -> str:
    """Result of an import that was stopped after ``n`` new ones."""
    if not n:
        return _("Stopped. Nothing was imported.")
    if workflows:
        return ngettext(
            "Stopped. {n} workflow was imported; import again to add only the rest.",
            "Stopped. {n} workflows were imported; import again to add only the rest.",
            n,
        )
    return ngettext(
        "Stopped. {n} chat was imported; import again to add only the rest.",
        "Stopped. {n} chats were imported; import again to add only the rest.",
        n,
    )


def skipped_words(skipped: Mapping[str, int]) -> list[str]:
    """A sentence for each reason why something was skipped."""
    count = skipped.get
    told = []
    if n := count("unknown", 0) + count("empty", 0):
        told.append(
            ngettext("{n} entry is not a chat or has no messages.", "{n} entries are not chats or have no messages.", n)
        )
    if n := count("damaged", 0):
        told.append(ngettext("{n} chat is damaged and was left out.", "{n} chats are damaged and were left out.", n))
    if n := count("unreadable", 0):
        told.append(
            ngettext("{n} file cannot be read and was left out.", "{n} files cannot be read and were left out.", n)
        )
    if n := count("too_large", 0):
        told.append(
            ngettext("{n} chat is too large and was left out.", "{n} chats are too large and were left out.", n)
        )
    if count("cut_off", 0):
        told.append(_("The file ends in the middle of a chat, which was left out. Export the file again."))
    if n := count("busy", 0):
        told.append(
            ngettext(
                "{n} chat was left out: an agent is working in it.",
                "{n} chats were left out: agents are working in them.",
                n,
            )
        )
    return told

"""``atelier memory``: list, search, edit and confirm memories."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import timedelta

from atelier_desk.cli.command_result import Note, Result, Table, bytes_left
from atelier_desk.cli.file_arguments import read_text, text_or_input
from atelier_desk.cli.terminal_io import Output, first, moment
from atelier_desk.domain import limits
from atelier_desk.domain.base_model import utc_now
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.memory import Memory
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support import locale_format
from atelier_desk.support.i18n import N_, _, ngettext

REEMBED_WORDS = {
    "whole": N_("all embeddings computed"),
    "running": N_("computing embeddings"),
    "paused": N_("paused"),
    "waiting": N_("incomplete, not running"),
    "unreached": N_("the embedder cannot be reached"),
    "off": N_("no embedder is chosen"),
}
"""Text by the state of ``MemoryService.reembed_state``."""


async def add(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _shown(
        await atelier.memories.add(
            await text_or_input(out, arguments.content),
            type=arguments.type, workflow_id=arguments.workflow, tags=tuple(arguments.tags),
            importance=arguments.importance,
        )
    )  # fmt: skip


async def list_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.memories.list(
        workflow_id=arguments.workflow, scope=arguments.scope, type=arguments.type, tags=tuple(arguments.tags),
        limit=arguments.limit + 1, offset=arguments.offset,
    )  # fmt: skip
    memories = first(out, found, arguments.limit)
    return Result(
        memories,
        Table(
            (_("id"), _("type"), _("tags"), _("text")),
            [(each.id, each.type.value, ", ".join(each.tags), each.content) for each in memories],
        ),
    )


async def search(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.embedder_tried()
    found = await atelier.memories.search(
        arguments.query, workflow_id=arguments.workflow, scope=arguments.scope, type=arguments.type,
        tags=tuple(arguments.tags),
        limit=arguments.limit, threshold=arguments.threshold,
    )  # fmt: skip
    return Result(
        {"search_type": found.search_type, "results": found.hits},
        Table(
            (_("score"), _("id"), _("type"), _("text")),
            [
                (
                    locale_format.number(hit.score, 2, trim=True),
                    hit.memory.id,
                    hit.memory.type.value,
                    hit.memory.content,
                )
                for hit in found.hits
            ],
        ),
    )


async def proposed(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.memories.proposed(arguments.workflow, arguments.limit + 1)
    return _proposals(first(out, found, arguments.limit))


async def ask(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = await atelier.runs.remembering.ask(arguments.workflow)
    return _proposals(found) if found else Result(found, Note(_("Nothing new to remember.")))


def _proposals(found: Sequence[Memory]) -> Result:
    return Result(
        found,
        Table(
            (_("id"), _("type"), _("agent"), _("text")),
            [(each.id, each.type.value, each.agent_source, each.content) for each in found],
        ),
    )


async def keep(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if not arguments.undo:
        return _shown(await atelier.memories.accept(arguments.id, everywhere=not arguments.here))
    home = arguments.workflow or (await atelier.memories.get(arguments.id)).workflow_id
    if home is None:
        raise UsageError(_("Specify the workflow to store the memory in: --workflow ID."))
    return _shown(await atelier.memories.propose_again(arguments.id, home))


async def edit(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    given = {"type": arguments.type, "tags": arguments.tags, "importance": arguments.importance}
    fields = {name: value for name, value in given.items() if value is not None}
    if arguments.text is not None:
        fields["content"] = await text_or_input(out, arguments.text)
    if arguments.expires is not None:
        fields["expires_at"] = utc_now() + timedelta(days=arguments.expires) if arguments.expires else None
    if not fields:
        raise UsageError(_("Specify what to change: --text, --type, --tags, --importance or --expires."))
    return _shown(await atelier.memories.update(arguments.id, **fields))


async def pairs(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    await atelier.embedder_tried()
    found = await atelier.memories.pairs(arguments.workflow, arguments.limit)
    words = {"same": _("duplicate"), "against": _("contradiction")}
    rows = (
        (kind, one.id, one.content)
        for pair in found
        for kind, one in ((words[pair.kind], pair.first), ("", pair.second))
    )
    return Result(found, Table((_("kind"), _("id"), _("text")), rows))


async def merge(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _shown(await atelier.memories.merge(arguments.keep, arguments.other))


async def both(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    await atelier.memories.keep_both(arguments.first, arguments.second, not arguments.undo)
    return 0


async def pin(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _shown(await atelier.memories.pin(arguments.id, not arguments.off))


async def switch(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.state:
        await atelier.memories.set_on(arguments.workflow, arguments.state == "on")
    on = await atelier.memories.is_on(arguments.workflow)
    return Result({"on": on}, _("Memory is on.") if on else _("Memory is off."))


async def delete(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    memories = atelier.memories
    if not arguments.for_good:
        gone = await memories.delete(arguments.id)
        message = _(
            "Deleted: “{text}”. To restore it within {n} days: atelier memory restore {memory}",
            text=_short(gone),
            n=limits.DELETED_DAYS,
            memory=gone.id,
        )
        return Result(gone, message)
    with contextlib.suppress(NotFoundError):  # it may already be deleted
        await memories.delete(arguments.id)
    await memories.purge(arguments.id)
    return Result({"deleted": arguments.id}, _("Permanently deleted: {name}", name=arguments.id), bytes_left())


async def deleted(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    found = first(out, await atelier.memories.deleted(arguments.limit + 1), arguments.limit)
    rows = ((each.id, moment(each.deleted_at), _("merged") if each.merged else "", each.content) for each in found)
    return Result(found, Table((_("id"), _("deleted"), _("reason"), _("text")), rows))


async def restore(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    return _shown(await atelier.memories.undo_delete(arguments.id))


async def export(atelier: Atelier, arguments: Namespace, out: Output) -> int:
    out.write(await atelier.memories.export(arguments.workflow) + "\n")
    return 0


async def import_(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    text = await read_text(out, arguments.file, limits.MEMORY_FILE)
    counts = await atelier.memories.import_(text, arguments.on_conflict, _progress(out))
    return Result(counts, _("{added} added, {overwritten} overwritten, {skipped} skipped", **counts))


async def reembed(atelier: Atelier, arguments: Namespace, out: Output) -> Result:
    if arguments.pause:
        await atelier.memories.pause_reembed()
    if arguments.resume:
        await atelier.memories.resume_reembed()
    if arguments.status or arguments.pause or arguments.resume:
        await atelier.embedder_tried()
        state = await atelier.memories.reembed_state()
        left = ngettext("{n} memory left", "{n} memories left", state["left"])
        cost = await atelier.outside_costs.at_most((await atelier.settings.get()).embedder, state["left"])
        price = (
            _("price unknown")
            if cost is None
            else _("up to {cost}", cost=locale_format.cost_bound(cost, up=True))
            if cost
            else ""
        )
        words = (_(REEMBED_WORDS[state["state"]]), state["embedder"], left, price)
        return Result({**state, "cost": cost}, "  ".join(filter(None, words)))
    done = await atelier.memories.reembed(_progress(out))
    return Result({"embedded": done}, ngettext("{n} memory embedded", "{n} memories embedded", done))


def _progress(out: Output) -> Callable[[int, int], None]:
    """Print progress at each tenth of a long operation; nothing when it ends at once."""
    last = -1

    def progress(done: int, total: int) -> None:
        nonlocal last
        if last < 0 and done >= total:
            return
        percent = 100 * done // total if total else 100
        if percent // 10 > last // 10:
            out.note(
                _(
                    "{percent}% ({done} of {total})",
                    percent=percent,
                    done=locale_format.number(done),
                    total=locale_format.number(total),
                )
            )
        last = percent

    return progress


def _short(memory: Memory) -> str:
    return " ".join(memory.content.split())[:80]


def _shown(memory: Memory) -> Result:
    return Result(memory, f"{memory.id}  {memory.type.value}  {_short(memory)}")

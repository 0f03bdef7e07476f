"""``atelier memory``: what is kept, how it is found, and what a person says to it."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta

from atelier_desk import figures
from atelier_desk.cli.files import read_text
from atelier_desk.cli.output import Output, data, first, moment, note_bytes_left, outcome, table
from atelier_desk.domain import limits
from atelier_desk.domain.base import utc_now
from atelier_desk.domain.errors import NotFoundError, UsageError
from atelier_desk.domain.memory import Memory
from atelier_desk.engine.atelier import Atelier
from atelier_desk.i18n import N_, _, ngettext

REEMBED_WORDS = {
    "whole": N_("all embeddings computed"),
    "running": N_("computing embeddings"),
    "paused": N_("paused"),
    "waiting": N_("not started, or failed"),
    "off": N_("no embedder is chosen"),
}
"""By the state of ``MemoryService.reembed_state``."""


async def add(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    content = await out.read_input() if arguments.content == "-" else arguments.content
    memory = await atelier.memories.add(
        content, type=arguments.type, workflow_id=arguments.workflow, tags=tuple(arguments.tags), importance=arguments.importance
    )
    _print(out, memory)
    return 0


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.memories.list(
        workflow_id=arguments.workflow, scope=arguments.scope, type=arguments.type, tags=tuple(arguments.tags),
        limit=arguments.limit + 1, offset=arguments.offset,
    )  # fmt: skip
    memories = first(out, found, arguments.limit)
    if out.json:
        data(out, [memory.model_dump(mode="json") for memory in memories])
        return 0
    table(out, [(each.id, each.type.value, ", ".join(each.tags), each.content) for each in memories],
          (_("id"), _("type"), _("tags"), _("text")))  # fmt: skip
    return 0


async def search(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    await atelier.embedder_tried()
    found = await atelier.memories.search(
        arguments.query, workflow_id=arguments.workflow, scope=arguments.scope, type=arguments.type, tags=tuple(arguments.tags),
        limit=arguments.limit, threshold=arguments.threshold,
    )  # fmt: skip
    if out.json:
        data(out, {"search_type": found.search_type, "results": [hit.model_dump(mode="json") for hit in found.hits]})
        return 0
    table(out, [(figures.number(hit.score, 2, trim=True), hit.memory.id, hit.memory.type.value, hit.memory.content) for hit in found.hits],
          (_("score"), _("id"), _("type"), _("text")))  # fmt: skip
    return 0


async def proposed(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.memories.proposed(arguments.workflow, arguments.limit + 1)
    return _proposals(out, first(out, found, arguments.limit))


async def ask(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.memories.ask(arguments.workflow)
    if not found and not out.json:
        out.note(_("Nothing new to remember."))
        return 0
    return _proposals(out, found)


def _proposals(out: Output, found: Sequence[Memory]) -> int:
    if out.json:
        data(out, [memory.model_dump(mode="json") for memory in found])
        return 0
    table(out, [(each.id, each.type.value, each.agent_source, each.content) for each in found],
          (_("id"), _("type"), _("agent"), _("text")))  # fmt: skip
    return 0


async def keep(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    if not arguments.undo:
        _print(out, await atelier.memories.keep(arguments.id, everywhere=not arguments.here))
        return 0
    home = arguments.workflow or (await atelier.memories.get(arguments.id)).workflow_id
    if home is None:
        raise UsageError(_("Name the workflow to keep it in: --workflow ID."))
    _print(out, await atelier.memories.propose_again(arguments.id, home))
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:

    given = {"type": arguments.type, "tags": arguments.tags, "importance": arguments.importance}
    fields = {name: value for name, value in given.items() if value is not None}
    if arguments.text is not None:
        fields["content"] = await out.read_input() if arguments.text == "-" else arguments.text
    if arguments.expires is not None:
        fields["expires_at"] = utc_now() + timedelta(days=arguments.expires) if arguments.expires else None
    if not fields:
        raise UsageError(_("Say what to change: --text, --type, --tags, --importance or --expires."))
    _print(out, await atelier.memories.update(arguments.id, **fields))
    return 0


async def pairs(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    await atelier.embedder_tried()
    found = await atelier.memories.pairs(arguments.workflow, arguments.limit)
    if out.json:
        data(out, [pair.model_dump(mode="json") for pair in found])
        return 0
    words = {"same": _("duplicate"), "against": _("contradiction")}
    rows = []
    for pair in found:
        rows.append((words[pair.kind], pair.first.id, pair.first.content))
        rows.append(("", pair.second.id, pair.second.content))
    table(out, rows, (_("pair"), _("id"), _("text")))
    return 0


async def merge(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _print(out, await atelier.memories.merge(arguments.keep, arguments.other))
    return 0


async def both(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    await atelier.memories.keep_both(arguments.first, arguments.second, not arguments.undo)
    return 0


async def pin(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _print(out, await atelier.memories.pin(arguments.id, not arguments.off))
    return 0


async def switch(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.state:
        await atelier.memories.set_on(arguments.workflow, arguments.state == "on")
    on = await atelier.memories.is_on(arguments.workflow)
    outcome(out, {"on": on}, _("on") if on else _("off"))
    return 0


async def delete(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    memories = atelier.memories
    if not arguments.for_good:
        gone = await memories.delete(arguments.id)
        outcome(
            out,
            gone.model_dump(mode="json"),
            _(
                "Deleted: “{text}”. To restore it within {n} days: atelier memory restore {memory}",
                text=_short(gone),
                n=limits.DELETED_DAYS,
                memory=gone.id,
            ),
        )
        return 0
    with contextlib.suppress(NotFoundError):  # it may have been deleted before
        await memories.delete(arguments.id)
    await memories.purge(arguments.id)
    outcome(out, {"deleted": arguments.id}, _("Permanently deleted: {name}", name=arguments.id))
    note_bytes_left(out)
    return 0


async def deleted(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = first(out, await atelier.memories.deleted(arguments.limit + 1), arguments.limit)
    if out.json:
        data(out, [memory.model_dump(mode="json") for memory in found])
        return 0
    rows = [(each.id, moment(each.deleted_at), _("merged") if each.merged else "", each.content) for each in found]
    table(out, rows, (_("id"), _("deleted"), _("why"), _("text")))
    return 0


async def restore(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    _print(out, await atelier.memories.undo_delete(arguments.id))
    return 0


async def export(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    out.write(await atelier.memories.export(arguments.workflow) + "\n")
    return 0


async def import_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    text = await read_text(out, arguments.file, limits.MEMORY_FILE)
    counts = await atelier.memories.import_(text, arguments.on_conflict, _progress(out))
    outcome(out, counts, _("{added} added, {overwritten} overwritten, {skipped} skipped", **counts))
    return 0


async def reembed(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    if arguments.pause:
        await atelier.memories.pause_reembed()
    if arguments.resume:
        await atelier.memories.resume_reembed()
    if arguments.status or arguments.pause or arguments.resume:
        await atelier.embedder_tried()
        state = await atelier.memories.reembed_state()
        left = ngettext("{n} memory left", "{n} memories left", state["left"])
        outcome(out, state, f"{_(REEMBED_WORDS[state['state']])}  {state['embedder']}  {left}")
        return 0
    done = await atelier.memories.reembed(_progress(out))
    outcome(out, {"embedded": done}, ngettext("{n} memory embedded", "{n} memories embedded", done))
    return 0


def _progress(out: Output) -> Callable[[int, int], None]:
    """Tells after every tenth how far something longer is; nothing of what is done at once."""
    last = -1

    def progress(done: int, total: int) -> None:
        nonlocal last
        if last < 0 and done >= total:
            return
        percent = 100 * done // total if total else 100
        if percent // 10 > last // 10:
            out.note(_("{percent} % ({done} of {total})", percent=percent, done=figures.number(done), total=figures.number(total)))
        last = percent

    return progress


def _short(memory: Memory) -> str:
    return " ".join(memory.content.split())[:80]


def _print(out: Output, memory: Memory) -> None:
    outcome(out, memory.model_dump(mode="json"), f"{memory.id}  {memory.type.value}  {_short(memory)}")

"""``atelier memory``: what is kept, how it is found, and what a person says to it."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from atelier_desk import figures
from atelier_desk.cli.ids import add_id
from atelier_desk.cli.parser import DATABASE, Adder, names, number
from atelier_desk.domain import limits
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atelier_desk.cli.output import Output
    from atelier_desk.domain.memory import Memory
    from atelier_desk.engine.atelier import Atelier

TYPES = ("user_pref", "context", "knowledge", "decision")
REEMBED_WORDS = {
    "whole": N_("all embeddings computed"),
    "running": N_("computing embeddings"),
    "paused": N_("paused"),
    "waiting": N_("not started, or failed"),
    "off": N_("no embedder is chosen"),
}
"""By the state of ``MemoryService.reembed_state``."""
MOST_DAYS = 36_500
SCOPES = ("workflow", "general", "both")


def register(add: Adder) -> None:
    group = add.group("memory", _("memories of you and your agents"))
    added = group.command("add", _("remember something"), "memory:add_")
    added.add_argument("content", metavar="TEXT", help=_("what to remember; - reads standard input"))
    added.add_argument("--type", choices=TYPES, default="knowledge")
    add_id(added, "--workflow", "workflow", help=_("for this workflow only"))
    added.add_argument("--tags", metavar="A,B", type=names, default=[])
    added.add_argument("--importance", metavar="X", type=number(float, least=0), help=_("0 to 1"))
    listing = group.command("list", _("memories, the newest first"), "memory:list_", needs=DATABASE)
    _filters(listing)
    listing.add_argument("--offset", metavar="N", type=number(int, least=0), default=0)
    search = group.command("search", _("find memories by meaning and words"), "memory:search")
    search.add_argument("query", metavar="TEXT")
    _filters(search)
    search.add_argument("--threshold", metavar="X", type=number(float, least=0), help=_("least relevance, 0 to 1"))
    proposed = group.command("proposed", _("memories that agents propose for all workflows"), "memory:proposed")
    add_id(proposed, "--workflow", "workflow", help=_("of this workflow only"))
    proposed.add_argument("--limit", metavar="N", type=number(int, least=1), default=20)
    ask = group.command("ask", _("let the model propose memories from a workflow's last turn"), "memory:ask")
    add_id(ask, "workflow", "workflow")
    keep = group.command("keep", _("approve a proposed memory"), "memory:keep")
    add_id(keep, "id", "memory")
    keep.add_argument("--here", action="store_true", help=_("for its own workflow only"))
    keep.add_argument("--undo", action="store_true", help=_("undo the approval; --workflow says where to keep the memory"))
    add_id(keep, "--workflow", "workflow")
    edit = group.command("edit", _("change a memory"), "memory:edit")
    add_id(edit, "id", "memory")
    edit.add_argument("--text", metavar="TEXT", help=_("new text; - reads standard input"))
    edit.add_argument("--type", choices=TYPES)
    edit.add_argument("--tags", metavar="A,B", type=names)
    edit.add_argument("--importance", metavar="X", type=number(float, least=0), help=_("0 to 1"))
    edit.add_argument("--expires", metavar=_("DAYS"), type=_days, help=_("days until it expires, or never"))
    pairs = group.command("pairs", _("duplicate and contradicting memories"), "memory:pairs")
    add_id(pairs, "--workflow", "workflow", help=_("of this workflow (and the general ones)"))
    pairs.add_argument("--limit", metavar="N", type=number(int, least=1), default=20)
    merge = group.command("merge", _("keep one of two memories and delete the other"), "memory:merge")
    add_id(merge, "keep", "memory")
    add_id(merge, "other", "memory")
    both = group.command("both", _("keep both memories of a pair"), "memory:both")
    add_id(both, "first", "memory")
    add_id(both, "second", "memory")
    both.add_argument("--undo", action="store_true", help=_("show them as a pair again"))
    pin = group.command("pin", _("pin a memory so that it never expires"), "memory:pin")
    add_id(pin, "id", "memory")
    pin.add_argument("--off", action="store_true", help=_("unpin"))
    switch = group.command("switch", _("turn memory on or off for a workflow's agents"), "memory:switch")
    add_id(switch, "workflow", "workflow")
    switch.add_argument("state", nargs="?", choices=("on", "off"), help=_("shows the state when omitted"))
    delete = group.command("delete", _("delete a memory; it can be restored for {n} days", n=limits.DELETED_DAYS), "memory:delete")
    add_id(delete, "id", "memory")
    delete.add_argument("--for-good", action="store_true", help=_("delete permanently, also an already deleted one"))
    deleted = group.command("deleted", _("deleted memories that can be restored, the latest first"), "memory:deleted", needs=DATABASE)
    deleted.add_argument("--limit", metavar="N", type=number(int, least=1), default=100)
    restore = group.command("restore", _("restore a deleted memory; undoes a merge"), "memory:restore")
    add_id(restore, "id", "deleted memory")
    export = group.command("export", _("memories as JSON, to standard output"), "memory:export", needs=DATABASE)
    add_id(export, "--workflow", "workflow", help=_("of this workflow only"))
    imported = group.command("import", _("import exported memories"), "memory:import_")
    imported.add_argument("file", metavar="FILE")
    imported.add_argument("--on-conflict", choices=("skip", "overwrite", "rename"), default="skip")
    anew = group.command("reembed", _("compute missing embeddings"), "memory:reembed")
    only = anew.add_mutually_exclusive_group()
    only.add_argument("--status", action="store_true", help=_("only show the progress"))
    only.add_argument("--pause", action="store_true", help=_("pause"))
    only.add_argument("--resume", action="store_true", help=_("continue in the background"))


def _days(text: str) -> int:
    if text == "never":
        return 0
    days = number(int, least=1)(text)
    if days > MOST_DAYS:
        raise argparse.ArgumentTypeError(_("1 to {most} days, or never", most=MOST_DAYS))
    return int(days)


def _filters(parser: argparse.ArgumentParser) -> None:
    add_id(parser, "--workflow", "workflow", help=_("of this workflow (and the general ones, see --scope)"))
    parser.add_argument("--scope", choices=SCOPES, default="both")
    parser.add_argument("--type", choices=TYPES)
    parser.add_argument("--tags", metavar="A,B", type=names, default=[])
    parser.add_argument("--limit", metavar="N", type=number(int, least=1), default=10)


async def add_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    content = await out.read_input() if arguments.content == "-" else arguments.content
    memory = await atelier.memories.add(
        content, type=arguments.type, workflow_id=arguments.workflow, tags=tuple(arguments.tags), importance=arguments.importance
    )
    _print(out, memory)
    return 0


async def list_(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import data, first, table

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
    from atelier_desk.cli.output import data, table

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
    from atelier_desk.cli.output import first

    found = await atelier.memories.proposed(arguments.workflow, arguments.limit + 1)
    return _proposals(out, first(out, found, arguments.limit))


async def ask(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    found = await atelier.runs.remembering.ask(arguments.workflow)
    if not found and not out.json:
        out.note(_("Nothing new to remember."))
        return 0
    return _proposals(out, found)


def _proposals(out: Output, found: Sequence[Memory]) -> int:
    from atelier_desk.cli.output import data, table

    if out.json:
        data(out, [memory.model_dump(mode="json") for memory in found])
        return 0
    table(out, [(each.id, each.type.value, each.agent_source, each.content) for each in found],
          (_("id"), _("type"), _("agent"), _("text")))  # fmt: skip
    return 0


async def keep(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.domain.errors import UsageError

    if not arguments.undo:
        _print(out, await atelier.memories.keep(arguments.id, everywhere=not arguments.here))
        return 0
    home = arguments.workflow or (await atelier.memories.get(arguments.id)).workflow_id
    if home is None:
        raise UsageError(_("Name the workflow to keep it in: --workflow ID."))
    _print(out, await atelier.memories.propose_again(arguments.id, home))
    return 0


async def edit(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from datetime import timedelta

    from atelier_desk.domain.base import utc_now
    from atelier_desk.domain.errors import UsageError

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
    from atelier_desk.cli.output import data, table

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
    from atelier_desk.cli.output import outcome

    if arguments.state:
        await atelier.memories.set_on(arguments.workflow, arguments.state == "on")
    on = await atelier.memories.is_on(arguments.workflow)
    outcome(out, {"on": on}, _("on") if on else _("off"))
    return 0


async def delete(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import note_bytes_left, outcome
    from atelier_desk.domain.errors import NotFoundError

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
    from atelier_desk.cli.output import data, first, moment, table

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
    from atelier_desk.cli.files import read_text
    from atelier_desk.cli.output import outcome

    text = await read_text(out, arguments.file, limits.MEMORY_FILE)
    counts = await atelier.memories.import_(text, arguments.on_conflict, _progress(out))
    outcome(out, counts, _("{added} added, {overwritten} overwritten, {skipped} skipped", **counts))
    return 0


async def reembed(atelier: Atelier, arguments: argparse.Namespace, out: Output) -> int:
    from atelier_desk.cli.output import outcome

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
    from atelier_desk.cli.output import outcome

    outcome(out, memory.model_dump(mode="json"), f"{memory.id}  {memory.type.value}  {_short(memory)}")

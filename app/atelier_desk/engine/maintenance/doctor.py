"""Diagnostics: requirements of Atelier, each ok, warn or fail, with what to do."""

from __future__ import annotations

import asyncio
import importlib.util
import shlex
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.provider import KeyPlace
from atelier_desk.engine.maintenance import system_checks
from atelier_desk.engine.maintenance.system_checks import Check
from atelier_desk.knowledge.embedder_factory import PACKAGES, create_embedder
from atelier_desk.llm.local.model_files import UNREADABLE, ModelStore
from atelier_desk.llm.provider_type_registry import provider_type
from atelier_desk.presentation.backup_contents_text import damaged_attachment
from atelier_desk.presentation.file_change_text import leftovers_text, lost_data_text, retained_text
from atelier_desk.presentation.provider_test_text import problem_text
from atelier_desk.storage.copies import bounded_memory_reading
from atelier_desk.storage.copies.database_inspection import NAMING, damaged_attachments
from atelier_desk.storage.copies.progress_and_cancellation import no_progress
from atelier_desk.storage.damage_report import CONFIGURATION, GIVE_UP, RESTRICTING
from atelier_desk.storage.damaged_configuration import damaged_configuration
from atelier_desk.storage.table_pages import count_by_reading
from atelier_desk.support.i18n import _, ngettext

if TYPE_CHECKING:
    from atelier_desk.domain.clock import Clock
    from atelier_desk.domain.provider import ProviderConfig
    from atelier_desk.engine.costs.costs_outside_runs import OutsideCosts
    from atelier_desk.engine.services.file_changes_and_trust import FileService
    from atelier_desk.engine.services.own_tools import OwnToolService
    from atelier_desk.engine.services.providers import ProviderService
    from atelier_desk.engine.services.reports import ReportService
    from atelier_desk.engine.services.settings import SettingsService
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.llm.secrets import KeyVault
    from atelier_desk.storage.data_folder.datadir import DataDir
    from atelier_desk.storage.store import Store


SHOWN = 5
"""Maximum damaged reports or attachments named."""
PROVIDER_S = 15.0


class Opened(Protocol):
    """What is checked of an open data folder; implemented by ``Atelier``."""

    store: Store
    datadir: DataDir
    vault: KeyVault
    clock: Clock
    embedder: Embedder | None
    settings: SettingsService
    providers: ProviderService
    reports: ReportService
    files: FileService
    own_tools: OwnToolService

    @property
    def outside_costs(self) -> OutsideCosts: ...


async def checks(
    atelier: Opened | None = None,
    *,
    root: Path | None = None,
    problem: AtelierError | None = None,
    progress: Callable[[int, int], None] | None = None,
    deep: bool = False,
    begin: Callable[[str], object] = lambda title: None,
) -> list[Check]:
    """Run all checks, in display order. Reads every row, report, attachment and downloaded model.

    Args:
        atelier: the open engine, None if it could not be opened.
        root: the data folder, without an engine.
        problem: why the engine could not be opened.
        progress: called with the number of rows, workflows, reports or models read, and the total.
        deep: also compare rows with their hashes, and test what takes about a second of CPU time each: import Qt, load
            the embedder and the built-in model. Otherwise only their presence is checked.
        begin: called with the title before each longer check.
    """
    folder = Path(atelier.datadir.root) if atelier is not None else root
    begin(_("GUI toolkit (Qt)"))
    found = [await system_checks.qt(deep), *system_checks.display(), system_checks.command_sandbox()]
    if folder is not None:
        found += [system_checks.data_folder(folder), system_checks.disk_space(folder)]
    if atelier is None:
        found.append(_closed(problem))
        return found
    of_the_folder: dict[str, Callable[[], Awaitable[Check]]] = {
        "database": lambda: _database(atelier, progress, deep),
        "configuration": lambda: _configuration(atelier),
        "reports": lambda: _reports(atelier, progress),
        "attachments": lambda: _attachments(atelier, progress),
        "checkpoints": lambda: _checkpoints(atelier),
        "own_tools": lambda: _own_tools(atelier),
        "models": lambda: _models(atelier, progress),
        "keyring": lambda: _keyring(atelier),
        "embedder": lambda: _embedder(atelier, deep),
    }
    for name, check in of_the_folder.items():
        begin(_titles()[name])
        found.append(await _guarded(name, check()))
    begin(_("Providers"))
    found += await asyncio.gather(
        *(_provider(atelier, config, deep) for config in await atelier.providers.list() if config.enabled)
    )
    return found


async def _guarded(name: str, check: Awaitable[Check]) -> Check:
    """Turn an exception of a check into a failed check."""
    try:
        return await check
    except Exception as error:
        message = error.localized(_) if isinstance(error, AtelierError) else f"{type(error).__name__}: {error}"
        return Check(
            name=name,
            title=_titles()[name],
            status="fail",
            message=message,
            fix=_("See the log file in the data folder for details."),
        )


def _titles() -> dict[str, str]:
    return {
        "database": _("Database"),
        "configuration": _("Configuration"),
        "reports": _("Reports"),
        "attachments": _("Attachments"),
        "checkpoints": _("Undo data"),
        "own_tools": _("Your own tools"),
        "models": _("Downloaded models"),
        "keyring": _("Keyring"),
        "embedder": _("Embedder"),
    }


def _closed(problem: AtelierError | None) -> Check:
    message = problem.localized(_) if problem is not None else _("The database is not open.")
    return Check(name="database", title=_("Database"), status="fail", message=message)


async def _configuration(atelier: Opened) -> Check:
    """Check rows of agents, providers, servers, rules and settings; damaged ones are ignored by the program."""
    title = _("Configuration")
    found = await damaged_configuration(atelier.store.query_all)
    if not found:
        return Check(
            name="configuration",
            title=title,
            status="ok",
            message=_("Agents, providers, servers, rules and settings are intact."),
        )
    named = " ".join(each.error().localized(_) for each in found[:SHOWN])
    restricts = any(each.table in RESTRICTING for each in found)
    said = (
        _(
            "{rows} No agent starts until this is resolved: the damaged entries may contain restrictions.",
            rows=named,
        )
        if restricts
        else named
    )
    return Check(name="configuration", title=title, status="fail", message=said, fix=_(GIVE_UP))


async def _database(atelier: Opened, progress: Callable[[int, int], None] | None, deep: bool) -> Check:
    title = _("Database")
    found = []
    if deep:
        from atelier_desk.storage.damaged_row_search import damaged_anywhere

        # Configuration rows have a check of their own.
        found = [each for each in await damaged_anywhere(atelier.store, progress) if each.table not in CONFIGURATION]
    if found:
        named = " ".join(each.error().localized(_) for each in found[:SHOWN])
        return Check(
            name="database",
            title=title,
            status="fail",
            message=ngettext(
                "{n} database entry is missing or damaged: {rows}",
                "{n} database entries are missing or damaged: {rows}",
                len(found),
                rows=named,
            ),
            fix=_(
                "Everything else can be read and exported: atelier workflows export WORKFLOW. To recover everything, "
                "restore a backup that was made before the damage: atelier backup restore FILE"
            ),
        )
    counts, reading = await atelier.store.counts(), atelier.store.bounded_reading()
    told, total, rows = reading.following(progress or no_progress), sum(counts.values()), 0
    for table in counts:
        before = rows
        rows += await count_by_reading(reading.run, table, lambda read: told(before + read, total))  # noqa: B023
    facts = {"version": atelier.store.version, "rows": rows}
    message = _("Schema {version}, {rows} database entries, all readable.", **facts)
    if deep:
        message = _("Schema {version}, {rows} database entries, all readable; the history is intact.", **facts)
    lost = atelier.store.lost_commits
    if lost:
        return Check(
            name="database",
            title=title,
            status="warn",
            message=ngettext(
                "{state} The last change was lost.", "{state} The last {n} changes were lost.", lost, state=message
            ),
            fix=_("Compare with a backup: atelier backup verify FILE"),
        )
    return Check(name="database", title=title, status="ok", message=message)


async def _reports(atelier: Opened, progress: Callable[[int, int], None] | None) -> Check:
    count, damaged = await atelier.reports.check_all(progress)
    if not damaged:
        message = ngettext("{n} report checked, no problems.", "{n} reports checked, no problems.", count)
        return Check(name="reports", title=_("Reports"), status="ok", message=message)
    return Check(
        name="reports",
        title=_("Reports"),
        status="fail",
        message=ngettext(
            "{n} report is missing or damaged, or was changed by another program: {paths}",
            "{n} reports are missing or damaged, or were changed by another program: {paths}",
            len(damaged),
            paths=", ".join(str(error.params["path"]) for error in damaged[:SHOWN]),
        ),
        fix=_("Review these reports. To keep one as it is now: atelier reports accept WORKFLOW NAME"),
    )


async def _attachments(atelier: Opened, progress: Callable[[int, int], None] | None) -> Check:
    title = _("Attachments")
    count = 0

    def note(read: int) -> None:
        nonlocal count
        count = read
        if progress:
            progress(read, read)

    found = await damaged_attachments(
        atelier.store.query_all, Path(atelier.datadir.attachments), NAMING.keys() | {"workflow"}, note
    )
    if atelier.store.size > bounded_memory_reading.CACHED_BYTES:  # two tables were read whole
        await atelier.store.release_read_memory()
    if not found:
        message = ngettext("{n} file checked, no problems.", "{n} files checked, no problems.", count)
        return Check(name="attachments", title=title, status="ok", message=message)
    named = [damaged_attachment(each) for each in found[:SHOWN]]
    more = [_("and {n} more", n=len(found) - SHOWN)] if len(found) > SHOWN else []
    return Check(
        name="attachments",
        title=title,
        status="warn" if all(each.missing for each in found) else "fail",
        message=" ".join([*named, *more]),
        fix=_(
            "Attach the missing or damaged files again, or restore a backup that contains them: atelier "
            "backup restore FILE"
        ),
    )


async def _checkpoints(atelier: Opened) -> Check:
    title = _("Undo data")
    leftovers = await atelier.files.cleaning.leftovers()
    problems = leftovers_text(leftovers)
    if lost := lost_data_text(await atelier.files.lost()):
        problems.append(lost)
    if not problems:
        return Check(
            name="checkpoints", title=title, status="ok", message=retained_text(await atelier.files.undo_storage())
        )
    fix = _("List this data, and delete what you do not need: atelier files leftovers") if leftovers else ""
    unknown = not lost and all(each.kind in ("unknown", "unnamed") for each in leftovers)  # these expire by themselves
    return Check(
        name="checkpoints", title=title, status="ok" if unknown else "warn", message=" ".join(problems), fix=fix
    )


async def _own_tools(atelier: Opened) -> Check:
    title = _("Your own tools")
    found = await atelier.own_tools.list()
    changed = [each.file for each in found if each.state == "changed"]
    if not changed:
        message = ngettext(
            "{n} file, no changes since confirmation.",
            "{n} files, no changes since confirmation.",
            len(found),
        )
        return Check(name="own_tools", title=title, status="ok", message=message)
    return Check(
        name="own_tools",
        title=title,
        status="warn",
        message=_(
            "These files were changed or damaged after you confirmed them and are not loaded: {files}.",
            files=", ".join(changed),
        ),
        fix=_("Review these files again, then run: atelier tools own confirm FILE"),
    )


async def _models(atelier: Opened, progress: Callable[[int, int], None] | None) -> Check:
    """Check models by recomputing their SHA-256: loading trusts earlier results for the same size and time."""
    title = _("Downloaded models")
    store = ModelStore(atelier.datadir.models)
    models = [model for model in await asyncio.to_thread(store.list) if model.sha256 and not model.starter]
    problems = []
    for number, model in enumerate(models, 1):
        try:
            await asyncio.to_thread(store.check, model, again=True)
        except AtelierError as error:
            problems.append(error.localized(_))
        if progress:
            progress(number, len(models))
    if problems:
        return Check(name="models", title=title, status="fail", message=" ".join(problems))
    if (reason := await asyncio.to_thread(store.unreadable)) is not None:
        return Check(
            name="models",
            title=title,
            status="warn",
            message=_(
                "The checksums of downloaded models cannot be read ({reason}), so changed model files are not "
                "detected.",
                reason=reason,
            ),
            fix=_(
                "Restore models.json from a backup, or download the models again and delete {file}.",
                file=atelier.datadir.models / UNREADABLE,
            ),
        )
    message = ngettext(
        "{n} model checked, no differences from the published version.",
        "{n} models checked, no differences from the published versions.",
        len(models),
    )
    return Check(name="models", title=title, status="ok", message=message)


async def _keyring(atelier: Opened) -> Check:
    title, path = _("Keyring"), atelier.datadir.keys
    location = await asyncio.to_thread(lambda: atelier.vault.place)
    if location is KeyPlace.KEYRING:
        message = _("API keys are stored in the system keyring.")
        return Check(name="keyring", title=title, status="ok", message=message)
    if location is KeyPlace.FILE:
        message = _(
            "Keys are kept unencrypted in {path}, as you chose. Backups and exports do not contain this file.",
            path=path,
        )
        return Check(
            name="keyring",
            title=title,
            status="warn",
            message=message,
            fix=_("To delete the file: atelier providers key-file off"),
        )
    message = _("No system keyring found: keys are lost when Atelier closes.")
    if path.exists():
        message = _("The key file {path} cannot be read: keys are lost when Atelier closes.", path=path)
    fix = _(
        "Install a keyring (GNOME Keyring, KWallet), use an environment variable (atelier providers edit NAME "
        "--api-key-env VAR), "
        "or keep keys in a file: atelier providers key-file on"
    )
    return Check(name="keyring", title=title, status="warn", message=message, fix=fix)


async def _embedder(atelier: Opened, deep: bool) -> Check:
    """Check the embedder in use; without one, as in a process that only reads, the configured one is created.

    Local ones are only searched for, unless ``deep``.
    """
    title = _("Embedder")
    chosen = (await atelier.settings.get()).in_force.embedder
    if chosen.kind in PACKAGES and not deep and importlib.util.find_spec(PACKAGES[chosen.kind]) is not None:
        return Check(
            name="embedder", title=title, status="ok", message=_("The embedder {kind} is installed.", kind=chosen.kind)
        )
    if atelier.embedder is not None:
        return await _answering(atelier.embedder)
    try:
        meter = atelier.outside_costs.counted
        made = await create_embedder(chosen, atelier.providers.confirmed, atelier.vault, atelier.clock, meter)
    except AtelierError as error:
        return Check(
            name="embedder",
            title=title,
            status="warn",
            message=error.localized(_),
            fix=_("Choose an embedder in Settings → Memory and projects."),
        )
    if made is None:
        return Check(
            name="embedder",
            title=title,
            status="warn",
            message=_("No embedder: memories are found by their words only."),
            fix=_("Choose an embedder in Settings → Memory and projects."),
        )
    async with aclosing(made):
        return await _answering(made)


async def _answering(embedder: Embedder) -> Check:
    vectors = await embedder.embed(["Atelier"])
    message = _("{id} returns vectors with {n} dimensions.", id=embedder.id, n=vectors.shape[1])
    return Check(name="embedder", title=_("Embedder"), status="ok", message=message)


async def _provider(atelier: Opened, config: ProviderConfig, deep: bool) -> Check:
    title = _("Provider {name}", name=config.name)
    name = f"provider:{config.name}"
    try:
        async with asyncio.timeout(PROVIDER_S):
            health = await atelier.providers.test(config.name, load=deep)
    except TimeoutError:
        return Check(
            name=name,
            title=title,
            status="warn",
            message=_("No answer in {s} seconds.", s=int(PROVIDER_S)),
            fix=_provider_fix(config),
        )
    except AtelierError as error:
        return Check(name=name, title=title, status="warn", message=error.localized(_), fix=_provider_fix(config))
    if health.ok and not deep and provider_type(config.kind).builtin:
        message = ngettext("{n} model is installed.", "{n} models are installed.", health.models)
        return Check(name=name, title=title, status="ok", message=message)
    if health.ok:
        return Check(
            name=name,
            title=title,
            status="ok",
            message=ngettext(
                "Answers in {ms} ms and offers {n} model.",
                "Answers in {ms} ms and offers {n} models.",
                health.models,
                ms=health.latency_ms,
            ),
        )
    return Check(name=name, title=title, status="warn", message=problem_text(health), fix=_provider_fix(config))


def _provider_fix(config: ProviderConfig) -> str:
    if provider_type(config.kind).builtin:
        return _("Run make setup, or download a model in the settings.")
    return _(
        "Check the address and the key, and that the server is running; then run: atelier providers test {name}",
        name=shlex.quote(config.name),
    )

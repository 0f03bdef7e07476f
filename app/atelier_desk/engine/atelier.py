"""The engine as one object: what the desktop, the command line and Python callers open.

    from atelier_desk import Atelier

    async with Atelier.open(data_dir) as atelier:
        async for event in atelier.run("What is 12*7?", agent=config):
            print(event.wire())
        answer = await atelier.ask("How many words has this file?", tools=[word_count])   # a typed function with a
        docstring

Importing this module needs no Qt and loads no model, no database driver and no HTTP client; they are loaded when they
are first used.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.clock import Clock, SystemClock
from atelier_desk.domain.errors import AtelierError, UsageError
from atelier_desk.domain.memory import EMBEDDING_OFFER
from atelier_desk.domain.setting_subscribers import SettingSubscribers
from atelier_desk.domain.workflow import Dispatch, RunMode
from atelier_desk.engine.importing import imported_data_restrictions
from atelier_desk.engine.importing.imported_data_restrictions import end_runs
from atelier_desk.engine.journal.event_bus import EventBus
from atelier_desk.engine.runs.answer_collector import Answer, Listener
from atelier_desk.engine.runs.effective_agent import responder
from atelier_desk.engine.runs.turn_stream import until_settled
from atelier_desk.engine.services.lazy_services import LazyParts
from atelier_desk.engine.services.service_list import SERVICES
from atelier_desk.llm.secrets import KeyVault, redact
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.data_folder.plaintext_api_keys import KeyFile
from atelier_desk.storage.data_folder.temporary_folder import temporary_folder
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from atelier_desk.storage.unfinished_run_check import at_work
from atelier_desk.support import background_tasks, logs
from atelier_desk.support.i18n import N_, set_language

if TYPE_CHECKING:
    from atelier_desk.domain.model_messages import ImagePart
    from atelier_desk.domain.settings import EmbedderSettings, Settings
    from atelier_desk.domain.stream.event import StreamEvent
    from atelier_desk.engine.gateways.model_gateway import ModelFactory
    from atelier_desk.engine.journal.journal import FaultPoint
    from atelier_desk.engine.maintenance.system_checks import Check
    from atelier_desk.engine.runs.caller_function_tools import GivenTool
    from atelier_desk.llm.interfaces import Embedder
    from atelier_desk.storage.data_folder.schema_version import Upgrading

log = logging.getLogger(__name__)


class Atelier(LazyParts):
    """An open data folder with all its services. Made by ``open``; one instance per process and folder.

    The services (``Services``) are created on first use, all of them by ``start``.

    Attributes: see ``LazyParts``.
    """

    _given: tuple[ModelFactory | None, Embedder | None, FaultPoint | None]

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.bus = EventBus()
        self.in_force = SettingSubscribers()
        self.embedder = None
        self.background = background_tasks.Tasks(self.bus.failed)
        self._embedder_tried: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._resumes = self._tools_loaded = self._started = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        data_dir: Path | str | None = None,
        *,
        clock: Clock | None = None,
        model_factory: ModelFactory | None = None,
        embedder: Embedder | None = None,
        vault: KeyVault | None = None,
        fsync: bool | None = None,
        fault: FaultPoint | None = None,
        language: str | None = None,
        accept_loss: bool = False,
        temporary: bool = False,
        start: bool = True,
        upgrading: Upgrading = lambda _step, _percent: None,
    ) -> AsyncIterator[Atelier]:
        """Open a data folder, and close everything at the end.

        Args:
            data_dir: the folder; None uses ``ATELIER_DATA_DIR`` or the platform's folder for user data.
            model_factory: provides the model of every agent (tests, embedding programs); None uses the providers.
            embedder: replaces the configured one.
            fsync, language: override the settings of these names.
            accept_loss: open the database even if acknowledged changes are lost.
            temporary: use a folder that is removed at the end, and store keys in memory only.
            start: False only opens the database, as needed for a listing, unless a kill interrupted a run, which is
                recorded first; ``load_tools`` and ``start`` do the rest on request.
            upgrading: told of each step of upgrading an older folder, and of its percentage.

        Raises:
            StorageError: with code locked, newer_schema, missing_manifest, damaged, disk_full or read_only.
            UsageError: both a folder and ``temporary``.
        """
        async with AsyncExitStack() as opened:
            if temporary:
                if data_dir is not None:
                    raise UsageError(N_("A temporary instance uses its own folder: leave data_dir out."))
                data_dir = await opened.enter_async_context(temporary_folder())
                vault, fsync = vault or KeyVault(session=True), bool(fsync)
            atelier = cls(clock or SystemClock())
            atelier._given = (model_factory, embedder, fault)
            await atelier._open_store(
                data_dir, vault, fsync=fsync is not False, accept_loss=accept_loss, upgrading=upgrading
            )
            opened.push_async_callback(atelier._close)
            await atelier._apply_settings(fsync, language, start)
            if start or await at_work(atelier.store):
                # Nobody else has the folder open: runs marked as running were interrupted by a kill, and no listing may
                # show them otherwise.
                await atelier.start()
            yield atelier

    async def run(
        self,
        prompt: str,
        *,
        agent: AgentConfig | str | None = None,
        workflow_id: str | None = None,
        images: tuple[ImagePart, ...] = (),
        strategy: Dispatch | str = "queue",
        mode: RunMode | str = "auto",
        tools: Sequence[GivenTool] = (),
    ) -> AsyncGenerator[StreamEvent, None]:
        """Run one turn: send ``prompt`` and yield its stream until the run ends, stops at a limit, or waits for an
        answer.

        The last event is always ``workflow_complete``; if the run waits, it has status ``waiting`` and is not durable,
        as with status ``error`` when the journal could not be written, and ``interrupted`` when somebody interrupted it
        (``resume`` continues it). Closing the iterator early leaves the run working.

        Args:
            agent: a configuration, the name or id of a stored agent, or None for the workflow's or the default one.
            workflow_id: None creates a new workflow.
            tools: additional tools for this run: names, or typed functions with a docstring (``atelier_desk.tool``
                gives more control). Functions are this program's own code and run in it: Stop cancels an ``async`` one;
                a plain one runs in a thread, which cannot be killed: Stop returns at once, and its result is dropped.

        Raises:
            UsageError: a function that cannot become a tool.
            NotFoundError, ConflictError: no tool of that name; another tool of that name.
        """
        config, agent_id = await self.find_agent(agent)
        tools = self.given_tools.made(tools)
        if workflow_id is None:
            workflow_id = (await self.workflows.create(agent_id=agent_id)).id
        if tools:
            config, agent_id = await self._with_tools(workflow_id, config, agent_id, tools)
        with self._listening(workflow_id) as queue:
            how: dict[str, Any] = {"strategy": Dispatch(strategy), "mode": RunMode(mode)}
            try:
                run_id = await self.runs.send(
                    workflow_id, prompt, agent=config, agent_id=agent_id, images=images, **how
                )
            except BaseException:
                if self.runs.live.alive.get(workflow_id) is None:
                    self.given_tools.release(workflow_id)
                raise
            async for event in until_settled(self, run_id, queue):
                yield event

    async def ask(
        self,
        prompt: str,
        *,
        agent: AgentConfig | str | None = None,
        workflow_id: str | None = None,
        images: tuple[ImagePart, ...] = (),
        tools: Sequence[GivenTool] = (),
    ) -> Answer:
        """Run one turn and return its answer. Cancelling stops the run. Arguments as in ``run``.

        Raises:
            AtelierError: the run failed; ``code`` says how. Also what ``run`` raises.
        """
        listener = Listener()
        fresh = workflow_id is None
        tools = self.given_tools.made(tools)
        if workflow_id is None:
            workflow_id = (await self.workflows.create(agent_id=(await self.find_agent(agent))[1])).id
        try:
            async for event in self.run(prompt, agent=agent, workflow_id=workflow_id, images=images, tools=tools):
                listener.handle(event)
        except asyncio.CancelledError:
            run_id = listener.run_id or (self.runs.live.alive.get(workflow_id) if fresh else None)
            if run_id:
                await self.runs.cancel(run_id)
            raise
        return listener.answer(self.runs.state_of(listener.run_id))

    async def follow(self, run_id: str, **resume: object) -> AsyncGenerator[StreamEvent, None]:
        """Resume a run and yield its stream like ``run``; ``resume`` are the arguments of ``RunManager.resume``."""
        row = await self.repos.runs.get(run_id)
        with self._listening(row.workflow_id) as queue:
            await self.runs.steering.resume(run_id, **resume)  # type: ignore[arg-type]
            async for event in until_settled(self, run_id, queue):
                yield event

    async def _with_tools(
        self, workflow_id: str, config: AgentConfig | None, agent_id: str, tools: Sequence[GivenTool]
    ) -> tuple[AgentConfig, str]:
        """Return who answers, with these additional tools."""
        if config is None:
            who = await responder(self.environment, await self.repos.workflows.get(workflow_id), agent_id)
            config, agent_id = who.agent, who.agent_id
        names = self.given_tools.give(workflow_id, tools)
        return config.model_copy(update={"tools": tuple(dict.fromkeys((*config.tools, *names)))}), agent_id

    @contextmanager
    def _listening(self, workflow_id: str) -> Iterator[asyncio.Queue[StreamEvent | None]]:
        """Collect what a workflow publishes from now on."""
        queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        unsubscribe = self.bus.subscribe(queue.put_nowait, workflow_id)
        try:
            yield queue
        finally:
            unsubscribe()

    async def find_agent(self, agent: AgentConfig | str | None) -> tuple[AgentConfig | None, str]:
        """Resolve an agent by name, id or configuration; return the configuration and the id of the stored agent."""
        if isinstance(agent, AgentConfig):
            await self.agents.check_given(agent)
        if agent is None or isinstance(agent, AgentConfig):
            return agent, ""
        stored = await self.agents.by_name(agent)
        return stored.config, stored.id

    async def resume_pending(self) -> None:
        """Resume what an earlier process left unfinished.

        That is: runs to be continued at this start, memories without vectors or expired, deleted workflows past their
        retention. From now on the model titles workflows after their first answer, and is asked what to remember. The
        memory search is loaded in the background, so that the first search need not wait.
        """
        self.runs.titles.watch()
        self.runs.remembering.watch()
        await self.runs.recovery.resume_all(chosen=True)
        self._resumes = True
        await self._finish_vectors()
        self.background.start("loading of the memory search", self._warm())
        await self.workflows.purge_expired()
        self.background.start("cleaning of checkpoints", self.files.clean_periodically())
        await self.repos.memories.delete_expired()
        await self.memories.purge_expired()
        self.background.start("start of projects", self.projects.resume_pending())

    async def _finish_vectors(self) -> None:
        """Go on making vectors that are missing, unless a person paused that. Those that may cost something are offered
        instead.
        """
        settings = await self.settings.get()
        if self.embedder is None or settings.embedder_paused:
            return
        if await self.outside_costs.price(settings.in_force.embedder) != 0:
            self.memories.waits = self.projects.waits = True
            self.bus.changed("memory", EMBEDDING_OFFER)
        elif await self.memories.unfinished():
            self.memories.start_reembed()

    async def run_diagnostics(self) -> list[Check]:
        """Run the diagnostics; see ``doctor.checks``."""
        from atelier_desk.engine.maintenance.doctor import checks

        return await checks(self, deep=True)

    async def _warm(self) -> None:
        try:
            await self.memory_search.warm()
        except Exception:
            # The first search loads what is missing, or reports why it cannot.
            log.exception("the memory search was not loaded ahead")

    async def use_embedder(self, settings: Settings) -> None:
        """Switch to the configured embedder.

        If the settings name a previous one, searches keep using it until all vectors are made.
        """
        made = await self._make_embedder(settings.in_force.embedder)
        before = (self.embedder, self.memory_search.embedder)
        if settings.embedder_before is not None and made is not None:
            self.memory_search.change_to(made)
        else:
            self.memory_search.use(made)
        self.embedder = made
        await self.drop_embedders(*before)

    async def _make_embedder(self, settings: EmbedderSettings) -> Embedder | None:
        from atelier_desk.knowledge.embedder_factory import create_embedder

        return await create_embedder(
            settings, self.providers.confirmed, self.vault, self.clock, self.outside_costs.counted
        )

    async def embedder_tried(self) -> None:
        """Wait until an embedder on a server was reached after the start, or failed; at most 10 seconds."""
        if self._embedder_tried is not None:
            await asyncio.wait([self._embedder_tried], timeout=10)

    async def drop_embedders(self, *embedders: Embedder | None) -> None:
        """Close those that are no longer used."""
        for one in dict.fromkeys(embedders):
            if one is not None and one is not self.embedder and one is not self.memory_search.embedder:
                await one.aclose()

    async def load_tools(self) -> None:
        """Add the user's own tools to the registry. Idempotent."""
        async with self._starting:
            await self._load_tools()

    async def start(self) -> None:
        """Prepare for runs: tools, memory, the runs of this folder, the built-in agents. Idempotent."""
        async with self._starting:
            if self._started:
                return
            from atelier_desk.engine.journal_and_runs import make_journal, make_runs

            model_factory, embedder, fault = self._given
            settings = (await self.repos.settings.load()).in_force
            make_journal(self, fault)
            for name in SERVICES:
                getattr(self, name)
            await self._make_memory(settings, embedder)
            make_runs(self, model_factory, fault)
            self.in_force.subscribe(self._follow_embedder, "embedder", at_once=False)
            await self.runs.recovery.index()
            await end_runs(self.repos, self.runs, self.datadir.root)
            await self._load_tools()
            await self.agents.ensure_builtin()
            self._started = True

    async def _load_tools(self) -> None:
        if not self._tools_loaded:
            await self.own_tools.load_confirmed()
            await self.mcp.load()
            await self.projects.load()
            self._tools_loaded = True

    async def _open_store(self, data_dir: Path | str | None, vault: KeyVault | None, **options: Any) -> None:
        self._redacting, self.vault = logs.add_redactor(redact), vault or KeyVault()
        self.datadir = DataDir(Path(data_dir).absolute() if data_dir else default_data_dir()).ensure()  # noqa: ASYNC240 - no I/O waits here
        self.store = await Store.open(self.datadir.database, clock=self.clock, backups=self.datadir.backups, **options)
        keys = KeyFile(self.datadir.keys)
        keys.sweep()  # from here on the folder is held by this process
        self.vault.use_file(keys)
        self.repos = Repositories(self.store, self.datadir)
        try:
            await imported_data_restrictions.switch_off(self.repos, self.datadir.root)
        except BaseException:
            await self.store.close()
            raise

    async def _apply_settings(self, fsync: bool | None, language: str | None, start: bool) -> None:
        settings = await self.repos.settings.load()
        set_language(language or settings.language)
        await self.in_force.publish(settings.in_force)
        self.in_force.subscribe(set_language, "language", at_once=False)
        self.in_force.subscribe(lambda _language: self.agents.translate_builtin(), "language", at_once=False)
        if fsync is None and start and not settings.fsync:
            # The setting is in the database, and only applies when opening; listings need not reopen it.
            await self.store.set_fsync(False)

    async def _make_memory(self, settings: Settings, embedder: Embedder | None) -> None:
        from atelier_desk.knowledge.embedder_factory import needs_server
        from atelier_desk.knowledge.memory_search import MemorySearch

        self.embedder = embedder
        self.memory_search = MemorySearch(self.repos.memories, embedder, self.clock, self.datadir.memory_index)
        self.tool_services.memory_search = self.memory_search
        self.tool_services.memory_off = self._memory_off
        self.tool_services.memory_asks = self._memory_asks
        if embedder is not None:
            return
        if needs_server(settings.embedder) or (
            settings.embedder_before is not None and needs_server(settings.embedder_before)
        ):
            # A server that does not answer must not delay the start: until it does, only full text is searched.
            self._embedder_tried = self.background.start("connection to the embedder", self._try_embedder(settings))
        else:
            await self._try_embedder(settings)

    async def _memory_off(self, workflow_id: str) -> bool:
        return bool(workflow_id) and not await self.memories.is_on(workflow_id)

    async def _memory_asks(self) -> bool:
        return (await self.settings.get()).memories_ask

    async def _try_embedder(self, settings: Settings) -> None:
        try:
            if settings.embedder_before is not None:
                self.memory_search.use(await self._make_embedder(settings.embedder_before))
            await self.use_embedder(settings)
            if self._resumes:
                await self._finish_vectors()
        except AtelierError as error:
            log.warning("no embedder, full text alone: %s", error)

    async def _follow_embedder(self, _embedder: EmbedderSettings) -> None:
        """Make the vectors of memories and projects with the new embedder, in the background."""
        self.memories.start_reembed()
        await self.projects.follow_embedder()

    async def _close(self) -> None:
        """Close everything that was opened, newest first, each part even if another one fails."""
        async with AsyncExitStack() as parts:
            parts.callback(self._redacting)
            parts.push_async_callback(self.store.close)
            parts.push_async_callback(self._close_embedder)
            if "providers" in vars(self):
                parts.push_async_callback(self.providers.aclose)
            parts.push_async_callback(self.background.aclose)
            for name in ("models", "memories", "projects", "own_tools", "mcp", "data"):
                if name in vars(self):  # services are created on first use
                    parts.push_async_callback(getattr(self, name).aclose)
            if "tool_services" in vars(self) and self.tool_services.commands is not None:
                parts.push_async_callback(self.tool_services.commands.aclose)
            if "runs" in vars(self):
                parts.push_async_callback(self.runs.close)

    async def _close_embedder(self) -> None:
        search = getattr(self, "memory_search", None)  # a database-only instance has none
        for one in dict.fromkeys((self.embedder, search.embedder if search is not None else None)):
            if one is not None:
                await one.aclose()

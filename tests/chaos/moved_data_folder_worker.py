"""The command line with scripted models, in a data folder that is meanwhile renamed, replaced or deleted.

    python -m tests.chaos.moved_data_folder_worker EFFECTS_FILE ARGUMENTS…

Every durable event is acknowledged on standard output once it is committed, after ``open``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from atelier_desk.__main__ import main
from atelier_desk.engine.atelier import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.chaos import run_worker, team_worker


def patch(effects: Path) -> None:
    """Make the program open data folders with the script's models and one more tool."""
    real = Atelier.open

    @asynccontextmanager
    async def opened(root: Path, **given: Any) -> AsyncIterator[Atelier]:
        async with real(root, model_factory=model, vault=KeyVault(environ={}), **given) as atelier:
            atelier.registry.register(run_worker.AppendLine(effects))
            atelier.bus.subscribe(run_worker.acknowledge)
            os.write(1, b"open\n")
            yield atelier

    vars(sys.modules[Atelier.__module__])["Atelier"] = type("Opened", (), {"open": staticmethod(opened)})


def model(config: Any) -> Any:
    return run_worker.Model() if config.name == "Worker" else team_worker.Model(config.name)


if __name__ == "__main__":
    patch(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))

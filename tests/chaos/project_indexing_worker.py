"""Index a project to the end, or until killed: ``python -m tests.chaos.project_indexing_worker DATA CODE``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import WordEmbedder


async def main(data: Path, code: Path) -> None:
    async with Atelier.open(data, embedder=WordEmbedder(), vault=KeyVault(environ={})) as atelier:
        known = await atelier.projects.list()
        project = known[0] if known else await atelier.projects.create("code", str(code), watched=False)
        print("ready", flush=True)
        await atelier.projects.ingest(project.id)
        state = await atelier.projects.wait(project.id)
        print(state.stage.value if state is not None else "none", flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))

"""60 kills while a project is indexed and files change: indexing continues, nothing is duplicated and nothing is
missing.

``ATELIER_PROJECT_KILLS`` sets the number.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from time import sleep

from atelier_desk.engine import Atelier
from atelier_desk.llm.secrets import KeyVault
from tests.engine.conftest import WordEmbedder
from tests.helpers import forked_workers

KILLS = int(os.environ.get("ATELIER_PROJECT_KILLS", "60"))
FILES = 120
Graph = tuple[list[str], list[str], int, bool]


def write(code: Path, number: int, version: int) -> None:
    """Write a file that calls what the next one defines."""
    beside = (number + 1) % FILES
    text = (
        f'from m{beside} import f{beside}\n\n\ndef f{number}(x):\n    """Number {number}, version {version}."""\n    '
        f"return f{beside}(x)\n"
    )
    (code / f"m{number}.py").write_text(
        text + "".join(f"\n\ndef g{number}_{each}():\n    return f{number}({version})\n" for each in range(20))
    )


async def graph(data: Path, name: str) -> Graph:
    """The stored project: entities and relations by name, the number of missing vectors, and whether indexing has
    ended.
    """
    async with Atelier.open(data, embedder=WordEmbedder(), vault=KeyVault(environ={})) as atelier:
        project = await atelier.projects.get(name)
        index = await atelier.projects._indexes.get(project.id)
        names = {each.id: f"{each.kind} {each.path} {each.qualified} {each.start_line}" for each in index.all()}
        rows = await atelier.store.query("SELECT in, out, kind FROM relates")
        edges = sorted(f"{names[row['in'].id]} {row['kind']} {names[row['out'].id]}" for row in rows)
        texts, vectors = index.texts()
        counts = await atelier.projects._repo.counts(project.id)
        assert counts["entity"] == len(names)
        assert len(index.edges) == len(edges) + sum(bool(each.parent) for each in index.all())
        return sorted(names.values()), edges, texts - vectors, project.pending


def test_interrupted_indexing_is_continued(tmp_path: Path) -> None:
    chance = random.Random(7)
    code, data = tmp_path / "code", tmp_path / "data"
    code.mkdir()
    for number in range(FILES):
        write(code, number, 0)
    killed = tries = 0
    while killed < KILLS:
        tries += 1
        assert tries < 5 * KILLS + 20, "it is over before it can be killed"
        with forked_workers.start("tests.chaos.project_indexing_worker", str(data), str(code)) as worker:
            assert worker.stdout.readline() == b"ready\n"
            sleep(chance.uniform(0.02, 2.5))
            killed += worker.poll() is None
            worker.kill()
        for number in chance.sample(range(FILES), 40):
            write(code, number, tries)
        (code / f"m{chance.randrange(FILES)}.py").unlink(missing_ok=True)
    for number in range(FILES):
        write(code, number, tries if number % 2 else 0)
    done = forked_workers.start("tests.chaos.project_indexing_worker", str(data), str(code))
    assert done.communicate()[0].split()[-1] == b"done"
    found = asyncio.run(graph(data, "code"))
    fresh = tmp_path / "fresh"
    forked_workers.start("tests.chaos.project_indexing_worker", str(fresh), str(code)).communicate()
    assert found == asyncio.run(graph(fresh, "code"))
    assert found[2:] == (0, False)
    assert len(found[0]) == len(set(found[0])) > FILES

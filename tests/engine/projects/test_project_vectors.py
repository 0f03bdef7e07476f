"""Vectors of projects: which are computed, when, and with which embedder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atelier_desk.domain.errors import SETTINGS_CHANGED, ProviderError
from atelier_desk.domain.project import Direction, EntityKind, RelationKind
from tests.engine.conftest import Opener, WordEmbedder
from tests.engine.projects.conftest import STORE
from tests.engine.services.indexed_projects import indexed, named, read
from tests.engine.services.other_embedder import OtherEmbedder


class Counting(WordEmbedder):
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        if not query:
            self.texts += texts
        return await super().embed(texts, query=query)


async def test_the_same_text_is_embedded_once_and_projects_stay_separate(
    open_atelier: Opener, code: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "store.py").write_text(STORE)
    embedder = Counting()
    async with open_atelier(embedder=embedder) as atelier:
        first = await atelier.projects.create("first", str(code), watched=False)
        await read(atelier, first)
        assert len(embedder.texts) == len(set(embedder.texts))
        second = await atelier.projects.create("second", str(other), watched=False)
        embedder.texts.clear()
        await read(atelier, second)
        assert embedder.texts == []
        assert await named(atelier, first, "check") != await named(atelier, second, "check")
        assert {each.project for each in await atelier.projects.find("check", project_ids=[second.id])} == {"second"}
        await atelier.projects.change(first.id, loaded=False)
        assert {each.project for each in await atelier.projects.find("check")} == {"second"}
        around = await atelier.projects.explore(
            await named(atelier, second, "check"), direction=Direction.IN, relations=[RelationKind.CALLS]
        )
        assert {each.entity.qualified for each in around.neighbours} == {"Store.save"}


async def test_vectors_of_the_chosen_kinds_are_computed_again_on_request(open_atelier: Opener, code: Path) -> None:
    embedder = Counting()
    async with open_atelier(embedder=embedder) as atelier:
        project = await atelier.projects.create("code", str(code), watched=False, embedded=False)
        await read(atelier, project)
        assert embedder.texts == []
        await atelier.projects.embed(project.id, kinds=[EntityKind.SECTION])
        await atelier.projects.wait(project.id)
        assert ["herons" in text for text in embedder.texts] == [True]
        await atelier.projects.embed(project.id)
        await atelier.projects.wait(project.id)
        whole = len(embedder.texts)
        assert whole == len(set(embedder.texts)) == (await atelier.projects.statistics(project.id)).vectors
        await atelier.projects.embed(project.id, force=True)
        await atelier.projects.wait(project.id)
        assert len(embedder.texts) == 2 * whole


async def test_with_a_failing_embedder_words_are_searched(open_atelier: Opener, code: Path) -> None:
    class Failing(WordEmbedder):
        async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            if query:
                raise ProviderError("out of order")
            return await super().embed(texts, query=query)

    async with open_atelier(embedder=Failing()) as atelier:
        await indexed(atelier, code)
        first = (await atelier.projects.find("refuse blank rows"))[0]
        assert (first.entity.qualified, first.cosine) == ("check", None)


@pytest.mark.parametrize("closed", [False, True])
async def test_a_new_embedder_computes_its_vectors_automatically(
    open_atelier: Opener, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    async def made(*_given: Any) -> OtherEmbedder:
        return OtherEmbedder()

    class Switching(WordEmbedder):
        """Somebody switches to another one while it works."""

        async def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
            if any("heron" in text for text in texts):
                await atelier.settings.update(embedder={"kind": "builtin", "model": "other"})
                if closed:
                    raise ProviderError("closed", code=SETTINGS_CHANGED)
            return await super().embed(texts, query=query)

    monkeypatch.setattr("atelier_desk.knowledge.embedder_factory.create_embedder", made)
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "other.py").write_text("def kingfisher():\n    return 1\n")
    async with open_atelier(embedder=Switching()) as atelier:
        before = await atelier.projects.create("else", str(tmp_path / "else"), watched=False)
        await read(atelier, before)
        project = await indexed(atelier, code)
        for each in (before, project):
            await atelier.projects.wait(each.id)
            index = await atelier.projects._indexes.get(each.id)
            assert index.vectors is not None
            assert (index.vectors.embedder, index.vectors.dimension) == (OtherEmbedder.id, 32)
            assert index.texts()[0] == index.texts()[1] > 0

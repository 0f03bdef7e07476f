"""Images, notebooks and documents in projects."""

from __future__ import annotations

import json
import threading
from io import BytesIO
from pathlib import Path

import pytest
from docx import Document
from PIL import Image, ImageDraw, ImageFont

from atelier_desk.domain.project import EntityKind
from atelier_desk.storage.search_terms import excerpt
from tests.engine.conftest import Opener
from tests.engine.services.indexed_projects import indexed, read


def drawn(text: str, size: tuple[int, int] = (900, 160)) -> bytes:
    """A PNG with text in it."""
    picture = Image.new("RGB", size, "white")
    ImageDraw.Draw(picture).text((20, 40), text, fill="black", font=ImageFont.load_default(64))
    kept = BytesIO()
    picture.save(kept, "PNG")
    return kept.getvalue()


async def test_images_are_found_by_their_text(open_atelier: Opener, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "one.png").write_bytes(drawn("Invoice heron 4711"))
    Image.open(BytesIO(drawn("heron"))).save(tmp_path / "scans" / "turned.pdf")
    (tmp_path / "scans" / "dot.png").write_bytes(drawn("x", (16, 16)))
    (tmp_path / "scans" / "torn.png").write_bytes(drawn("torn")[:200])
    (tmp_path / "scans" / "note.gif").write_text("A text that calls itself a picture: kingfisher.\n")
    async with open_atelier() as atelier:
        project = await atelier.projects.create("scans", str(tmp_path / "scans"), watched=False)
        await read(atelier, project)
        [first, *_rest] = await atelier.projects.find("invoice of the heron")
        assert (first.entity.kind, first.entity.path, first.entity.start_line) == (EntityKind.IMAGE, "one.png", 0)
        assert "4711" in (await atelier.projects.entity(first.entity.id)).text
        assert (await atelier.projects.find("kingfisher"))[0].entity.path == "note.gif"
        torn, scanned = await atelier.projects.problems(project.id)
        assert (torn.path, scanned.path, scanned.reason[:17]) == ("torn.png", "turned.pdf", "No text was found")
        found, total = await atelier.projects.query(project.id, EntityKind.IMAGE, {}, "path")
        assert ([each.path for each in found], total) == (["dot.png", "one.png"], 2)
        await read(atelier, project)
        assert (await atelier.projects.states())[project.id].unchanged == 5


async def test_previews_are_not_rendered_in_the_engines_thread(
    open_atelier: Opener, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def recording(text: str, query: str, width: int) -> str:
        threads.append(threading.current_thread())
        return excerpt(text, query, width)

    monkeypatch.setattr("atelier_desk.knowledge.projects.search.excerpt", recording)
    async with open_atelier() as atelier:
        await indexed(atelier, code)
        assert (await atelier.projects.find("how herons are counted"))[0].preview == "How herons are counted."
        assert threads
        assert threading.current_thread() not in threads


async def test_a_notebook_is_shown_and_previewed_as_its_cells(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "sales"
    folder.mkdir()
    cells = [
        {"cell_type": "markdown", "source": ["# Sales\n", "by day"]},
        {"cell_type": "code", "source": ["import csv\n", "def best_bread(rows):\n", "    return max(rows)\n"]},
    ]
    (folder / "sales.ipynb").write_text(json.dumps({"cells": cells}))
    async with open_atelier() as atelier:
        project = await atelier.projects.create("sales", str(folder))
        await read(atelier, project)
        [found] = await atelier.projects.find("best_bread", kinds=[EntityKind.SCOPE], limit=1)
        assert found.preview.startswith("def best_bread(rows):")
        text, first, last = await atelier.projects.source(found.entity.id)
        assert text.split("\n")[first - 1 : last] == ["def best_bread(rows):", "    return max(rows)"]
        assert (await atelier.projects.entity(found.entity.id)).text == "def best_bread(rows):\n    return max(rows)"


async def test_a_document_without_plain_text_shows_its_sections(open_atelier: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    paper = Document()
    for heading, text in (("Contract", "The mill delivers rye."), ("Prices", "Seven a sack.")):
        paper.add_heading(heading, 1)
        paper.add_paragraph(text)
    paper.save(str(folder / "contract.docx"))
    async with open_atelier() as atelier:
        project = await atelier.projects.create("papers", str(folder))
        await read(atelier, project)
        [found] = await atelier.projects.files(project.id)
        assert (
            await atelier.projects.entity(found.id)
        ).text == "Contract\nThe mill delivers rye.\n\nPrices\nSeven a sack."

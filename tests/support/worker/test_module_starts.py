"""Modules that answer requests, started by their command as in the program: in other tests they are forks of a process
that has imported everything.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

import atelier_desk
from atelier_desk.domain.document_formats import OLD
from atelier_desk.support.worker.errors import Failed
from atelier_desk.support.worker.requests_to_child import ask_once
from tests.helpers.forked_workers import STARTED
from tests.helpers.sample_images import png

TOOL_FILE = {"name": "a.py", "path": "a.py", "data": "", "sha256": hashlib.sha256().hexdigest()}
REQUESTS: dict[str, tuple[Any, bytes, Any]] = {
    "engine.projects.worker": ({"pages": [["https://example.org/", "A", "# A"]]}, b"", None),
    "media.ocr": (["eng"], b"no image", "not_a_picture"),
    "media.picture_conversion_process": (
        [64, 9_000, ["image/png"]], png(3, 2), {"media_type": "image/png", "width": 3, "height": 2},
    ),
    "media.render_3d_model_process": (["stl", [], 8, 8, "white"], b"no model", "empty"),
    "tools.user_tools.worker": ({"do": "describe", "file": TOOL_FILE}, b"", "usage"),
    "web.page_to_markdown_process": (
        ["https://example.org/", "text/html", ""], b"<h1>A</h1>",
        {"title": "A", "author": "", "date": "", "site": "example.org", "language": "", "form": "page",
         "markdown": "# A", "links": [], "scripts": False, "total": 3},
    ),
    "workspace.documents.extraction_process": ([OLD, 1, 1, 100], b"", "old_format"),
}  # fmt: skip
"""A request and its bytes by module, and the answer or the code of its error."""
TESTED = {"storage.copies.database_inspection"}
"""Modules that their own tests start so."""


@pytest.mark.parametrize("module", REQUESTS)
async def test_a_started_module_answers(module: str, real_start: None) -> None:
    request, data, expected = REQUESTS[module]
    try:
        found = (await ask_once(f"atelier_desk.{module}", request, data, limit_s=None)).value
    except Failed as error:
        found = error.code
    assert found == expected


def test_every_module_that_may_be_forked_is_started_too() -> None:
    package = Path(atelier_desk.__file__).parent
    found = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if "from atelier_desk.support.worker.child import" in path.read_text("utf-8")
    }
    assert {each for each in found if not f"atelier_desk.{each}".startswith(STARTED)} == {*REQUESTS, *TESTED}

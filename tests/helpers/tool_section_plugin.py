"""A section of tools as an external package adds it: a folder next to the others, one file per tool."""

from __future__ import annotations

import gettext
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atelier_desk import tools
from atelier_desk.support import i18n
from atelier_desk.tools.registry import builtin, sections

SECTION = '''"""Tools for the garden."""

from atelier_desk.domain.approval import ApprovalKind
from atelier_desk.support.i18n import N_
from atelier_desk.tools.registry.sections import section

ABOUT = N_("Plant, water and harvest")
section("garden_ops", order=35, name=N_("Garden"), description=ABOUT, kind=ApprovalKind.FILE_OP)
'''
TOOL = '''"""WaterTool: water a bed of the garden."""

from typing import Any, ClassVar

from pydantic import Field

from atelier_desk.domain.model_messages import ImagePart
from atelier_desk.domain.result_parts import FileChange, PicturePart, TextPart
from atelier_desk.support.i18n import N_
from atelier_desk.tools.base import Effect, Input, NewArtefact, Risk, ToolContext, ToolResult
from atelier_desk.tools.registry.builtin import builtin
from atelier_desk.tools.definition.tool_description import About, DescribedTool

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Water(Input):
    bed: str = Field(min_length=1, max_length=40, description="Which bed.")
    litres: int = Field(default=5, ge=1, le=50, description="How much.")


@builtin(order=300)
class WaterTool(DescribedTool):
    """Water a bed."""

    name: ClassVar[str] = "WaterTool"
    title: ClassVar[str] = N_("Watering can")
    purpose: ClassVar[str] = N_("Waters a bed of your garden")
    icon: ClassVar[str] = "tag"
    summaries: ClassVar[dict[str, str]] = {"": N_("{litres} litres for {bed}")}
    subjects: ClassVar[dict[str, str]] = {"bed": "paths"}
    section: ClassVar[str] = "garden_ops"
    effect: ClassVar[Effect] = Effect.WRITE
    risk: ClassVar[Risk] = Risk.MEDIUM
    input: ClassVar[Any] = Water
    about: ClassVar[About] = About(
        what="Waters a bed.", when="it is dry.", when_not="it rains.", example={"bed": "tomatoes", "litres": 3}
    )

    async def run(self, input: Any, context: ToolContext) -> ToolResult:
        watered = int(context.state.get("watered", 0)) + 1
        context.progress(50, "half of it")
        parts = (
            TextPart(title="Log", text="drip drip"),
            PicturePart(title="The bed", image=ImagePart(media_type="image/png", data=PIXEL)),
            FileChange(action="changed", path="beds.txt", diff="-dry\\n+wet\\n", added=1, removed=1),
            NewArtefact("plan.bin", b"\\x00plan", "application/x-plan"),
        )
        return ToolResult({"success": True, "times": watered}, parts=parts, state={"watered": watered})
'''
FRENCH = {
    "Garden": "Jardin",
    "Watering can": "Arrosoir",
    "Waters a bed of your garden": "Arrose une plate-bande de votre jardin",
    "{litres} litres for {bed}": "{litres} litres pour {bed}",
}


class _French(gettext.NullTranslations):
    def gettext(self, message: str) -> str:
        return FRENCH.get(message, message)


@contextmanager
def room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Add the folder temporarily, without touching Atelier's files."""
    garden = folder / "garden_ops"
    garden.mkdir()
    (garden / "__init__.py").write_text(SECTION)
    (garden / "water.py").write_text(TOOL)
    builtin.load()  # modules first imported meanwhile would be removed with it
    monkeypatch.setattr(tools, "__path__", [*tools.__path__, str(folder)])
    monkeypatch.setattr(builtin, "_declared", dict(builtin._declared))
    monkeypatch.setattr(sections, "_declared", dict(sections._declared))
    importlib.invalidate_caches()
    try:
        yield garden
    finally:
        for name in [name for name in sys.modules if name.startswith("atelier_desk.tools.garden_ops")]:
            del sys.modules[name]


def speak_french(monkeypatch: pytest.MonkeyPatch) -> None:
    """French as in the catalogue after the new messages are translated."""
    monkeypatch.setattr(i18n, "_current", _French())
    monkeypatch.setattr(i18n, "_language", "fr")

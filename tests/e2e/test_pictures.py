"""A picture is made by a service that a person set up in the settings: shown in the transcript, opened large, saved,
dragged out.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDrag
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QWidget

from atelier_desk.desktop.chat.cards import picture_view
from atelier_desk.desktop.chat.cards.picture_view import PictureLabel
from atelier_desk.domain.model_messages import ChatReply, ToolCall
from tests.e2e.conftest import OpenDesk
from tests.e2e.harness import Desk, child
from tests.support.servers.plain_http import Handler, serving

OUT = BytesIO()
Image.effect_noise((900, 600), 90).save(OUT, "PNG")
PICTURE = OUT.getvalue()
MAKE = ToolCall(id="g1", name="generate_image", arguments={"prompt": "a red bicycle", "output_path": "art/bicycle.png"})


class Painter(Handler):
    """An images endpoint in OpenAI's form."""

    def _say(self, said: Any) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.answer_json(200 if self.headers.get("authorization") == "Bearer paint-key" else 401, said)

    def do_GET(self) -> None:
        self._say({"data": [{"id": "painter"}]})

    def do_POST(self) -> None:
        self._say({"data": [{"b64_json": base64.b64encode(PICTURE).decode()}]})


@pytest.fixture
def painter() -> Iterator[str]:
    with serving(Painter) as place:
        yield f"http://{place}/v1"


def keep(desk: Desk, widget: QWidget, name: str) -> None:
    """A picture of it, where somebody wants one."""
    if folder := os.environ.get("ATELIER_SCREENSHOTS"):
        desk.settle()
        widget.grab().save(str(Path(folder) / name))


def test_a_picture_is_made_shown_opened_saved_and_dragged(
    open_desk: OpenDesk, painter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    desk = open_desk([ChatReply(content="I paint it.", tool_calls=(MAKE,)), "Here it is."])
    desk.window.resize(1360, 860)
    desk.action("settings")
    settings: Any = desk.find("settings-window")
    settings.show_page("media")
    page = settings.page("media")
    desk.until(lambda: page.form.controls["images"].isEnabled(), "the page has its state")
    for name, text in (("media-images", painter), ("media-images-model", "painter"), ("media-images-key", "paint-key")):
        desk.type(desk.find(name, within=settings), text)
    desk.click(desk.find("media-test-images", within=settings))
    desk.until(
        lambda: page.busy.text.text() == "It answers, and has painter.", "the endpoint is tried by what is typed"
    )
    desk.click(desk.find("media-apply", within=settings))
    desk.until(lambda: desk.engine(lambda a: a.settings.get()).media.images == painter, "it is stored")
    desk.until(lambda: page.form.controls["images_key"].text() == "", "the key is in no field any more")
    keep(desk, settings, "media.png")
    settings.close()

    known = desk.engine(lambda a: a.agents.default())
    painting = known.config.model_copy(update={"tools": ("generate_image",)})
    desk.engine(lambda a: a.agents.save(painting, known.id))
    desk.engine(lambda a: a.workflows.create("Art", workspace=(str(tmp_path / "project"),)))
    desk.engine(lambda a: a.files.trust(str(tmp_path / "project"), True))
    desk.settle()
    desk.until_row("workflow-list", "Art")
    desk.click_row(desk.window.sidebar.list, "Art")
    desk.settle()
    desk.send("Paint a bicycle")
    card = desk.until(
        lambda: [each for each in desk.window.chat.findChildren(QWidget, "approval-card") if each.isVisible()], "a card"
    )[0]
    desk.click(child(card, QAbstractButton, "approval-approve"))
    desk.last_reply("Here it is.")
    desk.wait_done()
    picture = desk.until(lambda: desk.window.chat.findChildren(PictureLabel), "the picture in the transcript")[0]
    desk.until(lambda: picture.isVisible(), "it is shown")
    keep(desk, desk.window, "picture.png")
    QTest.mouseClick(picture, Qt.MouseButton.LeftButton)
    dialog = desk.find("picture-dialog")
    keep(desk, dialog, "picture-large.png")
    asked: list[Any] = []
    monkeypatch.setattr(picture_view, "ask_save", lambda *words: asked.append(words))
    desk.click(desk.find("picture-save", within=dialog))
    desk.until(lambda: asked, "where to save it")
    asked[0][-1](tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes() == PICTURE
    desk.click(desk.find("picture-close", within=dialog))
    dropped: list[tuple[str, bytes]] = []

    def dropped_elsewhere(drag: QDrag, *_actions: Any) -> Qt.DropAction:
        path = Path(drag.mimeData().urls()[0].toLocalFile())
        dropped.append((path.name, path.read_bytes()))
        return Qt.DropAction.CopyAction

    monkeypatch.setattr(QDrag, "exec", dropped_elsewhere)
    QTest.mousePress(picture, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    QTest.mouseMove(picture, QPoint(60, 60))
    desk.until(lambda: dropped, "it is dragged out")
    assert [data for _name, data in dropped] == [PICTURE]
    assert (tmp_path / "project" / "art" / "bicycle.png").read_bytes() == PICTURE

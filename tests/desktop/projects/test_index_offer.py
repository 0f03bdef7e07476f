"""The line that offers to index a granted folder."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.folders.controller import FolderController
from atelier_desk.desktop.projects.index_offer import OfferBar
from tests.support.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.support.projects import Projects


class Place:
    """The offer over a fake engine that stores settings."""

    def __init__(self, qtbot: QtBot) -> None:
        self.projects = Projects()
        self.engine = FakeAtelier(
            projects=self.projects.answers(),
            files={"missing": (), "trusted": lambda folders: dict.fromkeys(folders, True)},
        )
        self.around = QWidget()
        qtbot.addWidget(self.around)
        bridge = FakeBridge(self.engine)
        self.desk = FolderController(bridge, self.around)  # type: ignore[arg-type]
        self.offer = OfferBar(bridge, self.desk, self.around)  # type: ignore[arg-type]
        self.around.show()

    async def grant(self, *folders: str) -> None:
        self.desk._show(folders)
        await settle()


@pytest.fixture
def place(qtbot: QtBot) -> Place:
    return Place(qtbot)


async def test_accepting_creates_a_project_and_indexes_it(place: Place) -> None:
    said: list[str] = []
    place.offer.begun.connect(said.append)
    await place.grant("/home/me/notes", "/srv/shop")
    assert place.offer.isVisible()
    assert "Index “shop”" in place.offer._text.text()
    place.offer.yes.click()
    await settle()
    assert place.projects.answered == {"/srv/shop": True}
    assert said == ["Indexing “shop”…"]
    assert not place.offer.isVisible()


async def test_a_refusal_is_stored_for_each_folder(place: Place, qtbot: QtBot) -> None:
    await place.grant("/srv/shop", "/srv/docs")
    place.offer.no.click()
    await settle()
    assert place.offer.folder == "/srv/docs"
    assert place.projects.answered == {"/srv/shop": False}
    place.offer.no.click()
    await settle()
    assert not place.offer.isVisible()
    await place.grant("/srv/shop")
    assert not place.offer.isVisible()
    again = OfferBar(place.offer.bridge, place.desk, place.around)  # as after a restart
    again.refresh()
    await settle()
    assert not again.isVisible()

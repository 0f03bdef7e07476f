"""The line that offers to index a granted folder."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.projects.index_offer import OfferBar
from atelier_desk.desktop.workspace_folders.controller import FolderController
from tests.helpers.fake_bridge import FakeAtelier, FakeBridge, settle
from tests.helpers.fake_project_service import Projects


class OfferHarness:
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
        self.controller = FolderController(bridge, self.around)
        self.offer = OfferBar(bridge, self.controller, self.around)
        self.around.show()

    async def grant(self, *folders: str) -> None:
        self.controller._show(folders)
        await settle()


@pytest.fixture
def harness(qtbot: QtBot) -> OfferHarness:
    return OfferHarness(qtbot)


async def test_accepting_creates_a_project_and_indexes_it(harness: OfferHarness) -> None:
    answers: list[str] = []
    harness.offer.begun.connect(answers.append)
    await harness.grant("/home/me/notes", "/srv/shop")
    assert harness.offer.isVisible()
    assert "Index “shop”" in harness.offer._text.text()
    harness.offer.yes.click()
    await settle()
    assert harness.projects.answered == {"/srv/shop": True}
    assert answers == ["Indexing “shop”…"]
    assert not harness.offer.isVisible()


async def test_a_refusal_is_stored_for_each_folder(harness: OfferHarness, qtbot: QtBot) -> None:
    await harness.grant("/srv/shop", "/srv/docs")
    harness.offer.no.click()
    await settle()
    assert harness.offer.folder == "/srv/docs"
    assert harness.projects.answered == {"/srv/shop": False, "/srv/docs": False}
    harness.offer.no.click()
    await settle()
    assert not harness.offer.isVisible()
    await harness.grant("/srv/shop")
    assert not harness.offer.isVisible()
    again = OfferBar(harness.offer.bridge, harness.controller, harness.around)  # as after a restart
    again.refresh()
    await settle()
    assert not again.isVisible()


async def test_an_offer_left_unanswered_is_not_repeated(harness: OfferHarness) -> None:
    """It came again at each start."""
    await harness.grant("/srv/shop")
    assert harness.offer.isVisible()
    harness.controller.changed.emit()
    await settle()
    await harness.grant("/srv/shop", "/srv/docs")
    assert (harness.offer.isVisible(), harness.offer.folder) == (True, "/srv/shop"), "it stays while it is in view"
    await harness.grant()
    assert not harness.offer.isVisible()
    await harness.grant("/srv/shop")
    assert not harness.offer.isVisible()
    again = OfferBar(harness.offer.bridge, harness.controller, harness.around)  # as after a restart
    again.refresh()
    await settle()
    assert not again.isVisible()

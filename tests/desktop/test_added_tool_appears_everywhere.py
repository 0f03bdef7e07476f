"""An outsider adds a section (one file) and a tool (one file): it is found everywhere without changing another file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from babel.messages.extract import extract_from_file
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.__main__ import main
from atelier_desk.desktop.chat.cards.code_card import CodeCard
from atelier_desk.desktop.chat.cards.tool_card import ToolCard
from atelier_desk.desktop.chat.cards.tool_result_parts import PartView
from atelier_desk.desktop.chat.transcript.message_widgets import make_widget
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.questions import approval_text
from atelier_desk.desktop.settings.pages.agents import tool_choices
from atelier_desk.desktop.settings.tool_checkboxes import ToolBoxes
from atelier_desk.desktop.settings.tool_reference import ToolList
from atelier_desk.desktop.widgets.expand_button import Fold
from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalScope
from atelier_desk.domain.model_messages import ChatReply, FinishReason
from atelier_desk.domain.result_parts import ArtefactPart
from atelier_desk.domain.stream.event import ChunkType, StreamEvent
from atelier_desk.engine import Atelier
from atelier_desk.engine.services.common.service_context import ServiceContext
from atelier_desk.engine.services.tools import ToolService
from atelier_desk.llm.scripted_model import ScriptedModel
from atelier_desk.presentation.rows.transcript import Transcript
from atelier_desk.presentation.rows.transcript_entries import entry_from
from atelier_desk.support import i18n
from atelier_desk.tools.registry.default_registry import create_default_tool_registry
from tests.helpers import tool_section_plugin
from tests.helpers.child_widgets import child
from tests.helpers.tool_calls import tool_call


@pytest.fixture(autouse=True)
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "rooms").mkdir()
    with tool_section_plugin.room(tmp_path / "rooms", monkeypatch) as folder:
        yield folder


def call(call_id: str, **arguments: Any) -> ChatReply:
    calls = (tool_call("WaterTool", call_id, **arguments),)
    return ChatReply(tool_calls=calls, finish_reason=FinishReason.TOOL_CALLS)


def texts(widget: QWidget) -> list[str]:
    return [label.text() for label in widget.findChildren(QLabel)]


def test_the_registry_has_the_tool_in_its_section_with_the_sections_approval() -> None:
    registry = create_default_tool_registry()
    assert [tool.name for tool in registry.get_tools_by_section("garden_ops")] == ["WaterTool"]
    tool = registry.get_tool("WaterTool")
    assert tool is not None
    described = registry.prepare(tool, {"bed": "roses"}).described
    assert (described.effect, described.risk, described.kind) == ("write", "medium", "file_op")
    assert (described.subjects.paths, described.summary.localized(i18n._)) == (("roses",), "5 litres for roses")
    order = [section.id for section in registry.sections.all()]
    assert order.index("file_ops") < order.index("garden_ops") < order.index("shell_ops")


def test_its_messages_are_extracted_for_the_catalogue(garden: Path) -> None:
    words = {
        each[1] for file in garden.glob("*.py") for each in extract_from_file("python", file, keywords={"N_": None})
    }
    assert words >= set(tool_section_plugin.FRENCH)


async def test_the_agent_form_and_the_list_of_tools_show_it_in_both_languages(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    infos = await ToolService(cast(ServiceContext, SimpleNamespace(registry=create_default_tool_registry()))).list()
    parent = QWidget()
    boxes, listing = ToolBoxes(parent), ToolList(parent)
    qtbot.addWidget(parent)
    boxes.set_choices(tool_choices(infos))
    for fold in boxes.findChildren(Fold):
        fold.setChecked(True)
    listing.show_tools(infos)
    box = child(boxes, QCheckBox, "tool-enabled-WaterTool")
    assert (box.text(), box.accessibleDescription()) == ("Watering can", "Waters a bed of your garden")
    assert child(boxes, QCheckBox, "tool-group-Garden").text() == "Garden"
    assert "Garden" in texts(listing)
    tool_section_plugin.speak_french(monkeypatch)
    boxes.set_choices(tool_choices(infos))
    listing.show_tools(infos)
    assert child(boxes, QCheckBox, "tool-enabled-WaterTool").text() == "Arrosoir"
    head = child(listing, QPushButton, "tool-fold-WaterTool")
    assert head.accessibleDescription() == "Arrose une plate-bande de votre jardin"
    assert child(boxes, QCheckBox, "tool-group-Garden").text() == "Jardin"


async def test_a_call_is_approved_run_and_shown_live_and_from_the_store(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel([call("c1", bed="roses"), call("c2", bed="beans", litres=2), "Done."])
    agent = AgentConfig(
        name="Gardener", provider="test", model="m", tools=("WaterTool",), approval=ApprovalMode.SELECTIVE
    )
    async with Atelier.open(temporary=True, model_factory=lambda _agent: model) as atelier:
        live, received = Transcript(""), []

        def receive(event: StreamEvent) -> None:
            received.append(event)
            live.workflow_id = event.workflow_id
            live.apply(event)

        atelier.bus.subscribe(receive)
        workflow_id = (await atelier.workflows.create()).id
        run_id = await atelier.runs.send(workflow_id, "Water them.", agent=agent)
        await atelier.runs.wait(run_id)
        (request,) = await atelier.approvals.pending()
        assert (request.kind, request.subjects.paths) == ("file_op", ("roses",))
        assert approval_text.summary(request) == "Watering can · 5 litres for roses"
        assert approval_text.section_name(request.section) == "Garden"
        asked = next(found for entry in live.entries for found in entry.calls)
        assert (asked.status, asked.presentation.title) == ("asked", "Watering can")
        await atelier.approvals.approve(request.id, scope=ApprovalScope.RUN)
        await atelier.runs.wait(run_id)

        progress = [event.data for event in received if event.chunk_type is ChunkType.TOOL_PROGRESS]
        assert [(data["progress"], data["content"]) for data in progress] == [(50, "half of it")] * 2
        assert [event.data["result"]["times"] for event in received if event.chunk_type is ChunkType.TOOL_END] == [1, 2]

        stored = [entry_from(item) for item in await atelier.workflows.transcript(workflow_id)]
        host = TranscriptHost()
        for entries in (live.entries, stored):
            entry = next(each for each in entries if each.calls)
            frame = QWidget()
            qtbot.addWidget(frame)
            card = child(make_widget(entry, host, frame), ToolCard)
            assert (card.words(), card.call.presentation.icon) == (("Watering can", "5 litres for roses"), "tag")
            views = card.findChildren(PartView)
            assert [view.words() for view in views][:3] == ["Log", "The bed", "Changed beds.txt · +1 −1"]
            assert views[3].words().startswith("Save plan.bin · ")
            closed = card.fit(600)
            QTest.mouseClick(views[2].button, Qt.MouseButton.LeftButton)
            assert card.fit(600) > closed
            body = views[2].body
            assert isinstance(body, CodeCard)
            assert body.code == "-dry\n+wet\n"

        artefact = next(part for part in entry.calls[0].parts if isinstance(part, ArtefactPart))
        await atelier.workflows.save_artefact(workflow_id, artefact, tmp_path / "saved.bin")
        assert (tmp_path / "saved.bin").read_bytes() == b"\x00plan"
        assert (
            next(message.images for message in model.requests[1].messages if message.images)[0].media_type
            == "image/png"
        )

        copy = await atelier.runs.fork(workflow_id, (await atelier.workflows.get(workflow_id)).stream_seq)
        await atelier.workflows.save_artefact(copy.id, artefact, tmp_path / "copied.bin")
        await atelier.repos.workflows.purge(workflow_id)
        assert not (atelier.datadir.attachments / workflow_id).exists()
        assert (atelier.datadir.attachments / copy.id / artefact.sha256).read_bytes() == b"\x00plan"

    tool_section_plugin.speak_french(monkeypatch)
    card.refresh()
    assert card.words() == ("Arrosoir", "5 litres pour roses")


def test_the_command_line_lists_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--data-dir", str(tmp_path / "data"), "--lang", "en", "tools", "list", "--section", "garden_ops"]) == 0
    assert "Waters a bed of your garden" in capsys.readouterr().out

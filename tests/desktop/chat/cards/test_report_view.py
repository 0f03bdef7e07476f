"""A report in the card of the call that wrote it."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from atelier_desk.desktop.chat.cards.report_view import LINES, SHOWN, ReportView, beginning
from atelier_desk.desktop.chat.cards.tool_result_parts import ResultParts
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.domain.result_parts import ReportPart
from tests.helpers.child_widgets import child


def shown(qtbot: QtBot, part: ReportPart, bridge: Any) -> tuple[ResultParts, TranscriptHost]:
    host = TranscriptHost()
    host.bridge = bridge
    parts = ResultParts((part,), host)
    qtbot.addWidget(parts)
    parts.fit(500)
    parts.show()
    return parts, host


def test_title_and_first_lines_are_shown_and_a_click_opens_the_report(qtbot: QtBot) -> None:
    text = "# R&D **audit**\n\nOne *finding*.\n\n- first"
    parts, host = shown(qtbot, ReportPart(name="audit", text=text), object())
    (view,) = parts.findChildren(ReportView)
    assert view.button.text() == "R&&D audit"
    assert view.text.text().splitlines()[0] == "One finding."
    assert view.text.geometry().bottom() < view.height()
    with qtbot.waitSignal(host.report_requested) as opened:
        QTest.mouseClick(view.button, Qt.MouseButton.LeftButton)
    assert opened.args == ["audit"]


def test_without_a_heading_it_has_its_name_and_in_a_replay_it_does_not_open(qtbot: QtBot) -> None:
    parts, _host = shown(qtbot, ReportPart(name="audit", text="One finding."), None)
    (view,) = parts.findChildren(ReportView)
    assert (view.button.text(), view.text.text()) == ("audit", "One finding.")
    assert not view.button.isEnabled()
    empty, _host = shown(qtbot, ReportPart(name="empty"), None)
    assert not child(empty, QWidget, "report-beginning").isVisible()


@pytest.mark.parametrize("text", ["word " * 1_000, "# Title\n\n" + "line\n\n" * 100])
def test_a_long_report_shows_only_its_beginning(text: str) -> None:
    shown = beginning(ReportPart(name="long", text=text))[1]
    assert len(shown) <= SHOWN + 1
    assert len(shown.splitlines()) <= LINES

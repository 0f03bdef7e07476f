"""A report in the card of the call that wrote it: its title, which opens it, and its first lines."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from atelier_desk.desktop.chat.markdown.plain_text import plain_text
from atelier_desk.desktop.chat.transcript.transcript_host import TranscriptHost
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import bind, control, label, vbox
from atelier_desk.domain.result_parts import ReportPart
from atelier_desk.support.i18n import _
from atelier_desk.support.visible_and_shortened_text import shorten, visible

LINES = 4
"""Maximum lines shown of a report, without its title."""
SHOWN = 400
"""Maximum characters of these lines."""
_TITLE = 80


def beginning(part: ReportPart) -> tuple[str, str]:
    """The title (the first heading, else the name) and the first lines, without Markdown marks."""
    lines = [line for line in visible(plain_text(part.text)).splitlines() if line.strip()]
    title = lines.pop(0) if lines and part.text.lstrip().startswith("#") else part.name
    return shorten(title, _TITLE), shorten("\n".join(lines[:LINES]), SHOWN)


class ReportView(QWidget):
    """``report-view``: the title as a button that opens the report in its pane, and the first lines below.

    Signals:
        height_changed: as of other parts; its height never changes.
    """

    height_changed = Signal()

    def __init__(self, part: ReportPart, host: TranscriptHost, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("report-view")
        title, text = beginning(part)
        self.button = control(
            QPushButton(title.replace("&", "&&"), self),
            "report-open",
            name=lambda: _("Open the report “{name}”", name=visible(part.name)),
            tip=lambda: _("Open the report “{name}”", name=visible(part.name)),
            look="quiet",
            on=lambda: host.report_requested.emit(part.name),
        )
        self.button.setEnabled(host.bridge is not None)  # not in a replay
        bind(self.button.setIcon, lambda: theme().icon("file-text"), on="look")
        self.text = control(label(text, "muted", self, wrap=True), "report-beginning")
        self.text.setContentsMargins(10, 0, 10, 4)
        self.text.setVisible(bool(text))
        vbox(self, self.button, self.text, spacing=2)

    def fit(self, width: int) -> int:
        """Lay out for this width in pixels; returns the height."""
        hint = self.button.sizeHint()
        self.button.setFixedWidth(min(width, hint.width()))
        height = hint.height() + (2 + self.text.heightForWidth(width) if self.text.text() else 0)
        self.setFixedSize(width, height)
        return height

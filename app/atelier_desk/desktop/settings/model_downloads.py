"""Models that can be downloaded: description, progress and buttons."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from atelier_desk.desktop.bridge.jobs import Jobs
from atelier_desk.desktop.file_dialogs.open_save_confirm import confirm
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.time_format import duration, number, size
from atelier_desk.desktop.theme import mark
from atelier_desk.desktop.widgets import Card, FlowLayout, Pill, hbox, label, vbox
from atelier_desk.support.i18n import _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

_ACTIVE = ("waiting", "running", "verifying")


class DownloadCard(Card):
    """An entry of the catalogue."""

    def __init__(self, view: DownloadsView, entry: Any) -> None:
        super().__init__(view)
        self.entry = entry
        self.state: Any = None
        self.setObjectName(f"download-{entry.id}")
        self.pill = Pill("", "", self)
        top = hbox(None, (label(entry.label, "strong", self), 1), self.pill)
        self.body.addLayout(top)
        self._summary = label("", "muted", self, wrap=True)
        self.body.addWidget(self._summary)
        self._facts = label("", "small", self, wrap=True)
        self.body.addWidget(self._facts)
        self.bar = QProgressBar(self)
        self.bar.setTextVisible(False)
        self.body.addWidget(self.bar)
        self.status = label("", "small", self, wrap=True)
        self.body.addWidget(self.status)
        row_box = QWidget(self)
        row = FlowLayout(row_box, 8)
        self.start, self.pause, self.cancel, self.delete = (QPushButton(row_box) for _index in range(4))
        for button, name in (
            (self.start, "start"),
            (self.pause, "pause"),
            (self.cancel, "cancel"),
            (self.delete, "delete"),
        ):
            button.setObjectName(f"download-{name}-{entry.id}")
            row.addWidget(button)
        self.body.addWidget(row_box)
        self.start.clicked.connect(
            lambda *_: view.do(entry.id, lambda: view.bridge.engine.models.downloads.start(entry.id))
        )
        self.pause.clicked.connect(
            lambda *_: view.do(entry.id, lambda: view.bridge.engine.models.downloads.pause(entry.id))
        )
        self.cancel.clicked.connect(
            lambda *_: view.do(entry.id, lambda: view.bridge.engine.models.downloads.cancel(entry.id))
        )
        self.delete.clicked.connect(lambda *_: view.ask_delete(entry))

    def show_state(self, state: Any) -> None:
        """``state`` is None for an entry that was never downloaded."""
        self.state = state
        entry, status = self.entry, str(state.status) if state is not None else ""
        self._summary.setText(_(entry.summary))
        tools = _("calls tools") if entry.tools else _("no native tool calls")
        ram = _("needs {gb} GB of memory", gb=number(entry.ram_gb))
        self._facts.setText(" · ".join((size(entry.size_bytes), ram, tools, _("{name} licence", name=entry.licence))))
        words = {
            "waiting": _("waiting"), "running": _("downloading"), "verifying": _("checking"), "paused": _("paused"),
            "done": _("ready"), "failed": _("failed"),
        }  # fmt: skip
        kinds = {"done": "ok", "failed": "err", "paused": "warn"}
        self.pill.show_state(words.get(status, ""), kinds.get(status, "accent"))  # type: ignore[arg-type]
        self.pill.setVisible(bool(status))
        started = state is not None and status != "done"
        self.bar.setVisible(started)
        self.status.setVisible(started)
        if started:
            self._show_progress(state, status)
        active = status in _ACTIVE
        self.start.setText(_("Continue") if status in ("paused", "failed") else _("Download"))
        self.pause.setText(_("Pause"))
        self.cancel.setText(_("Cancel"))
        self.delete.setText(_("Delete"))
        mark(self.start, "primary" if status in ("paused", "failed") else "")
        self.start.setVisible(not active and status != "done")
        self.pause.setVisible(active)
        self.cancel.setVisible(started)
        self.delete.setVisible(status == "done")
        for button in (self.start, self.pause, self.cancel, self.delete):
            button.setAccessibleName(_("{name}: {text}", name=button.text(), text=entry.label))

    def _show_progress(self, state: Any, status: str) -> None:
        total = max(1, state.size_bytes)
        self.bar.setRange(0, 1000)
        self.bar.setValue(round(1000 * state.received_bytes / total))
        self.bar.setAccessibleName(
            _("{model}: {percent}%", percent=round(100 * state.received_bytes / total), model=self.entry.label)
        )
        parts = [_("{done} of {total}", done=size(state.received_bytes), total=size(state.size_bytes))]
        if status == "running" and state.bytes_per_s > 0:
            parts.append(_("{size}/s", size=size(round(state.bytes_per_s))))
            left = (state.size_bytes - state.received_bytes) / state.bytes_per_s
            parts.append(_("{time} left", time=duration(left * 1000)))
        if status == "failed":
            parts.append(_(state.error_template, **state.error_params))
        self.status.setText(" · ".join(parts))
        mark(self.status, "error" if status == "failed" else "small")


class DownloadsView(QWidget):
    """All entries of the catalogue; follows downloads while visible."""

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self.bridge = bridge
        self.jobs = Jobs(self, self.show_error)
        self.cards: dict[str, DownloadCard] = {}
        self._column = vbox(self, spacing=8)
        bridge.changed.connect(self._on_changed)

    def show_error(self, text: str) -> None:
        toast(self, text)

    def reload(self) -> None:
        self.jobs.start(self.load(), "load")

    async def load(self) -> None:
        """Load the catalogue once, and the states each time."""
        if not self.cards:
            for entry in await self.bridge.engine.models.catalogue():
                self.cards[entry.id] = DownloadCard(self, entry)
                self._column.addWidget(self.cards[entry.id])
        states = {state.id: state for state in await self.bridge.engine.models.download_states()}
        for key, card in self.cards.items():
            card.show_state(states.get(key))

    def do(self, model: str, work: Callable[[], Coroutine[object, None, object]]) -> None:
        """Run a button's action for a model, then reload the states."""

        async def job() -> None:
            try:
                await work()
            finally:
                await self.load()

        self.jobs.once(model, job)

    def ask_delete(self, entry: Any) -> None:
        confirm(
            self,
            _("Delete {model} from this computer?", model=entry.label),
            _("You can download it again."),
            _("Delete"),
            lambda: self.do(entry.id, lambda: self.bridge.engine.models.delete_download(entry.id)),
        )

    def _on_changed(self, topic: Topic, _id: str) -> None:
        if topic == "download" and self.isVisible():
            self.reload()

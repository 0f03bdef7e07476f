"""The end of what works out of sight: a dot in the list until it is opened, and a word about it, here or from the desktop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.i18n import N_, _

if TYPE_CHECKING:
    from app.desktop.window import MainWindow
    from app.domain.stream import StreamEvent

ENDS = {
    "completed": N_("“{name}” is done"),
    "error": N_("“{name}” failed"),
    "abandoned": N_("“{name}” was given up by its agent"),
    "limited": N_("“{name}” stopped at a limit"),
}
"""What is told of; what a person stopped or must answer is not news, or is told elsewhere."""


class BackgroundWatch(QObject):
    """Watches the ends of all workflows' turns."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.bridge.stream_event.connect(self._on_stream)
        window.chat.workflow_shown.connect(lambda key: window.sidebar.model.set_unread(key, False))

    def _on_stream(self, event: StreamEvent) -> None:
        if event.depth or event.parent_run_id or event.chunk_type.value != "workflow_complete":
            return
        words = ENDS.get(str(event.data.get("status", "")))
        window = self._window
        in_view = event.workflow_id == window.chat.workflow_id
        if words is None or (in_view and window.isActiveWindow()):
            return
        if not in_view:
            window.sidebar.model.set_unread(event.workflow_id, True)
        window.bridge.start(self._tell(event.workflow_id, words, in_view))

    async def _tell(self, workflow_id: str, words: str, in_view: bool) -> None:
        workflow = await self._window.bridge.call(lambda a: a.workflows.get(workflow_id))
        text = _(words, name=workflow.name)

        def open_it() -> None:
            self._window.raise_up()
            self._window.chat.open_workflow(workflow_id)

        told = self._window.presenter.attention.tell("Atelier", text, open_it)
        if not told and not in_view:
            self._window.toasts.show(text, _("Open"), open_it)

"""The chats of a file as rows with check boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView

from atelier_desk.domain.imported_chat import SOURCES
from atelier_desk.presentation.chat_import_text import state_text
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.number_format import day, number
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.domain.imported_chat import ChatPreview

_ROLE = Qt.ItemDataRole
_Index = QModelIndex | QPersistentModelIndex


class ChatRows(QAbstractListModel):
    """Those with something new are checked first; chats without are disabled, unless they were deleted.

    Texts are created for visible rows only: an export of years has tens of thousands of chats.

    Signals:
        changed: another selection.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._chats: Sequence[ChatPreview] = ()
        self._titles: list[str] = []
        self._shown: Sequence[int] = ()
        self._checked: set[str] = set()

    def show(self, chats: Sequence[ChatPreview]) -> None:
        """Show other chats, all of them."""
        self.beginResetModel()
        self._chats, self._shown = chats, range(len(chats))
        self._titles = [visible(each.title).casefold() for each in chats]
        self._checked = {each.key for each in chats if each.new_turns and not each.deleted}
        self.endResetModel()

    def filter(self, words: str) -> None:
        """Show the chats with these words in their title only."""
        needle = words.strip().casefold()
        self.beginResetModel()
        self._shown = [at for at, title in enumerate(self._titles) if needle in title]
        self.endResetModel()

    def refresh(self) -> None:
        """Create the texts again, in another language."""
        self.dataChanged.emit(self.index(0), self.index(self.rowCount() - 1))

    @property
    def count(self) -> int:
        """Number of checked chats."""
        return len(self._checked)

    def chosen(self) -> list[str]:
        """Keys of the checked chats, including those hidden by the filter."""
        return [each.key for each in self._chats if each.key in self._checked]

    def check_all(self, on: bool) -> None:
        """Check all chats in view that can be, or none of them."""
        keys = {self._chats[at].key for at in self._shown if _can_be_chosen(self._chats[at])}
        self._checked = self._checked | keys if on else self._checked - keys
        self.refresh()
        self.changed.emit()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:
        return 0 if parent.isValid() else len(self._shown)

    def data(self, index: _Index, role: int = _ROLE.DisplayRole) -> Any:
        if not index.isValid():
            return None
        chat = self._chats[self._shown[index.row()]]
        if role == _ROLE.CheckStateRole:
            return Qt.CheckState.Checked if chat.key in self._checked else Qt.CheckState.Unchecked
        return _text(chat) if role == _ROLE.DisplayRole else None

    def setData(self, index: _Index, value: Any, role: int = _ROLE.EditRole) -> bool:
        if role != _ROLE.CheckStateRole or not index.isValid():
            return False
        self._checked ^= {self._chats[self._shown[index.row()]].key}
        self.dataChanged.emit(index, index)
        self.changed.emit()
        return True

    def flags(self, index: _Index) -> Qt.ItemFlag:
        if not index.isValid() or not _can_be_chosen(self._chats[self._shown[index.row()]]):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable


class ChatList(QListView):
    """The view. Its rows have one height, so that another text or check box moves none."""

    def dataChanged(self, first: _Index, last: _Index, roles: Sequence[int] = ()) -> None:
        """Paint the rows. ``QListView`` would also lay out all of them, which takes 0.3 s for 30,000."""
        QAbstractItemView.dataChanged(self, first, last, roles)


def _can_be_chosen(chat: ChatPreview) -> bool:
    return bool(chat.new_turns) or chat.deleted or not chat.source


def _text(chat: ChatPreview) -> str:
    messages = ngettext("{number} message", "{number} messages", chat.messages, number=number(chat.messages))
    facts = [SOURCES.get(chat.source, ""), messages, day(chat.last) if chat.last else "", state_text(chat)]
    return "  ·  ".join(filter(None, [visible(chat.title) or _("Imported chat"), *facts]))

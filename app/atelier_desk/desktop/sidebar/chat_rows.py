"""The chats of a file as rows with check boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.domain.imported_chat import SOURCES
from atelier_desk.presentation.chat_import_text import state_text
from atelier_desk.support.i18n import _, ngettext
from atelier_desk.support.locale_format import day, number
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.domain.imported_chat import ChatPreview

_ROLE = Qt.ItemDataRole
_Index = QModelIndex | QPersistentModelIndex
FactsRole = _ROLE.UserRole
"""The end of a row's text, which is never elided."""


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

    def data(self, index: _Index, role: int = _ROLE.DisplayRole) -> object:
        if not index.isValid():
            return None
        chat = self._chats[self._shown[index.row()]]
        if role == _ROLE.CheckStateRole:
            return Qt.CheckState.Checked if chat.key in self._checked else Qt.CheckState.Unchecked
        if role == _ROLE.ToolTipRole:
            return plain_tip(_title(chat))
        return _text(chat) if role == _ROLE.DisplayRole else _facts(chat) if role == FactsRole else None

    def setData(self, index: _Index, value: object, role: int = _ROLE.EditRole) -> bool:
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


class _RowDelegate(QStyledItemDelegate):
    """Elides the title of a row, so that its state stays readable."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        facts = str(index.data(FactsRole))
        style = option.widget.style()
        margin = style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, option.widget) + 1
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, option.widget).width() - 2 * margin
        metrics = option.fontMetrics
        option.text = (
            metrics.elidedText(
                option.text.removesuffix(facts), Qt.TextElideMode.ElideRight, room - metrics.horizontalAdvance(facts)
            )
            + facts
        )

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """The row takes the width of the list, however long its title is."""
        return QSize(0, super().sizeHint(option, index).height())


class ChatList(QListView):
    """The view. Its rows have one height, so that another text or check box moves none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setItemDelegate(_RowDelegate(self))

    def dataChanged(self, first: _Index, last: _Index, roles: Sequence[int] = ()) -> None:
        """Paint the rows. ``QListView`` would also lay out all of them, which takes 0.3 s for 30,000."""
        QAbstractItemView.dataChanged(self, first, last, roles)


def _can_be_chosen(chat: ChatPreview) -> bool:
    return bool(chat.new_turns) or chat.deleted or not chat.source


def _title(chat: ChatPreview) -> str:
    return visible(chat.title) or _("Imported chat")


def _facts(chat: ChatPreview) -> str:
    messages = ngettext("{number} message", "{number} messages", chat.messages, number=number(chat.messages))
    facts = [SOURCES.get(chat.source, ""), messages, day(chat.last) if chat.last else "", state_text(chat)]
    return "  ·  ".join(["", *filter(None, facts)])


def _text(chat: ChatPreview) -> str:
    return _title(chat) + _facts(chat)

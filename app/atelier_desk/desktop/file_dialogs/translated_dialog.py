"""Qt's file dialog, used where the system has none: translated, and wide enough for its columns."""

from __future__ import annotations

from datetime import UTC, datetime

from PySide6.QtCore import QCoreApplication, QLocale, QModelIndex, QPersistentModelIndex, QSize
from PySide6.QtWidgets import (
    QFileDialog,
    QFileSystemModel,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QTreeView,
)

from atelier_desk.desktop.theme import theme
from atelier_desk.support.i18n import _
from atelier_desk.support.locale_format import moment, size

_SIZE = QSize(880, 560)
_WIDTHS = (290, 90, 160, 170)
"""Column widths in pixels at 100 %: name, size, type, date modified."""
_BUTTONS = {"backButton": "chevron-left", "forwardButton": "chevron-right", "toParentButton": "arrow-up"}
_SIZE_COLUMN = 1
_TYPE = 2
_DATE_COLUMN = 3


class _Kinds(QStyledItemDelegate):
    """Translates the type "Folder", for which Qt uses a word that it does not translate."""

    def displayText(self, value: object, locale: QLocale | QLocale.Language) -> str:
        text = super().displayText(value, locale)
        return _("Folder") if text == "Folder" else text


class _Sizes(QStyledItemDelegate):
    """Formats sizes as the window does; Qt uses the system locale and units such as "KiB"."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        model = index.model()
        if isinstance(model, QFileSystemModel) and not model.isDir(index):
            option.text = size(model.size(index))


class _Dates(QStyledItemDelegate):
    """Formats times as the window does; Qt uses the system locale, in which a French date may read as another day."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        model = index.model()
        if isinstance(model, QFileSystemModel):
            option.text = moment(datetime.fromtimestamp(model.lastModified(index).toSecsSinceEpoch(), UTC))


def translate_dialog(dialog: QFileDialog) -> QFileDialog:
    """Complete the translation of a dialog before it opens: ``qtbase_fr`` lacks texts that got a mnemonic later.

    Native dialogs are not changed.
    """
    tree = dialog.findChild(QTreeView, "treeView")
    if tree is None:
        return dialog
    for which, text in (
        (QFileDialog.DialogLabel.LookIn, "Look in:"),
        (QFileDialog.DialogLabel.FileType, "Files of type:"),
    ):
        dialog.setLabelText(which, QCoreApplication.translate("QFileDialog", text))
    tree.setItemDelegateForColumn(_SIZE_COLUMN, _Sizes(tree))
    tree.setItemDelegateForColumn(_TYPE, _Kinds(tree))
    tree.setItemDelegateForColumn(_DATE_COLUMN, _Dates(tree))
    style, above = theme(), dialog.parentWidget()
    for name, icon in _BUTTONS.items():
        if (button := dialog.findChild(QToolButton, name)) is not None:
            button.setIcon(style.icon(icon, "text"))  # the style's icons are black in the dark theme too
    for column, width in enumerate(_WIDTHS):
        tree.header().resizeSection(column, style.px(width))
    size = QSize(style.px(_SIZE.width()), style.px(_SIZE.height()))
    dialog.resize(size.boundedTo(above.window().size()) if above is not None else size)
    return dialog

"""The empty state of lists and panes, in as little space as available."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel, fill, label
from atelier_desk.desktop.widgets.language_theme_bindings import Text, bind, bind_text
from atelier_desk.desktop.widgets.tool_tips import plain_tip
from atelier_desk.support.i18n import N_, _

MARGIN = 24
SMALL_MARGIN = 4
SIDE = 16
OPENING = N_("Opening…")


class EmptyState(QWidget):
    """An icon, a line, a hint and, if it has a text, a button; ``set_texts`` changes the texts.

    After ``wait`` it shows that content is being loaded, as it may not be empty. It never requests space, unless
    ``whole``: in little height it hides margins first, then the icon, then the hint (still in the tool tip), never
    the title or the button.

    Signals:
        said: its texts changed.
    """

    text_changed = Signal()

    def __init__(
        self,
        icon: str,
        title: Text = "",
        hint: Text = "",
        button: Text = "",
        parent: QWidget | None = None,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(parent)
        self._fills_page, self._waits = whole, False
        self._icon_name = icon
        self._icon = PlainLabel(parent=self)
        self._title = label("", "strong", self, wrap=True)
        self._hint = label("", "muted", self, wrap=True)
        self.button = QPushButton(self)
        centre = Qt.AlignmentFlag.AlignHCenter
        for text in (self._icon, self._title, self._hint):
            text.setAlignment(centre)
        self._column = fill(QVBoxLayout(self), 1, self._icon, self._title, self._hint, (self.button, 0, centre), 2)
        self.set_texts(title, hint, button)
        bind(self._apply_style)

    def set_texts(self, title: Text, hint: Text = "", button: Text = "") -> None:
        self._texts = title, hint, button
        self._update_texts()

    def wait(self, on: bool) -> None:
        """Show that content is being loaded, or the texts again."""
        if on is not self._waits:
            self._waits = on
            self._update_texts()

    def _update_texts(self) -> None:
        title, hint, button = ("", OPENING, "") if self._waits else self._texts
        bind_text(self._title, title)
        bind_text(self._hint, hint)
        bind_text(self.button, button)
        bind_text(self, name=title or hint, about=hint if title else "")
        self.button.setVisible(bool(button))
        self._fit()
        self.text_changed.emit()

    @property
    def title(self) -> str:
        """The line in the current language."""
        line = OPENING if self._waits else self._texts[0]
        return line() if callable(line) else _(line) if line else ""

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint() if self._fills_page else QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _apply_style(self) -> None:
        self._icon.setPixmap(theme().pixmap(self._icon_name, "muted", theme().px(22), self.devicePixelRatioF()))
        self._fit()

    def _fit(self) -> None:
        """Use the first arrangement that fits: (margin, icon, hint)."""
        for margin, icon, hint in (
            (MARGIN, True, True),
            (SMALL_MARGIN, True, True),
            (SMALL_MARGIN, False, True),
            (0, False, False),
        ):
            if self._fills_page or self._needed(margin, icon, hint) <= self.height() or not (icon or hint):
                break
        side = SIDE if self._fills_page or self.button.sizeHint().width() <= self.width() - 2 * SIDE else 0
        self._column.setContentsMargins(side, margin, side, margin)
        self._column.setSpacing(8 if icon else 4)
        self._icon.setVisible(icon and not self._waits)
        self._title.setHidden(self._waits)
        self._hint.setVisible(hint and bool(self._hint.text()))
        self.setToolTip("" if hint else plain_tip(self._hint.text()))

    def _needed(self, margin: int, icon: bool, hint: bool) -> int:
        """The height of an arrangement at the current width."""
        spacing = 8 if icon else 4
        width = max(40, self.width() - 2 * SIDE)
        heights = [theme().px(22)] if icon and not self._waits else []
        for text, shown in ((self._title, not self._waits), (self._hint, hint and bool(self._hint.text()))):
            if shown:
                flags = int(Qt.AlignmentFlag.AlignHCenter) | int(Qt.TextFlag.TextWordWrap)
                heights.append(text.fontMetrics().boundingRect(0, 0, width, 10_000, flags, text.text()).height())
        if not self.button.isHidden():
            heights.append(self.button.sizeHint().height())
        return sum(heights) + spacing * (len(heights) - 1) + 2 * margin

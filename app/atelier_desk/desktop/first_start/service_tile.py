"""A service tile with a monogram and a name, and the fields needed to use it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import ElidedLabel, bind, bind_text, control, hbox, label, vbox
from atelier_desk.desktop.widgets.language_theme_bindings import Text, text_of
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.provider import ProviderConfig, ProviderDraft
from atelier_desk.support.i18n import N_

_ARROWS = frozenset({Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down})
SIDE = 22
"""Size of a monogram, in logical pixels at 100 %."""


def letters(title: str) -> str:
    """The first letter of a name, and a second capital of its first word: ``OA`` for OpenAI, ``M`` for Mistral."""
    word = title.split()[0]
    return (word[:1] + "".join(letter for letter in word[1:] if letter.isupper())[:1]).upper()


class Monogram(QWidget):
    """Letters of a name on a coloured background, in place of a logo that we may not ship."""

    def __init__(self, letter: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._letter = letter
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        bind(self._apply_style, on="look")

    def _apply_style(self) -> None:
        self.setFixedSize(theme().px(SIDE), theme().px(SIDE))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme().colour("accent"))
        painter.drawRoundedRect(QRectF(self.rect()), theme().px(6), theme().px(6))
        painter.setPen(theme().colour("surface"))
        painter.setFont(theme().font(11, 600))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self._letter)


class Tile(QPushButton):
    """``choice-<name>``, a radio button."""

    def __init__(self, name: str, title: Text, monogram: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.by_arrow = False
        self._name = ElidedLabel("", self)
        control(self, f"choice-{name}", look="card", name=title)
        self.setCheckable(True)
        self.setAutoDefault(False)  # the one with the focus is chosen already: Enter continues
        bind_text(self._name, title)
        self._name.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        hbox(self, Monogram(monogram, self), (self._name, 1), margins=(10, 9, 10, 9), spacing=8)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows select, and the focus stays in the tiles; Tab moves on to the fields."""
        self.by_arrow = event.key() in _ARROWS
        super().keyPressEvent(event)
        self.by_arrow = False

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.sizeHint() if layout is not None else super().sizeHint()

    minimumSizeHint = sizeHint


class ModelBox(ComboBox):
    """A model to type or choose. ``list_requested``: it is opened before anything is known to choose from."""

    list_requested = Signal()

    def showPopup(self) -> None:
        if self.count():
            super().showPopup()
        else:
            self.list_requested.emit()


class TileChoice(QWidget):
    """The service of a tile, with its fields: address, key or environment variable, model.

    Attributes:
        tile: its radio button.
        config: the server without input; None for the built-in one. Its name is provisional: an unused one is chosen
            when stored.
        proposed: the default model.
        keys: the web page where keys are created.
    """

    def __init__(
        self, name: str, title: Text, about: Text, parent: QWidget, *, config: ProviderConfig | None,
        monogram: str = "",
        proposed: str = "", keys: str = "", address: bool = False, key: Text = "", models: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self.name, self.config, self.proposed, self.keys = name, config, proposed, keys
        self.tile = Tile(name, title, monogram or letters(text_of(title)), parent)
        self.about = bind_text(label("", "muted", self, wrap=True), about)
        self.url = (
            control(QLineEdit(self), f"{name}-url", hint=N_("Address, for example https://api.example.com/v1"))
            if address
            else None
        )
        self.key = control(QLineEdit(self), f"{name}-key", hint=key) if key else None
        self.variable = control(QLineEdit(self), f"{name}-variable", hint=N_("environment variable name"))
        self.variable.hide()
        self.variable.textEdited.connect(lambda _text: self.key.clear() if self.key is not None else None)
        self.model = control(ModelBox(self), f"{name}-model", name=N_("Model"))
        self.typed = QLineEdit(self.model)
        self.model.setLineEdit(self.typed)
        self.model.setInsertPolicy(ComboBox.InsertPolicy.NoInsert)
        self.model.setSizeAdjustPolicy(ComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        bind_text(self.typed, hint=N_("Model (leave empty to use the first one)"))
        self.offer(models, models[0] if models else "")
        self.model.setVisible(address or bool(models))
        if self.key is not None:
            self.key.setEchoMode(QLineEdit.EchoMode.Password)
            self.key.textEdited.connect(lambda _text: self.variable.clear())
        self.below = QVBoxLayout()
        self.below.setSpacing(4)
        fields = [each for each in (self.url, self.key, self.variable, self.model) if each is not None]
        vbox(self, self.about, *fields, self.below, 1, spacing=8)

    def fields(self) -> tuple[QLineEdit, ...]:
        """The input fields, in order."""
        return tuple(each for each in (self.url, self.key, self.variable, self.typed) if each is not None)

    def ask_variable(self) -> None:
        """Offer a variable in place of the key: what is typed in one of the two fields clears the other."""
        self.variable.show()
        self.variable.setFocus()

    def focus(self) -> None:
        """Focus the first field, or the tile if it has none."""
        (
            next((each for each in (self.url, self.key) if each is not None and not each.text()), None)
            or self.key
            or self.tile
        ).setFocus()

    def offer(self, models: tuple[str, ...], chosen: str) -> None:
        """Set the server's models as choices; this does not count as a change of input."""
        self.model.blockSignals(True)
        self.model.clear()
        self.model.addItems(list(models))
        self.model.setCurrentText(chosen)
        self.model.blockSignals(False)
        self.model.setVisible(not self.model.isHidden() or bool(models))

    def complete(self) -> bool:
        """Whether the input is complete enough to test."""
        required = (self.url,) if self.url is not None else (self.key, self.variable) if self.key is not None else ()
        return self.isEnabled() and (not required or any(each is not None and each.text().strip() for each in required))

    def draft(self) -> ProviderDraft | None:
        """The provider as entered, None for the built-in one.

        Raises:
            pydantic.ValidationError: the address or the variable is too long.
        """
        if self.config is None:
            return None
        typed = {"api_key_env": self.variable.text().strip()}
        if self.url is not None:
            typed["base_url"] = self.url.text().strip()
        config = ProviderConfig(**(self.config.model_dump() | typed))
        return ProviderDraft(config, self.key.text().strip() if self.key is not None else "")

    def clear_input(self) -> None:
        """Clear the input."""
        for line in (self.url, self.key, self.variable):
            if line is not None:
                line.clear()
        self.variable.hide()

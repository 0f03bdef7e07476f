"""The first and the last step: how it looks, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFormLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from atelier_desk.desktop.settings.language import switch_language
from atelier_desk.desktop.settings.pages.general import LANGUAGES, THEMES
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Translated, control, fill, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox
from atelier_desk.domain.settings import Settings
from atelier_desk.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

GOALS = (
    (N_("Calculate"), N_("What is 12% of 840?")),
    (N_("Plan"), N_("Add a task: prepare the Monday meeting.")),
    (N_("Ask"), N_("Ask me which language I prefer for answers.")),
)
"""Three things the smallest model can do, each shows a part of the window: tool cards, the plan, a question. One request each: the
guided dialect takes a second sentence for a part of the first."""


class Step(Translated, QWidget):
    """A page: a title, a sentence, content. ``ready_changed`` fires when ``ready`` may have changed."""

    ready_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column = fill(QVBoxLayout(self), margins=(0, 0, 0, 0), spacing=10)
        self.title = label("", "title", self, wrap=True)
        self.intro = label("", "muted", self, wrap=True)
        fill(self.column, self.title, self.intro)
        self.column.addSpacing(6)

    def ready(self) -> bool:
        """Whether "Next" may be pressed."""
        return True

    def enter(self) -> None:
        """The step is shown."""

    async def leave(self) -> bool:
        """Save, when the person goes on; False stays here."""
        return True


class WelcomeStep(Step):
    """Language and theme, both at once in force."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.language = control(ComboBox(self), "language-select", name=N_("Language"))
        self.theme = control(ComboBox(self), "theme-select", name=N_("Theme"))
        for box, choices in ((self.language, LANGUAGES), (self.theme, THEMES)):
            for value, _text in choices:
                box.addItem("", value)
            say(box, items=[text for _value, text in choices])
        self.theme.setCurrentIndex(max(0, self.theme.findData(theme().mode)))
        form = QFormLayout()
        form.setHorizontalSpacing(24)
        form.setVerticalSpacing(12)
        self._language_text = control(label("", "", self), "", N_("Language"))
        self._theme_text = control(label("", "", self), "", N_("Theme"))
        form.addRow(self._language_text, self.language)
        form.addRow(self._theme_text, self.theme)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.FieldsStayAtSizeHint)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        fill(self.column, form, 1)
        self.language.activated.connect(lambda _index: switch_language(self.language.currentData()))
        self.theme.activated.connect(lambda _index: theme().set_mode(self.theme.currentData()))
        say(self.title, N_("Welcome to Atelier"))
        self.retranslate()

    def show_settings(self, settings: Settings) -> None:
        self.language.setCurrentIndex(max(0, self.language.findData(settings.language)))
        self.theme.setCurrentIndex(max(0, self.theme.findData(settings.theme)))

    async def leave(self) -> bool:
        language, mode = self.language.currentData(), self.theme.currentData()
        await self._bridge.engine.settings.update(language=language, theme=mode)
        return True

    def enter(self) -> None:
        self.language.setFocus()

    def retranslate(self) -> None:
        about = _("A workbench where agents plan, use tools, ask you and remember.")
        privacy = _("Everything stays on this computer unless you connect a model server elsewhere.")
        self.intro.setText(f"{about} {privacy}")


class GoalButton(QPushButton):
    """A wide button of two lines: what it shows, and the very words that are sent."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoDefault(False)
        self._title = label("", "strong", self)
        self._goal = label("", "muted", self, wrap=True)
        column = fill(QVBoxLayout(self), margins=(16, 12, 16, 12), spacing=2)
        for text in (self._title, self._goal):
            text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(text)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(width) if layout is not None else 0

    def sizeHint(self) -> QSize:
        width = theme().px(420)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(200), theme().px(56))

    def set_texts(self, title: str, goal: str) -> None:
        self._title.setText(title)
        self._goal.setText(goal)
        self.setAccessibleName(_("{name}: {text}", name=title, text=goal))


class GoalStep(Step):
    """Three goals to start with; ``goal_chosen(text)`` in the reader's language."""

    goal_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[GoalButton] = []
        for number, (_title, goal) in enumerate(GOALS, 1):
            button = GoalButton(self)
            button.setObjectName(f"goal-{number}")
            button.clicked.connect(lambda _on=False, goal=goal: self.goal_chosen.emit(_(goal)))
            self.column.addWidget(button)
            self.buttons.append(button)
        self.column.addStretch(1)
        say(self.intro, N_("Choose an example, or finish and write your own. Each starts a workflow that you can go on with or delete."))
        self.retranslate()

    def enter(self) -> None:
        self.buttons[0].setFocus()

    def set_busy(self, busy: bool) -> None:
        for button in self.buttons:
            button.setEnabled(not busy)

    def retranslate(self) -> None:
        self.title.setText(_("What shall we begin with?"))
        for button, (title, goal) in zip(self.buttons, GOALS, strict=True):
            button.set_texts(_(title), _(goal))

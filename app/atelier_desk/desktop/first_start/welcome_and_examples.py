"""The first and last step: appearance, and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from atelier_desk.desktop.settings.application_language import switch_language
from atelier_desk.desktop.settings.pages.general import LANGUAGE_CHOICES, THEMES
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import Line, bind, bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import PlainLabel
from atelier_desk.desktop.widgets.wheel_safe_inputs import ComboBox
from atelier_desk.domain.settings import Settings
from atelier_desk.support.i18n import N_, _

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

FACTS = (
    (
        "users",
        N_("Agents that work together"),
        N_("An agent can start other agents to do parts of the work. You can watch and message each of them."),
    ),
    (
        "shield",
        N_("You stay in control"),
        N_("Atelier asks before changing anything. Every step can be inspected, stopped, replayed and undone."),
    ),
    (
        "hard-drive",
        N_("Private and local"),
        N_(
            "Everything stays on this computer unless you connect a remote model server. An API key is sent "
            "only to the service it belongs to."
        ),
    ),
)
"""Icon, title and sentence of what a new user should know."""
GOALS = (
    (
        N_("Calculate"),
        N_("What is 12% of 840?"),
        "calculator",
        N_("The agent calls a tool; open the card of the call to see the details."),
    ),
    (
        N_("Add a task"),
        N_("Add a task: prepare for the Monday meeting."),
        "list-todo",
        N_("The task appears on the right, where you can edit it too."),
    ),
    (
        N_("Set a preference"),
        N_("Ask me which language I prefer for answers."),
        "circle-help",
        N_("The agent asks you and continues with your answer."),
    ),
)
"""Examples that the smallest model can do: each shows a part of the window (tool cards, tasks, a question).

They are single sentences, as the guided dialect treats a second one as part of the first.
"""


class Step(QWidget):
    """A page: a title, a sentence, content. ``ready_changed`` is emitted when ``ready`` may have changed."""

    ready_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column = vbox(self, spacing=10)
        self.title = label("", "title", self, wrap=True)
        self.intro = label("", "muted", self, wrap=True)
        fill(self.column, self.title, self.intro)
        self.column.addSpacing(6)

    def ready(self) -> bool:
        """Whether "Next" is enabled."""
        return True

    def enter(self) -> None:
        """The step is shown."""

    async def leave(self) -> bool:
        """Save when the user continues; False stays on this step."""
        return True


class WelcomeStep(Step):
    """Language and theme, both applied at once."""

    def __init__(self, bridge: Bridge, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.language = control(ComboBox(self), "language-select", name=N_("Language"))
        self.theme = control(ComboBox(self), "theme-select", name=N_("Theme"))
        self.boxes = {"language": self.language, "theme": self.theme}
        for box, choices in ((self.language, LANGUAGE_CHOICES), (self.theme, THEMES)):
            for value, _text in choices:
                box.addItem("", value)
            bind_text(box, items=[text for _value, text in choices])
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
        for box in (self.language, self.theme):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)  # labels are longer in other languages
        facts = vbox(None, *(Fact(icon, title, text, self) for icon, title, text in FACTS), spacing=16)
        fill(self.column, form)
        self.column.addSpacing(12)
        fill(self.column, Line(self))
        self.column.addSpacing(6)
        fill(self.column, facts, 1)
        self.language.activated.connect(lambda _index: switch_language(self.language.currentData()))
        self.theme.activated.connect(lambda _index: theme().set_mode(self.theme.currentData()))
        bind_text(self.title, N_("Welcome to Atelier"))
        bind_text(
            self.intro, N_("A workbench where agents plan, use tools, ask you questions and remember what matters.")
        )

    def show_settings(self, settings: Settings, only: str = "") -> None:
        """Show the stored settings; ``only`` in one of the boxes, as the other may have an unsaved selection."""
        for name, box in self.boxes.items():
            if only in ("", name):
                box.setCurrentIndex(max(0, box.findData(getattr(settings, name))))

    async def leave(self) -> bool:
        language, mode = self.language.currentData(), self.theme.currentData()
        await self._bridge.engine.settings.update(language=language, theme=mode)
        await self._bridge.engine.agents.translate_builtin()  # the system's language may differ from a former start's
        return True

    def enter(self) -> None:
        self.language.setFocus()


class Fact(QWidget):
    """An icon, a title, and a sentence under it."""

    def __init__(self, icon: str, title: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._icon, self._picture = icon, PlainLabel(parent=self)
        texts = vbox(None, label_of("strong", title, self), label_of("muted", text, self), spacing=2)
        top = Qt.AlignmentFlag.AlignTop
        hbox(self, (self._picture, 0, top), (texts, 1), spacing=14)
        bind(self._apply_style, on="look")

    def _apply_style(self) -> None:
        side = theme().px(20)
        self._picture.setPixmap(theme().pixmap(self._icon, "accent", side, self.devicePixelRatioF()))
        self._picture.setFixedWidth(side)


def label_of(variant: str, text: str, parent: QWidget) -> QLabel:
    """A wrapped label with a bound text."""
    return bind_text(label("", variant, parent, wrap=True), text)


class GoalButton(QPushButton):
    """A wide button with the title of an example, the exact text sent, and what it shows."""

    def __init__(self, icon: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._glyph = icon
        self._picture = PlainLabel(parent=self)
        self._title = label("", "strong", self)
        self._goal = label("", "", self, wrap=True)
        self._shows = label("", "small", self, wrap=True)
        texts = vbox(None, self._title, self._goal, self._shows, spacing=3)
        hbox(
            self,
            (self._picture, 0, Qt.AlignmentFlag.AlignTop),
            (texts, 1),
            margins=(16, 14, 16, 14),
            spacing=14,
        )
        for part in (self._picture, self._title, self._goal, self._shows):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        bind(self._apply_style, on="look")
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

    def set_texts(self, title: str, goal: str, shows: str) -> None:
        self._title.setText(title)
        self._goal.setText(goal)
        self._shows.setText(shows)
        self.setAccessibleName(_("{name}: {text}", name=title, text=goal))
        self.setAccessibleDescription(shows)

    def _apply_style(self) -> None:
        side = theme().px(20)
        self._picture.setPixmap(theme().pixmap(self._glyph, "accent", side, self.devicePixelRatioF()))
        self._picture.setFixedWidth(side)


class GoalStep(Step):
    """Three examples; ``goal_chosen(text)`` in the user's language."""

    goal_chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.buttons: list[GoalButton] = []
        self.column.setSpacing(12)
        for number, (_title, goal, icon, _shows) in enumerate(GOALS, 1):
            button = GoalButton(icon, self)
            button.setObjectName(f"goal-{number}")
            button.clicked.connect(lambda _on=False, goal=goal: self.goal_chosen.emit(_(goal)))
            self.column.addWidget(button)
            self.buttons.append(button)
        self.column.addStretch(1)
        bind_text(
            self.intro,
            N_(
                "Choose an example, or finish and write your own message. Each example starts a workflow that you "
                "can continue or delete."
            ),
        )
        bind_text(self.title, N_("Try an example"))
        bind(self._show, on="language")

    def enter(self) -> None:
        self.buttons[0].setFocus()

    def set_busy(self, busy: bool) -> None:
        for button in self.buttons:
            button.setEnabled(not busy)

    def _show(self) -> None:
        for button, (title, goal, _icon, shows) in zip(self.buttons, GOALS, strict=True):
            button.set_texts(_(title), _(goal), _(shows))

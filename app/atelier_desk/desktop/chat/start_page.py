"""The page of a new workflow: recent workflows, examples, and agents to choose from.

Its content is created after the engine has opened: the first paint does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from atelier_desk.desktop.first_start.welcome_and_examples import GOALS
from atelier_desk.desktop.panes.time_format import ago
from atelier_desk.desktop.settings.agent_gallery_picker import open_gallery
from atelier_desk.desktop.theme import mark, theme
from atelier_desk.desktop.theme.design_tokens import CHAT_COLUMN
from atelier_desk.desktop.widgets import bind, bind_text, control, fill, hbox, label, vbox
from atelier_desk.desktop.widgets.cards_buttons_labels import ElidedLabel, PlainLabel
from atelier_desk.desktop.widgets.debouncer import Debouncer
from atelier_desk.desktop.widgets.minute_clock import MinuteClock
from atelier_desk.desktop.widgets.scroll_bar_space import SteadyWidth
from atelier_desk.desktop.workspace_folders.granted_folder_rows import FolderRows, RecentFolders
from atelier_desk.engine.services.agent_gallery import READY, ReadyAgent
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import visible

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge
    from atelier_desk.desktop.widgets.picker import PickerMenu
    from atelier_desk.desktop.workspace_folders.controller import FolderController
    from atelier_desk.domain.agent import Agent
    from atelier_desk.domain.stream.event import Topic
    from atelier_desk.domain.workflow import Workflow

RECENT = 4
MOST_AGENTS = 6
"""Maximum number of agent cards, the user's agents first; the picker and the gallery have all."""
CARD_WIDTH = 200
"""Minimum width of a card in pixels at 100 %, which determines the number per row."""
COLUMNS = 3
RELOAD_MS = 150
UNBROKEN_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class CardButton(QPushButton):
    """A button of two texts: a line, and a second one that wraps."""

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setAutoDefault(False)
        mark(self, "card")
        self._title = ElidedLabel("", self)
        mark(self._title, "strong")
        self._text = label("", "small", self, wrap=True)
        for each in (self._title, self._text):
            each.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        vbox(self, self._title, self._text, 1, margins=(14, 10, 14, 10), spacing=2)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)  # Qt computes no such height if the layout has none
        self.setSizePolicy(policy)

    def set_texts(self, title: str, text: str) -> None:
        self._title.setText(title)
        # No break inside the name of a model ("atlas-large" is one word), and no line that begins with a dot.
        self._text.setText(text.replace("-", UNBROKEN_HYPHEN).replace(" · ", "\N{NO-BREAK SPACE}· "))
        self.setAccessibleName(visible(_("{name}: {text}", name=title, text=text)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()  # its minimum height depends on its width, and the scroll area keeps the old one

    def hasHeightForWidth(self) -> bool:
        layout = self.layout()
        return layout is not None and layout.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        assert layout is not None
        return layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()

    def sizeHint(self) -> QSize:
        width = theme().px(CARD_WIDTH)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(120), self.heightForWidth(max(self.width(), theme().px(120))))


class RecentButton(QPushButton):
    """A recent workflow: name and time of its last activity."""

    def __init__(self, parent: QWidget, workflow: Workflow) -> None:
        super().__init__(parent)
        self.workflow = workflow
        self.setObjectName("recent-workflow")
        self.setAutoDefault(False)
        mark(self, "lane")
        icon = PlainLabel(parent=self)
        bind(
            icon.setPixmap,
            lambda: theme().pixmap("message-square", "muted", theme().px(15), icon.devicePixelRatioF()),
            on="look",
        )
        self._name, self._time = ElidedLabel("", self), label("", "small", self)
        for each in (icon, self._name, self._time):
            each.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        hbox(self, icon, (self._name, 1), self._time, margins=(10, 6, 10, 6), spacing=10)
        self.show_workflow(workflow)
        MinuteClock(self, lambda: self.show_workflow(self.workflow))

    def show_workflow(self, workflow: Workflow) -> None:
        """Show its present name and time."""
        self.workflow = workflow
        when = ago(workflow.updated_at)
        if self._name.text() != workflow.name:
            self._name.setText(workflow.name)
        if self._time.text() != when:
            self._time.setText(when)
        self.setAccessibleName(visible(f"{workflow.name}, {when}"))

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.sizeHint() if layout is not None else super().sizeHint()

    minimumSizeHint = sizeHint


class _Section(QWidget):
    """A heading above a grid of cards or lines."""

    def __init__(self, parent: QWidget, heading: str, columns: int) -> None:
        super().__init__(parent)
        self._most = self._columns = columns
        self.items: list[QWidget] = []
        self._rooms = [QWidget(self) for _column in range(columns - 1)]
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8 if columns > 1 else 0)
        self._heading = bind_text(label("", "heading", self), heading)
        vbox(self, self._heading, self._grid, spacing=6)

    def set_items(self, items: Sequence[QWidget]) -> None:
        for old in [each for each in self.items if each not in items]:
            self._grid.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.items = list(items)
        self._place()
        self.setVisible(bool(items))

    def fit(self, width: int) -> None:
        """Set the number of columns for this width."""
        columns = max(1, min(self._most, width // theme().px(CARD_WIDTH)))
        if columns != self._columns:
            self._columns = columns
            self._place()

    def _place(self) -> None:
        for number in range(self._most):
            self._grid.setColumnStretch(number, 1 if number < self._columns else 0)
        for number, item in enumerate(self.items):
            self._grid.removeWidget(item)
            self._grid.addWidget(item, number // self._columns, number % self._columns)
            item.show()
        # Empty columns get no spacing, which would make the cards wider than those of the section above.
        for number, room in enumerate(self._rooms, len(self.items)):
            self._grid.removeWidget(room)
            room.setVisible(number < self._columns)
            if number < self._columns:
                self._grid.addWidget(room, 0, number)


class StartPage(QScrollArea):
    """``start-page``: shown while no workflow is open.

    While it is shown its cards and lines keep their places, whatever is used or added; their order is renewed when it
    is shown again.

    Signals:
        workflow_chosen: open this workflow.
        goal_chosen: put this example into the composer.
        agent_chosen: select this agent.
    """

    workflow_chosen = Signal(str)
    goal_chosen = Signal(str)
    agent_chosen = Signal(str)
    ready_chosen = Signal(str)

    def __init__(self, bridge: Bridge, folders: FolderController, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("start-page")
        self._bridge, self._folders = bridge, folders
        self.gallery: PickerMenu | None = None
        self._agents: Sequence[Agent] = ()
        self._labels: Mapping[str, str] = {}
        self._chosen = self._ready_model = ""
        self._made = self._held = False
        self._places: list[str] = []
        """Names of the agents in the order of their cards, own ones and ready-made ones."""
        self._known: set[str] = set()
        """Names of all own agents since the page was made."""
        self._lines: list[RecentButton] = []
        """Of the recent workflows, in the order they have until the page is shown again."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        mark(self, "plain")
        self._holder = control(QWidget(self), look="surface")
        self._body = QWidget(self._holder)
        self._column = vbox(self._body, spacing=20)
        SteadyWidth(self, hbox(self._holder, 1, (self._body, 10_000), 1, margins=(24, 16, 24, 16), spacing=0))
        self.setWidget(self._holder)
        self._debouncer = Debouncer(self, RELOAD_MS, self.reload)
        bridge.changed.connect(self._on_changed)
        bind(self._fill, on="language")
        bind(self._apply_style, on="look")

    def _make(self) -> None:
        """Create the sections, on first use."""
        self._made = True
        body = self._body
        title = bind_text(label("", "title", body), N_("What would you like to do?"))
        hint = label("", "muted", body, wrap=True)
        bind_text(hint, N_("Describe a goal below. The agent plans, uses tools and asks when it needs you."))
        head = vbox(None, title, hint, spacing=4)
        self.recent = control(_Section(body, N_("Recent"), 1), "start-recent")
        self.examples = control(_Section(body, N_("Examples"), COLUMNS), "start-examples")
        self.agents = control(_Section(body, N_("Agent"), COLUMNS), "start-agents")
        self.more = control(QPushButton(body), "start-gallery", N_("More agents…"), look="quiet")
        self.more.setAutoDefault(False)
        self.more.clicked.connect(self._open_gallery)
        self.folders = self._make_folders(body)
        self.recent.hide()
        self.agents.hide()
        self._group = QButtonGroup(self)
        more = hbox(None, self.more, 1)
        fill(self._column, 1, head, self.folders, self.recent, self.examples, self.agents, more, 2)
        self._fill_examples()
        self._fill_agents()
        self._fit()

    def _make_folders(self, body: QWidget) -> QWidget:
        """Create the row with the new workflow's folders and a button to add one."""
        box = control(QWidget(body), "start-folders")
        grant = control(QPushButton(box), "start-grant", N_("Grant folder access…"), on=self._folders.ask)
        grant.setAutoDefault(False)
        hint = bind_text(
            label("", "small", box, wrap=True),
            N_("Agents can read and change files in the folder. You can also drop a folder on the window."),
        )
        heading = bind_text(label("", "heading", box), N_("Folder"))
        line = hbox(None, grant, (hint, 1), spacing=10)
        vbox(
            box,
            heading,
            FolderRows(self._folders, box),
            line,
            RecentFolders(self._folders, box),
            spacing=6,
        )
        return box

    def show_agents(
        self, agents: Sequence[Agent], chosen: str, labels: Mapping[str, str], ready_model: str = ""
    ) -> None:
        """Show the agents, the selected one's id, and the label of each agent's model by agent id.

        ``ready_model``: label of the model that a ready-made agent gets when it is added.
        """
        before = self._texts()
        self._agents, self._chosen, self._labels, self._ready_model = list(agents), chosen, dict(labels), ready_model
        if not self._made:
            self.reload()
        elif before != self._texts():
            self._fill_agents()
        else:
            for button in self._group.buttons():
                button.setChecked(button.property("agent") == chosen)

    def _texts(self) -> list[object]:
        """What the agent cards show."""
        return [self._ready_model, *((each.id, each.updated_at, self._labels[each.id]) for each in self._agents)]

    def _fill_agents(self) -> None:
        for button in self._group.buttons():
            self._group.removeButton(button)
        own = {each.name: each for each in self._agents}
        offered = {_(each.name): each for each in READY if _(each.name) not in own}
        if not self._places or not self.isVisible():
            self._places = [*own][:MOST_AGENTS]
            self._places += [*offered][: MOST_AGENTS - len(self._places)]
        else:  # a ready-made agent that is added stays in its place; any other new one comes last
            self._places += [name for name in own if name not in {*self._known, *self._places}]
        self._known.update(own)
        cards: list[QWidget] = []
        for name in self._places:
            if name in own:
                cards.append(self._agent_card(own[name]))
            elif name in offered:
                cards.append(self._ready_card(offered[name]))
        self.agents.set_items(cards)

    def _agent_card(self, agent: Agent) -> CardButton:
        card = CardButton(self._body, "agent-card")
        card.setCheckable(True)
        card.setProperty("agent", agent.id)
        card.setChecked(agent.id == self._chosen)
        tools = len(agent.config.tools) + len(agent.config.sections)
        # Outside an f-string, in which message extraction does not find it.
        counted = ngettext("{n} tool", "{n} tools", tools)
        card.set_texts(agent.name, f"{agent.config.purpose or counted} · {self._labels[agent.id]}")
        card.clicked.connect(partial(self.agent_chosen.emit, agent.id))
        self._group.addButton(card)
        return card

    def _ready_card(self, ready: ReadyAgent) -> CardButton:
        card = CardButton(self._body, f"ready-agent-{ready.key}")
        card.set_texts(_(ready.name), " · ".join(filter(None, (_(ready.purpose), self._ready_model))))
        card.clicked.connect(partial(self.ready_chosen.emit, ready.key))
        return card

    def _open_gallery(self) -> None:
        self.gallery = open_gallery(self.more, self.ready_chosen.emit)

    def _fill_examples(self) -> None:
        cards: list[QWidget] = []
        for number, (title, goal) in enumerate([each[:2] for each in GOALS], 1):
            card = CardButton(self._body, f"example-{number}")
            card.set_texts(_(title), _(goal))
            card.clicked.connect(lambda _on=False, goal=goal: self.goal_chosen.emit(_(goal)))
            cards.append(card)
        self.examples.set_items(cards)

    def reload(self) -> None:
        """Reload the recent workflows while the page is visible."""
        if self._bridge.ready and self._agents and self.isVisible() and not self._held:
            self._bridge.jobs.start(self._load(), "start page")

    async def _load(self) -> None:
        if not self._made:
            self._make()
        found = await self._bridge.engine.workflows.list(limit=RECENT * 2, archived=False)
        newest = sorted((each for each in found if each.head_run_id), key=lambda each: each.updated_at, reverse=True)
        left = {each.id: each for each in newest}
        lines: list[RecentButton] = []
        for line in self._lines:
            if (workflow := left.pop(line.workflow.id, None)) is not None:
                line.show_workflow(workflow)
                lines.append(line)
        for workflow in [*left.values()][: RECENT - len(lines)]:
            line = RecentButton(self._body, workflow)
            line.clicked.connect(partial(self.workflow_chosen.emit, workflow.id))
            lines.append(line)
        self._lines = lines
        self.recent.set_items(lines)

    def _on_changed(self, topic: Topic, _key: str) -> None:
        if topic == "workflow" and self.isVisible():
            self._debouncer.ask()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._lines = []
        self._places = []
        if self._made:
            self._fill_agents()
        self.reload()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def hold(self, on: bool) -> None:
        """Hide the content while something else has the user's attention, such as the first-start guide."""
        self._held = on
        self._body.setVisible(not on)
        self.reload()

    def _apply_style(self) -> None:
        self._fit()
        self.reload()

    def _fit(self) -> None:
        self._body.setMaximumWidth(theme().px(CHAT_COLUMN))
        if self._made:
            width = min(self.viewport().width() - 48, theme().px(CHAT_COLUMN))
            for section in (self.examples, self.agents):
                section.fit(width)

    def _fill(self) -> None:
        self._places = []  # ready-made agents have other names now
        if self._made:
            self._fill_examples()
            self._fill_agents()
            self.reload()

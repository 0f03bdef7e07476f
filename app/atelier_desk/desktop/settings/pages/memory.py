"""Memory: which embedder gives memories their meaning, what there is, and moving it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QCheckBox, QLineEdit, QPushButton, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.memory.list import TYPE_WORDS
from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.files import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.settings.held_list import HeldList
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import FlowLayout, control, label, say
from atelier_desk.desktop.widgets.inputs import ComboBox, SpinBox
from atelier_desk.domain import limits
from atelier_desk.domain.from_elsewhere import HeldKind
from atelier_desk.domain.memory import REEMBED, MemoryType
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.domain.text import shorten
from atelier_desk.i18n import N_, _, ngettext
from atelier_desk.llm.embedders import installing
from atelier_desk.llm.registry import provider_types

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge
    from atelier_desk.domain.stream.event import Topic

REMOTE = {entry.kind: entry.title for entry in provider_types() if entry.embeds}
KINDS = (
    ("builtin", N_("Built in (works offline)")),
    ("none", N_("None: match words only")),
    *REMOTE.items(),
    (installing.PACKAGE, N_("sentence-transformers (extra package)")),
)
AT_END = (
    ("off", N_("Never")),
    ("told", N_("When I said something about myself")),
    ("always", N_("After every turn")),
)
PROGRESS = 80
"""Characters of a line that pip prints."""
JSON_KINDS = N_("JSON (*.json)")


@settings_page("memory", order=50, icon="brain", title=N_("Memory"))
class MemoryPage(SettingsPage):
    """Embedder with provider, model and dimension; counts; export, import, vectors anew."""

    topics = ("memory", "provider", "settings")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._saved = EmbedderSettings()
        self._loaded = False
        self._providers: list[ProviderConfig] = []
        card = self.section(N_("EMBEDDER"))
        self.held = HeldList(self, lambda grant: grant.kind is HeldKind.EMBEDDER)
        card.body.addWidget(self.held)
        self.kind = control(ComboBox(self), "embedder-kind")
        self.provider = control(ComboBox(self), "embedder-provider")
        self.model = control(QLineEdit(self), "embedder-model")
        self.dimension = control(SpinBox(self), "embedder-dimension")
        self.dimension.setRange(0, 8192)
        for kind, _text in KINDS:
            self.kind.addItem("", kind)
        say(self.kind, items=[text for _kind, text in KINDS])
        about = N_("Finds memories by meaning, not only by their words.")
        self._kind_row = self.row(card, self.kind, N_("Embedder"), about, stretch=True)
        self._provider_row = self.row(card, self.provider, N_("Provider"), stretch=True)
        self._model_row = self.row(card, self.model, N_("Model"), stretch=True)
        self._dimension_row = self.row(card, self.dimension, N_("Dimension"), N_("0 uses the model's default."), stretch=True)
        self.install = control(QPushButton(self), "embedder-install", N_("Install"), on=self._install)
        self._install_row = self.row(card, self.install, N_("Package"))
        self.apply = control(QPushButton(self), "embedder-apply", N_("Use this embedder"), look="primary", on=self._apply)
        self.reembed = control(QPushButton(self), "memory-reembed", N_("Recompute embeddings"), on=self._reembed)
        buttons = FlowLayout(spacing=8)
        buttons.addWidget(self.apply)
        buttons.addWidget(self.reembed)
        self.pause = control(QPushButton(self), "memory-reembed-pause", N_("Pause"), on=self._pause)
        buttons.addWidget(self.pause)
        self._state: dict[str, Any] = {}
        card.body.addLayout(buttons)
        self.busy = Busy(self)
        card.body.addWidget(self.busy)
        asking = self.section(N_("WHAT AGENTS REMEMBER"))
        self.ask = control(QCheckBox(self), "memory-ask")
        self.ask.clicked.connect(lambda on: self.jobs.once("ask", lambda: self.bridge.engine.settings.update(memories_ask=on)))
        about = N_(
            "Memories that an agent proposes for all workflows apply to its own workflow only until you approve them at the end of the run."
        )
        self.row(asking, self.ask, N_("Ask me at the end of a run"), about)
        self.at_end = control(ComboBox(self), "memory-at-end")
        for value, _text in AT_END:
            self.at_end.addItem("", value)
        say(self.at_end, items=[text for _value, text in AT_END])
        self.at_end.activated.connect(lambda _index: self._save_at_end())
        about = N_("Sends one short, counted request to the turn's model. Its suggestions wait for your approval at the end of the turn.")
        self.row(asking, self.at_end, N_("Suggest memories with the model"), about)
        stats = self.section(N_("STORED MEMORIES"))
        self.stats = control(label("", "muted", self, wrap=True), "memory-stats")
        stats.body.addWidget(self.stats)
        move = self.section(N_("EXPORT AND IMPORT"))
        self.moving = Busy(self)
        self.deed(move, N_("Export memories"), N_("One JSON file, without embeddings."), N_("Export…"), self._ask_export)
        self.deed(move, N_("Import memories"), N_("Existing memories are not changed."), N_("Import…"), self._ask_import)
        move.body.addWidget(self.moving)
        self.end()
        self.kind.currentIndexChanged.connect(lambda _index: self._show_fields())
        for signal in (self.provider.currentIndexChanged, self.model.textChanged, self.dimension.valueChanged):
            signal.connect(lambda _value: self._check())
        self._check()

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        providers: list[ProviderConfig] = await self.bridge.engine.providers.list()
        self._providers = providers
        await self.held.load()
        self.ask.setChecked(settings.memories_ask)
        self.at_end.setCurrentIndex(self.at_end.findData(settings.memories_at_end))
        if settings.embedder != self._saved or not self._loaded:
            self._loaded, self._saved = True, settings.embedder
            self._fill()
        running = await self.bridge.engine.memories.reembed_progress()
        self._show_state(await self.bridge.engine.memories.reembed_state(), running)
        self._check()
        described = await self.bridge.engine.memories.describe()  # last: of many thousands it takes a moment
        say(self.stats, lambda: self._counts(described))

    def _on_changed(self, topic: Topic, id: str) -> None:
        if topic == "memory" and id == REEMBED and self._state.get("state") == "running":
            if self.isVisible():
                self.jobs.once("progress", self._follow)  # each batch says so: the page itself takes longer to read than some batches
        else:
            super()._on_changed(topic, id)

    async def _follow(self) -> None:
        running = await self.bridge.engine.memories.reembed_progress()
        if running:
            self._show_progress(*running)
        else:
            self.reload()

    def _show_progress(self, done: int, total: int) -> None:
        """How far the vectors are, whoever began to make them."""
        if not self.busy.running:
            self.busy.note(_("Embeddings computed: {done} of {total}. Search keeps working.", done=number(done), total=number(total)))
        self.busy.set_progress(done, total)

    def _save_at_end(self) -> None:
        chosen = self.at_end.currentData()
        self.jobs.start(self.bridge.engine.settings.update(memories_at_end=chosen))

    def _fill(self) -> None:
        saved = self._saved
        self.kind.setCurrentIndex(max(0, self.kind.findData(saved.kind)))
        self.model.setText(saved.model)
        self.dimension.setValue(saved.dimension or 0)
        self._show_fields()
        self.provider.setCurrentIndex(max(0, self.provider.findText(saved.provider)))

    def _show_fields(self) -> None:
        kind = self.kind.currentData()
        chosen = self.provider.currentText()
        self.provider.clear()
        self.provider.addItems([p.name for p in self._providers if p.kind == kind])
        self.provider.setCurrentIndex(max(0, self.provider.findText(chosen)))
        for row in (self._provider_row, self._dimension_row):
            row.setVisible(kind in REMOTE)
        self._model_row.setVisible(kind in REMOTE or kind == installing.PACKAGE)
        self._show_install()
        self._check()

    def _show_install(self) -> None:
        """The button beside an embedder whose package is missing; where none can be added, what to do instead."""
        self._install_row.setVisible(self.kind.currentData() == installing.PACKAGE and not installing.installed())
        possible = installing.can_install()
        self.install.setVisible(possible)
        hint = _("Not installed. With PyTorch, {size} MB are downloaded from the package index.", size=number(installing.DOWNLOAD_MB))
        self._install_row.set_texts(N_("Package"), hint if possible else error_text(installing.missing()))

    def _install(self) -> None:
        said = ""

        def told(line: str) -> None:
            nonlocal said
            said = shorten(line, PROGRESS)

        async def job() -> None:
            try:
                await self.bridge.engine.settings.install_embedder(told)
            except Exception as error:
                self.busy.note(error_text(error), "error")
            else:
                self.busy.note(_("Installed. “Use this embedder” switches to it."), "ok")
            finally:
                self.install.setEnabled(True)
                self._show_install()

        working = self.jobs.once("install", job)
        if working is not None:
            self.install.setEnabled(False)
            self.busy.watch(working, lambda: _("Installing: {line}", line=said))

    def _entered(self) -> EmbedderSettings:
        kind = self.kind.currentData()
        remote = kind in REMOTE
        return EmbedderSettings(
            kind=kind,
            provider=self.provider.currentText() if remote else "",
            model=self.model.text().strip() if remote or kind == installing.PACKAGE else "",
            dimension=(self.dimension.value() or None) if remote else None,
        )

    def _check(self) -> None:
        entered = self._entered()
        complete = entered.kind not in REMOTE or bool(entered.provider and entered.model)
        self.apply.setEnabled(complete and entered != self._saved)
        self.reembed.setEnabled(self._saved.kind != "none" and not self.busy.running and self._state.get("state") != "running")

    def _apply(self) -> None:
        entered = self._entered()

        async def job() -> None:
            try:
                await self.bridge.engine.settings.update(embedder=entered)
            except Exception as error:
                self._show_install()  # a missing package is refused with the button that installs it
                self.busy.note(error_text(error), "error")
                return
            self._saved = entered
            self._check()
            self.busy.note(_("Saved. Embeddings are recomputed in the background; search keeps working."), "ok")

        self.jobs.once("embedder", job)

    def _reembed(self) -> None:
        async def job() -> None:
            try:
                done = await self.bridge.engine.memories.reembed()
            except Exception as error:
                self.busy.note(error_text(error), "error")
            else:
                self.busy.note(ngettext("{number} embedding computed", "{number} embeddings computed", done, number=number(done)), "ok")
            self.reembed.setEnabled(True)

        working = self.jobs.once("reembed", job)
        if working is not None:
            self.busy.watch(working, N_("Computing embeddings…"))
        self.reembed.setEnabled(False)

    def _show_state(self, state: dict[str, Any], running: tuple[int, int] | None) -> None:
        """Pause while vectors are made, going on while it is paused, and how many are left then."""
        before, self._state = self._state.get("state"), state
        now, left = state["state"], state["left"]
        paused = now == "paused"
        self.pause.setVisible(paused or (now == "running" and not self.busy.running))
        say(self.pause, N_("Continue") if paused else N_("Pause"))
        if running:
            self._show_progress(*running)
        elif paused:
            self.busy.note(
                ngettext(
                    "Paused: {number} memory left.",
                    "Paused: {number} memories left.",
                    left,
                    number=number(left),
                )
            )
        elif now == "unreached":
            self.busy.note(_("The embedder has not been reached yet: searches match words only."), "warn")
        elif now == "waiting" and before == "running" and self.busy.text.property("variant") != "error":
            text = _("Stopped with {number} left. “Recompute embeddings” continues.", number=number(left))
            self.busy.note(text, "warn")
        elif now == "whole" and before in ("running", "paused", "unreached") and not self.busy.running:
            self.busy.note(_("All memories have embeddings."), "ok")

    def _pause(self) -> None:
        paused = self._state.get("state") == "paused"

        async def job() -> None:
            memories = self.bridge.engine.memories
            await (memories.resume_reembed() if paused else memories.pause_reembed())
            self.reload()  # not waited for: a click meanwhile would count for nothing

        self.jobs.once("pause", job)

    def _counts(self, described: dict[str, Any]) -> str:
        total = int(described.get("total") or 0)
        lines = [
            ngettext(
                "{number} memory that applies to all workflows",
                "{number} memories that apply to all workflows",
                total,
                number=number(total),
            )
        ]
        by_type = described.get("by_type") or {}
        parts = [
            _("{type}: {number}", type=_(TYPE_WORDS[MemoryType(kind)]), number=number(count)) for kind, count in by_type.items() if count
        ]
        if parts:
            lines.append(" · ".join(parts))
        tags = list((described.get("tags") or {}).items())[:12]
        if tags:
            lines.append(" ".join(f"#{tag} ({number(count)})" for tag, count in tags))
        return "\n".join(lines)

    def export_to(self, path: Path) -> None:
        """Write all memories as JSON."""

        async def job() -> None:
            text: str = await self.bridge.engine.memories.export()
            await write_text(path, text)
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.once("export", job)

    def import_from(self, path: Path) -> None:
        """Read exported memories; those that are there already are left alone."""

        async def job() -> None:
            try:
                text = await read_text(path, limits.MEMORY_FILE)
                counts = await self.bridge.engine.memories.import_(text)
            except Exception as error:
                self.moving.note(error_text(error), "error")
                return
            toast(
                self,
                _("{added} added, {overwritten} overwritten, {skipped} skipped", **{each: number(count) for each, count in counts.items()}),
            )
            self.reload()

        working = self.jobs.once("import", job)
        if working is not None:
            self.moving.watch(working, N_("Importing…"))

    def _ask_export(self) -> None:
        ask_save(self, _("Export memories"), "memories.json", _(JSON_KINDS), self.export_to)

    def _ask_import(self) -> None:
        ask_open(self, _("Import memories"), _(JSON_KINDS), self.import_from)

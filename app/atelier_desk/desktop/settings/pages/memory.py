"""Memory: which embedder gives memories their meaning, what there is, and moving it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QComboBox, QLineEdit, QPushButton, QSpinBox, QWidget

from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import toast
from atelier_desk.desktop.panes.memory_list import TYPE_WORDS
from atelier_desk.desktop.panes.wording import number
from atelier_desk.desktop.settings.busy import Busy
from atelier_desk.desktop.settings.files import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.widgets import FlowLayout, control, label, say
from atelier_desk.domain.memory import MemoryType
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.i18n import N_, _, ngettext

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

KINDS = (
    ("builtin", N_("Built in (works offline)")),
    ("none", N_("None: search by words alone")),
    ("ollama", N_("Ollama")),
    ("mistral", N_("Mistral")),
    ("openai", N_("OpenAI-compatible server")),
    ("sentence-transformers", N_("sentence-transformers (extra package)")),
)
REMOTE = ("ollama", "mistral", "openai")
JSON_KINDS = N_("JSON (*.json)")


@settings_page("memory", order=50, icon="brain", title=N_("Memory"))
class MemoryPage(SettingsPage):
    """Embedder with provider, model and dimension; counts; export, import, vectors anew."""

    topics = ("memory", "provider")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._saved = EmbedderSettings()
        self._loaded = False
        self._providers: list[ProviderConfig] = []
        self._heading, card = self.section()
        self.kind = QComboBox(self)
        self.provider = QComboBox(self)
        self.model = QLineEdit(self)
        self.dimension = QSpinBox(self)
        names = ("embedder-kind", "embedder-provider", "embedder-model", "embedder-dimension")
        for widget, name in zip((self.kind, self.provider, self.model, self.dimension), names, strict=True):
            widget.setObjectName(name)
        self.dimension.setRange(0, 8192)
        for kind, _text in KINDS:
            self.kind.addItem("", kind)
        self._kind_row = self.row(card, self.kind, stretch=True)
        self._provider_row = self.row(card, self.provider, stretch=True)
        self._model_row = self.row(card, self.model, stretch=True)
        self._dimension_row = self.row(card, self.dimension, stretch=True)
        self.apply = control(QPushButton(self), "embedder-apply", N_("Use this embedder"), look="primary", on=self._apply)
        self.reembed = control(QPushButton(self), "memory-reembed", N_("Compute vectors again"), on=self._reembed)
        buttons = FlowLayout(spacing=8)
        buttons.addWidget(self.apply)
        buttons.addWidget(self.reembed)
        card.body.addLayout(buttons)
        self.busy = Busy(self)
        card.body.addWidget(self.busy)
        self._stats_heading, stats = self.section()
        self.stats = control(label("", "muted", self, wrap=True), "memory-stats")
        stats.body.addWidget(self.stats)
        self._move_heading, move = self.section()
        self.export = control(
            QPushButton(self),
            "",
            N_("Export…"),
            on=lambda: ask_save(self, _("Export memories"), "memories.json", _(JSON_KINDS), self.export_to),
        )
        self.import_ = control(
            QPushButton(self), "", N_("Import…"), on=lambda: ask_open(self, _("Import memories"), _(JSON_KINDS), self.import_from)
        )
        self._export_row, self._import_row = self.row(move, self.export), self.row(move, self.import_)
        self.end()
        self.kind.currentIndexChanged.connect(lambda _index: self._show_fields())
        for signal in (self.provider.currentIndexChanged, self.model.textChanged, self.dimension.valueChanged):
            signal.connect(lambda _value: self._check())
        say(self._heading, N_("EMBEDDER"))
        say(self._stats_heading, N_("WHAT THERE IS"))
        say(self._move_heading, N_("EXPORT AND IMPORT"))
        self.retranslate()

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        providers: list[ProviderConfig] = await self.bridge.engine.providers.list()
        described = await self.bridge.engine.memories.describe()
        running = await self.bridge.engine.memories.reembed_progress()
        self._providers = providers
        if settings.embedder != self._saved or not self._loaded:
            self._loaded, self._saved = True, settings.embedder
            self._fill()
        self._show_stats(described)
        if running:
            self.busy.set_progress(*running)

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
        self.provider.addItems([p.name for p in self._providers if p.kind.value == kind])
        self.provider.setCurrentIndex(max(0, self.provider.findText(chosen)))
        for row in (self._provider_row, self._dimension_row):
            row.setVisible(kind in REMOTE)
        self._model_row.setVisible(kind in REMOTE or kind == "sentence-transformers")
        self._check()

    def _entered(self) -> EmbedderSettings:
        kind = self.kind.currentData()
        remote = kind in REMOTE
        return EmbedderSettings(
            kind=kind,
            provider=self.provider.currentText() if remote else "",
            model=self.model.text().strip() if remote or kind == "sentence-transformers" else "",
            dimension=(self.dimension.value() or None) if remote else None,
        )

    def _check(self) -> None:
        entered = self._entered()
        complete = entered.kind not in REMOTE or bool(entered.provider and entered.model)
        self.apply.setEnabled(complete and entered != self._saved)
        self.reembed.setEnabled(self._saved.kind != "none" and not self.busy.running)

    def _apply(self) -> None:
        entered = self._entered()

        async def job() -> None:
            try:
                await self.bridge.engine.settings.update(embedder=entered)
            except Exception as error:
                self.busy.note(error_text(error), "error")
                return
            self._saved = entered
            self._check()
            self.busy.note(_("Changed. Vectors are computed again in the background; search keeps working."), "ok")

        self.jobs.once("embedder", job)

    def _reembed(self) -> None:
        async def job() -> None:
            try:
                done = await self.bridge.engine.memories.reembed()
            except Exception as error:
                self.busy.note(error_text(error), "error")
            else:
                self.busy.note(ngettext("{n} vector computed", "{n} vectors computed", done), "ok")
            self.reembed.setEnabled(True)

        working = self.jobs.once("reembed", job)
        if working is not None:
            self.busy.watch(working, _("Computing vectors…"))
        self.reembed.setEnabled(False)

    def _show_stats(self, described: dict[str, Any]) -> None:
        total = int(described.get("total") or 0)
        lines = [ngettext("{n} memory that applies to all workflows", "{n} memories that apply to all workflows", total)]
        by_type = described.get("by_type") or {}
        parts = [
            _("{type}: {number}", type=_(TYPE_WORDS[MemoryType(kind)]), number=number(count)) for kind, count in by_type.items() if count
        ]
        if parts:
            lines.append(" · ".join(parts))
        tags = list((described.get("tags") or {}).items())[:12]
        if tags:
            lines.append(" ".join(f"#{tag} ({number(count)})" for tag, count in tags))
        self.stats.setText("\n".join(lines))

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
            text = await read_text(path)
            counts = await self.bridge.engine.memories.import_(text)
            toast(self, _("{added} added, {overwritten} overwritten, {skipped} skipped", **counts))
            await self.load()

        self.jobs.once("import", job)

    def retranslate(self) -> None:
        for row, (_kind, text) in enumerate(KINDS):
            self.kind.setItemText(row, _(text))
        self._kind_row.set_texts(_("Embedder"), _("Finds memories by meaning, not only by their words."))
        self._provider_row.set_texts(_("Provider"))
        self._model_row.set_texts(_("Model"))
        self._dimension_row.set_texts(_("Dimension"), _("0 takes the model's own."))
        self._export_row.set_texts(_("Export memories"), _("One JSON file, without vectors."))
        self._import_row.set_texts(_("Import memories"), _("Memories that exist already are left as they are."))
        self._check()

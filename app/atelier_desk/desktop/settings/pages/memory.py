"""Memory: the embedder, statistics, export and import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from atelier_desk.desktop.bridge.jobs import error_text
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.panes.memory.list import TYPE_WORDS
from atelier_desk.desktop.panes.pane_base import toast
from atelier_desk.desktop.panes.time_format import number
from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Choice, Line, Number, Offered, Toggle
from atelier_desk.desktop.settings.imported_grant_confirmation import HeldList
from atelier_desk.desktop.settings.progress_line import Busy, Outcome
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain import limits
from atelier_desk.domain.imported_grant import HeldKind
from atelier_desk.domain.memory import REEMBED, MemoryType
from atelier_desk.domain.provider import ProviderConfig
from atelier_desk.domain.settings import EmbedderSettings, Settings
from atelier_desk.llm.embedders import install_sentence_transformers
from atelier_desk.llm.provider_type_registry import provider_types
from atelier_desk.support.i18n import N_, _, ngettext
from atelier_desk.support.visible_and_shortened_text import shorten

if TYPE_CHECKING:
    from atelier_desk.domain.stream.event import Topic

REMOTE = {entry.kind: entry.title for entry in provider_types() if entry.embeds}
KINDS = (
    ("builtin", N_("Built in (works offline)")),
    ("none", N_("None: match words only")),
    *REMOTE.items(),
    (install_sentence_transformers.PACKAGE, N_("sentence-transformers (extra package)")),
)
AT_END = (
    ("off", N_("Never")),
    ("told", N_("When I say something about myself")),
    ("always", N_("After every run")),
)
PROGRESS = 80
"""Maximum characters of a line of pip's output."""
JSON_KINDS = N_("JSON (*.json)")


REMEMBERED = Section(
    N_("What agents remember"),
    Toggle(
        "memories_ask",
        N_("Ask before keeping a memory"),
        N_(
            "When an agent proposes a memory for all workflows, a card immediately asks for your approval. Until "
            "then, the memory applies only to the workflow it comes from."
        ),
        "memory-ask",
    ),
    Choice(
        "memories_at_end",
        N_("Suggest memories with the model"),
        N_(
            "Sends one short request to the run's model; it counts as usage. The suggestions wait for your "
            "approval at the end of the run."
        ),
        "memory-at-end",
        choices=AT_END,
    ),
)
EMBEDDER = (
    Choice(
        "kind",
        N_("Embedder"),
        N_("Finds memories by meaning, not only by their words."),
        choices=KINDS,
        owns=("model",),
    ),
    Offered("provider", N_("Provider")),
    Line("model", N_("Model")),
    Number("dimension", N_("Dimensions"), N_("0 uses the model's default."), optional=True, below=True),
)


@settings_page("memory", order=60, icon="brain", title=N_("Memory and projects"), section=N_("Memory"))
class MemoryPage(RowsPage):
    """Embedder with provider, model and dimension; counts; export, import, re-embedding."""

    topics = ("memory", "provider", "settings")

    def build(self) -> None:
        self._saved: EmbedderSettings | None = None
        self._providers: list[ProviderConfig] = []
        self._state: dict[str, object] = {}
        self._described: dict[str, Any] = {}
        self.held = HeldList(self, lambda grant: grant.kind is HeldKind.EMBEDDER)
        card = self.section(N_("Embedder"), self.held)
        self.form = Form(EmbedderSettings, self, "embedder", *EMBEDDER)
        for field in EMBEDDER:
            self.form.row(self, card, field.key)
        self.install = self.button("embedder-install", N_("Install"), self._install)
        self._install_row = self.row(card, self.install, N_("Package"))
        self.reembed = self.button("memory-reembed", N_("Recompute embeddings"), self._reembed)
        self.pause = self.button("memory-reembed-pause", N_("Pause"), self._pause)
        self.button_row(card, self.reembed, self.pause)
        self.cancel, self.apply = self.foot(
            cancel=("embedder-cancel", self._revert), save=("embedder-apply", self._apply)
        )
        self.add(REMEMBERED)
        self.stats = self.add_text(self.section(N_("Stored memories")), self._counts, "memory-stats")
        move = self.section(N_("Export and import"))
        self.moving = Busy(self)
        self.action_row(
            move, N_("Export memories"), N_("One JSON file, without embeddings."), N_("Export…"), self._ask_export
        )
        self.action_row(
            move, N_("Import memories"), N_("Existing memories are not changed."), N_("Import…"), self._ask_import
        )
        move.body.addWidget(self.moving)
        self.form.changed.connect(self.busy.clear_message)
        self.form.changed.connect(self._show_fields)
        self._show_fields()

    async def load(self) -> None:
        settings: Settings = await self.bridge.engine.settings.get()
        self._providers = await self.bridge.engine.providers.list()
        await self.held.load()
        self.show_settings(settings)
        if settings.embedder != self._saved:
            self._saved = settings.embedder
            self.form.show_values(settings.embedder)
        self._show_fields()
        running = await self.bridge.engine.memories.reembed_progress()
        self._show_state(await self.bridge.engine.memories.reembed_state(), running)
        self._check()
        self._described = await self.bridge.engine.memories.describe()  # last: slow with many thousands
        bind_text(self.stats)

    def _on_changed(self, topic: Topic, id: str) -> None:
        if topic == "memory" and id == REEMBED and self._state.get("state") == "running":
            if self.isVisible():
                # Emitted for each batch: loading the page takes longer than some batches.
                self.jobs.once("progress", self._follow)
        else:
            super()._on_changed(topic, id)

    async def _follow(self) -> None:
        running = await self.bridge.engine.memories.reembed_progress()
        if running:
            self._show_progress(*running)
        else:
            self.reload()

    def _show_progress(self, done: int, total: int) -> None:
        """Show the progress of embedding, whoever started it."""
        if not self.busy.running:
            self.busy.note(
                _(
                    "Embeddings computed: {done} of {total}. Search keeps working.",
                    done=number(done),
                    total=number(total),
                )
            )
        self.busy.set_progress(done, total)

    def _kind(self) -> str:
        return str(self.form.read()["kind"])

    def _show_fields(self) -> None:
        kind = self._kind()
        self.form.offer("provider", [each.name for each in self._providers if each.kind == kind])
        for key in ("provider", "dimension"):
            self.form.show_field(key, kind in REMOTE)
        self.form.show_field("model", kind in REMOTE or kind == install_sentence_transformers.PACKAGE)
        self._show_install()
        self._check()

    def _show_install(self) -> None:
        """Show a button to install an embedder's missing package, or instructions if that is not possible."""
        self._install_row.setVisible(
            self._kind() == install_sentence_transformers.PACKAGE and not install_sentence_transformers.installed()
        )
        possible = install_sentence_transformers.can_install()
        self.install.setVisible(possible)
        hint = _(
            "Not installed. Installing it downloads {size} MB, including PyTorch, from the package index.",
            size=number(install_sentence_transformers.DOWNLOAD_MB),
        )
        self._install_row.set_texts(
            N_("Package"), hint if possible else error_text(install_sentence_transformers.missing())
        )

    def _install(self) -> None:
        last = ""

        def show_line(line: str) -> None:
            nonlocal last
            last = shorten(line, PROGRESS)

        async def work() -> Outcome:
            try:
                await self.bridge.engine.settings.install_embedder(show_line)
            finally:
                self.install.setEnabled(True)
            self._show_install()
            return lambda: _("Installed. Choose “Save” to switch to it."), "ok"

        if self.busy.run(self.jobs, "install", work, lambda: _("Installing: {line}", line=last)) is not None:
            self.install.setEnabled(False)

    def _entered(self) -> EmbedderSettings:
        entered, kind = self.form.read(), self._kind()
        named = (
            {"model"} if kind == install_sentence_transformers.PACKAGE else set(entered) if kind in REMOTE else set()
        )
        return EmbedderSettings(**{key: value for key, value in entered.items() if key in named | {"kind"}})

    def _check(self) -> None:
        entered, saved = self._entered(), self._saved or EmbedderSettings()
        complete = entered.kind not in REMOTE or bool(entered.provider and entered.model)
        self.apply.setEnabled(complete and entered != saved)
        self.cancel.setEnabled(entered != saved)
        self.reembed.setEnabled(
            saved.kind != "none" and not self.busy.running and self._state.get("state") != "running"
        )

    def _revert(self) -> None:
        self.form.show_values(self._saved or EmbedderSettings())
        self.busy.clear_message()
        self._show_fields()

    def _apply(self) -> None:
        entered = self._entered()

        async def work() -> Outcome:
            try:
                await self.bridge.engine.settings.update(embedder=entered)
            finally:
                self._show_install()  # an embedder without its package is refused, with the button that installs it
            self._saved = entered
            self._check()
            return lambda: _("Saved. Embeddings are recomputed in the background; search keeps working."), "ok"

        self.busy.run(self.jobs, "embedder", work)

    def _reembed(self) -> None:
        async def work() -> Outcome:
            try:
                done = await self.bridge.engine.memories.reembed()
            finally:
                self.reembed.setEnabled(True)
            return lambda: ngettext(
                "{number} embedding computed", "{number} embeddings computed", done, number=number(done)
            ), "ok"

        self.busy.run(self.jobs, "reembed", work, N_("Computing embeddings…"))
        self.reembed.setEnabled(False)

    def _show_state(self, state: dict[str, Any], running: tuple[int, int] | None) -> None:
        """Show Pause during embedding, or Continue with the remaining number while paused."""
        before, self._state = self._state.get("state"), state
        now, left = state["state"], state["left"]
        paused = now == "paused"
        self.pause.setVisible(paused or (now == "running" and not self.busy.running))
        bind_text(self.pause, N_("Continue") if paused else N_("Pause"))
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
            self.busy.note(_("The embedder has not responded yet: searches match words only."), "warn")
        elif now == "waiting" and left and before is None:
            text = ngettext("{n} memory has no embedding yet.", "{n} memories have no embeddings yet.", left)
            self.busy.note(text, "warn")
        elif now == "waiting" and before == "running" and self.busy.text.property("variant") != "error":
            text = _("Stopped with {number} left. Choose “Recompute embeddings” to continue.", number=number(left))
            self.busy.note(text, "warn")
        elif now == "whole" and before in ("running", "paused", "unreached") and not self.busy.running:
            self.busy.note(_("All memories have embeddings."), "ok")

    def _pause(self) -> None:
        paused = self._state.get("state") == "paused"

        async def job() -> None:
            memories = self.bridge.engine.memories
            await (memories.resume_reembed() if paused else memories.pause_reembed())
            self.reload()  # not awaited: it would block clicks meanwhile

        self.jobs.once("pause", job)

    def _counts(self) -> str:
        described = self._described
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
            _("{type}: {number}", type=_(TYPE_WORDS[MemoryType(kind)]), number=number(count))
            for kind, count in by_type.items()
            if count
        ]
        if parts:
            lines.append(" · ".join(parts))
        tags = list((described.get("tags") or {}).items())[:12]
        if tags:
            lines.append(" ".join(f"#{tag} ({number(count)})" for tag, count in tags))
        return "\n".join(lines)

    def export_to(self, path: Path) -> None:
        """Export all memories as JSON."""

        async def job() -> None:
            text: str = await self.bridge.engine.memories.export()
            await write_text(path, text)
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.once("export", job)

    def import_from(self, path: Path) -> None:
        """Import exported memories; existing ones are skipped."""

        async def work() -> None:
            counts = await self.bridge.engine.memories.import_(await read_text(path, limits.MEMORY_FILE))
            toast(
                self,
                _(
                    "{added} added, {overwritten} overwritten, {skipped} skipped",
                    **{each: number(count) for each, count in counts.items()},
                ),
            )
            self.reload()

        self.moving.run(self.jobs, "import", work, N_("Importing…"))

    def _ask_export(self) -> None:
        ask_save(self, _("Export memories"), "memories.json", _(JSON_KINDS), self.export_to)

    def _ask_import(self) -> None:
        ask_open(self, _("Import memories"), _(JSON_KINDS), self.import_from)

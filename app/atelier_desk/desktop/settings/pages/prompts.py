"""Prompts: the user's own, and the form of the selected one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from atelier_desk.desktop.chat.compose.prompt_variables_form import PromptForm
from atelier_desk.desktop.file_dialogs.open_save_confirm import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.panes.pane_base import offer_undo, toast
from atelier_desk.desktop.settings.fields import Line, Lines
from atelier_desk.desktop.settings.list_form_page import ListFormPage, ListLine, Saved
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.widgets import bind_text
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.support.i18n import N_, _
from atelier_desk.workspace.skills.argument_placeholders import Variable, variables

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge.bridge import Bridge

OPEN_KINDS = N_("Prompts (*.md *.yaml *.yml *.json)")
SAVE_KINDS = N_("Markdown (*.md)")


FIELDS = (
    Line("name", N_("Name"), N_("Letters, digits, “-”, “_” and “.”, no spaces. Type /name to insert the prompt.")),
    Line("description", N_("Description"), N_("What it is for, in one line.")),
    Lines("content", N_("Prompt text"), name="prompt-text", height=130, fixed=False),
)


@settings_page("prompts", order=70, icon="quote", title=N_("Prompts"))
class PromptsPage(ListFormPage[Prompt]):
    """``prompt-list`` with ``prompt-search``, new, duplicate, preview, import, export, delete (undo); the form
    below."""

    topics = ("prompt", "file")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._files: dict[str, str] = {}
        self.dialog: PromptForm | None = None
        about = N_(
            "Prompts you use often. Type / and the name in a message to insert one. You are asked for the "
            "values in {{braces}}: {{name}}, or {{name=default}}."
        )
        self.add_text(None, about, "prompts-about")
        card = self.section(N_("Prompts"))
        self.search = self.add_search(card, "prompt-search", N_("Search prompts"), lambda _text: self.show_list())
        self.nothing = self.add_text(card, self._nothing, "prompt-nothing")
        self.build_list(
            card,
            "prompt",
            N_("Prompts"),
            ("new", N_("New prompt"), lambda: self.begin_new() and self.name.setFocus()),
            (
                "duplicate",
                N_("Duplicate"),
                lambda: self.busy_with_another() or self.jobs.once("duplicate", self._duplicate),
            ),
            ("preview", N_("Preview…"), self.preview),
            ("import", N_("Import…"), self._ask_import),
            ("export", N_("Export…"), self._ask_export),
            ("delete", N_("Delete"), lambda: self.jobs.once("delete", self._delete)),
        )
        self.form_card = self.section()
        self._build_form()
        self.build_foot("prompt", cancel="revert")
        self.end()
        self.show_list()
        self.check()

    def _build_form(self) -> None:
        card = self.form_card
        self.form = Form(PromptDraft, self, "prompt", *FIELDS)
        self.name, self.text = self.form.controls["name"], self.form.controls["content"]
        self.warning = self.add_text(card, self._warnings, "prompt-warning", look="small-warn")
        for key in ("name", "description"):
            self.form.row(self, card, key)
        card.body.addWidget(self.text)
        self.facts = self.add_text(card, self._facts, "prompt-facts", look="small")
        self.form.changed.connect(self.changed)

    async def read(self) -> list[Prompt]:
        return await self.bridge.engine.prompts.list()

    async def load(self) -> None:
        self._files = await self.bridge.engine.skills.files_by_name()
        await super().load()

    def line(self, prompt: Prompt) -> ListLine:
        return ListLine(prompt.id, f"/{prompt.name}", prompt.description or prompt.content.partition("\n")[0], "quote")

    def listed(self) -> list[Prompt]:
        words = self.search.text().casefold().split()
        return [prompt for prompt in self.things if all(word in prompt.searched for word in words)]

    def show_list(self) -> None:
        super().show_list()
        bind_text(self.nothing)
        self.nothing.setVisible(not self.list.count())

    def _nothing(self) -> str:
        if self.listed():
            return ""
        return (
            _("No results") if self.things else _("No prompts yet. Write one, or import a file from another program.")
        )

    def heading(self, prompt: Prompt | None) -> str:
        return f"/{prompt.name}" if prompt is not None else _("New prompt")

    def show_form(self, prompt: Prompt | None) -> None:
        self.form.show_values(prompt.draft if prompt is not None else PromptDraft(name="", content=""))

    def check(self) -> None:
        super().check()
        prompt = self.current()
        for name in ("duplicate", "export", "delete", "preview"):
            self.buttons[name].setEnabled(prompt is not None)
        if prompt is not None and prompt.tainted:
            self.save.setEnabled(True)
        bind_text(self.facts)
        bind_text(self.warning)
        self.warning.setVisible(bool(self.warning.text()))

    def _facts(self) -> str:
        found = variables(self.form.read()["content"])
        return _("Variables: {names}", names=", ".join(map(_variable, found))) if found else _("No variables.")

    def _warnings(self) -> str:
        prompt, warnings = self.current(), []
        if (file := self._files.get(self.form.read()["name"])) and (prompt is not None or self.adding):
            warnings.append(
                _("A skill or command with this name takes precedence: {file}. Rename the prompt to use it.", file=file)
            )
        if prompt is not None and prompt.tainted:
            warnings.append(
                _(
                    "From {source}: read it before you use it. Saving confirms that you have read it.",
                    source=", ".join(prompt.tainted),
                )
            )
        return "\n".join(warnings)

    async def save_form(self) -> Saved:
        saved = await self.bridge.engine.prompts.save(self.form.made(), None if self.adding else self.chosen)
        return saved.id, lambda: self.note_saved(True)

    async def show_again(self, key: str) -> None:
        """The search is cleared if it would hide the prompt."""
        await super().show_again(key)
        prompt = self.current()
        if prompt is not None and prompt not in self.listed():
            self.search.clear()

    async def _duplicate(self) -> None:
        await self.show_again((await self.bridge.engine.prompts.duplicate(self.chosen)).id)

    async def _delete(self) -> None:
        if self.current() is None:
            return
        deleted = await self.bridge.engine.prompts.delete(self.chosen)
        self.chosen = ""

        def undo() -> None:
            self.jobs.once("undelete", lambda: self._undelete(deleted))

        offer_undo(self, _("Prompt “{name}” deleted", name=deleted.name), undo)
        await self.load()

    async def _undelete(self, prompt: Prompt) -> None:
        await self.show_back((await self.bridge.engine.prompts.put_back(prompt)).id)

    def preview(self) -> None:
        """Show the form's text with its variables filled in; it can be copied."""
        prompt = self.current()
        if prompt is None:
            return
        shown = prompt.model_copy(update=self.form.read())
        self.dialog = PromptForm(shown, _("Copy"), self.copy_text, self)
        self.dialog.finished.connect(self._closed)
        self.dialog.open()

    def _closed(self) -> None:
        self.dialog = None

    def _ask_import(self) -> None:
        if not self.busy_with_another():
            ask_open(self, _("Import a prompt"), _(OPEN_KINDS), self.import_from)

    def import_from(self, path: Path) -> None:
        """Import a prompt file; what is lost from another program's is shown."""

        async def job() -> None:
            done = await self.bridge.engine.prompts.import_text(await read_text(path), str(path))
            await self.show_again(done.prompt.id)
            ignored = ", ".join(done.ignored)
            if ignored:
                toast(self, _("{name} imported. Ignored fields: {fields}", name=f"/{done.prompt.name}", fields=ignored))
            else:
                toast(self, _("{name} imported", name=f"/{done.prompt.name}"))

        self.jobs.once("import", job)

    def _ask_export(self) -> None:
        prompt = self.current()
        if prompt is not None:
            ask_save(self, _("Export the prompt"), f"{prompt.name}.md", _(SAVE_KINDS), self.export_to)

    def export_to(self, path: Path) -> None:
        """Export the selected prompt to a file."""

        async def job() -> None:
            await write_text(path, await self.bridge.engine.prompts.export_text(self.chosen))
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.start(job())


def _variable(each: Variable) -> str:
    return each.name if each.default is None else f"{each.name} = {each.default}"

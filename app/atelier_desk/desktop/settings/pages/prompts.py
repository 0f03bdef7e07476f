"""Prompts: the list of the person's own, and the form of the chosen one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QListWidget, QPushButton, QWidget

from atelier_desk.desktop.chat.compose.prompt_form import PromptForm
from atelier_desk.desktop.jobs import error_text
from atelier_desk.desktop.panes.base import offer_undo, toast
from atelier_desk.desktop.panes.two_line import KeyRole, dress_list, two_line_item
from atelier_desk.desktop.settings.files import ask_open, ask_save, read_text, write_text
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.theme import theme
from atelier_desk.desktop.widgets import control, label
from atelier_desk.desktop.widgets.inputs import SearchField
from atelier_desk.desktop.widgets.wrapping import TextField
from atelier_desk.domain.errors import AtelierError
from atelier_desk.domain.prompt import Prompt, PromptDraft
from atelier_desk.i18n import N_, _
from atelier_desk.workspace.skills.arguments import Variable, variables

if TYPE_CHECKING:
    from atelier_desk.desktop.bridge import Bridge

OPEN_KINDS = N_("Prompts (*.md *.yaml *.yml *.json)")
SAVE_KINDS = N_("Markdown (*.md)")
ROWS = 6


@settings_page("prompts", order=32, icon="quote", title=N_("Prompts"))
class PromptsPage(SettingsPage):
    """``prompt-list`` with ``prompt-search``, new, duplicate, preview, import, export, delete (undo); the form below."""

    topics = ("prompt", "file")

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(bridge, parent)
        self._prompts: list[Prompt] = []
        self._files: dict[str, str] = {}
        self._chosen = ""
        self._adding = False
        self._shown = PromptDraft(name="", content="")
        """What the form was filled with."""
        self.dialog: PromptForm | None = None
        about = N_(
            "Texts that you use often. Type / and the name in a message to insert one. "
            "You are asked for what is in {{braces}}: {{name}}, or {{name=default}}."
        )
        self.column.addWidget(control(label("", "muted", self, wrap=True), "prompts-about", about))
        card = self.section(N_("PROMPTS"))
        self.search = control(SearchField(self), "prompt-search", hint=N_("Search prompts"))
        self.list = control(QListWidget(self), "prompt-list", look="plain", name=N_("Prompts"))
        dress_list(self.list)
        self.nothing = control(label("", "muted", self, wrap=True), "prompt-nothing")
        for widget in (self.search, self.list, self.nothing):
            card.body.addWidget(widget)
        self.buttons: dict[str, QPushButton] = {}
        for name, text, act in (
            ("new", N_("New prompt"), self.begin),
            ("duplicate", N_("Duplicate"), lambda: self._busy_with_another() or self.jobs.once("duplicate", self._duplicate)),
            ("preview", N_("Preview…"), self.preview),
            ("import", N_("Import…"), self._ask_import),
            ("export", N_("Export…"), self._ask_export),
            ("delete", N_("Delete"), lambda: self.jobs.once("delete", self._delete)),
        ):
            self.buttons[name] = control(QPushButton(self), f"prompt-{name}", text, on=act)
        self.deeds(card, *self.buttons.values())
        self._form_card = self.section()
        self._build_form()
        self.note = control(label("", "error", self, wrap=True), "prompt-note")
        self.revert = control(QPushButton(self), "prompt-revert", N_("Cancel"), on=self._revert)
        self.save = control(QPushButton(self), "prompt-save", N_("Save"), look="primary", on=self.store)
        self.foot(self.note, self.revert, self.save)
        self.end()
        self.list.currentItemChanged.connect(lambda *_: self._select())
        self.search.textChanged.connect(lambda _text: self._fill_list())
        self.retranslate()

    def _build_form(self) -> None:
        card = self._form_card
        self.name = control(QLineEdit(self), "prompt-name")
        self.description = control(QLineEdit(self), "prompt-description")
        self.text = control(TextField(self), "prompt-text", name=N_("Text of the prompt"))
        self.text.setTabChangesFocus(True)
        self.text.setMinimumHeight(theme().px(130))
        self.facts = control(label("", "small", self, wrap=True), "prompt-facts")
        self.warning = control(label("", "small-warn", self, wrap=True), "prompt-warning")
        for said in (self.facts, self.warning):
            said.setTextFormat(Qt.TextFormat.PlainText)
        card.body.addWidget(self.warning)
        self.row(card, self.name, N_("Name"), N_("Letters, digits, “-”, “_” and “.”, no spaces. Type /name to insert it."), stretch=True)
        self.row(card, self.description, N_("Description"), N_("What it is for, in a line."), stretch=True)
        for widget in (self.text, self.facts):
            card.body.addWidget(widget)
        for field in (self.name, self.description):
            field.textChanged.connect(lambda _text: self._check())
        self.text.textChanged.connect(self._check)

    # showing ------------------------------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        self._prompts = await self.bridge.engine.prompts.list()
        self._fill_list()
        if not self._edited():
            self._show()
        self._files = await self.bridge.engine.skills.files_by_name()
        self._check()

    def _fill_list(self) -> None:
        words = self.search.text().casefold().split()
        self.list.blockSignals(True)
        self.list.clear()
        for prompt in self._prompts:
            if all(word in prompt.searched for word in words):
                facts = prompt.description or prompt.content.partition("\n")[0]
                two_line_item(self.list, prompt.id, f"/{prompt.name}", facts, "quote", "accent")
        rows = min(max(self.list.count(), 1), ROWS)
        self.list.setFixedHeight(rows * max(self.list.sizeHintForRow(0), theme().px(40)) + 8)
        self.list.setVisible(self.list.count() > 0)
        none = _("No results") if self._prompts else _("No prompts yet. Write one, or import a file from another program.")
        self.nothing.setText("" if self.list.count() else none)
        self.nothing.setVisible(not self.list.count())
        if not any(prompt.id == self._chosen for prompt in self._prompts) and not self._edited():
            self._chosen = self.list.item(0).data(KeyRole) if self.list.count() else ""
        self._choose_row()
        self.list.blockSignals(False)

    def current(self) -> Prompt | None:
        """The prompt that is shown; None while one is added."""
        return None if self._adding else next((prompt for prompt in self._prompts if prompt.id == self._chosen), None)

    def draft(self) -> PromptDraft:
        """What stands in the form."""
        return PromptDraft(name=self.name.text(), description=self.description.text(), content=self.text.toPlainText())

    def _shown_draft(self) -> PromptDraft:
        prompt = self.current()
        return prompt.draft if prompt is not None else PromptDraft(name="", content="")

    def _edited(self) -> bool:
        return self._adding or self.draft() != self._shown

    def _show(self) -> None:
        """Fill the form with what is stored."""
        self._shown = self._shown_draft()
        self.name.setText(self._shown.name)
        self.description.setText(self._shown.description)
        self.text.setPlainText(self._shown.content)
        self._say("")
        self._check()

    def _select(self) -> None:
        item = self.list.currentItem()
        if item is None or (item.data(KeyRole) == self._chosen and not self._adding) or self._busy_with_another():
            return
        self._adding, self._chosen = False, item.data(KeyRole)
        self._show()

    def _check(self) -> None:
        prompt, edited = self.current(), self._edited()
        there = prompt is not None or self._adding
        for name in ("duplicate", "export", "delete", "preview"):
            self.buttons[name].setEnabled(prompt is not None)
        for widget in (self._form_card, self._form_card.heading):
            widget.setVisible(there)
        self._form_card.heading.setText(_("NEW PROMPT") if prompt is None else f"/{prompt.name}")
        self.save.setEnabled(edited)
        self.revert.setEnabled(edited)
        found = variables(self.text.toPlainText())
        self.facts.setText(_("Variables: {names}", names=", ".join(map(_variable, found))) if found else _("No variables."))
        warnings = []
        if (file := self._files.get(self.name.text().strip())) and there:
            warnings.append(_("A skill or command has this name and comes first: {file}. Rename the prompt to use it.", file=file))
        if prompt is not None and prompt.tainted:
            warnings.append(_("From {source}: read it before you use it. Saving it says that you have.", source=", ".join(prompt.tainted)))
            self.save.setEnabled(True)
        self.warning.setText("\n".join(warnings))
        self.warning.setVisible(bool(warnings))

    def _say(self, text: str) -> None:
        self.note.setText(text)

    def _busy_with_another(self) -> bool:
        """Whether the form has changes that are not saved: they are neither dropped nor taken along, and the list stays where it is."""
        if not self._edited():
            return False
        self._say(_("Save your changes or cancel them first."))
        self._choose_row()
        return True

    def _choose_row(self) -> None:
        before = self.list.blockSignals(True)
        keys = [self.list.item(row).data(KeyRole) for row in range(self.list.count())]
        self.list.setCurrentRow(keys.index(self._chosen) if self._chosen in keys and not self._adding else -1)
        self.list.blockSignals(before)

    # doing --------------------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The form of a new prompt."""
        if self._busy_with_another():
            return
        self._adding = True
        self._choose_row()
        self._show()
        self.name.setFocus()

    def _revert(self) -> None:
        """Back to what is stored."""
        self._adding = False
        self._choose_row()
        self._show()

    def store(self) -> None:
        """Save the form; what is wrong is shown in place."""
        draft = self.draft()
        self.jobs.once("store", lambda: self._store(draft))

    async def _store(self, draft: PromptDraft) -> None:
        try:
            saved = await self.bridge.engine.prompts.save(draft, None if self._adding else self._chosen)
        except AtelierError as error:
            self._say(error_text(error))
            return
        await self._show_again(saved)
        toast(self, _("{name} saved", name=f"/{saved.name}"))

    async def _show_again(self, prompt: Prompt) -> None:
        """Read the list again with this prompt chosen; what is searched for gives way when it would hide it."""
        self._adding, self._chosen = False, prompt.id
        self._prompts = await self.bridge.engine.prompts.list()
        if not all(word in prompt.searched for word in self.search.text().casefold().split()):
            self.search.clear()
        self._show()
        self._fill_list()

    async def _duplicate(self) -> None:
        await self._show_again(await self.bridge.engine.prompts.duplicate(self._chosen))

    async def _delete(self) -> None:
        if self.current() is None:
            return
        gone = await self.bridge.engine.prompts.delete(self._chosen)
        self._chosen, self._shown = "", self.draft()

        def undo() -> None:
            self.jobs.once("undelete", lambda: self._undelete(gone))

        offer_undo(self, _("Prompt “{name}” deleted", name=gone.name), undo)
        await self.load()

    async def _undelete(self, prompt: Prompt) -> None:
        back = await self.bridge.engine.prompts.put_back(prompt)
        if self._edited():
            await self.load()
        else:
            await self._show_again(back)

    def preview(self) -> None:
        """Show what comes of the text in the form with its variables filled in; it can be copied."""
        prompt = self.current()
        if prompt is None:
            return
        shown = prompt.model_copy(update=self.draft().model_dump())
        self.dialog = PromptForm(shown, _("Copy"), self._copy, self)
        self.dialog.finished.connect(self._closed)
        self.dialog.open()

    def _copy(self, text: str) -> None:
        QApplication.clipboard().setText(text)
        toast(self, _("Copied"))

    def _closed(self) -> None:
        self.dialog = None

    def _ask_import(self) -> None:
        if not self._busy_with_another():
            ask_open(self, _("Import a prompt"), _(OPEN_KINDS), self.import_from)

    def import_from(self, path: Path) -> None:
        """Store the prompt of a file; what cannot be taken over of another program's is said."""

        async def job() -> None:
            done = await self.bridge.engine.prompts.import_text(await read_text(path), str(path))
            await self._show_again(done.prompt)
            ignored = ", ".join(done.ignored)
            if ignored:
                toast(self, _("{name} imported without: {fields}", name=f"/{done.prompt.name}", fields=ignored))
            else:
                toast(self, _("{name} imported", name=f"/{done.prompt.name}"))

        self.jobs.once("import", job)

    def _ask_export(self) -> None:
        prompt = self.current()
        if prompt is not None:
            ask_save(self, _("Export the prompt"), f"{prompt.name}.md", _(SAVE_KINDS), self.export_to)

    def export_to(self, path: Path) -> None:
        """Write the chosen prompt's file."""

        async def job() -> None:
            await write_text(path, await self.bridge.engine.prompts.export_text(self._chosen))
            toast(self, _("Saved as {name}", name=path.name))

        self.jobs.start(job())

    def retranslate(self) -> None:
        self._fill_list()
        self._check()


def _variable(each: Variable) -> str:
    return each.name if each.default is None else f"{each.name} = {each.default}"

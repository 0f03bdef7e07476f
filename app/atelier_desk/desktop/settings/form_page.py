"""A page whose form is saved as a whole: services that are tried before they are used."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QPushButton

from atelier_desk.desktop.settings.fields import Field, value_of
from atelier_desk.desktop.settings.form import Form
from atelier_desk.desktop.settings.page import SettingsPage
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.validation import validation_text
from atelier_desk.desktop.widgets import control
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from pydantic import BaseModel

    from atelier_desk.desktop.widgets.bindings import Text


class FormPage(SettingsPage):
    """``<prefix>-apply`` saves the form once it is right and differs from what is stored, ``<prefix>-cancel`` shows what is stored again;
    what is wrong is said in the foot. What is typed stays while what is stored does. Subclasses call ``build_form`` and
    ``build_foot``."""

    topics = ("settings",)
    titles: Mapping[str, Text] = {}
    """What fields are called in the foot whose captions do not say enough there."""

    def build_form(self, model: type[BaseModel], prefix: str, *fields: Field) -> None:
        self.saved = model()
        self._complained = self._read = self._made = False
        self.form = Form(model, self, prefix, *fields)
        self.form.show_values(self.saved)
        self._made = True
        self.form.changed.connect(self.changed)
        self._enable(False)

    def _enable(self, on: bool) -> None:
        """Nothing can be typed until what is stored was read: it would be overwritten, or stored with values that nobody chose."""
        for control_ in self.form.controls.values():
            control_.setEnabled(on)

    def value(self, key: str) -> Any:
        """What a field shows."""
        return self.form.fields[key].read(self.form.controls[key]) if self._made else value_of(self.saved, key)

    def build_foot(self) -> None:
        self.apply = control(QPushButton(self), f"{self.form.prefix}-apply", N_("Save"), look="primary", on=self.store)
        self.cancel = control(QPushButton(self), f"{self.form.prefix}-cancel", N_("Cancel"), on=self.revert)
        self.foot(self.cancel, self.apply)

    async def read(self) -> BaseModel:
        """What is stored."""
        raise NotImplementedError

    async def use(self, entered: Any, secrets: dict[str, str]) -> bool:
        """Store it. False where what is secret is known for this session alone."""
        raise NotImplementedError

    def complete(self, entered: Any) -> bool:
        """Whether there is enough to be saved."""
        return True

    def check(self) -> None:
        """Show what belongs to what is entered, and which buttons can be pressed."""
        entered = self.entered()
        edited = entered != self.saved or bool(self.form.secrets())
        self.apply.setEnabled(entered is not None and self.complete(entered) and edited)
        self.cancel.setEnabled(edited)
        if entered is None:
            self._complained = True
            captions = {key: field.caption for key, field in self.form.fields.items()}
            self.busy.note(validation_text(self.form.wrong(self.values()), captions | dict(self.titles)), "error")
        elif self._complained:
            self._clear_messages()

    def entered(self) -> Any:
        """The model of what is entered; None where it cannot be one."""
        try:
            return self.form.model.model_validate(self.values())
        except ValueError:
            return None

    def values(self) -> dict[str, object]:
        """What is entered, without what does not belong to the service that is chosen."""
        return self.form.values()

    async def load(self) -> None:
        stored = await self.read()
        if stored != self.saved or not self._read:
            self._read, self.saved = True, stored
            self.form.show_values(stored)
            self._enable(True)
        self.check()

    def changed(self) -> None:
        """A person changed something: what was said is about what was there before."""
        self._clear_messages()
        self.check()

    def _clear_messages(self) -> None:
        self._complained = False
        self.busy.clear_message()

    def revert(self) -> None:
        """Back to what is stored."""
        self.form.show_values(self.saved)
        self.changed()

    def store(self) -> None:
        """Save the form."""
        entered, secrets = self.entered(), self.form.secrets()
        if entered is None:
            return

        async def work() -> None:
            kept = await self.use(entered, secrets)
            self.saved = entered
            self.form.clear_secrets()  # all else may have been changed meanwhile
            await self.load()
            self.note_saved(kept)

        self.busy.run(self.jobs, "form", work)

    def try_form(self, what: Text, work: Callable[[Any, dict[str, str]], Coroutine[Any, Any, Outcome]]) -> None:
        """Try what is entered; nothing is stored."""
        entered, secrets = self.entered(), self.form.secrets()
        if entered is not None:
            self.busy.run(self.jobs, "form", lambda: work(entered, secrets), what)

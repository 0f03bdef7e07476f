"""Base of pages whose form is saved as a whole: services to be tested before use."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from atelier_desk.desktop.settings.fields import Field, value_of
from atelier_desk.desktop.settings.page_base import SettingsPage
from atelier_desk.desktop.settings.progress_line import Outcome
from atelier_desk.desktop.settings.validated_form import Form
from atelier_desk.desktop.settings.validation_errors import validation_text

if TYPE_CHECKING:
    from pydantic import BaseModel

    from atelier_desk.desktop.widgets.language_theme_bindings import Text


class FormPage(SettingsPage):
    """``<prefix>-apply`` saves the form if valid and changed, ``<prefix>-cancel`` restores the stored values.

    Errors are shown in the footer. Input is preserved until the stored values change. Subclasses call ``build_form``
    and ``build_foot``.
    """

    topics = ("settings",)
    titles: Mapping[str, Text] = {}
    """Names of fields in the footer, where captions are not specific enough."""

    def build_form(self, model: type[BaseModel], prefix: str, *fields: Field) -> None:
        self.saved = model()
        self._complained = self._read = self._made = False
        self.form = Form(model, self, prefix, *fields)
        self.form.show_values(self.saved)
        self._made = True
        self.form.changed.connect(self.changed)
        self._enable(False)

    def _enable(self, on: bool) -> None:
        """Disable input until the stored values are loaded, which it would overwrite."""
        for control_ in self.form.controls.values():
            control_.setEnabled(on)

    def value(self, key: str) -> object:
        """The value of a field."""
        return self.form.fields[key].read(self.form.controls[key]) if self._made else value_of(self.saved, key)

    def build_foot(self) -> None:
        prefix = self.form.prefix
        self.cancel, self.apply = self.foot(
            cancel=(f"{prefix}-cancel", self.revert), save=(f"{prefix}-apply", self.store)
        )
        self.form.entered.connect(self.apply.click)  # one that is disabled does nothing

    async def read(self) -> BaseModel:
        """Load the stored values."""
        raise NotImplementedError

    async def use(self, entered: Any, secrets: dict[str, str]) -> bool:
        """Store the values. Returns False if secrets last only for this session."""
        raise NotImplementedError

    def complete(self, entered: Any) -> bool:
        """Whether the input is complete enough to save."""
        return True

    def check(self) -> None:
        """Show fields that belong to the input, and enable buttons."""
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
        """The model with the entered values; None if invalid."""
        try:
            return self.form.model.model_validate(self.values())
        except ValueError:
            return None

    def values(self) -> dict[str, object]:
        """The entered values without those of other services."""
        return self.form.values()

    async def load(self) -> None:
        stored = await self.read()
        if stored != self.saved or not self._read:
            self._read, self.saved = True, stored
            self.form.show_values(stored)
            self._enable(True)
        self.check()

    def changed(self) -> None:
        """The user changed something: clear messages about the previous input."""
        self._clear_messages()
        self.check()

    def _clear_messages(self) -> None:
        self._complained = False
        self.busy.clear_message()

    def revert(self) -> None:
        """Restore the stored values."""
        self.form.show_values(self.saved)
        self.changed()

    def store(self) -> None:
        """Save the form."""
        entered, secrets = self.entered(), self.form.secrets()
        if entered is None:
            return

        async def work() -> None:
            persistent = await self.use(entered, secrets)
            self.saved = entered
            self.form.clear_secrets()  # other values may have been changed meanwhile
            await self.load()
            self.note_saved(persistent)

        self.busy.run(self.jobs, "form", work)

    def try_form(self, what: Text, work: Callable[[Any, dict[str, str]], Coroutine[Any, Any, Outcome]]) -> None:
        """Test the input; nothing is stored."""
        entered, secrets = self.entered(), self.form.secrets()
        if entered is not None:
            self.busy.run(self.jobs, "form", lambda: work(entered, secrets), what)

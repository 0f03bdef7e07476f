"""General: language, appearance, notifications. Changes apply at once."""

from __future__ import annotations

from atelier_desk.desktop.settings.declarative_page import RowsPage, Section
from atelier_desk.desktop.settings.fields import Choice, Number, Toggle
from atelier_desk.desktop.settings.registry import settings_page
from atelier_desk.desktop.settings.text_size_field import Scale
from atelier_desk.support.i18n import LANGUAGES, N_, native_name
from atelier_desk.support.locale_format import NARROW

LANGUAGE_CHOICES = (("system", N_("System default")), *((code, native_name(code)) for code in LANGUAGES))
THEMES = (("system", N_("System default")), ("light", N_("Light")), ("dark", N_("Dark")))


@settings_page("general", order=10, icon="sliders-horizontal", title=N_("General"), section=N_("Application"))
class GeneralPage(RowsPage):
    """``language-select``, ``theme-select``, font scale, notifications, parallel workflows, inactivity timeout."""

    sections = (
        Section(
            N_("Language and appearance"),
            Choice(
                "language",
                N_("Language"),
                name="language-select",
                choices=LANGUAGE_CHOICES,
            ),
            Choice(
                "theme",
                N_("Theme"),
                name="theme-select",
                choices=THEMES,
            ),
            Scale("font_scale", N_("Text size")),
        ),
        Section(
            N_("Workflows and notifications"),
            Toggle(
                "notifications",
                N_("Notifications"),
                N_("Notify me when an agent needs me or when a workflow finishes in the background."),
            ),
            Number(
                "remind_minutes",
                N_("Remind me every"),
                N_("Repeats the notification while a question or an approval is waiting; 0 notifies once."),
                "remind-minutes",
                step=5,
                suffix=f"{NARROW}min",
                zero=N_("never"),
            ),
            Toggle(
                "name_by_model",
                N_("Generate titles with the model"),
                N_(
                    "Sends one short request after the first answer. When off, the title is the start of the first "
                    "message."
                ),
            ),
            Toggle(
                "stop_repetition",
                N_("Stop models that repeat themselves"),
                N_(
                    "Stops a reply when the same passage occurs 12 times in a row. The text is kept; choose “Continue” "
                    "for the rest."
                ),
            ),
            Number(
                "workflows_running",
                N_("Parallel workflows"),
                N_("Workflows beyond this number wait in a queue."),
                "workflows-running",
            ),
            Number(
                "inactivity_s",
                N_("Inactivity timeout"),
                N_("A model or sub-agent that stays inactive for this long is stopped with an error."),
                "inactivity",
                step=30,
                suffix=f"{NARROW}s",
            ),
            Toggle(
                "fsync",
                N_("Sync every step to disk"),
                N_(
                    "Turning this off makes Atelier faster, but data can then be lost in a power cut, though "
                    "not if Atelier crashes. Applies at the next start."
                ),
            ),
        ),
    )

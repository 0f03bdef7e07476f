"""The basic tools: tasks, calculation, questions and reports."""

from __future__ import annotations

from atelier_desk.support.i18n import N_
from atelier_desk.tools.registry.sections import CORE, section

section(
    CORE, order=10, name=N_("Basics"), description=N_("Tasks, memory, calculation, questions to the user and reports")
)

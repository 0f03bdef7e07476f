"""First start: language, look, a model that answers, and three goals to begin with."""

from __future__ import annotations

from atelier_desk.desktop.firststart.dialog import FirstStart
from atelier_desk.desktop.firststart.notice import StarterNotice

__all__ = ["FirstStart", "StarterNotice"]

"""What the program needs after the first paint, before its engine is opened."""

from __future__ import annotations

# Imported completely before a second thread imports it: a partly imported pydantic imports more on attribute access,
# which sometimes fails when two threads do it.
import pydantic.main
import qasync

from atelier_desk.desktop.main_window.layout_saving import LayoutKeeper
from atelier_desk.presentation.file_change_text import upgrade_text

__all__ = ["LayoutKeeper", "pydantic", "qasync", "upgrade_text"]

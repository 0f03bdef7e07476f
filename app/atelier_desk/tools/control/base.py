"""What the control tools share."""

from __future__ import annotations

from typing import ClassVar

from atelier_desk.tools.base import ToolCategory
from atelier_desk.tools.describe import DescribedTool


class ControlTool(DescribedTool):
    """Called by the model directly, in no section; running one again changes nothing more."""

    category: ClassVar[ToolCategory] = ToolCategory.CONTROL
    section: ClassVar[str] = ""
    idempotent: ClassVar[bool] = True
    awaits_external_response: ClassVar[bool] = True

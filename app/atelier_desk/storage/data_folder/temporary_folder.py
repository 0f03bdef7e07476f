"""A folder for the time of one command."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from atelier_desk.support.threads import in_storage_thread


@asynccontextmanager
async def temporary_folder() -> AsyncIterator[Path]:
    """Create a private folder that is removed at the end with all its content."""
    folder = Path(await in_storage_thread(tempfile.mkdtemp, prefix="atelier-"))
    try:
        yield folder
    finally:
        await in_storage_thread(shutil.rmtree, folder, ignore_errors=True)

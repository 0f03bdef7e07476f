"""Files and folders of the granted folders, without ignored ones and links that lead outside.

``@name/`` finds only folders.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from atelier_desk.domain.errors import ToolError, UsageError
from atelier_desk.engine.attachments.names_and_decoding import is_secret_name, shown_name
from atelier_desk.engine.attachments.reading import read
from atelier_desk.engine.mentions.mention_source import Mention, MentionScope, best, mentionable
from atelier_desk.support.i18n import N_
from atelier_desk.support.threads import in_tool_thread
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.gitignore_walk import Walk

if TYPE_CHECKING:
    from atelier_desk.engine.attachments.reading import PreparedAttachments

MAX_SCANNED = 20_000
"""Maximum entries visited per search."""
SECONDS = 2.0


@mentionable(order=10)
class Files:
    """Keys are the granted folder and the relative path, joined by a null byte."""

    kind: ClassVar[str] = "file"
    title: ClassVar[str] = N_("Files")
    icon: ClassVar[str] = "file-text"

    async def find(self, where: MentionScope, query: str, most: int) -> list[Mention]:
        return await in_tool_thread(_find, where.folders, query, most)

    async def read(self, where: MentionScope, key: str) -> PreparedAttachments:
        folder, _zero, path = key.partition("\0")
        if folder not in where.folders:
            raise UsageError(N_("{path} is not in any folder that this workflow may use."), path=shown_name(path))
        return await in_tool_thread(_read, folder, path, where.folders)


def _read(folder: str, path: str, folders: tuple[str, ...]) -> PreparedAttachments:
    real = Path(folder, path).resolve()
    if not real.is_relative_to(Path(folder).resolve()):
        # Found by name, which is not explicit enough: a link that leads outside is not followed.
        raise UsageError(
            N_("{path} is a link that leads out of the folder. Attach the file itself."), path=shown_name(path)
        )
    return read(Path(folder, path), folders)


def _find(folders: tuple[str, ...], query: str, most: int) -> list[Mention]:
    found: list[Mention] = []
    folders_only, query = query.endswith("/"), query.rstrip("/")
    for folder in folders:
        walk = Walk(ConfinedRoot(Path(folder)), seconds=SECONDS)
        try:
            for entry in walk.files(folders=True):
                if len(found) >= MAX_SCANNED:
                    break
                if entry.found.kind not in ("file", "folder") or is_secret_name(entry.path.rpartition("/")[2]):
                    continue  # secrets must be attached explicitly, not by completion
                above, _slash, name = entry.path.rpartition("/")
                if folders_only and entry.found.kind != "folder":
                    continue
                icon = "folder" if entry.found.kind == "folder" else "file-text"
                found.append(
                    Mention(
                        "file", f"{folder}\0{entry.path}", shown_name(name), shown_name(above) if above else "", icon
                    )
                )
        except ToolError:
            continue  # a missing or unreadable folder
    return best(found, query, most)

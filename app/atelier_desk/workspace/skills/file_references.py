"""Include files that a skill or command references with ``@path`` when a person calls it.

They are searched in the skill's own folder and the granted folders only: references that lead outside, look like
secrets or are not text stay as written, as do words that name no file, such as ``@param`` or an address.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from atelier_desk.domain.errors import ToolError
from atelier_desk.workspace.confined_root import ConfinedRoot
from atelier_desk.workspace.path_restrictions import Denials
from atelier_desk.workspace.text_files import decode

MOST = 10
"""Maximum files per text."""
FILE = 20_000
"""Maximum characters per file."""
BYTES = 1_000_000
NAMES = 200
"""Maximum names listed for a referenced folder."""
_NAMED = re.compile(r"(?<![\w@`/.-])@(?:\./)?([\w.][\w./-]{0,300})")
_COMMAND = re.compile(r"!`[^`\n]+`")
NOT_RUN = (
    "[The commands above in !`…` were not run for you. Where you need what they print, run them with your own tools.]"
)


def has_commands(text: str) -> bool:
    """Whether a text contains commands that other programs execute before a model reads it."""
    return _COMMAND.search(text) is not None


def included(
    text: str, roots: Sequence[ConfinedRoot], secret: Callable[[str], bool], denials: Denials | None = None
) -> str:
    """Append the referenced files to a text, and a note about commands that were not executed. Blocks.

    Args:
        roots: where files are searched, in order.
        secret: tells whether files of a name are excluded.
        denials: what rules deny; files that they deny are only named.
    """
    denials = denials or Denials()
    names = dict.fromkeys(match[1].rstrip(".,;:/") for match in _NAMED.finditer(text))
    parts = [text, *list(_files(names, roots, secret, denials))[:MOST]]
    if has_commands(text):
        parts.insert(1, NOT_RUN)
    return "\n\n".join(parts)


def _files(
    names: dict[str, None], roots: Sequence[ConfinedRoot], secret: Callable[[str], bool], denials: Denials
) -> Iterator[str]:
    for name in names:
        if any(map(secret, name.split("/"))):
            continue
        for root in roots:
            if any(map(secret, _led_to(root, name))):
                continue  # a link with a harmless name
            if rule := denials.rule_against(str(root.folder / name)):
                yield f"[@{name} is left out: the permission rule “{rule}” denies reading it.]"
                break
            if (content := _read(root, name)) is not None:
                # Otherwise the text could close the enclosing element itself.
                shown = content.replace("</named_file", "</ named_file").rstrip()
                yield f'<named_file path="{name}">\n{shown}\n</named_file>'
                break


def _led_to(root: ConfinedRoot, name: str) -> Sequence[str]:
    """Return the names on the way to a file below its folder, links resolved."""
    return Path(os.path.relpath(os.path.realpath(root.folder / name), os.path.realpath(root.folder))).parts


def _read(root: ConfinedRoot, name: str) -> str | None:
    try:
        found = root.inspect(name)
        if found is None:
            return None
        if found.kind == "folder":
            return "\n".join(each for each, _found in root.names(name)[:NAMES])
        text = decode(root.read(name, BYTES))
    except ToolError:
        return None
    if text is None:
        return None
    return text.text if len(text.text) <= FILE else f"{text.text[:FILE]}\n[{FILE} of its {len(text.text)} characters.]"

"""Build hook: put compiled catalogues and resources into the wheel; a checkout uses them where they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface):
    """Compile ``translations/<language>/LC_MESSAGES/atelier.po`` and map the data folders to where the program
    looks for them.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        included: dict[str, str] = {}
        for source in sorted((root / "translations").glob("*/LC_MESSAGES/*.po")):
            compiled = source.with_suffix(".mo")
            with source.open("rb") as po, compiled.open("wb") as mo:
                write_mo(mo, read_po(po))
            included[str(compiled)] = (
                f"atelier_desk/_translations/{compiled.relative_to(root / 'translations').as_posix()}"
            )
        if version != "editable":
            resources = root / "resources"
            included |= {
                str(path): f"atelier_desk/_resources/{path.relative_to(resources).as_posix()}"
                for path in resources.rglob("*")
                if path.is_file()
            }
            docs = root / "docs"
            pages = [path for path in docs.rglob("*") if path.suffix in (".md", ".png")]
            included |= {
                str(path): f"atelier_desk/_resources/docs/{path.relative_to(docs).as_posix()}" for path in pages
            }
            included[str(root / "THIRD-PARTY-NOTICES")] = "atelier_desk/_resources/licenses/THIRD-PARTY-NOTICES"
            # for packages that are added later
            included[str(root / "constraints.txt")] = "atelier_desk/_resources/constraints.txt"
            build_data["force_include"].update(included)

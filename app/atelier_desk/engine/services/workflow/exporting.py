"""The files that tools made, in an exported workflow: as many as fit into what can be imported again."""

from __future__ import annotations

from collections.abc import Iterable

from atelier_desk.domain import limits
from atelier_desk.domain.errors import StorageError
from atelier_desk.domain.events.run import RunEvent, ToolCallFinished
from atelier_desk.domain.parts import ArtefactPart
from atelier_desk.engine.services.workflow.file import ArtefactFile, WorkflowFile, to_json
from atelier_desk.storage.folder.artefacts import Artefacts

_AROUND = 160
"""Bytes of the JSON around one file's Base64, at most."""


def artefacts_of(events: Iterable[RunEvent]) -> list[ArtefactPart]:
    """The files that a journal names, each content once, the smallest first."""
    parts = [part for event in events if isinstance(event.body, ToolCallFinished) for part in event.body.parts]
    found = {part.sha256: part for part in parts if isinstance(part, ArtefactPart)}
    return sorted(found.values(), key=lambda part: part.size)


async def exported(file: WorkflowFile, artefacts: Artefacts) -> tuple[str, list[str]]:
    """The file's JSON with the files its journal names, and the names of those that are left out: missing, damaged, or beyond the size that
    can be imported."""
    text = to_json(file)
    room = limits.IMPORT_FILE - len(text.encode("utf-8", "surrogatepass"))
    kept: list[ArtefactFile] = []
    left_out: list[str] = []
    for part in artefacts_of(file.events):
        needed = (part.size + 2) // 3 * 4 + _AROUND
        data = await _read(artefacts, file.workflow.id, part) if needed <= room else None
        if data is None:
            left_out.append(part.name)
        else:
            room -= needed
            kept.append(ArtefactFile.model_construct(sha256=part.sha256, data=data))
    return (to_json(file.model_copy(update={"artefacts": tuple(kept)})) if kept else text), left_out


async def _read(artefacts: Artefacts, workflow_id: str, part: ArtefactPart) -> bytes | None:
    try:
        return await artefacts.read(workflow_id, part)
    except StorageError:
        return None

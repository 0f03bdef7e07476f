"""Reducer: requests beside the conversation, of which only the usage counts."""

from __future__ import annotations

from atelier_desk.domain.events.run import (
    MediaPaid,
    MemoryExtractionDone,
    PictureDescribed,
    RequestLost,
    RunEvent,
    TitleGenerated,
)
from atelier_desk.engine.run.reducer.handler_registry import evolve, on
from atelier_desk.engine.run.reducer.state import RunState


@on(TitleGenerated)
def _title_written(state: RunState, body: TitleGenerated, event: RunEvent) -> RunState:
    return evolve(state, usage=state.usage + body.usage)


@on(PictureDescribed)
def _picture_described(state: RunState, body: PictureDescribed, event: RunEvent) -> RunState:
    return evolve(state, usage=state.usage + body.usage)


@on(MediaPaid)
def _media_paid(state: RunState, body: MediaPaid, event: RunEvent) -> RunState:
    return evolve(state, usage=state.usage + body.usage)


@on(MemoryExtractionDone)
def _memory_extraction_done(state: RunState, body: MemoryExtractionDone, event: RunEvent) -> RunState:
    return evolve(state, usage=state.usage + body.usage)


@on(RequestLost)
def _request_lost(state: RunState, body: RequestLost, event: RunEvent) -> RunState:
    return evolve(state, usage=state.usage + body.usage)

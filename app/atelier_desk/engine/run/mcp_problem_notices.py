"""Problems of an agent's MCP servers that a workflow was not told about yet."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain.events.run import ServersLacking
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.storage.repositories import Repositories


async def server_news(
    repos: Repositories, workflow_id: str, servers: Sequence[str], problems: Sequence[ServerProblem]
) -> ServersLacking | None:
    """Return what to report about ``servers``, whose present problems are all given; None if nothing is new.

    A problem is reported once, by the first run of the workflow that encounters it, and again if it changed or
    recurred.
    """
    of_type = repos.journal.of_type
    known: dict[str, ServerProblem] = {}
    for event in await all_rows(
        lambda offset, limit: of_type(workflow_id, "servers_lacking", offset=offset, limit=limit)
    ):
        assert isinstance(event.body, ServersLacking)
        known |= {each.server: each for each in event.body.problems}
        for server in event.body.well:
            known.pop(server, None)
    new = tuple(each for each in problems if each.server not in known or not _same(each, known[each.server]))
    well = tuple(sorted({*servers} & {*known} - {each.server for each in problems}))
    return ServersLacking(problems=new, well=well) if new or well else None


def _same(one: ServerProblem, other: ServerProblem) -> bool:
    return (one.code, one.key) == (other.code, other.key)

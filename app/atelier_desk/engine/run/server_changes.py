"""What a workflow was not told yet of the MCP servers of its agents."""

from __future__ import annotations

from collections.abc import Sequence

from atelier_desk.domain.events.run import ServersLacking
from atelier_desk.domain.mcp import ServerProblem
from atelier_desk.engine.services.common.paging import all_rows
from atelier_desk.storage.repositories import Repositories


async def server_news(
    repos: Repositories, workflow_id: str, servers: Sequence[str], problems: Sequence[ServerProblem]
) -> ServersLacking | None:
    """What to say of ``servers``, of which these ``problems`` are all there are now; None when the workflow knows it.

    A problem is said once, by whichever run of the workflow meets it first, and again when it has changed or was over in between.
    """
    of_type = repos.journal.of_type
    known: dict[str, ServerProblem] = {}
    for event in await all_rows(lambda offset, limit: of_type(workflow_id, "servers_lacking", offset=offset, limit=limit)):
        assert isinstance(event.body, ServersLacking)
        known |= {each.server: each for each in event.body.problems}
        for server in event.body.well:
            known.pop(server, None)
    new = tuple(each for each in problems if each.server not in known or not _same(each, known[each.server]))
    well = tuple(sorted({*servers} & {*known} - {each.server for each in problems}))
    return ServersLacking(problems=new, well=well) if new or well else None


def _same(one: ServerProblem, other: ServerProblem) -> bool:
    return (one.code, one.key) == (other.code, other.key)

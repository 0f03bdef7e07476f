"""Calls of the SDK that a connection needs beyond its client.

Each function imports the SDK when it is called.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, InputRequiredResult
from mcp_types.jsonrpc import HEADER_MISMATCH, URL_ELICITATION_REQUIRED
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from atelier_desk.mcp import listing

if TYPE_CHECKING:
    from mcp import Client


def program_version() -> str:
    """Version of this program, read without importing the package's front door."""
    return str(import_module(__name__.partition(".")[0]).__version__)


def modern(client: Client) -> bool:
    """Whether the server uses revision 2026-07-28 or later."""
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS


def pages_of(error: Exception) -> InputRequiredResult | None:
    """Pages a person must open first, if a server of 2025-11-25 refused a call for that."""
    if not isinstance(error, MCPError) or error.code != URL_ELICITATION_REQUIRED or not isinstance(error.data, dict):
        return None
    wanted = error.data.get("elicitations")
    try:
        requests = [
            ElicitRequest.model_validate({"method": "elicitation/create", "params": each}) for each in wanted or ()
        ]
        return InputRequiredResult(input_requests={f"page-{number}": each for number, each in enumerate(requests, 1)})
    except (ValidationError, TypeError):
        return None


async def relisted(error: Exception, client: Client) -> bool:
    """Whether to repeat the call: its headers came from an old definition of the tool."""
    if not isinstance(error, MCPError) or error.code != HEADER_MISMATCH or not modern(client):
        return False
    async for _page in listing.pages(client.list_tools):
        pass
    return True


def load() -> None:
    """Import the SDK; takes two seconds the first time."""
    for name in ("mcp", "mcp.client.streamable_http", "mcp_types.version"):
        import_module(name)


async def ping(client: Client) -> None:
    """Check that a server answers.

    The newest revision has no ping; every server answers a request for its own description.
    """
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        await client.session.send_discover(client.protocol_version)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated together with the revisions that have it
        asked = client.session.send_ping()
    await asked


async def unchecked(name: str, result: object) -> None:
    """Accept the result without validation."""

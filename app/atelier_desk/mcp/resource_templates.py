"""Resource templates: addresses with variables, and the values their server suggests."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp_types import ResourceTemplateReference

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.mcp import McpTemplate
from atelier_desk.llm.secrets import redact
from atelier_desk.mcp.list_validation import Entries
from atelier_desk.mcp.listing import pages
from atelier_desk.support.i18n import N_

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import ResourceTemplate

MOST_TEMPLATES = 200
MOST_VARIABLES = 20
"""Variables of one address."""
MOST_PROPOSED = 100
"""Suggested values for one variable."""
LONGEST = 2_000
"""Characters of an address, and of a value."""


async def templates(client: Client, entries: Entries) -> list[McpTemplate]:
    """A server's usable templates; of several with one address the first."""
    if client.server_capabilities.resources is None:
        return []
    found: dict[str, McpTemplate] = {}
    async with aclosing(pages(client.list_resource_templates)) as listed:
        async for page in listed:
            for each in page.resource_templates:
                made = _template(each)
                if made is None:
                    entries.reject(
                        "template", each.name or each.uri_template, "its address has no parts that can be filled in"
                    )
                else:
                    found.setdefault(made.uri, made)
            if len(found) >= MOST_TEMPLATES:
                break
    return list(found.values())[:MOST_TEMPLATES]


async def proposed(
    client: Client, template: McpTemplate, variable: str, typed: str, others: Mapping[str, str]
) -> list[str]:
    """Values the server suggests for a variable that begins with ``typed``; may be empty."""
    if client.server_capabilities.completions is None:
        return []
    asked = {"name": variable, "value": typed[:LONGEST]}
    known = {name: value for name, value in others.items() if value and name != variable}
    result = await client.complete(ResourceTemplateReference(uri=template.uri), asked, known or None)
    values = (str(value) for value in result.completion.values[:MOST_PROPOSED])
    usable = (value for value in values if value.isprintable() and len(value) <= LONGEST and redact(value) == value)
    return list(dict.fromkeys(usable))


def filled(server: str, template: McpTemplate, values: Mapping[str, str]) -> str:
    """The address with its variables replaced; imports the SDK, so call it in a thread.

    Raises:
        UsageError: a variable is missing or unknown; the text names server and variables.
    """
    given = {name: value.strip() for name, value in values.items() if value.strip()}
    known = ", ".join(template.variables) or "-"
    if unknown := [name for name in given if name not in template.variables]:
        message = N_("The address {uri} of the MCP server {server} has no variable {name}. Its variables: {known}.")
        raise UsageError(message, uri=template.uri, server=server, name=unknown[0], known=known)
    if missing := [name for name in template.variables if name not in given and name not in template.optional]:
        message = N_("The address {uri} of the MCP server {server} needs values for: {names}.")
        raise UsageError(message, uri=template.uri, server=server, names=", ".join(missing))
    uri = UriTemplate.parse(template.uri).expand(given)
    if len(uri) > LONGEST:
        raise UsageError(N_("The address is longer than {most} characters."), most=LONGEST)
    return uri


def _template(each: ResourceTemplate) -> McpTemplate | None:
    """A template as listed; None for one that nobody could fill in."""
    if len(each.uri_template) > LONGEST or not each.uri_template.isprintable():
        return None
    try:
        parsed = UriTemplate.parse(each.uri_template)
    except (InvalidUriTemplate, ValueError):
        return None
    names = tuple(dict.fromkeys(parsed.variable_names))
    if not names or len(names) > MOST_VARIABLES:
        return None
    lines = (each.title or each.name, each.description, each.mime_type)
    name, about, media_type = (" ".join((text or "").split())[:300] for text in lines)
    optional = tuple(name for name in names if name in parsed.query_variable_names)
    return McpTemplate(
        uri=each.uri_template, name=name, about=about, media_type=media_type, variables=names, optional=optional
    )

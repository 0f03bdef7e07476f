"""Headers, variables and secrets on the command line, for providers and MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import header_variable
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_


def headers_of(
    given: Iterable[str] | None, *, named: Callable[[str], object] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Parse headers of the form ``NAME: VALUE``.

    Returns the texts for the configuration (empty where the keyring has the value) and the values for the
    keyring.

    Args:
        named: whether a value only names a variable and is stored unchanged; None for ``$VARIABLE`` after at
            most one word.

    Raises:
        UsageError: a header has another form.
    """
    forms: dict[str, str] = {}
    values: dict[str, str] = {}
    for header in given or ():
        name, colon, value = (part.strip() for part in header.partition(":"))
        if not (name and colon):
            raise UsageError(N_("Write a header as 'NAME: $VARIABLE' or 'NAME: value'."), code="invalid_header")
        forms[name] = value if (named or header_variable)(value) else ""
        if not forms[name]:
            values[name] = value
    return forms, values


def need_keyring(persistent: bool, names: Iterable[str], said: str) -> None:
    """Refuse a secret that would be lost after this command because there is no keyring.

    ``said`` is the message, with the first name as ``{header}``.

    Raises:
        UsageError: there is a secret and no keyring.
    """
    name = next(iter(names), None)
    if name is not None and not persistent:
        raise UsageError(said, code="no_keyring", header=name)


async def need_mcp_keyring(atelier: Atelier, secrets: Iterable[str], headers: Iterable[str] = ()) -> None:
    """``need_keyring`` for an MCP server's secrets, by ``env:NAME`` or ``header:NAME``.

    ``headers`` are the names of the server's headers.
    """
    wanted, header_names = list(secrets), set(headers)
    storable = not wanted or atelier.vault.persistent
    for key in wanted:
        name = key.partition(":")[2] or key
        if name in header_names and key.startswith("header:"):
            message = N_(
                "This computer has no keyring to store {header} in. Use a variable instead: --header '{header}: "
                "$VARIABLE'."
            )
        else:
            message = N_(
                "This computer has no keyring to store {header} in. Use a variable instead: {header}=${{VARIABLE}}."
            )
        need_keyring(storable, [name], message)


def name_and_value(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``.

    Raises:
        UsageError: no ``=``, or no name.
    """
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise UsageError(N_("Write NAME=VALUE, not {text}."), text=repr(text[:40]))
    return name.strip(), value.strip()

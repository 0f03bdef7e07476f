"""Headers and other named values on the command line, and the secrets among them, for providers and MCP servers alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.provider import header_variable
from atelier_desk.engine.atelier import Atelier
from atelier_desk.support.i18n import N_


def headers_of(given: Iterable[str] | None, *, named: Callable[[str], object] | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """``NAME: VALUE`` each: texts for the configuration (empty where the keyring has the value), and the values for the keyring.

    Args:
        named: whether a value only names a variable, and is kept as it is; None for ``$VARIABLE`` behind at most one word.

    Raises:
        UsageError: one is not of that form.
    """
    forms: dict[str, str] = {}
    values: dict[str, str] = {}
    for header in given or ():
        name, colon, value = (part.strip() for part in header.partition(":"))
        if not (name and colon):
            raise UsageError(N_("A header is given as 'NAME: $VARIABLE' or 'NAME: value'."), code="invalid_header")
        forms[name] = value if (named or header_variable)(value) else ""
        if not forms[name]:
            values[name] = value
    return forms, values


def need_keyring(persistent: bool, names: Iterable[str], said: str) -> None:
    """Refuse a secret that would be gone with this command, because there is no keyring. ``said`` names the first as ``{header}``.

    Raises:
        UsageError: there is one, and no keyring.
    """
    name = next(iter(names), None)
    if name is not None and not persistent:
        raise UsageError(said, code="no_keyring", header=name)


async def need_mcp_keyring(atelier: Atelier, secrets: Iterable[str], headers: Iterable[str] = ()) -> None:
    """``need_keyring`` for secrets of an MCP server, by ``env:NAME`` or ``header:NAME``; ``headers`` are names of those that it takes."""
    wanted, taken = list(secrets), set(headers)
    kept = not wanted or atelier.vault.persistent
    for key in wanted:
        name = key.partition(":")[2] or key
        if name in taken and key.startswith("header:"):
            said = N_("This machine has no keyring to keep {header} in: name a variable in its place, as --header '{header}: $VARIABLE'.")
        else:
            said = N_("This machine has no keyring to keep {header} in: name a variable in its place, as {header}=${{VARIABLE}}.")
        need_keyring(kept, [name], said)


def name_and_value(text: str) -> tuple[str, str]:
    """The parts of ``NAME=VALUE``.

    Raises:
        UsageError: it has no ``=``, or no name.
    """
    name, found, value = text.partition("=")
    if not found or not name.strip():
        raise UsageError(N_("It is given as NAME=VALUE, not {text}."), text=repr(text[:40]))
    return name.strip(), value.strip()

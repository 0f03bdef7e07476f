"""Text about invalid values of forms, and about servers' questions."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from atelier_desk.domain.elicitation_form import Form, FormField
from atelier_desk.domain.errors import UsageError
from atelier_desk.support.i18n import N_, _

_PROBLEMS = {
    "required": N_("“{field}” is required."),
    "unknown": N_("The form has no field “{field}”. Its fields: {names}."),
    "text": N_("“{field}” must be text."),
    "number": N_("“{field}” must be a number."),
    "integer": N_("“{field}” must be a whole number."),
    "boolean": N_("“{field}” must be yes or no."),
    "choice": N_("“{field}” must be one of: {choices}."),
    "few": N_("Under “{field}”, choose at least {least}."),
    "many": N_("Under “{field}”, choose at most {most}."),
    "short": N_("“{field}” is too short: the minimum length is {shortest}."),
    "long": N_("“{field}” is too long: the maximum length is {longest}."),
    "email": N_("“{field}” must be an email address, such as name@example.org."),
    "uri": N_("“{field}” must be a URL, such as https://example.org."),
    "date": N_("“{field}” must be a date, such as 2026-11-23."),
    "date-time": N_("“{field}” must be a date and time, such as 2026-11-23T14:30:00Z."),
    "least": N_("“{field}” must be at least {least}."),
    "most": N_("“{field}” must be at most {most}."),
}
SECRET = N_(
    "This may be asking for a secret. Do not enter a password or key here: “{server}” would receive it as plain text."
)
ANSWER_RECIPIENT = N_("What you send goes to the server “{server}”, not to the model.")
REPLY_RECIPIENT = N_("The model's answer goes to the server “{server}”. The model cannot see this workflow.")
NOT_ENCRYPTED = N_("This page is not encrypted: others on the network can read what you enter.")
_FORMATS = {
    "email": N_("email address"),
    "uri": N_("address"),
    "date": N_("date, such as 2026-11-23"),
    "date-time": N_("date and time, such as 2026-11-23T14:30:00Z"),
}


def problem(form: Form, name: str, code: str) -> UsageError:
    """The error for a result of ``Form.problems``."""
    field = next((each for each in form.fields if each.name == name), None)
    params: dict[str, Any] = {"field": name, "names": ", ".join(each.name for each in form.fields) or _("none")}
    if field is not None:
        params |= {
            "field": field.label,
            "choices": ", ".join(each.title for each in field.choices[:20]),
            "least": _figure(field.least),
            "most": _figure(field.most),
            "shortest": field.shortest,
            "longest": field.upper_length,
        }
    return UsageError(_PROBLEMS[code], code="form", **params)


def hint(field: FormField) -> str:
    """Allowed values of a field, in a few words; empty when anything is allowed."""
    found = []
    if field.format:
        found.append(_(_FORMATS[field.format]))
    if field.least is not None:
        found.append(_("at least {n}", n=_figure(field.least)))
    if field.most is not None:
        found.append(_("at most {n}", n=_figure(field.most)))
    if field.shortest:
        found.append(_("minimum length: {n}", n=field.shortest))
    if field.longest is not None:
        found.append(_("maximum length: {n}", n=field.upper_length))
    return ", ".join(found)


def shown_host(url: str) -> str:
    """The host of an address in ASCII: letters of other scripts can imitate a known name."""
    host = urlsplit(url).hostname or ""
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return host.encode("ascii", "backslashreplace").decode()


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.15g}"

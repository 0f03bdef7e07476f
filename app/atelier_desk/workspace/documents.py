"""Which files are documents whose words are read for a model, and the words of mails."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import EmailMessage, MIMEPart

_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def is_word(name: str, data: bytes) -> bool:
    """Whether it is a Word document, by name and first bytes: any other archive is none."""
    return name.lower().endswith((".docx", ".docm")) and data.startswith(b"PK")


def is_mail(name: str) -> bool:
    return name.lower().endswith(".eml")


def mail_text(data: bytes) -> str:
    """A mail as a person reads it: who wrote when about what, its text decoded, the names of what is attached. Never fails."""
    import email
    import email.policy

    message = email.message_from_bytes(data, policy=email.policy.default)
    lines = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    body = message.get_body(("plain", "html"))
    text = _content(body) if body is not None else ""
    names = [part.get_filename() or "?" for part in message.iter_attachments()]
    more = [f"[Attached and not read: {', '.join(names)}]"] if names else []
    return "\n\n".join(part for part in ("\n".join(lines), text.strip(), *more) if part)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message[name] or "")
    except Exception:  # a header that breaks its own rules
        return ""


def _content(part: MIMEPart) -> str:
    try:
        return str(part.get_content())
    except Exception:  # an unknown character set, or an encoding that breaks its own rules
        raw = part.get_payload(decode=True)
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(part.get_payload())

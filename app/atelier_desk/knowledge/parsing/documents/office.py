"""Documents without pages (Word, workbooks, slides, e-books, mail …).

Sections of the Markdown they are converted to.
"""

from __future__ import annotations

from atelier_desk.domain.document_formats import READER, not_read
from atelier_desk.knowledge.parsing.documents import markdown
from atelier_desk.knowledge.parsing.errors import ParseError
from atelier_desk.knowledge.parsing.parsed_file import Parsed
from atelier_desk.support.worker.errors import Ended, Failed
from atelier_desk.support.worker.requests_to_child import ask_in_thread

LIMIT_S = 25.0
"""Time limit in seconds of its process."""


def read(name: str, kind: str, data: bytes) -> Parsed:
    """Parse a document. Lines are those of its Markdown. Blocks until the process ends.

    Raises:
        ParseError: it cannot be read, see ``NOT_READ``.
    """
    try:
        found = ask_in_thread(READER, (kind, 1, 1, markdown.LIMIT - 1), data, limit_s=LIMIT_S).value
    except Failed as error:
        raise not_read(ParseError, error.code, name, **error.params) from error
    except Ended as error:
        raise not_read(ParseError, error.code, name, seconds=int(LIMIT_S)) from error
    parsed = markdown.read(str(found["pages"][0]))
    parsed.language = kind
    return parsed

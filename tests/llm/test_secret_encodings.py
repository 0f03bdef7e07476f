"""A secret is hidden in whatever form a server repeats it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from atelier_desk.llm.secrets import REDACTED, redact, redact_reply, remember

SECRET = "sk-proj-Ab/Cd+Ef~0123?456789"
QUOTED = "".join(f"%{ord(char):02x}" for char in SECRET)
JSON = "".join(f"\\u{ord(char):04X}" for char in SECRET)


@pytest.fixture(autouse=True)
def known() -> None:
    remember(SECRET)


def encoded(before: str = "", after: str = "", *, safe: bool = False) -> str:
    code = base64.urlsafe_b64encode if safe else base64.b64encode
    return code(f"{before}{SECRET}{after}".encode()).decode()


@pytest.mark.parametrize(
    "repeated",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(quote(SECRET, safe=""), safe=""),
        QUOTED,
        QUOTED.upper(),
        SECRET.replace("s", "%73", 1),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        JSON,
        JSON.lower(),
        JSON.replace("\\", "\\\\"),
        SECRET.replace("sk", "\\u0073k"),
        SECRET.replace("/", "\\/"),
        json.dumps(SECRET)[1:-1].replace("+", "\\u002b"),
        SECRET.replace("s", "\\x73"),
        SECRET.replace("s", "&#115;").replace("k", "&#x6b;"),
        SECRET.replace("s", "&amp;#115;"),
        *(encoded(before) for before in ("", "u", "us", "user:")),
        *(encoded(before, after, safe=True) for before in ("", "a:", "ab:") for after in ("", ":", ":x")),
        *(encoded(before).rstrip("=") for before in ("", "u", "us")),
        "data:text/plain;base64," + encoded("Bearer "),
        quote(encoded("user:"), safe=""),
        encoded("user:").replace("/", "\\/").replace("=", "\\u003d"),
    ],
)
def test_an_encoded_secret_is_hidden_with_all_that_belongs_to_it(repeated: str) -> None:
    shown = redact(f"100% of \\keys like «{repeated}» are wrong, \\u0041 & so on %")
    assert shown.startswith("100% of \\keys like «")
    assert shown.endswith("» are wrong, \\u0041 & so on %")
    inside = shown.partition("«")[2].partition("»")[0]
    assert REDACTED in inside
    assert inside.replace("data:text/plain;base64,", "") == REDACTED
    assert redact(shown) == shown


DATA = SECRET.encode()
BROKEN = "".join(
    f"{char}\n" if place % 20 == 19 else char for place, char in enumerate(base64.b64encode(DATA).decode())
)
SCATTERED: dict[str, str] = {
    "base32": base64.b32encode(b"u:" + DATA).decode(),
    "base32 in lower case": base64.b32encode(DATA + b":u").decode().lower(),
    "base64 in lines": BROKEN,
    "base64 in indented lines": BROKEN.replace("\n", "\r\n  "),
    "base64 of UTF-16": base64.b64encode(SECRET.encode("utf-16")).decode(),
    "base64 of the other UTF-16": base64.b64encode(b"x" + SECRET.encode("utf-16-be")).decode(),
    "hexadecimal of UTF-16": SECRET.encode("utf-16-be").hex(),
    "UTF-16": SECRET.encode("utf-16-le").decode("latin-1"),
    "colons": DATA.hex(":"),
    "spaces": DATA.hex(" ").upper(),
    "numbers": str(list(DATA)),
    "hexadecimal numbers": ", ".join(map(hex, DATA)),
    "escapes with spaces": " ".join(f"\\x{byte:02x}" for byte in DATA),
    "percent signs with spaces": " ".join(f"%{byte:02X}" for byte in DATA),
    "characters": str(list(SECRET)),
    "spaced": " ".join(SECRET),
    "lines": "\n".join(SECRET),
    "invisible": "\u200b".join(SECRET),
    "bold": "**".join(SECRET),
    "reversed": SECRET[::-1],
    "capitals": SECRET.upper(),
    "words": SECRET.replace("-", " "),
}


@pytest.mark.parametrize("repeated", SCATTERED.values(), ids=SCATTERED)
@pytest.mark.parametrize("hide", [redact, redact_reply])
def test_a_secret_with_anything_between_its_characters_is_hidden(repeated: str, hide: Callable[[str], str]) -> None:
    shown = hide(f"It is «{repeated}», 100 % sure.")
    assert shown.startswith("It is «")
    assert shown.endswith("», 100 % sure.")
    inside = shown.partition("«")[2].partition("»")[0]
    assert REDACTED in inside
    assert sum(char.isalnum() for char in inside.replace(REDACTED, "")) <= 6, "what depends on its neighbours too"
    assert hide(shown) == shown


@pytest.mark.parametrize("text", ["lm studio", "l m - s t u d i o", "oiduts-ml", "my pass phrase", "LM-STUDIO"])
def test_words_are_hidden_as_they_are_only(text: str) -> None:
    remember("lm-studio")
    remember("my-pass-phrase")
    assert redact(text) == redact_reply(text) == text


@pytest.mark.parametrize(
    "text",
    ["C:\\users\\x0\\u0041 100%41 &#65; &amp;", "\\" * 50_000, "%25" * 50_000, "&amp;" * 20_000, "A" * 100_000, ""],
    ids=["escapes", "backslashes", "percent signs", "ampersands", "letters", "nothing"],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


def test_several_secrets_in_one_text() -> None:
    remember("another-secret-99")
    text = f"{encoded('u')} and {QUOTED} and \\u0061nother-secret-99, {SECRET}"
    assert redact(text) == f"{REDACTED} and {REDACTED} and {REDACTED}, {REDACTED}"


@pytest.mark.parametrize("secret", ["pass word with spaces 99", "clé-secrète-ééé-123456", "pa%41ss&#65;word99"])
@pytest.mark.parametrize(
    "form", [str, lambda secret: quote(secret, safe=""), quote_plus, lambda secret: json.dumps(secret)[1:-1]]
)
def test_secrets_with_spaces_letters_or_escapes_of_their_own(secret: str, form: Callable[[str], str]) -> None:
    remember(secret)
    assert redact(f"key={form(secret)}.") == f"key={REDACTED}."

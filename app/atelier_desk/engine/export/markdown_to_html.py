"""Markdown as HTML: a complete page, or a fragment for the clipboard."""

from __future__ import annotations

import html
from collections.abc import Sequence

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from atelier_desk.markdown.link_targets import safe_target
from atelier_desk.markdown.parser import markdown
from atelier_desk.support.i18n import language
from atelier_desk.support.visible_and_shortened_text import visible

_STYLE = """
body { font-family: sans-serif; font-size: 11pt; line-height: 1.45; }
@media screen { body { max-width: 46em; margin: 2em auto; padding: 0 1em; } }
h1 { font-size: 20pt; } h2 { font-size: 15pt; } h3 { font-size: 13pt; }
table { border-collapse: collapse; border: 1px solid #999999; margin: 8px 0; }
th { background: #eeeeee; text-align: left; }
pre, code { font-family: monospace; font-size: 10pt; } pre { background: #f4f4f4; padding: 8px; white-space: pre-wrap; }
blockquote { color: #555555; margin-left: 1em; } a { color: #2a5db0; }
"""


class _Renderer(RendererHTML):
    """Renders the dialect's additions. Images become their text: opening the file contacts no server."""

    def footnote(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"<sup>{html.escape(tokens[at].content)}</sup>"

    def image(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"[{html.escape(tokens[at].content)}]"

    def link_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
        target = safe_target(str(tokens[at].attrGet("href") or ""))
        tokens[at].attrSet("href", target)
        return self.renderToken(tokens, at, options, env) if target else "<a>"

    def math_inline(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"<code>{html.escape(tokens[at].content)}</code>"

    def math_block(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"<pre>{html.escape(tokens[at].content)}</pre>\n"

    def code_inline(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        return f"<code>{html.escape(visible(tokens[at].content))}</code>"

    def list_item_open(self, tokens: Sequence[Token], at: int, _options: OptionsDict, _env: EnvType) -> str:
        checked = tokens[at].meta.get("checked")
        return "<li>" if checked is None else f"<li>{'☒' if checked else '☐'} "

    def table_open(self, _tokens: Sequence[Token], _at: int, _options: OptionsDict, _env: EnvType) -> str:
        # text processors support these better than styles
        return '<table border="1" cellspacing="0" cellpadding="4">\n'


def part(text: str) -> str:
    """Return the text as an HTML fragment."""
    parser = markdown()
    env: dict[str, object] = {}
    return str(_Renderer().render(parser.parse(text, env), parser.options, env))


def page(text: str, title: str) -> str:
    """Return the text as a self-contained page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!DOCTYPE html>\n<html lang="{html.escape(language())}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{part(text)}</body>\n</html>\n"
    )

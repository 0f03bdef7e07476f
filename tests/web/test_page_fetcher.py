"""Pages from a server: redirects, robots.txt, pace, cache, sizes, encodings."""

# judges: app/atelier_desk/web/checked_connections.py
from __future__ import annotations

import asyncio
import gzip
import ssl
from pathlib import Path

import pytest
import trustme

from atelier_desk.domain.errors import ToolError
from atelier_desk.support.worker import requests_to_child
from atelier_desk.web import http_client, page_fetcher
from atelier_desk.web.page_fetcher import PAGE, Crawl, Web
from atelier_desk.web.page_to_markdown_process import decoded, page
from tests.helpers.fake_websites import Asked, Reply, Sites, html
from tests.web.conftest import Hasty
from tests.web.long_page_text import LONG, no


async def fails(web: Web, url: str, allowed: object = no) -> tuple[str, str]:
    with pytest.raises(ToolError) as failed:
        await web.page(url, allowed)  # type: ignore[arg-type]
    return failed.value.code, str(failed.value)


async def test_a_page_is_converted_to_markdown_with_its_metadata(
    web: Web, served: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_fetcher, "ask_once", requests_to_child.ask_once)  # by the worker process
    head = '<meta name="author" content="Ann Author"><meta property="article:published_time" content="2026-03-04">'
    served.pages["news.org/a"] = Reply(html("Title here", LONG, 'See <a href="/b#x">the other</a>.', head=head))
    found = await web.page("http://news.org/a", no)
    assert (found.title, found.author, found.date, found.form) == ("Title here", "Ann Author", "2026-03-04", "article")
    assert "[the other](http://news.org/b" in found.markdown
    assert [dict(each) for each in found.links] == [{"url": "http://news.org/b", "text": "the other"}]
    assert [each.target for each in served.asked] == ["/robots.txt", "/a"]
    assert served.asked[1].headers["user-agent"] == "Atelier"


async def test_redirects_on_a_site_are_followed_and_others_reported(web: Web, served: Sites) -> None:
    served.pages["old.org/a"] = Reply(status=302, headers={"location": "http://www.old.org/b"})
    served.pages["www.old.org/b"] = Reply(html("B", LONG))
    served.pages["old.org/out"] = Reply(status=301, headers={"location": "http://elsewhere.org/x"})
    served.pages["old.org/in"] = Reply(status=302, headers={"location": "http://127.0.0.1:9/"})
    served.pages["old.org/file"] = Reply(status=302, headers={"location": "file:///etc/passwd"})
    served.pages["old.org/loop"] = Reply(status=302, headers={"location": "/loop"})
    assert (await web.page("http://old.org/a", no)).url == "http://www.old.org/b"
    assert await fails(web, "http://old.org/out") == (
        "elsewhere",
        "old.org sends to another site: http://elsewhere.org/x . Fetch that address if you want to go there.",
    )
    assert (await fails(web, "http://old.org/in"))[0] == "elsewhere"
    assert (await fails(web, "http://old.org/file"))[0] == "bad_address"
    assert (await fails(web, "http://old.org/loop"))[0] == "redirects"
    assert {ip for ip, _port in served.connected} == {"93.184.215.14"}


async def test_a_redirect_within_a_site_is_checked_like_any_address(web: Web, served: Sites) -> None:
    served.names["www.turns.org"] = ("10.0.0.1",)
    served.pages["turns.org/"] = Reply(status=302, headers={"location": "http://www.turns.org/"})
    assert (await fails(web, "http://turns.org/"))[0] == "own_network"
    assert len(served.connected) == 1


async def test_redirects_and_cached_pages_are_checked_against_host_rules(web: Web, served: Sites) -> None:
    served.pages["x.org/"] = Reply(status=302, headers={"location": "http://www.x.org/a"})
    served.pages["www.x.org/a"] = Reply(html("WWW", LONG))
    served.pages["www.y.org/"] = Reply(status=302, headers={"location": "http://y.org/"})
    assert (await web.page("http://x.org/", no, barred=lambda host: "deny" if host == "x.org" else "")).title == "WWW"
    before = len(served.asked)
    for url, barred, code in (
        ("http://x.org/", {"www.x.org": "deny"}, "barred"),  # cached before the rule was added
        ("http://x.org/", {"www.x.org": "ask"}, "elsewhere"),
        ("http://www.y.org/", {"y.org": "deny"}, "barred"),
    ):
        with pytest.raises(ToolError) as failed:
            await web.page(url, no, barred=lambda host, barred=barred: barred.get(host, ""))  # type: ignore[misc]
        assert failed.value.code == code
    assert [f"{each.host}{each.target}" for each in served.asked[before:]] == ["www.y.org/robots.txt", "www.y.org/"]
    served.pages["z.org/"] = Reply(html("Z", LONG, '<a href="http://www.z.org/b">b</a>', '<a href="/c">c</a>'))
    served.pages["z.org/c"] = Reply(html("C", LONG))
    crawled = await web.crawl(
        "http://z.org/", Crawl(1, 9), no, lambda *_: None, barred=lambda host: "deny" if host == "www.z.org" else ""
    )
    assert ([each.title for each in crawled.pages], [each[0] for each in crawled.failed]) == (
        ["Z", "C"],
        ["http://www.z.org/b"],
    )


async def test_robots_txt_is_obeyed_with_wildcards_and_delay(web: Web, served: Sites, hasty: Hasty) -> None:
    served.pages["polite.org/robots.txt"] = Reply(b"User-agent: *\nDisallow: /*/secret$\nAllow: /\nCrawl-delay: 4\n")
    served.pages["polite.org/a"] = Reply(html("A", LONG))
    served.pages["polite.org/b"] = Reply(html("B", LONG))
    served.pages["down.org/robots.txt"] = Reply(b"", 503)
    assert (await fails(web, "http://polite.org/x/secret"))[0] == "robots"
    await web.page("http://polite.org/a", no)
    await web.page("http://polite.org/b", no)
    assert hasty.waited == [1.0, 4.0]
    assert (await fails(web, "http://down.org/a"))[0] == "robots"


async def test_a_fresh_page_comes_from_the_cache_and_an_older_one_is_revalidated(
    web: Web, served: Sites, hasty: Hasty
) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.headers.get("if-none-match") == '"v1"':
            return Reply(b"", 304, {"etag": '"v1"'})
        return Reply(
            html("Cached", LONG), headers={"content-type": "text/html", "etag": '"v1"', "cache-control": "max-age=60"}
        )

    served.pages["kept.org/a"] = answer
    assert not (await web.page("http://kept.org/a", no)).cached
    assert (await web.page("http://kept.org/a", no)).cached
    assert served.targets == ["/a"]
    await hasty.advance(61)
    again = await web.page("http://kept.org/a", no)
    assert (again.cached, again.title) == (True, "Cached")
    assert served.asked[-1].headers["if-none-match"] == '"v1"'
    assert not (await web.page("http://kept.org/a", no, force=True)).cached
    assert web.cache.size()[0] == 1
    assert (web.cache.clear(), web.cache.size()) == (1, (0, 0))


async def test_pages_of_the_private_network_need_a_rule_and_are_not_cached(web: Web, served: Sites) -> None:
    served.names["nas.lan"] = ("192.168.1.9",)
    served.pages["nas.lan:8080/"] = Reply(html("NAS", LONG))
    code, text = await fails(web, "http://nas.lan:8080/")
    assert (code, "fetch_web_page(domain:nas.lan:8080)" in text, served.connected) == ("own_network", True, [])
    found = await web.page("http://nas.lan:8080/", lambda host, port: (host, port) == ("nas.lan", 8080))
    assert (found.title, served.connected, web.cache.size()[0]) == ("NAS", [("192.168.1.9", 8080)], 0)


async def test_a_large_or_compressed_page_is_cut_and_a_bomb_stopped_at_the_limit(web: Web, served: Sites) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        block = b"<p>word</p>" * 10_000
        while not writer.is_closing():
            writer.write(block)
            await writer.drain()

    served.pages["huge.org/a"] = Reply(endless)
    bomb = gzip.compress(b"\n" * (PAGE * 40), 9)
    served.pages["huge.org/b"] = Reply(bomb, headers={"content-type": "text/plain", "content-encoding": "gzip"})
    served.pages["huge.org/c"] = Reply(b"x", headers={"content-type": "text/plain", "content-encoding": "br"})
    async with web.client(no) as one:
        from atelier_desk.web.address import read

        answer = await one.get(read("http://huge.org/a"), most=PAGE)
        assert (len(answer.body), answer.cut) == (PAGE, True)
        packed = await one.get(read("http://huge.org/b"), most=PAGE)
        assert (len(packed.body), packed.cut) == (PAGE, True)
    assert (await fails(web, "http://huge.org/c"))[0] == "packed"


async def test_a_silent_or_very_slow_server_is_abandoned(
    web: Web, served: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(writer: asyncio.StreamWriter) -> None:
        await served.over.wait()

    async def drips(writer: asyncio.StreamWriter) -> None:
        writer.write(b"<p>first words</p>")
        await writer.drain()
        await served.over.wait()

    served.pages["slow.org/a"] = Reply(silent)
    served.pages["slow.org/b"] = Reply(drips)
    monkeypatch.setattr(http_client, "PAGE_S", 0.1)
    async with web.client(no) as one:
        from atelier_desk.web.address import read

        answer = await one.get(read("http://slow.org/b"), most=PAGE, seconds=0.2)
        assert (answer.body, answer.cut) == (b"<p>first words</p>", True)
        with pytest.raises(ToolError) as failed:
            await one.get(read("http://slow.org/a"), most=PAGE, seconds=0.2)
        assert failed.value.code == "web_timeout"


async def test_content_that_is_no_page_is_reported(web: Web, served: Sites) -> None:
    served.pages["odd.org/p"] = Reply(b"\x89PNG....", headers={"content-type": "image/png"})
    served.pages["odd.org/z"] = Reply(b"PK\3\4\0\0\0", headers={"content-type": "application/octet-stream"})
    served.pages["odd.org/j"] = Reply(b'{"a": "\xc3\xa9"}', headers={"content-type": "application/json"})
    served.pages["odd.org/s"] = Reply(
        b"<html><body><noscript>Please enable JavaScript</noscript><div "
        b"id=app></div><script>go()</script></body></html>"
    )
    assert (await fails(web, "http://odd.org/p"))[0] == "not_a_page"
    assert (await fails(web, "http://odd.org/z"))[0] == "not_a_page"
    assert (await fails(web, "http://odd.org/none")) == ("http_status", "odd.org answers 404 Not Found for this page.")
    assert (await web.page("http://odd.org/j", no)).markdown == '{"a": "é"}'
    assert (await web.page("http://odd.org/s", no)).scripts


async def test_a_site_is_crawled_to_the_requested_depth_and_count(web: Web, served: Sites) -> None:
    def links(*names: str) -> bytes:
        return html("P", LONG, *(f'<a href="{name}">{name}</a>' for name in names))

    served.pages["site.org/"] = Reply(links("/docs/a", "/docs/b", "/blog/c", "http://other.org/x", "/docs/a#again"))
    served.pages["site.org/docs/a"] = Reply(links("/docs/deep", "/"))
    served.pages["site.org/docs/deep"] = Reply(links())
    said: list[str] = []
    wanted = Crawl(2, 10, lambda url: "/docs/" in url)
    found = await web.crawl("http://site.org/", wanted, no, lambda percent, text: said.append(text))
    assert [each.url.removeprefix("http://site.org") for each in found.pages] == ["/", "/docs/a", "/docs/deep"]
    assert [url for url, _error in found.failed] == ["http://site.org/docs/b"]
    assert said[1].startswith("1 / 10")
    short = await web.crawl("http://site.org/", Crawl(1, 2), no, lambda percent, text: None)
    assert (len(short.pages), short.left) == (2, 2)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


async def test_the_certificate_is_checked_for_the_name_not_the_address(
    tmp_path: Path, served: Sites, hasty: Hasty, authority: trustme.CA
) -> None:
    at_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("safe.org").configure_cert(at_server)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=at_server)
    served.port = server.sockets[0].getsockname()[1]
    served.pages["safe.org/"] = Reply(html("Safe", LONG))
    web = Web(tmp_path / "w", hasty, resolve=served.resolve, network=served, tls=trusting)
    try:
        assert (await web.page("https://safe.org/", no)).title == "Safe"
        assert (await fails(web, "https://other.org/"))[0] == "certificate"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("Le déjeuner est servi à l’étage – une œuvre".encode(), ""),
        ("Le déjeuner est servi à l’étage – une œuvre".encode("cp1252"), ""),
        ("Le déjeuner est servi à l’étage – une œuvre".encode("cp1252"), "ISO-8859-1"),
        ("<?xml version='1.0' encoding='utf-16'?>Le déjeuner est servi à l’étage – une œuvre".encode("utf-16"), ""),
        (b"<meta charset=windows-1252>" + "Le déjeuner est servi à l’étage – une œuvre".encode("cp1252"), ""),
        ("Le déjeuner est servi à l’étage – une œuvre".encode(), "no-such-thing"),
        ("Le déjeuner est servi à l’étage – une œuvre".encode(), "rot13"),
    ],
)
def test_any_encoding_is_decoded(data: bytes, said: str) -> None:
    assert "Le déjeuner est servi à l’étage – une œuvre" in decoded(data, said)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("こんにちは世界、これは日本語の文章です。" * 20, "shift_jis"),
        ("Привет, мир. Это русский текст. " * 20, "koi8-r"),
    ],
)
def test_the_encoding_declared_by_the_page_is_used(text: str, codec: str) -> None:
    assert decoded(f"<meta charset={codec}>".encode() + text.encode(codec)).endswith(text)


def test_hidden_text_is_left_out() -> None:
    said = page(
        html("T", LONG, '<span style="display: none">obey me</span>', "<span hidden>and me</span>", "<!-- too -->"),
        "http://a.org/",
        "text/html",
        "",
    )
    assert ("obey" in said["markdown"], "and me" in said["markdown"], "too" in said["markdown"]) == (
        False,
        False,
        False,
    )


def test_a_deeply_nested_page_is_read() -> None:
    said = page(b"<div>" * 20_000 + b"end", "http://a.org/", "text/html", "")
    assert said["form"] in ("page", "article")


@pytest.mark.parametrize("around", [LONG, "short"])
def test_code_keeps_its_lines_language_and_backticks(around: str) -> None:
    code = (
        '<pre><code class="language-python">import os\n\ndef f():\n    return &quot;```&quot;\n</code></pre><pre>one '
        "line</pre>"
    )
    said = page(html("T", around).replace(b"</main>", code.encode() + b"</main>"), "http://a.org/", "text/html", "")
    assert '````python\nimport os\n\ndef f():\n    return "```"\n````' in said["markdown"]
    assert "```\none line\n```" in said["markdown"]

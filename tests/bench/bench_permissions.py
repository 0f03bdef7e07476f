"""Cost of a decision about a call, with 0 and with 500 rules: the tool's description of it, its paths, and the verdict.

The baseline is the same call with no rules. Run: ``python -m tests.bench.bench_permissions [--quick] [--json FILE]``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from atelier_desk.domain.agent import AgentConfig, ApprovalMode
from atelier_desk.domain.approval import ApprovalPolicy
from atelier_desk.domain.call_presentation_and_subjects import Presentation
from atelier_desk.domain.events.run import ToolCallStarted
from atelier_desk.domain.permission import Action, PermissionRule
from atelier_desk.engine.run.call_verdict import Judge
from atelier_desk.engine.run.reducer.state import RunState
from atelier_desk.tools.registry.default_registry import create_default_tool_registry

RULES = 500
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "run_command": ("git status", {"command": "git status", "modifies_files": False}),
    "write_file": ("a file", {"path": "src/a.py", "content": "x"}),
}
SHAPES = {
    "of 500 other tools": "mcp__server{}__*",
    "of 500 commands": "run_command(tool{} sub:*)",
    "of 500 paths of this tool": "write_file(folder{}/**)",
    "of 500 paths in the call's folder": "write_file(src/file{}.py)",
    "of all these": "",
}


def texts(shape: str) -> list[str]:
    shapes = [shape] if shape else [each for each in SHAPES.values() if each]
    return [shapes[number % len(shapes)].format(number) for number in range(RULES)]


def cost(folder: str, tool: str, rules: list[str], times: int) -> float:
    """Milliseconds of processor time of one decision, the median."""
    registry = create_default_tool_registry()
    definition = registry.get_tool(tool)
    assert definition is not None
    arguments = CALLS[tool][1]
    permission_rules = tuple(
        PermissionRule(text=text, action=list(Action)[number % 3]) for number, text in enumerate(rules)
    )
    state = RunState(
        run_id="r",
        workflow_id="w",
        agent=AgentConfig(name="A", provider="p", model="m"),
        approvals=ApprovalPolicy(mode=ApprovalMode.SELECTIVE, rules=permission_rules),
        workspace=(folder,),
    )
    judge, found, shown = Judge(), [], Presentation()
    for _time in range(times):
        start = time.thread_time()
        described = registry.prepare(definition, arguments).described
        intent = ToolCallStarted(
            call_id="c",
            tool=tool,
            arguments=arguments,
            section=definition.section,
            subjects=described.subjects,
            presentation=shown,
        )
        judge.judged(state, intent, described, repaired=False)
        found.append((time.thread_time() - start) * 1000)
    return statistics.median(found[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="50 decisions instead of 500")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    times = 50 if arguments.quick else 500
    rows = []
    print(f"{'milliseconds of processor time':<56} {'500 rules':>10} {'no rules':>10} {'for rules':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for tool, (label, _arguments) in CALLS.items():
            none = cost(folder, tool, [], times)
            for name, shape in SHAPES.items():
                ms = cost(folder, tool, texts(shape), times)
                print(f"{tool + ' (' + label + '), ' + name:<56} {ms:10.3f} {none:10.3f} {ms - none:10.3f}")
                rows.append({"tool": tool, "rules": name, "ms": ms, "baseline_ms": none})
    if arguments.json:
        arguments.json.write_text(json.dumps({"bench": "permissions", "rules": RULES, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

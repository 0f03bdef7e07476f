"""Examples that a permission rule must cover, or must not."""

from __future__ import annotations

from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import CommandFact, Path
from atelier_desk.workspace.commands.judge import judge
from atelier_desk.workspace.commands.prefix_rules import spelled_out


def covers_example(read: rule_pattern.Pattern, example: str) -> bool:
    """Whether a rule covers an example in the form of its argument.

    ``git push origin``, ``src/a.py``, ``python.org``.
    """
    argument = read.argument or ""
    if rule_pattern.is_about_hosts(argument):
        return rule_pattern.covers_host(
            argument, example.partition(":")[2] if rule_pattern.is_about_hosts(example) else example
        )
    root = "/workspace"
    path = Path((example if example.startswith("/") else f"{root}/{example}",), (root,))
    if rule_pattern.covers_path(argument, path, "/home", strictly=True):
        return True
    commands = [
        CommandFact(words, one.safe, one.folder, spelled_out(one.command) if one.inside else len(words))
        for one in judge(example, "/home").commands
        for words in (one.command.arguments,)
    ]
    acting = [one for one in commands if not (one.safe and one.words[0] == "cd")] or commands
    return bool(acting) and all(rule_pattern.covers_command(argument, one, strictly=True) for one in acting)

"""Properties that hold for any rules and calls. Cases written by hand are in ``rule_coverage.txt`` and
``verdicts.txt``.
"""

# judges: app/atelier_desk/policy/permissions/path_denials.py
# judges: app/atelier_desk/policy/permissions/rule_pattern.py
# equivalent: decide.py _first: `return None` → `pass`
#   The function ends there.
from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atelier_desk.domain.agent import ApprovalMode
from atelier_desk.domain.approval import ApprovalKind, ApprovalPolicy
from atelier_desk.domain.errors import UsageError
from atelier_desk.domain.permission import Action, PermissionRule, RuleScope, snapshot
from atelier_desk.policy.permissions import rule_pattern
from atelier_desk.policy.permissions.call_facts import CallFacts, CommandFact, Concern, HostFact, Path, TargetFact
from atelier_desk.policy.permissions.decide import Level, decide, narrowest
from atelier_desk.policy.permissions.rule_scope import holds
from atelier_desk.policy.permissions.rule_set import ReadRule, RuleSet
from tests.policy.permissions.read_case_tables import HOME, ROOT

WORDS = st.sampled_from(
    ["ls", "git", "log", "push", "-x", "a b", "*", "it's", "--out=:*", "", "\\", 'q"', "make", "é", "cd", "&&"]
)
FOLDERS = st.sampled_from(["", "vendor", "a b", "*", "it's", "/etc", "x && y", "é/\\"])
NAMES = st.sampled_from(["a", "src", ".env", "b c", "#x", "[y]", "*z", "É", "q?", "\\w", "!n"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
SPELLED = st.tuples(st.sampled_from([ROOT, "/etc", HOME]), PATHS).map("/".join)
SAID = st.lists(WORDS, min_size=1, max_size=4).map(tuple)
ANY_COMMANDS = st.builds(CommandFact, SAID, st.booleans(), FOLDERS | st.none(), st.integers(0, 5))
FACTS = st.builds(
    CallFacts,
    tool=st.sampled_from(["read_file", "run_command", "mcp__x__y", "Calc"]),
    kind=st.sampled_from(ApprovalKind),
    risk=st.sampled_from(["low", "medium", "high"]),
    section=st.sampled_from(["", "file_ops"]),
    server=st.sampled_from(["", "x"]),
    changes=st.booleans(),
    writes=st.booleans(),
    paths=st.lists(
        st.lists(SPELLED, min_size=1, max_size=2).map(lambda found: Path(tuple(found), (ROOT,))), max_size=2
    ).map(tuple),
    commands=st.lists(ANY_COMMANDS, max_size=3).map(tuple),
    hosts=st.lists(st.sampled_from(["python.org", "a.python.org", "evil.com"]).map(HostFact), max_size=2).map(tuple),
    agents=st.lists(st.sampled_from(["Ann", "ann", "Bob (2)"]).map(TargetFact), max_size=1).map(tuple),
    home=st.just(HOME),
    concerns=st.lists(st.sampled_from(Concern), max_size=2).map(tuple),
)
TEXTS = st.sampled_from(
    [
        "*", "read_file", "run_command", "file_ops", "section:file_ops", "mcp__x", "mcp__*__y", "read_file(src/**)",
        "read_file(.env*)",
        "*(a)", "*(//etc/**)", "*(~/**)", "run_command(git:*)", "run_command(git * push)", "run_command(*)",
        "run_command(make)",
        "*(domain:*.python.org)", "*(domain:evil.com)", "Calc(Ann)", "*(ann)",
    ]
)  # fmt: skip
RULES = st.lists(st.builds(PermissionRule, text=TEXTS, action=st.sampled_from(Action)), max_size=5).map(tuple)
LEVELS = st.builds(Level, RULES, st.builds(ApprovalPolicy, mode=st.sampled_from(ApprovalMode)))


@given(LEVELS, FACTS, TEXTS)
def test_another_deny_never_allows_more(level: Level, facts: CallFacts, text: str) -> None:
    more = Level((*level.rules, PermissionRule(text=text, action=Action.DENY)), level.policy)
    assert decide([more], facts).action.strictness >= decide([level], facts).action.strictness


@given(LEVELS, FACTS, TEXTS)
def test_another_ask_never_allows_a_call_that_needed_approval(level: Level, facts: CallFacts, text: str) -> None:
    more = Level((*level.rules, PermissionRule(text=text, action=Action.ASK)), level.policy)
    if decide([level], facts).action is not Action.ALLOW:
        assert decide([more], facts).action is not Action.ALLOW


@given(LEVELS, FACTS)
def test_a_matching_deny_always_wins(level: Level, facts: CallFacts) -> None:
    assert (
        decide([Level((*level.rules, PermissionRule(text="*", action=Action.DENY)), level.policy)], facts).action
        is Action.DENY
    )


@given(LEVELS, FACTS, TEXTS)
def test_nothing_allows_what_a_deny_forbids(level: Level, facts: CallFacts, text: str) -> None:
    deny = PermissionRule(text=text, action=Action.DENY)
    for mode in ApprovalMode:
        if decide([Level((deny,), ApprovalPolicy(mode=ApprovalMode.AUTO))], facts).action is Action.DENY:
            for rules in ((deny, *level.rules), (*level.rules, deny)):
                assert decide([Level(rules, ApprovalPolicy(mode=mode))], facts).action is Action.DENY


@given(LEVELS, LEVELS, FACTS)
def test_a_child_never_gets_a_right_that_its_parent_lacks(parent: Level, child: Level, facts: CallFacts) -> None:
    both = decide([parent, child], facts)
    assert both.action.strictness == max(decide([one], facts).action.strictness for one in (parent, child))


@given(LEVELS, FACTS)
def test_a_call_that_cannot_be_parsed_is_never_allowed(level: Level, facts: CallFacts) -> None:
    unread = CallFacts(tool=facts.tool, kind=facts.kind, changes=facts.changes, concerns=(Concern.UNPARSED,))
    assert decide([level], unread).action is not Action.ALLOW


@given(LEVELS, FACTS, st.randoms())
def test_the_order_of_rules_does_not_count(level: Level, facts: CallFacts, chance: object) -> None:
    mixed = tuple(reversed(level.rules))
    assert decide([Level(mixed, level.policy)], facts).action is decide([level], facts).action
    assert snapshot(mixed) == snapshot(level.rules)


@given(FACTS)
def test_the_narrowest_rules_cover_the_call(facts: CallFacts) -> None:
    calm = CallFacts(**{name: getattr(facts, name) for name in CallFacts.__slots__ if name != "concerns"})
    if any(not all(path.spellings[0] == one for one in path.spellings) for path in facts.paths) or any(
        c.words == ("",) for c in facts.commands
    ):
        return
    if any(one.folder is None or one.spelled_out > len(one.words) for one in calm.commands):
        return  # no rule can match it
    rules = tuple(PermissionRule(text=text, action=Action.ALLOW) for text in narrowest(calm))
    manual = ApprovalPolicy(mode=ApprovalMode.MANUAL, auto_approve_low=False)
    assert decide([Level(rules, manual)], calm).action is Action.ALLOW


@pytest.mark.parametrize("unsure", [{"folder": None}, {"spelled_out": 3}, {"folder": None, "spelled_out": 3}])
def test_no_rule_is_offered_for_a_command_that_no_rule_can_match(unsure: dict[str, Any]) -> None:
    sure = CommandFact(("git", "log"), spelled_out=2)
    assert narrowest(CallFacts(tool="run_command", commands=(sure,))) == ("run_command(git log)",)
    assert narrowest(CallFacts(tool="run_command", commands=(sure, replace(sure, **unsure)))) == ()


def test_git_settings_need_approval_until_a_rule_allows_each_of_them() -> None:
    both = ("git(repository:one)", "git(repository:two)")
    facts = CallFacts(
        tool="run_command",
        concerns=(Concern.REPOSITORY,),
        about=((Concern.REPOSITORY, "core.fsmonitor"),),
        settings=both,
    )

    def said(*rules: tuple[str, Action], mode: ApprovalMode = ApprovalMode.AUTO) -> tuple[Action, str]:
        read = tuple(PermissionRule(text=text, action=action) for text, action in rules)
        found = decide([Level(read, ApprovalPolicy(mode=mode))], facts)
        return found.action, found.about

    yes = [(text, Action.ALLOW) for text in both]
    assert said() == said(yes[0]) == said((both[0], Action.ASK), yes[1]) == (Action.ASK, "core.fsmonitor")
    assert said(*yes) == (Action.ALLOW, "")
    assert said(mode=ApprovalMode.PLAN) == (Action.DENY, "core.fsmonitor")
    assert said(*yes, mode=ApprovalMode.PLAN) == (Action.ALLOW, "")


@pytest.mark.parametrize("mode", [ApprovalMode.AUTO, ApprovalMode.EDIT, ApprovalMode.SELECTIVE])
def test_confirm_dangerous_calls_applies_in_every_mode(mode: ApprovalMode) -> None:
    level = Level((), ApprovalPolicy(mode=mode, always_confirm_high=True))
    found = [decide([level], CallFacts(tool="calculator", risk=risk)) for risk in ("low", "medium", "high")]
    assert [(each.action, each.reason) for each in found] == [(Action.ALLOW, "mode")] * 2 + [(Action.ASK, "risk_high")]


def test_a_permission_level_in_a_journal_of_another_version_is_recognised() -> None:
    """Journals contain these names: a new version must give the same names to the same rules, so the snapshot must
    not change.
    """
    rule = PermissionRule(id="one", text="read_file(.env)", action=Action.DENY)
    policy = ApprovalPolicy(mode=ApprovalMode.EDIT, rules=(rule,))
    assert Level((rule,), policy).name == "1f3f6c130dcbc92c"
    assert Level((rule,), policy.model_copy(update={"snapshot": "other", "rules": ()})).name == "1f3f6c130dcbc92c"
    others = [
        Level((), policy),
        Level((rule.model_copy(update={"action": Action.ASK}),), policy),
        Level((rule,), ApprovalPolicy()),
    ]
    assert len({"1f3f6c130dcbc92c", *(each.name for each in others)}) == 4
    with pytest.raises(ValueError, match="belongs to a run"):
        decide([], CallFacts(tool="calculator"))


def test_the_narrowest_rule_of_a_file_does_not_cover_the_same_name_in_another_folder() -> None:
    manual = ApprovalPolicy(mode=ApprovalMode.MANUAL, auto_approve_low=False)

    def call(root: str) -> CallFacts:
        return CallFacts(
            tool="edit_file",
            risk="medium",
            changes=True,
            writes=True,
            paths=(Path((f"{root}/shelf.py",), (root,)),),
            home=HOME,
        )

    for mine, other in (("/srv/mine", "/srv/other"), (f"{HOME}/mine", f"{HOME}/other")):
        rules = tuple(PermissionRule(text=text, action=Action.ALLOW) for text in narrowest(call(mine)))
        assert decide([Level(rules, manual)], call(mine)).action is Action.ALLOW
        assert decide([Level(rules, manual)], call(other)).action is Action.ASK


COMMANDS = st.builds(CommandFact, SAID, st.just(False), FOLDERS)


@given(COMMANDS, COMMANDS)
def test_the_narrowest_rule_of_a_command_covers_no_other_command(one: CommandFact, other: CommandFact) -> None:
    manual = ApprovalPolicy(mode=ApprovalMode.MANUAL, auto_approve_low=False)
    texts = narrowest(CallFacts(tool="run_command", commands=(one,)))
    rules = tuple(PermissionRule(text=text, action=Action.ALLOW) for text in texts)
    for command in (one, other, replace(other, words=one.words), replace(other, folder=one.folder)):
        verdict = decide([Level(rules, manual)], CallFacts(tool="run_command", risk="medium", commands=(command,)))
        assert (verdict.action is Action.ALLOW) == (one == command)


@given(FACTS, st.sampled_from(ApprovalMode))
def test_a_command_with_an_uncertain_folder_or_option_is_not_allowed(facts: CallFacts, mode: ApprovalMode) -> None:
    """Whatever the words of a rule: only a rule for the tool in general, or for every command, covers these."""
    texts = ("run_command(git:*)", "run_command(make)", "run_command(cd * && ls:*)", "run_command(git * push)")
    level = Level(tuple(PermissionRule(text=text, action=Action.ALLOW) for text in texts), ApprovalPolicy(mode=mode))
    for command in facts.commands:
        for unsure in (replace(command, folder=None), replace(command, spelled_out=len(command.words) + 1)):
            said = decide([level], replace(facts, tool="run_command", commands=(unsure,), redirected=()))
            assert said.reason != "rule"


def test_a_rule_applies_only_in_its_scope() -> None:
    rule = PermissionRule(text="*", action=Action.ALLOW, scope=RuleScope.WORKFLOW, scope_id="w1")
    assert rule.holds_for(workflow_id="w1")
    assert not rule.holds_for(workflow_id="w2")
    assert not rule.holds_for(run_id="w1", agent_id="w1")
    with pytest.raises(ValueError, match="scope_id"):
        PermissionRule(text="*", action=Action.ALLOW, scope=RuleScope.RUN)


def test_a_permanent_approval_covers_no_more_than_the_person_saw() -> None:
    here = holds("w1", ("/work/app", "/work/lib"), local=True)
    assert here == (RuleScope.FOLDER, "/work/app")
    rule = PermissionRule(text="run_command(make)", action=Action.ALLOW, scope=here.scope, scope_id=here.scope_id)
    assert [rule.holds_for(workflow_id="w2", folder=folder) for folder in ("/work/app", "/work/app/sub", "/work/lib",
    "")] == [
        True, False, False, False
    ]  # fmt: skip
    assert holds("w1", (), local=True) == (RuleScope.WORKFLOW, "w1")
    assert holds("w1", ("/work/app",), local=False) == (RuleScope.ALWAYS, "")


NAMED = st.sampled_from(
    ["run_command", "read_file", "mcp__x__*", "*", "file_ops", "section:file_ops", "mcp__x", "Calc"]
)
ARGUMENTS = st.one_of(
    st.just(""), st.builds("({})".format, st.one_of(PATHS, st.lists(WORDS, min_size=1, max_size=3).map(" ".join)))
)


@given(st.lists(st.tuples(NAMED, ARGUMENTS, st.sampled_from(Action)), max_size=8), FACTS, st.sampled_from(ApprovalMode))
def test_the_index_of_rules_by_name_misses_no_matching_rule(
    written: list[tuple[str, str, Action]], facts: CallFacts, mode: ApprovalMode
) -> None:
    rules = tuple(
        PermissionRule(text=name + argument, action=action)
        for name, argument, action in written
        if _readable(name + argument)
    )
    facts = replace(facts, path_tools=("read_file", "file_ops"))
    for one in (facts, replace(facts, commands=(), hosts=(), agents=())):
        _same_as_read_in_line(rules, one, mode)


def _same_as_read_in_line(rules: tuple[PermissionRule, ...], facts: CallFacts, mode: ApprovalMode) -> None:
    level = Level(rules, ApprovalPolicy(mode=mode))
    plain = Level(rules, level.policy)
    every = [ReadRule(place, rule, rule_pattern.parse(rule.text), "", "") for place, rule in enumerate(rules)]
    plain.__dict__["read"] = SimpleNamespace(
        about=lambda action, _facts: [one for one in every if one.rule.action is action]
    )
    assert decide([level], facts) == decide([plain], facts)


def _readable(text: str) -> bool:
    try:
        rule_pattern.parse(text)
    except UsageError:
        return False
    return True


def test_a_rule_with_an_invalid_path_covers_no_call_and_blocks_none() -> None:
    rule = PermissionRule(text="run_command(sed s/\\)", action=Action.DENY)
    facts = CallFacts(
        tool="run_command",
        changes=True,
        commands=(CommandFact(("ls", "src")),),
        paths=(Path((f"{ROOT}/src",), (ROOT,)),),
    )
    assert decide([Level((rule,), ApprovalPolicy(mode=ApprovalMode.AUTO))], facts).action is Action.ALLOW


def test_a_call_is_compared_only_with_rules_for_paths_with_its_prefix() -> None:
    texts = [f"write_file(folder{number}/**)" for number in range(500)]
    texts += [
        "write_file(SRC/a.py)",
        "write_file(./src/**)",
        "write_file(*.py)",
        "write_file(a.py)",
        "write_file(//etc/**)",
    ]
    rules = RuleSet(PermissionRule(text=text, action=Action.DENY) for text in texts)
    facts = CallFacts(tool="write_file", paths=(Path((f"{ROOT}/Src/a.py",), (ROOT,)),))
    assert [one.rule.text for one in rules.about(Action.DENY, facts)] == texts[500:]
